import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  assertHas,
  clerk,
  idOf,
  newEmail,
  newPhone,
  newUser,
  newUsername,
  newestMessage,
  otherSecretKey,
  refused,
  request,
  unique,
  unknownId,
} from './support.js';

const create = (userId, params = {}) => clerk.emailAddresses.createEmailAddress({ userId, emailAddress: newEmail(), ...params });
const primaryOf = async (userId) => (await clerk.users.getUser(userId)).primaryEmailAddressId;

test('a new email address is neither verified nor primary', async () => {
  const user = await newUser();
  const emailAddress = newEmail();
  const created = await create(user.id, { emailAddress });
  assert.match(created.id, idOf('idn'));
  assertHas(created, { emailAddress, linkedTo: [] });
  assert.notEqual(created.verification?.status, 'verified');
  assert.deepEqual(await clerk.emailAddresses.getEmailAddress(created.id), created);
  assert.equal(await primaryOf(user.id), user.primaryEmailAddressId);
  assert.equal((await clerk.users.getUser(user.id)).emailAddresses.length, 2);
});

test('a new email address can be verified and primary at once', async () => {
  const user = await newUser();
  const created = await create(user.id, { verified: true, primary: true, notifyPrimaryEmailAddressChanged: false });
  assertHas(created.verification, { status: 'verified', strategy: 'admin' });
  assert.equal(await primaryOf(user.id), created.id);
});

test('the first email address of a user becomes primary', async () => {
  const user = await clerk.users.createUser({ username: newUsername() });
  const created = await create(user.id, { verified: true });
  assert.equal(await primaryOf(user.id), created.id);
});

test('an email address can be marked verified, unverified and primary', async () => {
  const user = await newUser();
  const { id } = await create(user.id);
  assertHas((await clerk.emailAddresses.updateEmailAddress(id, { verified: true })).verification, { status: 'verified', strategy: 'admin' });
  await clerk.emailAddresses.updateEmailAddress(id, { primary: true });
  assert.equal(await primaryOf(user.id), id);
  await clerk.emailAddresses.updateEmailAddress(user.primaryEmailAddressId, { primary: true });
  assert.equal(await primaryOf(user.id), user.primaryEmailAddressId);
  assert.notEqual((await clerk.emailAddresses.updateEmailAddress(id, { verified: false })).verification?.status, 'verified');
});

test('an update without parameters changes nothing', async () => {
  const { id } = await create((await newUser()).id, { verified: true });
  assert.deepEqual(await clerk.emailAddresses.updateEmailAddress(id), await clerk.emailAddresses.getEmailAddress(id));
});

test('a deleted email address is gone and free again', async () => {
  const user = await newUser();
  const { id, emailAddress } = await create(user.id, { verified: true });
  assertHas(await clerk.emailAddresses.deleteEmailAddress(id), { object: 'email_address', id, deleted: true });
  await refused(clerk.emailAddresses.getEmailAddress(id), 404, 'resource_not_found');
  await refused(clerk.emailAddresses.deleteEmailAddress(id), 404, 'resource_not_found');
  assert.equal((await newUser({ emailAddress: [emailAddress] })).emailAddresses[0].emailAddress, emailAddress);
});

test('deleting the primary email address promotes another verified one', async () => {
  const user = await newUser();
  await create(user.id);
  const verified = await create(user.id, { verified: true });
  await clerk.emailAddresses.deleteEmailAddress(user.primaryEmailAddressId);
  assert.equal(await primaryOf(user.id), verified.id);
});

test('the last identification of a user cannot be deleted', async () => {
  const user = await newUser();
  await refused(clerk.emailAddresses.deleteEmailAddress(user.primaryEmailAddressId), 400);
  assert.equal(await primaryOf(user.id), user.primaryEmailAddressId);
});

test('malformed requests are refused', async () => {
  const { id: userId } = await newUser();
  await refused(create(userId, { emailAddress: 'no-at-sign' }), 422, 'form_param_format_invalid', 'email_address');
  await refused(clerk.emailAddresses.createEmailAddress({ userId }), 422, 'form_param_missing', 'email_address');
  await refused(clerk.emailAddresses.createEmailAddress({ emailAddress: newEmail() }), 422, 'form_param_missing', 'user_id');
  await refused(create(unknownId('user')), 404, 'resource_not_found');
  await refused(clerk.emailAddresses.getEmailAddress(unknownId('idn')), 404, 'resource_not_found');
  await refused(clerk.emailAddresses.updateEmailAddress(unknownId('idn'), { verified: true }), 404, 'resource_not_found');
});

