import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertHas, clerk, newPhone, newTotpSecret, newUser, refused, totp, unknownId, wrongTotp } from './support.js';

// bcrypt of "imported-code".
const BACKUP_CODE_DIGEST = '$2b$04$71kECOYCUxn9UdY.xQ2eE.FlqEPXtx7oU0THT79yj4JMwuSmkyxXy';

const withBackupCodes = () => newUser({ totpSecret: newTotpSecret(), backupCodes: ['first-code', 'second-code'] });

test('verifyTOTP accepts the current code once', async () => {
  const totpSecret = newTotpSecret();
  const { id: userId } = await newUser({ totpSecret });
  const code = totp(totpSecret);
  assert.deepEqual(await clerk.users.verifyTOTP({ userId, code }), { verified: true, code_type: 'totp' });
  await refused(clerk.users.verifyTOTP({ userId, code }), 422, 'totp_incorrect_code');
});

test('only one of many concurrent uses of a TOTP code succeeds', async () => {
  const totpSecret = newTotpSecret();
  const { id: userId } = await newUser({ totpSecret });
  const code = totp(totpSecret);
  const uses = await Promise.allSettled(Array.from({ length: 16 }, () => clerk.users.verifyTOTP({ userId, code })));
  assert.equal(uses.filter((use) => use.status === 'fulfilled').length, 1);
});

test('verifyTOTP refuses wrong, old and malformed codes', async () => {
  const totpSecret = newTotpSecret();
  const { id: userId } = await newUser({ totpSecret });
  await refused(clerk.users.verifyTOTP({ userId, code: wrongTotp(totpSecret) }), 422, 'totp_incorrect_code');
  await refused(clerk.users.verifyTOTP({ userId, code: totp(totpSecret, -20) }), 422, 'totp_incorrect_code');
  await refused(clerk.users.verifyTOTP({ userId, code: '12345' }), 422);
});

test('verifyTOTP of a user without TOTP is refused', async () => {
  const { id: userId } = await newUser();
  await refused(clerk.users.verifyTOTP({ userId, code: '123456' }), 400, 'totp_disabled');
  await refused(clerk.users.verifyTOTP({ userId: unknownId('user'), code: '123456' }), 404, 'resource_not_found');
});

test('a backup code is accepted once', async () => {
  const { id: userId } = await withBackupCodes();
  const verified = { verified: true, code_type: 'backup_code' };
  assert.deepEqual(await clerk.users.verifyTOTP({ userId, code: 'first-code' }), verified);
  await refused(clerk.users.verifyTOTP({ userId, code: 'first-code' }), 422);
  await refused(clerk.users.verifyTOTP({ userId, code: 'third-code' }), 422);
  assert.deepEqual(await clerk.users.verifyTOTP({ userId, code: 'second-code' }), verified);
});

test('a backup code can be imported as a bcrypt digest', async () => {
  const { id: userId } = await newUser({ totpSecret: newTotpSecret(), backupCodes: [BACKUP_CODE_DIGEST] });
  const verified = { verified: true, code_type: 'backup_code' };
  assert.deepEqual(await clerk.users.verifyTOTP({ userId, code: 'imported-code' }), verified);
  await refused(clerk.users.verifyTOTP({ userId, code: BACKUP_CODE_DIGEST }), 422);
});

test('an update sets TOTP and backup codes', async () => {
  const totpSecret = newTotpSecret();
  const { id: userId } = await newUser();
  const user = await clerk.users.updateUser(userId, { totpSecret, backupCodes: ['new-code'] });
  assertHas(user, { totpEnabled: true, backupCodeEnabled: true, twoFactorEnabled: true });
  assert.equal((await clerk.users.verifyTOTP({ userId, code: totp(totpSecret) })).code_type, 'totp');
  assert.equal((await clerk.users.verifyTOTP({ userId, code: 'new-code' })).code_type, 'backup_code');
});

test('deleteUserTOTP removes TOTP', async () => {
  const totpSecret = newTotpSecret();
  const { id: userId } = await newUser({ totpSecret });
  assert.deepEqual(await clerk.users.deleteUserTOTP(userId), { user_id: userId });
  assertHas(await clerk.users.getUser(userId), { totpEnabled: false, twoFactorEnabled: false });
  await refused(clerk.users.verifyTOTP({ userId, code: totp(totpSecret) }), 400, 'totp_disabled');
});

test('deleteUserBackupCodes removes the backup codes and leaves TOTP', async () => {
  const { id: userId } = await withBackupCodes();
  assert.deepEqual(await clerk.users.deleteUserBackupCodes(userId), { user_id: userId });
  assertHas(await clerk.users.getUser(userId), { totpEnabled: true, backupCodeEnabled: false, twoFactorEnabled: true });
  await refused(clerk.users.verifyTOTP({ userId, code: 'first-code' }), 422);
});

test('disableUserMFA removes every second factor', async () => {
  const { id: userId } = await withBackupCodes();
  await clerk.phoneNumbers.createPhoneNumber({ userId, phoneNumber: newPhone(), verified: true, reservedForSecondFactor: true });
  assert.deepEqual(await clerk.users.disableUserMFA(userId), { user_id: userId });
  const user = await clerk.users.getUser(userId);
  assertHas(user, { totpEnabled: false, backupCodeEnabled: false, twoFactorEnabled: false });
  assertHas(user.phoneNumbers[0], { reservedForSecondFactor: false, defaultSecondFactor: false });
  assert.equal(typeof user.raw.mfa_disabled_at, 'number');
});

test('second factors of an unknown user are not found', async () => {
  await refused(clerk.users.deleteUserTOTP(unknownId('user')), 404, 'resource_not_found');
  await refused(clerk.users.deleteUserBackupCodes(unknownId('user')), 404, 'resource_not_found');
  await refused(clerk.users.disableUserMFA(unknownId('user')), 404, 'resource_not_found');
});
