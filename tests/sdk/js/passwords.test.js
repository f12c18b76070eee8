import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { assertHas, clerk, newPassword, newUser, refused, unknownId } from './support.js';

const imported = JSON.parse(readFileSync(new URL('../digests.json', import.meta.url)));

test('verifyPassword accepts the password and nothing else', async () => {
  const password = newPassword();
  const { id: userId } = await newUser({ password });
  assert.deepEqual(await clerk.users.verifyPassword({ userId, password }), { verified: true });
  await refused(clerk.users.verifyPassword({ userId, password: `${password}x` }), 422, 'incorrect_password');
  await refused(clerk.users.verifyPassword({ userId, password: password.toLowerCase() }), 422, 'incorrect_password');
});

test('verifyPassword of a user without a password is refused', async () => {
  const { id: userId } = await newUser();
  await refused(clerk.users.verifyPassword({ userId, password: newPassword() }), 400, 'no_password_set');
  await refused(clerk.users.verifyPassword({ userId: unknownId('user'), password: newPassword() }), 404, 'resource_not_found');
});

test('a password of 72 characters in any script is verified whole, and a longer one refused', async () => {
  const password = `пароль 密码 ${newPassword()}`.padEnd(72, 'é');
  const { id: userId } = await newUser({ password });
  assert.deepEqual(await clerk.users.verifyPassword({ userId, password }), { verified: true });
  await refused(clerk.users.verifyPassword({ userId, password: password.slice(0, -1) }), 422, 'incorrect_password');
  await refused(newUser({ password: `${password}é` }), 422, 'form_password_length_too_long', 'password');
});

test('a password is verified after its digest was imported', async (t) => {
  for (const [passwordHasher, passwordDigest] of Object.entries(imported.digests)) {
    await t.test(passwordHasher, async () => {
      const user = await newUser({ passwordDigest, passwordHasher });
      assert.equal(user.passwordEnabled, true);
      const verify = (password) => clerk.users.verifyPassword({ userId: user.id, password });
      await refused(verify('wrong horse battery staple'), 422, 'incorrect_password');
      assert.deepEqual(await verify(imported.password), { verified: true });
      // The first success upgrades the digest; the second one checks the new digest.
      assert.deepEqual(await verify(imported.password), { verified: true });
      await refused(verify('wrong horse battery staple'), 422, 'incorrect_password');
    });
  }
});

test('a digest can be imported by an update', async () => {
  const old = newPassword();
  const { id: userId } = await newUser({ password: old });
  await clerk.users.updateUser(userId, { passwordDigest: imported.digests.bcrypt, passwordHasher: 'bcrypt' });
  assert.deepEqual(await clerk.users.verifyPassword({ userId, password: imported.password }), { verified: true });
  await refused(clerk.users.verifyPassword({ userId, password: old }), 422, 'incorrect_password');
});

test('a digest needs a hasher that is known, and the other way round', async () => {
  await refused(newUser({ passwordDigest: imported.digests.md5 }), 422);
  await refused(newUser({ passwordHasher: 'md5' }), 422);
  await refused(newUser({ passwordDigest: imported.digests.md5, passwordHasher: 'rot13' }), 422, undefined, 'password_hasher');
});

test('a digest whose cost would stop the server is refused', async () => {
  const costly = {
    argon2id: '$argon2id$v=19$m=4194304,t=1000,p=1$MDEyMzQ1Njc4OWFiY2RlZg$lJAvJLp4BtcmmSKsJhfE7j/mz0i66bt6kndBqHr70hg',
    bcrypt: imported.digests.bcrypt.replace('$05$', '$31$'),
    pbkdf2_sha256: imported.digests.pbkdf2_sha256.replace('$1000$', '$4000000000$'),
  };
  for (const [passwordHasher, passwordDigest] of Object.entries(costly)) {
    await refused(newUser({ passwordDigest, passwordHasher }), 422, 'form_password_digest_invalid_code', 'password_digest');
  }
});

test('removePassword removes it, and does nothing the second time', async () => {
  const password = newPassword();
  const { id: userId } = await newUser({ password });
  assertHas(await clerk.users.removePassword(userId, { signOutOfOtherSessions: true }), { id: userId, passwordEnabled: false });
  await refused(clerk.users.verifyPassword({ userId, password }), 400, 'no_password_set');
  const { raw } = await clerk.users.getUser(userId);
  assert.deepEqual((await clerk.users.removePassword(userId)).raw, raw);
  await refused(clerk.users.removePassword(unknownId('user')), 404, 'resource_not_found');
});

test('a password can be marked as compromised and not compromised', async () => {
  const password = newPassword();
  const { id: userId } = await newUser({ password });
  assertHas(await clerk.users.setPasswordCompromised(userId, { revokeAllSessions: true }), { id: userId, passwordEnabled: true });
  assertHas(await clerk.users.setPasswordCompromised(userId), { id: userId, passwordEnabled: true });
  assertHas(await clerk.users.unsetPasswordCompromised(userId), { id: userId, passwordEnabled: true });
  assert.deepEqual(await clerk.users.verifyPassword({ userId, password }), { verified: true });
  await refused(clerk.users.setPasswordCompromised(unknownId('user')), 404, 'resource_not_found');
  await refused(clerk.users.unsetPasswordCompromised(unknownId('user')), 404, 'resource_not_found');
});
