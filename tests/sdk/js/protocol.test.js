import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clerk, connect, newUser, refused, request, secretKey, unknownId, url } from './support.js';

const codeOf = (answer) => [answer.status, answer.body.errors[0].code];

test('an unknown key is refused by every group', async () => {
  const stranger = connect('sk_test_0000000000000000000000000000000000000000');
  await refused(stranger.users.getUserList(), 401, 'clerk_key_invalid');
  await refused(stranger.users.createUser({}), 401, 'clerk_key_invalid');
  await refused(stranger.emailAddresses.getEmailAddress(unknownId('idn')), 401, 'clerk_key_invalid');
  await refused(stranger.phoneNumbers.getPhoneNumber(unknownId('idn')), 401, 'clerk_key_invalid');
  await refused(stranger.jwks.getJwks(), 401, 'clerk_key_invalid');
});

test('a request without a usable Authorization header is refused', async () => {
  const withHeader = (authorization) => request('GET', '/v1/users', { headers: { authorization } });
  assert.equal((await fetch(`${url}/v1/users`)).status, 401);
  assert.deepEqual(codeOf(await withHeader('Basic dXNlcjpwYXNz')), [401, 'authorization_header_format_invalid']);
  for (const value of [secretKey, 'Bearer', 'Bearer ', `Bearer ${secretKey} more`, `Bearer ${secretKey}x`, '\u00ff']) {
    const answer = await withHeader(value);
    assert.equal(answer.status, 401);
    assert.ok(answer.body.errors[0].code.length > 0);
  }
});

test('successes and errors are exactly application/json', async () => {
  const { id } = await newUser();
  for (const path of [`/v1/users/${id}`, `/v1/users/${unknownId('user')}`, '/v1/nothing', '/v1/jwks']) {
    assert.equal((await request('GET', path)).headers.get('content-type'), 'application/json');
  }
});

test('an error carries a trace id, in the body and the header', async () => {
  const answer = await request('GET', `/v1/users/${unknownId('user')}`);
  assert.match(answer.body.clerk_trace_id, /^[0-9a-f]{32}$/);
  assert.equal(answer.headers.get('clerk-trace-id'), answer.body.clerk_trace_id);
  assert.deepEqual(Object.keys(answer.body.errors[0]).filter((key) => key !== 'meta').sort(), ['code', 'long_message', 'message']);
});

test('unknown routes and wrong methods differ from an unknown id', async () => {
  const route = await request('GET', '/v1/nothing');
  assert.equal(route.status, 404);
  assert.notEqual(route.body.errors[0].code, 'resource_not_found');
  const method = await request('PUT', '/v1/users');
  assert.equal(method.status, 405);
  assert.notEqual(method.body.errors[0].code, 'resource_not_found');
  assert.deepEqual(codeOf(await request('GET', `/v1/users/${unknownId('user')}`)), [404, 'resource_not_found']);
});

test('a body that is not a JSON object is refused', async () => {
  for (const body of ['{', '[]', '"text"', '{"first_name": }', '\u0000']) {
    assert.deepEqual(codeOf(await request('POST', '/v1/users', { body })), [400, 'request_body_invalid']);
  }
});

test('every version is accepted, by header or by query', async () => {
  const { id } = await newUser();
  for (const version of ['2021-02-05', '2024-10-01', '2025-04-10', '2025-11-10', '2026-05-12']) {
    const byHeader = await request('GET', `/v1/users/${id}`, { headers: { 'clerk-api-version': version } });
    const byQuery = await request('GET', `/v1/users/${id}?__clerk_api_version=${version}`);
    assert.deepEqual([byHeader.status, byHeader.body.id], [200, id]);
    assert.deepEqual(byQuery.body, byHeader.body);
  }
  assert.equal((await request('GET', `/v1/users/${id}`)).status, 200);
});

test('an unknown or doubled version is refused', async () => {
  const headers = { 'clerk-api-version': '2026-05-12' };
  const list = '/v1/users';
  assert.deepEqual(codeOf(await request('GET', list, { headers: { 'clerk-api-version': '2023-01-01' } })), [400, 'api_version_invalid']);
  assert.deepEqual(codeOf(await request('GET', list, { headers: { 'clerk-api-version': 'newest' } })), [400, 'api_version_invalid']);
  assert.deepEqual(codeOf(await request('GET', `${list}?__clerk_api_version=2023-01-01`)), [400, 'api_version_invalid']);
  assert.deepEqual(codeOf(await request('GET', `${list}?__clerk_api_version=2026-05-12`, { headers })), [400, 'api_version_invalid']);
});

test('the server says that it is alive and ready', async () => {
  for (const path of ['/healthz', '/readyz']) {
    assert.equal((await fetch(url + path)).status, 200);
  }
});

test('a user is the same in the list, by id and in the answer of its creation', async () => {
  const user = await newUser({ firstName: 'Same' });
  const { data } = await clerk.users.getUserList({ userId: [user.id] });
  assert.deepEqual(data[0].raw, user.raw);
  assert.deepEqual((await clerk.users.getUser(user.id)).raw, user.raw);
});