test('a phone number is not found as an email address', async () => {
  const user = await newUser({ phoneNumber: [newPhone()] });
  await refused(clerk.emailAddresses.getEmailAddress(user.phoneNumbers[0].id), 404, 'resource_not_found');
});

test('a verified email address belongs to one user', async () => {
  const emailAddress = newEmail();
  await newUser({ emailAddress: [emailAddress] });
  const { id: userId } = await newUser();
  await refused(create(userId, { emailAddress, verified: true }), 422, 'form_identifier_exists', 'email_address');
});

test('an unverified email address may be shared until one user verifies it', async () => {
  const emailAddress = newEmail();
  const first = await create((await newUser()).id, { emailAddress });
  const second = await create((await newUser()).id, { emailAddress });
  await clerk.emailAddresses.updateEmailAddress(first.id, { verified: true });
  await assert.rejects(clerk.emailAddresses.updateEmailAddress(second.id, { verified: true }));
  const { verification } = await clerk.emailAddresses.getEmailAddress(second.id);
  assert.notEqual(verification?.status, 'verified');
});

test('replaceUserEmailAddress leaves one verified primary address', async () => {
  const [old, emailAddress] = [newEmail(), newEmail()];
  const user = await newUser({ emailAddress: [old, newEmail()] });
  const replacement = await clerk.users.replaceUserEmailAddress(user.id, { emailAddress });
  assertHas(replacement, { emailAddress, linkedTo: [] });
  assertHas(replacement.verification, { status: 'verified', strategy: 'admin' });
  const { emailAddresses, primaryEmailAddressId } = await clerk.users.getUser(user.id);
  assert.deepEqual(emailAddresses, [replacement]);
  assert.equal(primaryEmailAddressId, replacement.id);
  assert.equal((await newUser({ emailAddress: [old] })).emailAddresses[0].emailAddress, old);
});

test('replaceUserEmailAddress takes the current address again', async () => {
  const emailAddress = newEmail();
  const user = await newUser({ emailAddress: [newEmail(), emailAddress] });
  await clerk.users.replaceUserEmailAddress(user.id, { emailAddress });
  const { emailAddresses } = await clerk.users.getUser(user.id);
  assert.deepEqual(emailAddresses.map((item) => item.emailAddress), [emailAddress]);
});

test('replaceUserEmailAddress creates reserved and unverified addresses', async () => {
  const { id } = await newUser({ username: newUsername() });
  for (const [identificationStatus, reserved] of [['reserved', true], ['unverified', false]]) {
    const emailAddress = newEmail();
    await clerk.users.replaceUserEmailAddress(id, { emailAddress, identificationStatus, notifyPrimaryEmailAddressChanged: null });
    const [address] = (await clerk.users.getUser(id)).raw.email_addresses;
    assertHas(address, { email_address: emailAddress, reserved });
    assert.notEqual(address.verification?.status, 'verified');
  }
});

test('a refused replacement keeps the old addresses', async () => {
  const taken = newEmail();
  await newUser({ emailAddress: [taken] });
  const user = await newUser();
  const replace = (params) => clerk.users.replaceUserEmailAddress(user.id, params);
  await refused(replace({ emailAddress: taken }), 422, 'form_identifier_exists', 'email_address');
  await refused(replace({ emailAddress: 'no-at-sign' }), 422, 'form_param_format_invalid', 'email_address');
  await refused(replace({}), 422, 'form_param_missing', 'email_address');
  await refused(replace({ emailAddress: newEmail(), identificationStatus: 'maybe' }), 422, 'form_param_value_invalid', 'identification_status');
  await refused(replace({ emailAddress: newEmail(), primary: true }), 422, 'form_param_unknown', 'primary');
  assert.deepEqual((await clerk.users.getUser(user.id)).emailAddresses, user.emailAddresses);
  await refused(clerk.users.replaceUserEmailAddress(unknownId('user'), { emailAddress: newEmail() }), 404, 'resource_not_found');
});

