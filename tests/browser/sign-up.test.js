import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { browserTest } from './support/browser.js';
import { choosePassword, field, isSignedIn, press, sees, typeCode } from './support/components.js';
import { newEmail, newPassword, newPerson, newTestEmail } from './support/people.js';
import { clerk, clerkProps, nextCode } from './support/server.js';
import { serveApplication } from './support/site.js';

let site;
before(async () => {
  site = await serveApplication(clerkProps);
});
after(() => site.close());

async function fillIn(page, email, password) {
  await page.goto(`${site.url}/sign-up`);
  await field(page, 'emailAddress').fill(email);
  await choosePassword(page, password);
  await press(page, 'Continue');
}

browserTest('sign-up with an email code', async ({ page }) => {
  const email = newEmail();
  await fillIn(page, email, newPassword());
  await typeCode(page, await nextCode(email));
  await isSignedIn(page, email);
  const users = await clerk.users.getUserList({ emailAddress: [email] });
  assert.equal(users.totalCount, 1);
  assert.equal(users.data[0].emailAddresses[0].verification.status, 'verified');
  assert.equal(users.data[0].id, await page.getByTestId('user').textContent());
}, { isSmoke: true });

browserTest('sign-up with a test address and its fixed code', async ({ page }) => {
  const email = newTestEmail();
  await fillIn(page, email, newPassword());
  await typeCode(page, '424242');
  await isSignedIn(page, email);
});

browserTest('sign-up survives a reload while the code is awaited', async ({ page }) => {
  const email = newEmail();
  await fillIn(page, email, newPassword());
  const code = await nextCode(email);
  await page.getByLabel('Enter verification code').first().waitFor();
  await page.reload();
  await typeCode(page, code);
  await isSignedIn(page, email);
});

browserTest('sign-up with a wrong code says so', async ({ page }) => {
  const email = newEmail();
  await fillIn(page, email, newPassword());
  const code = await nextCode(email);
  await typeCode(page, code === '111111' ? '222222' : '111111');
  await sees(page, /incorrect code/i);
});

browserTest('sign-up with an address that is taken says so', async ({ page }) => {
  const { email } = await newPerson();
  await fillIn(page, email, newPassword());
  await sees(page, /email address is taken/i);
});
