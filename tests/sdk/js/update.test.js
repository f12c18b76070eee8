import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  assertHas,
  clerk,
  newEmail,
  newPassword,
  newPhone,
  newUser,
  newUsername,
  newWallet,
  refused,
  request,
  unique,
  unknownId,
} from './support.js';

test('an update changes what it names and nothing else', async () => {
  const [username, externalId] = [newUsername(), unique()];
  const user = await newUser({ firstName: 'Grace', lastName: 'Murray', publicMetadata: { kept: true } });
  const updated = await clerk.users.updateUser(user.id, {
    lastName: 'Hopper',
    username,
    externalId,
    locale: 'fr-FR',
    timezone: 'America/New_York',
    deleteSelfEnabled: false,
    createOrganizationEnabled: false,
    createOrganizationsLimit: 5,
    createdAt: new Date('2019-12-09T00:00:00.000Z'),
    legalAcceptedAt: new Date('2019-12-10T00:00:00.000Z'),
  });
  assertHas(updated, {
    id: user.id,
    firstName: 'Grace',
    lastName: 'Hopper',
    username,
    externalId,
    locale: 'fr-FR',
    timezone: 'America/New_York',
    deleteSelfEnabled: false,
    createOrganizationEnabled: false,
    createOrganizationsLimit: 5,
    createdAt: Date.UTC(2019, 11, 9),
    legalAcceptedAt: Date.UTC(2019, 11, 10),
    publicMetadata: { kept: true },
    primaryEmailAddressId: user.primaryEmailAddressId,
  });
  assert.ok(updated.updatedAt >= user.updatedAt);
  assert.deepEqual((await clerk.users.getUser(user.id)).raw, updated.raw);
});

test('an update without parameters answers the user unchanged', async () => {
  const user = await newUser({ firstName: 'Same' });
  const { updated_at: _, ...unchanged } = (await clerk.users.updateUser(user.id)).raw;
  assertHas(user.raw, unchanged);
});

test('names, username and external id can be removed', async () => {
  const user = await newUser({ firstName: 'Ada', lastName: 'Byron', username: newUsername(), externalId: unique() });
  const updated = await clerk.users.updateUser(user.id, { firstName: null, lastName: null, username: null, externalId: null });
  assertHas(updated, { firstName: null, lastName: null, username: null, externalId: null });

  await clerk.users.updateUser(user.id, { username: newUsername() });
  assert.equal((await clerk.users.updateUser(user.id, { username: '' })).username, null);
});

test('the primary email address, phone number and wallet can be chosen', async () => {
  const [email, phone, wallet] = [newEmail(), newPhone(), newWallet()];
  const user = await newUser({
    emailAddress: [newEmail(), email],
    phoneNumber: [newPhone(), phone],
    web3Wallet: [newWallet(), wallet],
  });
  const updated = await clerk.users.updateUser(user.id, {
    primaryEmailAddressID: user.emailAddresses.find((item) => item.emailAddress === email).id,
    primaryPhoneNumberID: user.phoneNumbers.find((item) => item.phoneNumber === phone).id,
    primaryWeb3WalletID: user.web3Wallets.find((item) => item.web3Wallet === wallet).id,
    notifyPrimaryEmailAddressChanged: false,
  });
  assert.equal(updated.primaryEmailAddress.emailAddress, email);
  assert.equal(updated.primaryPhoneNumber.phoneNumber, phone);
  assert.equal(updated.primaryWeb3Wallet.web3Wallet, wallet);
});

test('an unverified email address cannot become primary', async () => {
  const user = await newUser();
  const unverified = await clerk.emailAddresses.createEmailAddress({ userId: user.id, emailAddress: newEmail() });
  await refused(clerk.users.updateUser(user.id, { primaryEmailAddressID: unverified.id }), 422, undefined, 'primary_email_address_id');
  assert.equal((await clerk.users.getUser(user.id)).primaryEmailAddressId, user.primaryEmailAddressId);
});

test("another user's email address cannot become primary", async () => {
  const [user, stranger] = [await newUser(), await newUser()];
  const steal = clerk.users.updateUser(user.id, { primaryEmailAddressID: stranger.primaryEmailAddressId });
  await refused(steal, 422, undefined, 'primary_email_address_id');
});

test('a changed password replaces the old one', async () => {
  const [old, password] = [newPassword(), newPassword()];
  const user = await newUser({ password: old });
  await clerk.users.updateUser(user.id, { password, signOutOfOtherSessions: true });
  assert.deepEqual(await clerk.users.verifyPassword({ userId: user.id, password }), { verified: true });
  await refused(clerk.users.verifyPassword({ userId: user.id, password: old }), 422, 'incorrect_password');
});

test('refused updates change nothing', async (t) => {
  const taken = newUsername();
  await newUser({ username: taken });
  const user = await newUser({ firstName: 'Alan', password: newPassword() });
  const before = (await clerk.users.getUser(user.id)).raw;
  const cases = [
    [{ username: taken }, 'form_identifier_exists', 'username'],
    [{ username: 'a!' }, undefined, 'username'],
    [{ password: 'short' }, 'form_password_length_too_short', 'password'],
    [{ createdAt: new Date(Date.now() + 86_400_000) }, 'form_disallow_future_date', 'created_at'],
    [{ totpSecret: 'not base32!' }, 'invalid_totp_secret_code', 'totp_secret'],
    [{ passwordDigest: 'nonsense', passwordHasher: 'argon2id' }, 'form_password_digest_invalid_code', 'password_digest'],
    [{ signOutOfOtherSessions: true }, undefined, undefined],
    [{ banned: true }, 'form_param_unknown', 'banned'],
    [{ emailAddress: [newEmail()] }, 'form_param_unknown', 'email_address'],
  ];
  for (const [params, code, paramName] of cases) {
    await t.test(Object.keys(params).join(' and '), async () => {
      await refused(clerk.users.updateUser(user.id, { firstName: 'Changed', ...params }), 422, code, paramName);
      assert.deepEqual((await clerk.users.getUser(user.id)).raw, before);
    });
  }
});

test('an update of an unknown user is not found', async () => {
  await refused(clerk.users.updateUser(unknownId('user'), { firstName: 'Nobody' }), 404, 'resource_not_found');
});

test('metadata in an update is replaced up to version 2025-11-10 and refused after it', async () => {
  const user = await newUser({ publicMetadata: { a: 1, b: 2 } });
  const update = (version) =>
    request('PATCH', `/v1/users/${user.id}`, {
      headers: { 'clerk-api-version': version },
      body: { public_metadata: { version } },
    });
  for (const version of ['2021-02-05', '2024-10-01', '2025-04-10', '2025-11-10']) {
    const answer = await update(version);
    assert.deepEqual([answer.status, answer.body.public_metadata], [200, { version }]);
  }
  const answer = await update('2026-05-12');
  assert.deepEqual([answer.status, answer.body.errors[0].code], [422, 'form_param_unknown']);
  assert.equal(answer.body.errors[0].meta.param_name, 'public_metadata');
});
