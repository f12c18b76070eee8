// Wallets in a browser: an extension is injected as extensions are, and signs with a real key.
import assert from 'node:assert/strict';
import { before } from 'node:test';

import { Wallet } from 'ethers';

import { browserTest } from './support/browser.js';
import { press, sees } from './support/components.js';
import { newInstance } from './support/server.js';
import { install, METAMASK, shortened } from './support/wallets.js';

let instance;
before(async () => {
  instance = await newInstance(
    'attributes.web3_wallet.enabled=true',
    'attributes.web3_wallet.used_for_first_factor=true',
    `attributes.web3_wallet.first_factors=["${METAMASK}"]`,
    `attributes.web3_wallet.verifications=["${METAMASK}"]`,
    'attributes.web3_wallet.verify_at_sign_up=true',
    'attributes.email_address.required_at_sign_up=false',
    'attributes.password.required_at_sign_up=false',
  );
});

const signInBy = (page) => page.getByRole('button', { name: /metamask/i }).click();
const isIn = (page) => page.getByRole('heading', { name: 'You are signed in' }).waitFor();
const userOf = (page) => page.evaluate(() => window.Clerk.user?.id);

async function holderOf(address) {
  const { data } = await instance.clerk.users.getUserList({ web3Wallet: [address] });
  assert.equal(data.length, 1);
  return data[0];
}

browserTest('an unknown wallet signs up, signs out and signs in again', async (visit) => {
  const { page, context } = visit;
  const extension = await install(context);
  const wallet = Wallet.createRandom();
  extension.wallets.push(wallet);

  await page.goto(`${instance.frontendUrl}/sign-in`);
  await page.getByRole('button', { name: /metamask/i }).waitFor();
  await visit.picture('sign-in with a wallet');
  await signInBy(page);
  await isIn(page);
  const user = await userOf(page);
  const holder = await holderOf(wallet.address);
  assert.equal(holder.id, user);
  assert.equal(holder.web3Wallets[0].web3Wallet, wallet.address.toLowerCase());
  assert.equal(holder.web3Wallets[0].verification.strategy, METAMASK);
  assert.equal(holder.primaryWeb3WalletId, holder.web3Wallets[0].id);
  // The text names the page, as extensions compare it, and the account as they write it.
  const { host } = new URL(instance.frontendUrl);
  assert.ok(extension.texts[0].startsWith(`${host} wants you to sign in with your Ethereum account:\n${wallet.address}\n`));

  await press(page, 'Sign out');
  await page.getByRole('button', { name: /metamask/i }).waitFor();
  await page.goto(`${instance.frontendUrl}/sign-in`);
  await signInBy(page);
  await isIn(page);
  assert.equal(await userOf(page), user);
  assert.equal(extension.texts.length, 2);
  assert.notEqual(extension.texts[0], extension.texts[1]);
});

browserTest('a signature by another account is refused', async ({ page, context }) => {
  const extension = await install(context);
  const wallet = Wallet.createRandom();
  const thief = Wallet.createRandom();
  await instance.clerk.users.createUser({ web3Wallet: [wallet.address] });
  extension.wallets.push({ address: wallet.address, signMessage: (bytes) => thief.signMessage(bytes) });
  await page.goto(`${instance.frontendUrl}/sign-in`);
  await signInBy(page);
  await sees(page, 'This signature does not prove that the wallet is yours.');
  assert.equal(await userOf(page), undefined);
});

browserTest('a wallet is added and removed in the profile', async (visit) => {
  const { page, context } = visit;
  const extension = await install(context);
  const wallet = Wallet.createRandom();
  const user = await instance.clerk.users.createUser({ username: `holder_${Date.now()}`, skipPasswordRequirement: true });
  const { token } = await instance.clerk.signInTokens.createSignInToken({ userId: user.id, expiresInSeconds: 600 });
  await page.goto(`${instance.frontendUrl}/sign-in?__clerk_ticket=${token}`);
  await isIn(page);
  extension.wallets.push(wallet);

  await page.goto(`${instance.frontendUrl}/user`);
  await page.getByRole('button', { name: /connect wallet/i }).click();
  await page.getByRole('menuitem', { name: /metamask/i }).click();
  const item = page.locator('.cl-profileSectionItem__web3Wallets').filter({ hasText: shortened(wallet.address.toLowerCase()) });
  await item.waitFor();
  await item.getByText('Primary').waitFor();
  await visit.picture('profile with a wallet');
  assert.equal((await holderOf(wallet.address)).id, user.id);

  await item.getByRole('button').click();
  await page.getByRole('menuitem', { name: /remove wallet/i }).click();
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await item.waitFor({ state: 'detached' });
  const { web3Wallets } = await instance.clerk.users.getUser(user.id);
  assert.deepEqual(web3Wallets, []);
});