// The SDK has no methods for the verification of an address.

const prepare = (id) => request('POST', `/v1/email_addresses/${id}/prepare_verification`);
const attempt = (id, verificationId, code) =>
  request('POST', `/v1/email_addresses/${id}/attempt_verification`, { body: { verification_id: verificationId, code } });
const wrong = (code) => String((Number(code) + 1) % 1_000_000).padStart(6, '0');

test('a code that was sent verifies an email address once', async () => {
  const { id, emailAddress } = await create((await newUser()).id);
  const prepared = await prepare(id);
  assert.equal(prepared.status, 200);
  assertHas(prepared.body, { status: 'unverified', strategy: 'email_code' });
  assert.ok(prepared.body.expire_at > Date.now());

  const message = await newestMessage(emailAddress);
  assertHas(message, { channel: 'email', to: emailAddress });
  assert.match(message.code, /^\d{6}$/);
  assert.ok(message.body.includes(message.code));

  const missed = await attempt(id, prepared.body.id, wrong(message.code));
  assert.deepEqual([missed.status, missed.body.status, missed.body.attempts], [200, 'unverified', 1]);
  const hit = await attempt(id, prepared.body.id, message.code);
  assert.deepEqual([hit.status, hit.body.status, hit.body.attempts], [200, 'verified', 2]);
  assertHas((await clerk.emailAddresses.getEmailAddress(id)).verification, { status: 'verified', strategy: 'email_code' });
  const again = await attempt(id, prepared.body.id, message.code);
  assert.deepEqual([again.status, again.body.errors[0].code], [400, 'verification_already_verified']);
});

test('a verification fails after too many wrong codes', async () => {
  const { id, emailAddress } = await create((await newUser()).id);
  const { body: verification } = await prepare(id);
  const { code } = await newestMessage(emailAddress);
  let status = 'unverified';
  for (let tries = 0; tries < 10 && status === 'unverified'; tries += 1) {
    ({ status } = (await attempt(id, verification.id, wrong(code))).body);
  }
  assert.equal(status, 'failed');
  assert.equal((await attempt(id, verification.id, code)).body.status, 'failed');
  assert.notEqual((await clerk.emailAddresses.getEmailAddress(id)).verification?.status, 'verified');
});

test('a test address is verified with the fixed code', async () => {
  const { id } = await create((await newUser()).id, { emailAddress: `${unique()}+clerk_test@example.com` });
  const { body: verification } = await prepare(id);
  assert.equal((await attempt(id, verification.id, '424242')).body.status, 'verified');
});

test('the fixed code verifies no other address', async () => {
  const { id, emailAddress } = await create((await newUser()).id);
  const { body: verification } = await prepare(id);
  assert.notEqual((await newestMessage(emailAddress)).code, '424242');
  assert.equal((await attempt(id, verification.id, '424242')).body.status, 'unverified');
});

test('a verification belongs to its email address', async () => {
  const userId = (await newUser()).id;
  const [first, second] = [await create(userId), await create(userId)];
  const { body: verification } = await prepare(first.id);
  const { code } = await newestMessage(first.emailAddress);
  const elsewhere = await attempt(second.id, verification.id, code);
  assert.deepEqual([elsewhere.status, elsewhere.body.errors[0].code], [404, 'resource_not_found']);
  assert.equal((await prepare(unknownId('idn'))).status, 404);
});

test('attempt_verification refuses other fields', async () => {
  const { id } = await create((await newUser()).id);
  const { body: verification } = await prepare(id);
  const path = `/v1/email_addresses/${id}/attempt_verification`;
  const answer = await request('POST', path, { body: { verification_id: verification.id, code: '000000', verified: true } });
  assert.ok(answer.status >= 400 && answer.status < 500);
  assert.equal(answer.body.errors[0].code, 'form_param_unknown');
});

test('a production instance has no development inbox', async () => {
  const answer = await request('GET', '/dev/inbox', { key: otherSecretKey });
  assert.ok(answer.status >= 400 && answer.status < 500);
  assert.ok(answer.body.errors[0].code.length > 0);
});
