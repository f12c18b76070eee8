import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  assertHas,
  clerk,
  idOf,
  newPhone,
  newTestPhone,
  newUser,
  newestMessage,
  refused,
  request,
  unknownId,
} from './support.js';

const create = (userId, params = {}) => clerk.phoneNumbers.createPhoneNumber({ userId, phoneNumber: newPhone(), ...params });
const primaryOf = async (userId) => (await clerk.users.getUser(userId)).primaryPhoneNumberId;

test('a new phone number is neither verified nor primary nor a second factor', async () => {
  const user = await newUser({ phoneNumber: [newPhone()] });
  const phoneNumber = newPhone();
  const created = await create(user.id, { phoneNumber });
  assert.match(created.id, idOf('idn'));
  assertHas(created, { phoneNumber, reservedForSecondFactor: false, defaultSecondFactor: false, linkedTo: [] });
  assert.notEqual(created.verification?.status, 'verified');
  assert.deepEqual(await clerk.phoneNumbers.getPhoneNumber(created.id), created);
  assert.equal(await primaryOf(user.id), user.primaryPhoneNumberId);
});

test('the first phone number of a user becomes primary', async () => {
  const user = await newUser();
  const created = await create(user.id, { verified: true });
  assertHas(created.verification, { status: 'verified', strategy: 'admin' });
  assert.equal(await primaryOf(user.id), created.id);
});

test('a phone number can be marked verified, unverified and primary', async () => {
  const user = await newUser({ phoneNumber: [newPhone()] });
  const { id } = await create(user.id);
  assertHas((await clerk.phoneNumbers.updatePhoneNumber(id, { verified: true })).verification, { status: 'verified', strategy: 'admin' });
  await clerk.phoneNumbers.updatePhoneNumber(id, { primary: true });
  assert.equal(await primaryOf(user.id), id);
  await clerk.phoneNumbers.updatePhoneNumber(user.primaryPhoneNumberId, { primary: true });
  assert.equal(await primaryOf(user.id), user.primaryPhoneNumberId);
  assert.notEqual((await clerk.phoneNumbers.updatePhoneNumber(id, { verified: false })).verification?.status, 'verified');
});

test('the first second factor is the default one', async () => {
  const user = await newUser();
  const first = await create(user.id, { verified: true, reservedForSecondFactor: true });
  assertHas(first, { reservedForSecondFactor: true, defaultSecondFactor: true });
  const second = await create(user.id, { verified: true, reservedForSecondFactor: true });
  assertHas(second, { reservedForSecondFactor: true, defaultSecondFactor: false });
  assert.equal((await clerk.users.getUser(user.id)).twoFactorEnabled, true);
});

test('a phone number becomes a second factor and ceases to be one', async () => {
  const user = await newUser();
  const { id } = await create(user.id, { verified: true });
  const reserved = await clerk.phoneNumbers.updatePhoneNumber(id, { reservedForSecondFactor: true });
  assertHas(reserved, { reservedForSecondFactor: true, defaultSecondFactor: true });
  assert.equal((await clerk.users.getUser(user.id)).twoFactorEnabled, true);
  const released = await clerk.phoneNumbers.updatePhoneNumber(id, { reservedForSecondFactor: false });
  assertHas(released, { reservedForSecondFactor: false, defaultSecondFactor: false });
  assert.equal((await clerk.users.getUser(user.id)).twoFactorEnabled, false);
});

test('an unverified phone number cannot be a second factor', async () => {
  const { id: userId } = await newUser();
  await refused(create(userId, { reservedForSecondFactor: true }), 400, 'identification_create_second_factor_unverified');
  const { id } = await create(userId);
  const update = clerk.phoneNumbers.updatePhoneNumber(id, { reservedForSecondFactor: true });
  await refused(update, 400, 'identification_update_second_factor_unverified');
});

test('a deleted phone number is gone and free again', async () => {
  const user = await newUser();
  const { id, phoneNumber } = await create(user.id, { verified: true });
  assertHas(await clerk.phoneNumbers.deletePhoneNumber(id), { object: 'phone_number', id, deleted: true });
  await refused(clerk.phoneNumbers.getPhoneNumber(id), 404, 'resource_not_found');
  await refused(clerk.phoneNumbers.deletePhoneNumber(id), 404, 'resource_not_found');
  assert.equal(await primaryOf(user.id), null);
  assert.equal((await newUser({ phoneNumber: [phoneNumber] })).phoneNumbers[0].phoneNumber, phoneNumber);
});

test('malformed requests are refused', async () => {
  const { id: userId } = await newUser();
  await refused(create(userId, { phoneNumber: '12' }), 422, 'form_param_format_invalid', 'phone_number');
  await refused(clerk.phoneNumbers.createPhoneNumber({ userId }), 422, 'form_param_missing', 'phone_number');
  await refused(clerk.phoneNumbers.createPhoneNumber({ phoneNumber: newPhone() }), 422, 'form_param_missing', 'user_id');
  await refused(create(unknownId('user')), 404, 'resource_not_found');
  await refused(clerk.phoneNumbers.getPhoneNumber(unknownId('idn')), 404, 'resource_not_found');
  await refused(clerk.phoneNumbers.updatePhoneNumber(unknownId('idn'), { verified: true }), 404, 'resource_not_found');
});

