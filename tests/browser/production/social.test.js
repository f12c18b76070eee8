// Accounts at another provider on a production instance: an OpenID provider that is not ours, over TLS.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before } from 'node:test';

import { isSignedIn, isSignedOut, signIn, typeCode } from '../support/components.js';
import { agree, serveProvider } from '../support/oidc.js';
import { newEmail, newPerson, newTestEmail } from '../support/people.js';
import { apps, frontendUrl, productionTest } from './support/world.js';
import { signOut } from './support/steps.js';

// Where the provider is: the server has to find it too, and knows no names of the tests. Its pages want fonts.
const others = ['127.0.0.1', 'fonts.googleapis.com'];

let provider;
before(async () => {
  provider = await serveProvider(`${frontendUrl}/v1/oauth_callback`);
  const { LATCHKEY_BIN, LATCHKEY_INSTANCE_ID } = process.env;
  const settings = [...provider.settings, 'social.custom_acme.allow_private_addresses=true'];
  execFileSync(LATCHKEY_BIN, ['settings', 'set', '--instance', LATCHKEY_INSTANCE_ID, ...settings], { stdio: 'pipe' });
});
after(() => provider.close());

const begin = (page) => page.getByRole('button', { name: /Acme/ }).click();

async function only(email) {
  const { data } = await apps.react.clerk.users.getUserList({ emailAddress: [email] });
  assert.equal(data.length, 1);
  return data[0];
}

productionTest('a provider signs somebody up, and in again', async ({ page }) => {
  const email = newEmail();
  await page.goto(`${apps.react.url}/sign-in`);
  await begin(page);
  await agree(page, email);
  await isSignedIn(page, email);
  const user = await only(email);
  assert.equal(user.externalAccounts[0].provider, 'oauth_custom_acme');
  await signOut(page);
  await isSignedOut(page);
  await page.goto(`${apps.react.url}/sign-in`);
  await begin(page);
  await agree(page);
  await isSignedIn(page, email);
  assert.equal(await page.getByTestId('user').textContent(), user.id);
}, { others });

productionTest('from signing up to the account that somebody has', async ({ page }) => {
  const person = await newPerson();
  await page.goto(`${apps.react.url}/sign-up`);
  await begin(page);
  await agree(page, person.email);
  await isSignedIn(page, person.email);
  assert.equal((await only(person.email)).externalAccounts.length, 1);
}, { others });

productionTest('the hosted page leads to a provider and back to the application', async ({ page }) => {
  const email = newEmail();
  await page.goto(`${frontendUrl}/sign-in?redirect_url=${encodeURIComponent(`${apps.react.url}/`)}`);
  await begin(page);
  await agree(page, email);
  await isSignedIn(page, email);
}, { others });

productionTest('an account is connected in the profile', async ({ page }) => {
  const person = await newPerson();
  await signIn(page, `${apps.react.url}/sign-in`, person);
  await isSignedIn(page, person.email);
  await page.goto(`${apps.react.url}/profile`);
  await page.getByRole('button', { name: /connect account/i }).click();
  await page.getByRole('menuitem', { name: /Acme/ }).click();
  const email = newEmail();
  await agree(page, email);
  await page.locator('.cl-profileSectionItem__connectedAccounts').filter({ hasText: email }).waitFor();
  const user = await apps.react.clerk.users.getUser(person.id);
  assert.equal(user.externalAccounts[0].emailAddress, email);
}, { others });

productionTest('a window of its own leads to the provider, and the page goes on', async (visit) => {
  const { page, context } = visit;
  const email = newEmail();
  await page.goto(`${apps.react.url}/sign-in-by-window`);
  const [window] = await Promise.all([context.waitForEvent('page'), begin(page)]);
  const closed = window.waitForEvent('close');
  await agree(window, email);
  await closed;
  await isSignedIn(page, email);
  await visit.picture('production signed in by a window');
  const opened = visit.requests.filter((url) => new URL(url).pathname === '/popup-callback');
  assert.equal(new URL(opened[0]).host, 'accounts.acme.co.uk');
}, { others });

productionTest('whoever denies is told so', async ({ page }) => {
  await page.goto(`${apps.react.url}/sign-in`);
  await begin(page);
  await page.getByRole('link', { name: /cancel/i }).click();
  await page.getByText('You did not grant access').first().waitFor();
}, { others });

productionTest('what is missing is asked for', async ({ page }) => {
  // The provider has not verified the address; its code is 424242.
  const email = `unproven.${newTestEmail()}`;
  await page.goto(`${apps.react.url}/sign-up`);
  await begin(page);
  await agree(page, email);
  await typeCode(page, '424242');
  await isSignedIn(page, email);
  assert.equal((await only(email)).externalAccounts[0].emailAddress, email);
}, { others });

productionTest('an account is asked for what the application wants to do with it', async ({ page }) => {
  const email = newEmail();
  await page.goto(`${apps.react.url}/sign-up`);
  await begin(page);
  await agree(page, email);
  await isSignedIn(page, email);
  await page.goto(`${apps.react.url}/profile?custom_acme=calendar`);
  await page.getByRole('button', { name: 'Reconnect' }).click();
  await agree(page);
  await page.waitForURL(/profile/);
  await page.locator('.cl-profileSectionItem__connectedAccounts').filter({ hasText: email }).waitFor();
  assert.match((await only(email)).externalAccounts[0].approvedScopes, /calendar/);
}, { others });
