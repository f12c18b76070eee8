// A wallet on a production instance: added in the profile, and signed in with on another host.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { before } from 'node:test';

import { Wallet } from 'ethers';

import { isSignedIn, signIn } from '../support/components.js';
import { newPerson } from '../support/people.js';
import { install, METAMASK, shortened } from '../support/wallets.js';
import { apps, frontendUrl, productionTest } from './support/world.js';

before(() => {
  const { LATCHKEY_BIN, LATCHKEY_INSTANCE_ID } = process.env;
  const settings = [
    'enabled=true', 'verify_at_sign_up=true', 'used_for_first_factor=true', `first_factors=["${METAMASK}"]`, `verifications=["${METAMASK}"]`,
  ].map((setting) => `attributes.web3_wallet.${setting}`);
  execFileSync(LATCHKEY_BIN, ['settings', 'set', '--instance', LATCHKEY_INSTANCE_ID, ...settings], { stdio: 'pipe' });
});

productionTest('a wallet that was added signs in', async (visit) => {
  const { page, context } = visit;
  const extension = await install(context);
  const wallet = Wallet.createRandom();
  extension.wallets.push(wallet);
  const person = await newPerson();
  await signIn(page, `${apps.react.url}/sign-in`, person);
  await isSignedIn(page, person.email);
  await visit.step('add it in the profile', async () => {
    await page.goto(`${apps.react.url}/profile`);
    await page.getByRole('button', { name: /connect wallet/i }).click();
    await page.getByRole('menuitem', { name: /metamask/i }).click();
    const address = shortened(wallet.address.toLowerCase());
    await page.locator('.cl-profileSectionItem__web3Wallets').filter({ hasText: address }).waitFor();
  });
  await visit.step('sign in with it on the hosted page', async () => {
    await context.clearCookies();
    await page.goto(`${frontendUrl}/sign-in?redirect_url=${encodeURIComponent(`${apps.react.url}/`)}`);
    await page.getByRole('button', { name: /metamask/i }).click();
    await isSignedIn(page, person.email);
  });
  assert.equal(new URL(`https://${extension.texts[1].split(' ')[0]}`).host, new URL(frontendUrl).host);
}, { others: ['img.clerk.com'] });