test('a verified phone number belongs to one user', async () => {
  const phoneNumber = newPhone();
  await newUser({ phoneNumber: [phoneNumber] });
  const { id: userId } = await newUser();
  await refused(create(userId, { phoneNumber, verified: true }), 422, 'form_identifier_exists', 'phone_number');
});

test('replaceUserPhoneNumber leaves one verified primary number', async () => {
  const [old, phoneNumber] = [newPhone(), newPhone()];
  const user = await newUser({ phoneNumber: [old, newPhone()] });
  const replacement = await clerk.users.replaceUserPhoneNumber(user.id, { phoneNumber });
  assertHas(replacement, { phoneNumber, reservedForSecondFactor: false, defaultSecondFactor: false });
  assertHas(replacement.verification, { status: 'verified', strategy: 'admin' });
  const { phoneNumbers, primaryPhoneNumberId } = await clerk.users.getUser(user.id);
  assert.deepEqual(phoneNumbers, [replacement]);
  assert.equal(primaryPhoneNumberId, replacement.id);
  assert.equal((await newUser({ phoneNumber: [old] })).phoneNumbers[0].phoneNumber, old);
});

test('replacing a second factor disables it', async () => {
  const user = await newUser();
  await create(user.id, { verified: true, reservedForSecondFactor: true });
  assertHas(await clerk.users.replaceUserPhoneNumber(user.id, { phoneNumber: newPhone() }), { reservedForSecondFactor: false });
  assert.equal((await clerk.users.getUser(user.id)).twoFactorEnabled, false);
});

test('replaceUserPhoneNumber creates reserved and unverified numbers', async () => {
  const { id } = await newUser();
  for (const [identificationStatus, reserved] of [['reserved', true], ['unverified', false]]) {
    const phoneNumber = newPhone();
    await clerk.users.replaceUserPhoneNumber(id, { phoneNumber, identificationStatus });
    const [number] = (await clerk.users.getUser(id)).raw.phone_numbers;
    assertHas(number, { phone_number: phoneNumber, reserved });
    assert.notEqual(number.verification?.status, 'verified');
  }
});

test('a refused replacement keeps the old numbers', async () => {
  const taken = newPhone();
  await newUser({ phoneNumber: [taken] });
  const user = await newUser({ phoneNumber: [newPhone()] });
  const replace = (params) => clerk.users.replaceUserPhoneNumber(user.id, params);
  await refused(replace({ phoneNumber: taken }), 422, 'form_identifier_exists', 'phone_number');
  await refused(replace({ phoneNumber: '12' }), 422, 'form_param_format_invalid', 'phone_number');
  await refused(replace({}), 422, 'form_param_missing', 'phone_number');
  await refused(replace({ phoneNumber: newPhone(), identificationStatus: 'maybe' }), 422, 'form_param_value_invalid', 'identification_status');
  await refused(replace({ phoneNumber: newPhone(), primary: true }), 422, 'form_param_unknown', 'primary');
  assert.deepEqual((await clerk.users.getUser(user.id)).phoneNumbers, user.phoneNumbers);
  await refused(clerk.users.replaceUserPhoneNumber(unknownId('user'), { phoneNumber: newPhone() }), 404, 'resource_not_found');
});

// The SDK has no methods for the verification of a number.

const prepare = (id) => request('POST', `/v1/phone_numbers/${id}/prepare_verification`);
const attempt = (id, verificationId, code) =>
  request('POST', `/v1/phone_numbers/${id}/attempt_verification`, { body: { verification_id: verificationId, code } });

test('a code that was sent verifies a phone number once', async () => {
  const { id, phoneNumber } = await create((await newUser()).id);
  const prepared = await prepare(id);
  assert.equal(prepared.status, 200);
  assertHas(prepared.body, { status: 'unverified', strategy: 'phone_code' });
  const message = await newestMessage(phoneNumber);
  assertHas(message, { channel: 'sms', to: phoneNumber });

  const missed = await attempt(id, prepared.body.id, message.code === '000000' ? '000001' : '000000');
  assert.deepEqual([missed.status, missed.body.status, missed.body.attempts], [200, 'unverified', 1]);
  const hit = await attempt(id, prepared.body.id, message.code);
  assert.deepEqual([hit.status, hit.body.status, hit.body.attempts], [200, 'verified', 2]);
  assertHas((await clerk.phoneNumbers.getPhoneNumber(id)).verification, { status: 'verified', strategy: 'phone_code' });
  const again = await attempt(id, prepared.body.id, message.code);
  assert.deepEqual([again.status, again.body.errors[0].code], [400, 'verification_already_verified']);
});

test('a test number is verified with the fixed code', async () => {
  const { id } = await create((await newUser()).id, { phoneNumber: newTestPhone() });
  const { body: verification } = await prepare(id);
  assert.equal((await attempt(id, verification.id, '424242')).body.status, 'verified');
});

test('an unknown verification is not found', async () => {
  const { id } = await create((await newUser()).id);
  assert.equal((await attempt(id, 'nothing', '000000')).status, 404);
  assert.equal((await prepare(unknownId('idn'))).status, 404);
});
