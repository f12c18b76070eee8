import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';

import { assertHas, clerk, connectToNewInstance, idOf, otherClerk, refused, unique, unknownId } from './support.js';

const SECRET = '0123456789abcdef'.repeat(4);

const newName = () => `template-${unique()}`;
const create = (params = {}) => clerk.jwtTemplates.create({ name: newName(), claims: { role: 'user' }, ...params });
const pem = (type, options = {}) => generateKeyPairSync(type, options).privateKey.export({ type: 'pkcs8', format: 'pem' });

test('a new template has defaults and is found again', async () => {
  const name = newName();
  const claims = { aud: 'database', nested: { list: [1, null, true, '{{user.first_name || \'nobody\'}}'] } };
  const created = await create({ name, claims });
  assert.match(created.id, idOf('jtmp'));
  assertHas(created, { name, claims, lifetime: 60, allowedClockSkew: 5, customSigningKey: false, signingAlgorithm: 'RS256' });
  assert.equal(created.createdAt, created.updatedAt);
  assert.deepEqual(await clerk.jwtTemplates.get(created.id), created);
});

test('keys and algorithms of all kinds are taken and never shown', async () => {
  for (const [signingAlgorithm, signingKey] of [
    ['HS256', SECRET],
    ['HS384', SECRET],
    ['HS512', SECRET],
    ['RS256', pem('rsa', { modulusLength: 2048 })],
    ['RS384', pem('rsa', { modulusLength: 2048 })],
    ['RS512', pem('rsa', { modulusLength: 3072 })],
    ['PS256', pem('rsa', { modulusLength: 2048 })],
    ['ES256', pem('ec', { namedCurve: 'P-256' })],
    ['ES384', pem('ec', { namedCurve: 'P-384' })],
    ['ES512', pem('ec', { namedCurve: 'P-521' })],
    ['EdDSA', pem('ed25519')],
  ]) {
    const created = await create({ customSigningKey: true, signingAlgorithm, signingKey });
    assertHas(created, { customSigningKey: true, signingAlgorithm });
    assert.ok(!JSON.stringify(created).includes(signingKey.slice(40, 60)));
    const wrong = create({ customSigningKey: true, signingAlgorithm, signingKey: pem('ec', { namedCurve: 'secp256k1' }) });
    await refused(wrong, 422, 'form_param_value_invalid', 'signing_key');
  }
});

test('an update changes what is given', async () => {
  const { id: templateId, name, claims } = await create({ lifetime: 600 });
  const renamed = await clerk.jwtTemplates.update({ templateId, name: `${name}-b`, claims: { role: 'admin' }, allowedClockSkew: 0 });
  assertHas(renamed, { id: templateId, name: `${name}-b`, claims: { role: 'admin' }, lifetime: 600, allowedClockSkew: 0 });
  const own = await clerk.jwtTemplates.update({
    templateId, name, claims, lifetime: null, customSigningKey: true, signingAlgorithm: 'HS256', signingKey: SECRET,
  });
  assertHas(own, { name, lifetime: 60, customSigningKey: true, signingAlgorithm: 'HS256' });
  const kept = await clerk.jwtTemplates.update({ templateId, name, claims });
  assertHas(kept, { customSigningKey: true, signingAlgorithm: 'HS256' });
  const back = await clerk.jwtTemplates.update({ templateId, name, claims, customSigningKey: false });
  assertHas(back, { customSigningKey: false, signingAlgorithm: 'RS256' });
});

test('a list has the templates of the instance, newest first', async () => {
  const empty = connectToNewInstance();
  assert.deepEqual(await empty.jwtTemplates.list(), { data: [], totalCount: 0 });
  for (const name of ['one', 'two', 'three']) {
    await empty.jwtTemplates.create({ name, claims: {} });
    // Templates of the same millisecond have no order.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const { data, totalCount } = await empty.jwtTemplates.list({ limit: 2, offset: 1 });
  assert.deepEqual([data.map(({ name }) => name), totalCount], [['two', 'one'], 3]);
});

test('a deleted template is gone and its name is free', async () => {
  const { id, name } = await create();
  assertHas(await clerk.jwtTemplates.delete(id), { object: 'jwt_template', id, deleted: true });
  await refused(clerk.jwtTemplates.get(id), 404, 'resource_not_found');
  await refused(clerk.jwtTemplates.delete(id), 404, 'resource_not_found');
  await create({ name });
});

test('templates belong to their instance', async () => {
  const { id, name } = await create();
  await refused(otherClerk.jwtTemplates.get(id), 404, 'resource_not_found');
  await refused(otherClerk.jwtTemplates.delete(id), 404, 'resource_not_found');
  await otherClerk.jwtTemplates.create({ name, claims: {} });
});

test('malformed requests are refused', async () => {
  const { name, id: templateId } = await create();
  await refused(create({ name }), 422, 'form_already_exists', 'name');
  await refused(create({ name: 'a/b' }), 422, 'form_param_format_invalid', 'name');
  await refused(clerk.jwtTemplates.create({ name: newName() }), 422, 'form_param_missing', 'claims');
  await refused(clerk.jwtTemplates.update({ templateId, claims: {} }), 422, 'form_param_missing', 'name');
  await refused(create({ claims: { sub: 'me' } }), 400, 'jwt_template_reserved_claim');
  await refused(create({ claims: { a: '{{ user.id | upper }}' } }), 422, 'form_param_value_invalid', 'claims');
  await refused(create({ lifetime: 29 }), 422, 'form_param_value_invalid', 'lifetime');
  await refused(create({ allowedClockSkew: 301 }), 422, 'form_param_value_too_large', 'allowed_clock_skew');
  await refused(create({ customSigningKey: true, signingAlgorithm: 'HS256' }), 422, 'form_conditional_param_missing', 'signing_key');
  await refused(create({ signingAlgorithm: 'none' }), 422, 'form_param_value_invalid', 'signing_algorithm');
  await refused(clerk.jwtTemplates.get(unknownId('jtmp')), 404, 'resource_not_found');
});

test('a template whose tokens fit no cookie is refused, with the size of the largest', async () => {
  const large = connectToNewInstance();
  const user = await large.users.createUser({ username: `user_${unique()}`, publicMetadata: { text: 'x'.repeat(6000) } });
  await assert.rejects(large.jwtTemplates.create({ name: newName(), claims: { all: '{{user.public_metadata}}' } }), ({ errors: [first] }) => {
    assert.equal(first.code, 'form_param_exceeds_allowed_size');
    assert.match(first.longMessage, new RegExp(`${user.id}.* [0-9]{4} bytes`));
    return true;
  });
  await large.jwtTemplates.create({ name: newName(), claims: { plan: '{{user.public_metadata.plan}}' } });
});
