import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { browserTest } from './support/browser.js';
import { chooseMethod, field, isSignedIn, press, sees, signIn, typeCode } from './support/components.js';
import { newPerson, totp } from './support/people.js';
import { clerkProps } from './support/server.js';
import { serveApplication } from './support/site.js';

let site;
before(async () => {
  site = await serveApplication(clerkProps);
});
after(() => site.close());

browserTest('authenticator application and backup codes', async (visit) => {
  const { page, context } = visit;
  const person = await newPerson();
  await signIn(page, `${site.url}/sign-in`, person);
  await isSignedIn(page, person.email);

  const { secret, backupCodes } = await enrol(visit);
  assert.ok(backupCodes.length >= 5, `${backupCodes.length} backup codes`);

  await context.clearCookies();
  await signIn(page, `${site.url}/sign-in`, person);
  await secondFactor(page);
  await visit.picture('second factor');
  await typeCode(page, totp(secret));
  await isSignedIn(page, person.email);

  await signInWithBackupCode(visit, person, backupCodes[0]);
  await isSignedIn(page, person.email);
  // A backup code is good for one sign-in.
  await signInWithBackupCode(visit, person, backupCodes[0]);
  await sees(page, /incorrect|invalid|already/i);
});

/** Waits for the card of the second factor. */
const secondFactor = (page) => page.getByLabel('Enter verification code').first().waitFor();

/** Adds an authenticator application in the profile, as far as the backup codes it shows. */
async function enrol(visit) {
  const { page } = visit;
  await page.goto(`${site.url}/profile#/security`);
  await press(page, 'Add two-step verification');
  const created = page.waitForResponse((response) => /\/v1\/me\/totp\/?\?/.test(response.url()));
  await page.getByRole('menuitem', { name: /authenticator application/i }).click();
  const { secret } = (await (await created).json()).response;
  await press(page, 'Can’t scan QR code?');
  await visit.picture('authenticator enrolment');
  assert.equal(await page.locator('input[readonly]').first().inputValue(), secret);
  await press(page, 'Continue');
  const attempted = page.waitForResponse((response) => response.url().includes('/v1/me/totp/attempt_verification'));
  // The code of the period before, because no code is good twice and the sign-in needs the one of now.
  await typeCode(page, totp(secret, -1));
  const { backup_codes: backupCodes } = (await (await attempted).json()).response;
  await sees(page, backupCodes[0]);
  await visit.picture('backup codes');
  return { secret, backupCodes };
}

async function signInWithBackupCode({ page, context }, person, code) {
  await context.clearCookies();
  await signIn(page, `${site.url}/sign-in`, person);
  await secondFactor(page);
  await chooseMethod(page, /backup code/i);
  await field(page, 'code').fill(code);
  await press(page, 'Continue');
}
