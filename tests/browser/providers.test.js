// Accounts at a provider that is not ours: an OpenID provider of its own, known by discovery, and in the place of Google.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { browserTest } from './support/browser.js';
import { isSignedIn, isSignedOut } from './support/components.js';
import { agree, serveProvider } from './support/oidc.js';
import { newEmail } from './support/people.js';
import { newInstance } from './support/server.js';
import { serveBeside } from './support/site.js';

const running = [];
/** An instance, its provider, and an application of it. */
async function world(options) {
  const instance = await newInstance();
  const provider = await serveProvider(`${instance.frontendUrl}/v1/oauth_callback`, options);
  await instance.set(...provider.settings);
  const site = await serveBeside(instance);
  running.push(provider, site);
  return { instance, provider, url: site.url };
}

let acme;
let google;
before(async () => {
  acme = await world();
  google = await world({ google: true });
});
after(() => running.forEach((server) => server.close()));

async function only({ instance }, email) {
  const { data } = await instance.clerk.users.getUserList({ emailAddress: [email] });
  assert.equal(data.length, 1);
  return data[0];
}

const begin = (page, name) => page.getByRole('button', { name: new RegExp(name, 'i') }).click();
const userOf = (page) => page.getByTestId('user').textContent();

async function signOut(page) {
  await page.getByRole('button', { name: /open user/i }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await isSignedOut(page);
}

// The pages of the provider want fonts.
const others = ['fonts.googleapis.com'];

browserTest('an OpenID provider signs people up and in, and its tokens are renewed', async (visit) => {
  const { page } = visit;
  const email = newEmail();
  await page.goto(`${acme.url}/sign-in`);
  await begin(page, 'Acme');
  await agree(page, email);
  await isSignedIn(page, email);
  const user = await only(acme, email);
  assert.equal(await userOf(page), user.id);
  assert.equal(`${user.firstName} ${user.lastName}`, 'Ada Lovelace');
  assert.equal(user.externalAccounts[0].externalId, email);

  const tokenOf = async () => (await acme.instance.clerk.users.getUserOauthAccessToken(user.id, 'custom_acme')).data[0];
  const [first, second] = [await tokenOf(), await tokenOf()];
  assert.notEqual(first.token, second.token);
  assert.ok(acme.provider.answers.includes('refresh_token'), `${acme.provider.answers}`);
  assert.ok(second.scopes.includes('offline_access'));

  await signOut(page);
  await page.goto(`${acme.url}/sign-in`);
  await begin(page, 'Acme');
  await agree(page);
  await isSignedIn(page, email);
  assert.equal(await userOf(page), user.id);
}, { others });

browserTest('an address that an OpenID provider has not verified is verified here', async ({ page }) => {
  const email = `unproven.${newEmail()}`;
  await page.goto(`${acme.url}/sign-up`);
  await begin(page, 'Acme');
  await agree(page, email);
  const { code } = await acme.instance.nextMessage(email);
  await page.getByLabel('Enter verification code').first().pressSequentially(code, { delay: 15 });
  await isSignedIn(page, email);
}, { others });

browserTest('an account in the profile is asked for what the application wants to do with it', async (visit) => {
  const { page } = visit;
  const email = newEmail();
  await page.goto(`${google.url}/sign-up`);
  await begin(page, 'Google');
  await agree(page, email);
  await isSignedIn(page, email);
  const scopes = async () => (await only(google, email)).externalAccounts[0].approvedScopes.split(' ');
  assert.ok(!(await scopes()).includes('calendar'));

  await page.goto(`${google.url}/profile?google=calendar`);
  const account = page.locator('.cl-profileSectionItem__connectedAccounts').filter({ hasText: email });
  await account.waitFor();
  await visit.picture('profile with an account that must agree to more');
  await page.getByRole('button', { name: 'Reconnect' }).click();
  await agree(page);
  await page.waitForURL(/profile/);
  await account.waitFor();
  assert.ok((await scopes()).includes('calendar'), `${await scopes()}`);
  assert.equal(google.provider.answers.filter((grant) => grant !== 'authorization_code').length, 0);
}, { others });
