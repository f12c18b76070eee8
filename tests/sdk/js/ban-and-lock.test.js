import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertHas, clerk, newUser, refused, request, unknownId } from './support.js';

test('banUser and unbanUser', async () => {
  const { id } = await newUser();
  assertHas(await clerk.users.banUser(id), { id, banned: true, locked: false });
  assertHas(await clerk.users.banUser(id), { id, banned: true });
  assert.equal((await clerk.users.getUser(id)).banned, true);
  assertHas(await clerk.users.unbanUser(id), { id, banned: false });
  assert.equal((await clerk.users.getUser(id)).banned, false);
});

test('lockUser and unlockUser', async () => {
  const { id } = await newUser();
  const locked = await clerk.users.lockUser(id);
  assertHas(locked, { id, locked: true, banned: false });
  const seconds = locked.raw.lockout_expires_in_seconds;
  assert.ok(3500 < seconds && seconds <= 3600, `${seconds} is not about an hour`);
  assert.equal((await clerk.users.getUser(id)).locked, true);
  const unlocked = await clerk.users.unlockUser(id);
  assertHas(unlocked.raw, { id, locked: false, lockout_expires_in_seconds: null });
});

test('an unknown user can be neither banned nor locked', async () => {
  for (const method of ['banUser', 'unbanUser', 'lockUser', 'unlockUser']) {
    await refused(clerk.users[method](unknownId('user')), 404, 'resource_not_found');
  }
});

// The SDK has no methods for the bulk operations.

test('users are banned and unbanned in bulk', async () => {
  const ids = [(await newUser()).id, (await newUser()).id, (await newUser()).id];
  for (const [path, banned] of [['ban', true], ['unban', false]]) {
    const answer = await request('POST', `/v1/users/${path}`, { body: { user_ids: ids } });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body.map((user) => [user.id, user.banned]).sort(), ids.map((id) => [id, banned]).sort());
  }
});

test('more than 50 users in bulk are refused', async () => {
  const ids = Array.from({ length: 51 }, () => unknownId('user'));
  for (const path of ['ban', 'unban']) {
    const answer = await request('POST', `/v1/users/${path}`, { body: { user_ids: ids } });
    assert.deepEqual([answer.status, answer.body.errors[0].code], [400, 'bulk_size_exceeded']);
  }
});

test('empty, null and {} bodies are alike', async () => {
  const { id } = await newUser();
  for (const body of [undefined, 'null', '{}']) {
    const answer = await request('POST', `/v1/users/${id}/ban`, { body });
    assert.deepEqual([answer.status, answer.body.banned], [200, true]);
  }
});
