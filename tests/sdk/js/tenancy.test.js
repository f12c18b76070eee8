import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import { clerk, newEmail, newPassword, newPhone, newTotpSecret, newWallet, otherClerk, otherSecretKey, png, refused, request } from './support.js';

// Everything here is done with the key of another instance than the user's.

let user;
let email;
let phone;

before(async () => {
  user = await clerk.users.createUser({
    emailAddress: [newEmail(), newEmail()],
    phoneNumber: [newPhone()],
    web3Wallet: [newWallet()],
    password: newPassword(),
    totpSecret: newTotpSecret(),
    publicMetadata: { secret: 'ours' },
  });
  email = user.emailAddresses[0];
  phone = user.phoneNumbers[0];
});

test('a user of another instance is not found by any method', async (t) => {
  const { users } = otherClerk;
  const { id } = user;
  const calls = {
    getUser: () => users.getUser(id),
    updateUser: () => users.updateUser(id, { firstName: 'Mallory' }),
    updateUserMetadata: () => users.updateUserMetadata(id, { publicMetadata: { taken: true } }),
    replaceUserMetadata: () => users.replaceUserMetadata(id, { publicMetadata: {} }),
    replaceUserEmailAddress: () => users.replaceUserEmailAddress(id, { emailAddress: newEmail() }),
    replaceUserPhoneNumber: () => users.replaceUserPhoneNumber(id, { phoneNumber: newPhone() }),
    updateUserProfileImage: () => users.updateUserProfileImage(id, { file: new Blob([png(8, 8)], { type: 'image/png' }) }),
    deleteUserProfileImage: () => users.deleteUserProfileImage(id),
    banUser: () => users.banUser(id),
    unbanUser: () => users.unbanUser(id),
    lockUser: () => users.lockUser(id),
    unlockUser: () => users.unlockUser(id),
    removePassword: () => users.removePassword(id),
    verifyPassword: () => users.verifyPassword({ userId: id, password: newPassword() }),
    verifyTOTP: () => users.verifyTOTP({ userId: id, code: '000000' }),
    setPasswordCompromised: () => users.setPasswordCompromised(id),
    unsetPasswordCompromised: () => users.unsetPasswordCompromised(id),
    disableUserMFA: () => users.disableUserMFA(id),
    deleteUserTOTP: () => users.deleteUserTOTP(id),
    deleteUserBackupCodes: () => users.deleteUserBackupCodes(id),
    getUserOauthAccessToken: () => users.getUserOauthAccessToken(id, 'google'),
    deleteUserWeb3Wallet: () => users.deleteUserWeb3Wallet({ userId: id, web3WalletIdentificationId: user.web3Wallets[0].id }),
    deleteUserPasskey: () => users.deleteUserPasskey({ userId: id, passkeyIdentificationId: email.id }),
    deleteUserExternalAccount: () => users.deleteUserExternalAccount({ userId: id, externalAccountId: email.id }),
    deleteUser: () => users.deleteUser(id),
    createEmailAddress: () => otherClerk.emailAddresses.createEmailAddress({ userId: id, emailAddress: newEmail() }),
    createPhoneNumber: () => otherClerk.phoneNumbers.createPhoneNumber({ userId: id, phoneNumber: newPhone() }),
  };
  for (const [name, call] of Object.entries(calls)) {
    await t.test(name, () => refused(call(), 404, 'resource_not_found'));
  }
  assert.deepEqual((await clerk.users.getUser(id)).raw, user.raw);
});

test('email addresses and phone numbers of another instance are not found', async () => {
  const { emailAddresses, phoneNumbers } = otherClerk;
  await refused(emailAddresses.getEmailAddress(email.id), 404, 'resource_not_found');
  await refused(emailAddresses.updateEmailAddress(email.id, { verified: false }), 404, 'resource_not_found');
  await refused(emailAddresses.deleteEmailAddress(email.id), 404, 'resource_not_found');
  await refused(phoneNumbers.getPhoneNumber(phone.id), 404, 'resource_not_found');
  await refused(phoneNumbers.updatePhoneNumber(phone.id, { verified: false }), 404, 'resource_not_found');
  await refused(phoneNumbers.deletePhoneNumber(phone.id), 404, 'resource_not_found');
  for (const path of [`email_addresses/${email.id}`, `phone_numbers/${phone.id}`]) {
    assert.equal((await request('POST', `/v1/${path}/prepare_verification`, { key: otherSecretKey })).status, 404);
  }
  assert.deepEqual((await clerk.users.getUser(user.id)).raw, user.raw);
});

test('bulk operations and trusted devices do not reach another instance', async () => {
  await request('POST', '/v1/users/ban', { key: otherSecretKey, body: { user_ids: [user.id] } });
  assert.equal((await clerk.users.getUser(user.id)).banned, false);
  assert.equal((await request('GET', `/v1/users/${user.id}/trusted_devices`, { key: otherSecretKey })).status, 404);
});

test('lists, searches and counts do not see another instance', async () => {
  for (const params of [
    { userId: [user.id] },
    { emailAddress: [email.emailAddress] },
    { phoneNumber: [phone.phoneNumber] },
    { query: email.emailAddress },
    { emailAddressQuery: email.emailAddress },
  ]) {
    assert.deepEqual(await otherClerk.users.getUserList(params), { data: [], totalCount: 0 });
    assert.equal((await clerk.users.getUserList(params)).data[0].id, user.id);
  }
});

test('the same identifiers may exist in two instances', async () => {
  const twin = await otherClerk.users.createUser({ emailAddress: [email.emailAddress], phoneNumber: [phone.phoneNumber] });
  assert.notEqual(twin.id, user.id);
  assert.equal(twin.primaryEmailAddress.emailAddress, email.emailAddress);
  await refused(clerk.users.getUser(twin.id), 404, 'resource_not_found');
  await otherClerk.users.deleteUser(twin.id);
  assert.deepEqual((await clerk.users.getUser(user.id)).raw, user.raw);
});
