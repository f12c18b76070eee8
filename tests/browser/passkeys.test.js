import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { browserTest } from './support/browser.js';
import { enterIdentifier, field, isSignedIn, link, press, sees, signIn } from './support/components.js';
import { withPasskeys } from './support/passkeys.js';
import { newPerson } from './support/people.js';
import { clerk, clerkProps, newInstance } from './support/server.js';
import { serveApplication, serveBeside } from './support/site.js';

let site;
before(async () => {
  site = await serveApplication(clerkProps);
});
after(() => site.close());

browserTest('passkeys', async (visit) => {
  const { page, context } = visit;
  const device = await withPasskeys(visit);
  const person = await newPerson();
  // The device is not at hand yet: pages that offer passkeys by themselves get no answer.
  await device.setPresent(false);
  await signIn(page, `${site.url}/sign-in`, person);
  await isSignedIn(page, person.email);

  await device.setPresent(true);
  await page.goto(`${site.url}/profile#/security`);
  await press(page, 'Add a passkey');
  await page.getByRole('button', { name: /open menu/i }).first().waitFor();
  assert.equal((await device.credentials()).length, 1);
  assert.equal((await device.credentials())[0].rpId, new URL(site.url).hostname);
  await visit.picture('passkey registered');

  await openMenu(page, 'Rename');
  await field(page, 'passkeyName').fill('Test device');
  await press(page, 'Save');
  await sees(page, 'Test device');
  const { data: [user] } = await clerk.users.getUserList({ emailAddress: [person.email] });

  // Autofill: the page offers passkeys by itself, and the device answers.
  await context.clearCookies();
  await page.goto(`${site.url}/sign-in`);
  await isSignedIn(page, person.email);

  // The link on the page.
  await device.setPresent(false);
  await context.clearCookies();
  await page.goto(`${site.url}/sign-in`);
  await field(page, 'identifier').waitFor();
  await visit.picture('passkey link');
  await device.setPresent(true);
  await link(page, /use passkey instead/i);
  await isSignedIn(page, person.email);

  // After saying who one is.
  await device.setPresent(false);
  await context.clearCookies();
  await page.goto(`${site.url}/sign-in`);
  await enterIdentifier(page, person.email);
  await sees(page, /use your passkey/i);
  await visit.picture('passkey as first factor');
  await device.setPresent(true);
  await press(page, 'Continue');
  await isSignedIn(page, person.email);

  await page.goto(`${site.url}/profile#/security`);
  await sees(page, 'Test device');
  await openMenu(page, 'Remove');
  await press(page, 'Remove');
  await page.getByText('Test device').first().waitFor({ state: 'detached' });
  const answer = await clerk.users.getUser(user.id);
  assert.deepEqual(answer.raw?.passkeys ?? [], []);
});

browserTest('a passkey stands for both factors, where the settings do not say otherwise', async (visit) => {
  const { page, context } = visit;
  const instance = await newInstance('attributes.passkey.enabled=true');
  const own = await serveBeside(instance);
  const device = await withPasskeys(visit);
  const person = await newPerson({ api: instance.clerk });
  await device.setPresent(false);
  await signIn(page, `${own.url}/sign-in`, person);
  await isSignedIn(page, person.email);
  await device.setPresent(true);
  await page.goto(`${own.url}/profile#/security`);
  await press(page, 'Add a passkey');
  await page.getByRole('button', { name: /open menu/i }).first().waitFor();
  await instance.clerk.users.updateUser(person.id, { totpSecret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' });

  await context.clearCookies();
  await page.goto(`${own.url}/sign-in`);
  await isSignedIn(page, person.email);

  await instance.set('passkey_settings.satisfies_second_factor=false');
  await context.clearCookies();
  await page.goto(`${own.url}/sign-in`);
  await page.getByLabel('Enter verification code').first().waitFor();
  await visit.picture('second factor after a passkey');
  own.close();
});

// Pages of @clerk/ui know passkeys as second factors from 1.41.0 on, so the test uses the objects of clerk-js itself.
browserTest('a passkey as second factor of a sign-in and of a reverification', async (visit) => {
  const { page, context } = visit;
  const instance = await newInstance(
    'attributes.passkey.enabled=true',
    'attributes.passkey.second_factors=["passkey"]',
    'passkey_settings.allow_autofill=false',
  );
  const own = await serveBeside(instance);
  await withPasskeys(visit);
  const person = await newPerson({ api: instance.clerk });
  await signIn(page, `${own.url}/sign-in`, person);
  await isSignedIn(page, person.email);
  await page.evaluate(() => window.Clerk.user.createPasskey());
  await instance.clerk.users.updateUser(person.id, { totpSecret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' });

  await context.clearCookies();
  await page.goto(own.url);
  await page.waitForFunction(() => window.Clerk?.loaded);
  const created = page.waitForRequest((request) => /\/v1\/client\/sign_ins\/?\?/.test(request.url()));
  const signedIn = await page.evaluate(async ({ email, password }) => {
    const attempt = await window.Clerk.client.signIn.create({ identifier: email, password });
    const { status, supportedSecondFactors } = attempt;
    const offered = supportedSecondFactors.map((factor) => factor.strategy);
    const done = await attempt.authenticateWithPasskey();
    await window.Clerk.setActive({ session: done.createdSessionId });
    return { status, offered, ages: window.Clerk.session.factorVerificationAge };
  }, person);
  assert.match((await created).url(), /__clerk_api_version=2026-08-20/);
  assert.deepEqual(signedIn, { status: 'needs_second_factor', offered: ['totp', 'passkey'], ages: [0, 0] });

  const verified = await page.evaluate(async () => {
    const { session } = window.Clerk;
    const started = await session.startVerification({ level: 'second_factor' });
    const offered = started.supportedSecondFactors.map((factor) => factor.strategy);
    const done = await session.verifyWithPasskey({ level: 'second_factor' });
    return { offered, status: done.status, ages: done.session.factorVerificationAge };
  });
  assert.deepEqual(verified, { offered: ['totp', 'passkey'], status: 'complete', ages: [0, 0] });
  await own.close();
});

/** Chooses an item of the menu beside the passkey. */
async function openMenu(page, item) {
  await page.getByRole('button', { name: /open menu/i }).first().click();
  await page.getByRole('menuitem', { name: new RegExp(item, 'i') }).click();
}
