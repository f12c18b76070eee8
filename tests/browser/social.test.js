// Accounts at other providers in a browser: the provider is the one of development instances, whose page asks who to be.
import assert from 'node:assert/strict';
import { before } from 'node:test';

import { browserTest } from './support/browser.js';
import { field, press, sees } from './support/components.js';
import { newInstance } from './support/server.js';

let instance;
let strict;
before(async () => {
  instance = await newInstance('social.custom_mock.enabled=true');
  strict = await newInstance('social.custom_mock.enabled=true', 'attributes.username.required_at_sign_up=true');
});

const isIn = (page) => page.getByRole('heading', { name: 'You are signed in' }).waitFor();
const userOf = (page) => page.evaluate(() => window.Clerk.user?.id);
const socialButton = (page) => page.getByRole('button', { name: /mock/i });
const addressOf = (name) => `${name}.${Date.now()}@example.com`;

/** Is somebody at the provider. */
async function be(page, { email, verified = true, first, last }) {
  await page.getByRole('heading', { name: 'Who do you want to be?' }).waitFor();
  await field(page, 'email_address').fill(email);
  if (!verified) await field(page, 'verified').uncheck();
  if (first) await field(page, 'first_name').fill(first);
  if (last) await field(page, 'last_name').fill(last);
  await press(page, 'Continue');
}

async function only(email) {
  const { data } = await instance.clerk.users.getUserList({ emailAddress: [email] });
  assert.equal(data.length, 1);
  return data[0];
}

browserTest('somebody new goes from the button to an account, and comes back by it', async (visit) => {
  const { page } = visit;
  const email = addressOf('ada');
  await visit.page.goto(`${instance.frontendUrl}/sign-in`);
  await socialButton(page).click();
  await visit.picture('mock provider');
  await be(page, { email, first: 'Ada', last: 'Lovelace' });
  await isIn(page);
  const user = await only(email);
  assert.equal(await userOf(page), user.id);
  assert.equal(user.firstName, 'Ada');
  assert.equal(user.externalAccounts[0].provider, 'oauth_custom_mock');
  assert.equal(user.emailAddresses[0].verification.strategy, 'from_oauth_custom_mock');
  await press(page, 'Sign out');
  await socialButton(page).click();
  await be(page, { email });
  await isIn(page);
  assert.equal(await userOf(page), user.id);
});

browserTest('an account with a proven address is connected to whoever has it', async ({ page }) => {
  const email = addressOf('bob');
  const user = await instance.clerk.users.createUser({ emailAddress: [email], skipPasswordRequirement: true });
  await page.goto(`${instance.frontendUrl}/sign-up`);
  await socialButton(page).click();
  await be(page, { email });
  await isIn(page);
  assert.equal(await userOf(page), user.id);
  assert.equal((await only(email)).externalAccounts.length, 1);
});

browserTest('what is missing is asked for before the account is there', async (visit) => {
  const { page } = visit;
  await page.goto(`${strict.frontendUrl}/sign-up`);
  await socialButton(page).click();
  await be(page, { email: addressOf('carol') });
  await page.getByText('Fill in missing fields').waitFor();
  await visit.picture('missing fields after a provider');
  await field(page, 'username').fill(`carol_${Date.now()}`);
  await press(page, 'Continue');
  await isIn(page);
});

browserTest('whoever denies is told on the page that asked', async (visit) => {
  const { page } = visit;
  await page.goto(`${instance.frontendUrl}/sign-in`);
  await socialButton(page).click();
  await press(page, 'Deny');
  await sees(page, 'You did not grant access to your account.');
  assert.equal(await userOf(page), undefined);
  await socialButton(page).waitFor();
});

browserTest('an account is connected and removed in the profile', async (visit) => {
  const { page } = visit;
  const email = addressOf('dora');
  const user = await instance.clerk.users.createUser({ emailAddress: [email], skipPasswordRequirement: true });
  const { token } = await instance.clerk.signInTokens.createSignInToken({ userId: user.id, expiresInSeconds: 600 });
  await page.goto(`${instance.frontendUrl}/sign-in?__clerk_ticket=${token}`);
  await isIn(page);
  await page.goto(`${instance.frontendUrl}/user`);
  await page.getByRole('button', { name: /connect account/i }).click();
  await page.getByRole('menuitem', { name: /mock/i }).click();
  const other = addressOf('dora.other');
  await be(page, { email: other });
  const item = page.locator('.cl-profileSectionItem__connectedAccounts').filter({ hasText: other });
  await item.waitFor();
  await visit.picture('profile with a connected account');
  const connected = await instance.clerk.users.getUser(user.id);
  assert.equal(connected.externalAccounts[0].emailAddress, other);
  await item.getByRole('button', { name: /open menu/i }).click();
  await page.getByRole('menuitem', { name: /remove/i }).click();
  await press(page, 'Remove');
  await item.waitFor({ state: 'detached' });
  assert.deepEqual((await instance.clerk.users.getUser(user.id)).externalAccounts, []);
});
