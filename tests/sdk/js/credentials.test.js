import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertHas, clerk, newUser, newWallet, refused, request, unknownId } from './support.js';

test('deleteUserWeb3Wallet removes the wallet and frees it', async () => {
  const wallet = newWallet();
  const user = await newUser({ web3Wallet: [wallet] });
  const { id } = user.web3Wallets[0];
  assertHas(user.web3Wallets[0].verification, { status: 'verified', strategy: 'admin' });
  const params = { userId: user.id, web3WalletIdentificationId: id };
  assertHas(await clerk.users.deleteUserWeb3Wallet(params), { object: 'web3_wallet', id, deleted: true });
  assertHas(await clerk.users.getUser(user.id), { web3Wallets: [], primaryWeb3WalletId: null });
  await refused(clerk.users.deleteUserWeb3Wallet(params), 404, 'resource_not_found');
  assert.equal((await newUser({ web3Wallet: [wallet] })).web3Wallets[0].web3Wallet, wallet);
});

test("a wallet is not found through another user's id", async () => {
  const [owner, stranger] = [await newUser({ web3Wallet: [newWallet()] }), await newUser()];
  const params = { userId: stranger.id, web3WalletIdentificationId: owner.web3Wallets[0].id };
  await refused(clerk.users.deleteUserWeb3Wallet(params), 404, 'resource_not_found');
  assert.equal((await clerk.users.getUser(owner.id)).web3Wallets.length, 1);
});

test('a passkey that does not exist is not found', async () => {
  const { id: userId } = await newUser();
  const passkeyIdentificationId = unknownId('idn');
  await refused(clerk.users.deleteUserPasskey({ userId, passkeyIdentificationId }), 404, 'passkey_not_registered');
  await refused(clerk.users.deleteUserPasskey({ userId: unknownId('user'), passkeyIdentificationId }), 404);
});

test('an external account that does not exist is not found', async () => {
  const { id: userId } = await newUser();
  const externalAccountId = unknownId('eac');
  await refused(clerk.users.deleteUserExternalAccount({ userId, externalAccountId }), 404, 'external_account_not_found');
  await refused(clerk.users.deleteUserExternalAccount({ userId: unknownId('user'), externalAccountId }), 404);
});

test('a user without connections has no OAuth access tokens', async () => {
  const { id } = await newUser();
  assert.deepEqual(await clerk.users.getUserOauthAccessToken(id, 'google'), { data: [], totalCount: 0 });
  await refused(clerk.users.getUserOauthAccessToken(unknownId('user'), 'google'), 404, 'resource_not_found');
});

// The SDK has no methods for trusted devices.

test('a user has no trusted devices', async () => {
  const { id } = await newUser();
  const list = await request('GET', `/v1/users/${id}/trusted_devices`);
  assert.deepEqual([list.status, list.body], [200, { data: [], total_count: 0 }]);
  const revoked = await request('DELETE', `/v1/users/${id}/trusted_devices/${unknownId('dev')}`);
  assert.deepEqual([revoked.status, revoked.body.errors[0].code], [404, 'resource_not_found']);
  assert.equal((await request('GET', `/v1/users/${unknownId('user')}/trusted_devices`)).status, 404);
});
