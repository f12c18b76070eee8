import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertHas, clerk, newUser, png, refused, secretKey, unknownId, url } from './support.js';

const image = (...parts) => new Blob(parts, { type: 'image/png' });

async function fetchImage(imageUrl) {
  const response = await fetch(imageUrl);
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type'), /^image\//);
  const bytes = Buffer.from(await response.arrayBuffer());
  assert.ok(bytes.length > 0);
  return bytes;
}

test('every user has a default avatar', async () => {
  const [named, nameless] = [await newUser({ firstName: 'Ada', lastName: 'Lovelace' }), await newUser()];
  for (const user of [named, nameless]) {
    assert.equal(user.hasImage, false);
    await fetchImage(user.imageUrl);
  }
});

test('an uploaded profile image is served until it is deleted', async () => {
  const { id, imageUrl: defaultUrl } = await newUser();
  const user = await clerk.users.updateUserProfileImage(id, { file: image(png(64, 32)) });
  assertHas(user, { id, hasImage: true });
  assert.notEqual(user.imageUrl, defaultUrl);
  await fetchImage(user.imageUrl);
  assert.equal((await clerk.users.getUser(id)).imageUrl, user.imageUrl);

  const second = await clerk.users.updateUserProfileImage(id, { file: image(png(10, 10)) });
  assert.notEqual(second.imageUrl, user.imageUrl);

  const without = await clerk.users.deleteUserProfileImage(id);
  assertHas(without, { id, hasImage: false });
  await fetchImage(without.imageUrl);
});

test('what is not an image is refused', async () => {
  const { id } = await newUser();
  for (const file of [image('not an image'), image(png(8, 8).subarray(0, 40)), image('<svg xmlns="http://www.w3.org/2000/svg"/>')]) {
    await refused(clerk.users.updateUserProfileImage(id, { file }), 400, 'request_body_invalid');
  }
  assert.equal((await clerk.users.getUser(id)).hasImage, false);
});

test('an image of 30000 by 30000 pixels is refused without being decoded', async () => {
  const { id } = await newUser();
  const file = image(png(30_000, 30_000, Buffer.alloc(1000)));
  await refused(clerk.users.updateUserProfileImage(id, { file }), 400, 'image_too_many_pixels');
});

test('an image over 10 MB is refused', async () => {
  const { id } = await newUser();
  const file = image(png(8, 8), Buffer.alloc(10 * 1024 * 1024));
  await refused(clerk.users.updateUserProfileImage(id, { file }), 413, 'image_too_large');
});

test('an upload without the file part is refused', async () => {
  const { id } = await newUser();
  const form = new FormData();
  form.append('picture', image(png(8, 8)));
  const response = await fetch(`${url}/v1/users/${id}/profile_image`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secretKey}` },
    body: form,
  });
  const { errors } = await response.json();
  assert.deepEqual([response.status, errors[0].code, errors[0].meta.param_name], [400, 'form_param_missing', 'file']);
});

test('the image of an unknown user is not found', async () => {
  await refused(clerk.users.updateUserProfileImage(unknownId('user'), { file: image(png(8, 8)) }), 404, 'resource_not_found');
  await refused(clerk.users.deleteUserProfileImage(unknownId('user')), 404, 'resource_not_found');
});
