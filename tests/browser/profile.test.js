import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { browserTest, Visit } from './support/browser.js';
import { field, isSignedIn, isSignedOut, press, sees, signIn, typeCode } from './support/components.js';
import { newEmail, newPerson } from './support/people.js';
import { clerk, clerkProps, nextCode } from './support/server.js';
import { serveApplication } from './support/site.js';

let site;
before(async () => {
  site = await serveApplication(clerkProps);
});
after(() => site.close());

browserTest('second email address, verified by code', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  await signIn(page, `${site.url}/sign-in`, person);
  await isSignedIn(page, person.email);
  await page.goto(`${site.url}/profile`);
  await press(page, 'Add email address');
  const second = newEmail();
  await field(page, 'emailAddress').fill(second);
  await visit.picture('profile with the form for an address');
  await press(page, 'Add');
  await typeCode(page, await nextCode(second));
  await page.locator('.cl-profileSectionItem__emailAddresses').getByText(second, { exact: true }).waitFor();
  // The form goes away when the address is verified.
  await page.getByLabel('Enter verification code').first().waitFor({ state: 'detached' });

  const user = await clerk.users.getUser(person.id);
  const added = user.emailAddresses.find(({ emailAddress }) => emailAddress === second);
  assert.equal(added.verification.status, 'verified');
  assert.equal(user.primaryEmailAddress.emailAddress, person.email);
});

browserTest('another session is revoked from the profile', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  const elsewhere = await Visit.start();
  try {
    await signIn(elsewhere.page, `${site.url}/sign-in`, person);
    await isSignedIn(elsewhere.page, person.email);
    await signIn(page, `${site.url}/sign-in`, person);
    await isSignedIn(page, person.email);

    await page.goto(`${site.url}/profile#/security`);
    const devices = page.locator('.cl-activeDeviceListItem');
    await devices.nth(1).waitFor();
    assert.equal(await devices.count(), 2);
    await visit.picture('active devices');
    const other = devices.filter({ hasNotText: 'This device' });
    await other.getByRole('button').click();
    const revoked = page.waitForResponse((response) => /\/v1\/me\/sessions\/\w+\/revoke/.test(response.url()));
    await page.getByRole('menuitem', { name: /sign out of device/i }).click();
    assert.equal((await (await revoked).json()).response.status, 'revoked');
    // The component draws its list anew with the next change, so its person loads the page.
    await page.reload();
    await sees(page, 'This device');
    assert.equal(await devices.count(), 1);

    await elsewhere.page.reload();
    await isSignedOut(elsewhere.page);
    await page.goto(site.url);
    await isSignedIn(page, person.email);
  } finally {
    await elsewhere.close();
  }
});
