import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertHas, clerk, newUser, refused, unknownId } from './support.js';

test('updateUserMetadata merges deeply', async () => {
  const user = await newUser({
    publicMetadata: { plan: { name: 'pro', seats: 5 }, tags: ['a', 'b'], keptKey: { innerKey: 1 } },
    privateMetadata: { note: 'old' },
    unsafeMetadata: { theme: 'dark' },
  });
  const updated = await clerk.users.updateUserMetadata(user.id, {
    publicMetadata: { plan: { seats: 6, trial: { days: 14 } }, tags: ['c'] },
    privateMetadata: { added: true },
  });
  assertHas(updated, {
    publicMetadata: { plan: { name: 'pro', seats: 6, trial: { days: 14 } }, tags: ['c'], keptKey: { innerKey: 1 } },
    privateMetadata: { note: 'old', added: true },
    unsafeMetadata: { theme: 'dark' },
  });
  assert.deepEqual((await clerk.users.getUser(user.id)).raw, updated.raw);
});

test('updateUserMetadata deletes the keys that are null, at every depth', async () => {
  const user = await newUser({ publicMetadata: { gone: 1, kept: 2, nested: { gone: 3, kept: 4, deep: { gone: 5 } } } });
  const updated = await clerk.users.updateUserMetadata(user.id, {
    publicMetadata: { gone: null, neverThere: null, nested: { gone: null, deep: { gone: null } } },
  });
  assert.deepEqual(updated.publicMetadata, { kept: 2, nested: { kept: 4, deep: {} } });
});

test('updateUserMetadata replaces a value by an object and an object by a value', async () => {
  const user = await newUser({ unsafeMetadata: { value: 1, object: { a: 1 } } });
  const updated = await clerk.users.updateUserMetadata(user.id, { unsafeMetadata: { value: { a: 1 }, object: 1 } });
  assert.deepEqual(updated.unsafeMetadata, { value: { a: 1 }, object: 1 });
});

test('replaceUserMetadata replaces the fields it names and leaves the others', async () => {
  const user = await newUser({ publicMetadata: { a: 1 }, privateMetadata: { b: 2 }, unsafeMetadata: { c: 3 } });
  const updated = await clerk.users.replaceUserMetadata(user.id, { publicMetadata: { d: 4 }, privateMetadata: {} });
  assertHas(updated, { publicMetadata: { d: 4 }, privateMetadata: {}, unsafeMetadata: { c: 3 } });
});

test('updateUser with metadata replaces it', async () => {
  const user = await newUser({ publicMetadata: { a: 1, nested: { b: 2 } }, privateMetadata: { c: 3 } });
  const updated = await clerk.users.updateUser(user.id, { firstName: 'Meta', publicMetadata: { nested: { d: 4 } } });
  assertHas(updated, { firstName: 'Meta', publicMetadata: { nested: { d: 4 } }, privateMetadata: { c: 3 } });
});

test('metadata over 8 KB is refused, also when only the merged result is', async () => {
  const user = await newUser();
  const half = 'x'.repeat(5 * 1024);
  const tooLarge = (promise) => refused(promise, 422, 'form_param_exceeds_allowed_size', 'public_metadata');
  await tooLarge(clerk.users.replaceUserMetadata(user.id, { publicMetadata: { a: half, b: half } }));
  await clerk.users.updateUserMetadata(user.id, { publicMetadata: { a: half } });
  await tooLarge(clerk.users.updateUserMetadata(user.id, { publicMetadata: { b: half } }));
  assert.deepEqual((await clerk.users.getUser(user.id)).publicMetadata, { a: half });
});

test('metadata that is not an object is refused', async () => {
  const user = await newUser();
  await refused(clerk.users.updateUserMetadata(user.id, { publicMetadata: 'text' }), 422, undefined, 'public_metadata');
  await refused(clerk.users.replaceUserMetadata(user.id, { unsafeMetadata: [1] }), 422, undefined, 'unsafe_metadata');
});

test('other fields are refused', async () => {
  const user = await newUser();
  await refused(clerk.users.updateUserMetadata(user.id, { firstName: 'Eve' }), 422, 'form_param_unknown', 'first_name');
  await refused(clerk.users.replaceUserMetadata(user.id, { banned: true }), 422, 'form_param_unknown', 'banned');
});

test('metadata of an unknown user is not found', async () => {
  await refused(clerk.users.updateUserMetadata(unknownId('user'), { publicMetadata: {} }), 404, 'resource_not_found');
  await refused(clerk.users.replaceUserMetadata(unknownId('user'), { publicMetadata: {} }), 404, 'resource_not_found');
});

test('concurrent merges all take effect', async () => {
  const user = await newUser();
  const keys = Array.from({ length: 20 }, (_, index) => `key${index}`);
  await Promise.all(keys.map((key) => clerk.users.updateUserMetadata(user.id, { publicMetadata: { [key]: true } })));
  const { publicMetadata } = await clerk.users.getUser(user.id);
  assert.deepEqual(publicMetadata, Object.fromEntries(keys.map((key) => [key, true])));
});
