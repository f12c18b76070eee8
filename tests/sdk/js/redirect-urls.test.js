import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertHas, clerk, connectToNewInstance, idOf, otherClerk, refused, unique, unknownId } from './support.js';

const newUrl = () => `myapp://callback/${unique()}`;

test('a new redirect URL is found again until it is deleted', async () => {
  const url = newUrl();
  const created = await clerk.redirectUrls.createRedirectUrl({ url });
  assert.match(created.id, idOf('ru'));
  assertHas(created, { url, updatedAt: created.createdAt });
  assert.deepEqual(await clerk.redirectUrls.getRedirectUrl(created.id), created);
  await refused(clerk.redirectUrls.createRedirectUrl({ url }), 400, 'duplicate_record', 'url');
  await clerk.redirectUrls.deleteRedirectUrl(created.id);
  await refused(clerk.redirectUrls.getRedirectUrl(created.id), 404, 'resource_not_found');
});

test('a list has the redirect URLs of the instance, newest first', async () => {
  const empty = connectToNewInstance();
  const urls = [newUrl(), newUrl(), newUrl()];
  for (const url of urls) await empty.redirectUrls.createRedirectUrl({ url });
  const { data, totalCount } = await empty.redirectUrls.getRedirectUrlList();
  assert.deepEqual([data.map((it) => it.url), totalCount], [urls.toReversed(), 3]);
});

test('what cannot be a redirect is refused, and ids of others are unknown', async () => {
  await refused(clerk.redirectUrls.createRedirectUrl({ url: '/callback' }), 422, 'form_param_format_invalid', 'url');
  const { id } = await clerk.redirectUrls.createRedirectUrl({ url: newUrl() });
  for (const call of ['getRedirectUrl', 'deleteRedirectUrl']) {
    await refused(otherClerk.redirectUrls[call](id), 404, 'resource_not_found');
    await refused(clerk.redirectUrls[call](unknownId('ru')), 404, 'resource_not_found');
  }
  await clerk.redirectUrls.getRedirectUrl(id);
});
