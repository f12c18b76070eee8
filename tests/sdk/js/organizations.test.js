import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  assertHas, clerk, connectToNewInstance, idOf, newUser, otherClerk, png, refused, request, unique, unknownId,
} from './support.js';

const newOrganization = (params = {}) => clerk.organizations.createOrganization({ name: `Acme ${unique()}`, ...params });

test('an organization is created with its creator as admin, and found by id and slug', async () => {
  const creator = await newUser();
  const slug = `acme-${unique()}`;
  const created = await newOrganization({ createdBy: creator.id, slug, publicMetadata: { tier: 1 }, privateMetadata: { note: 'x' } });
  assert.match(created.id, idOf('org'));
  assertHas(created, { slug, createdBy: creator.id, publicMetadata: { tier: 1 }, privateMetadata: { note: 'x' }, maxAllowedMemberships: 0, hasImage: false, membersCount: 1 });
  for (const by of [{ organizationId: created.id }, { slug }]) {
    const found = await clerk.organizations.getOrganization({ ...by, includeMembersCount: true });
    assertHas(found, { id: created.id, membersCount: 1 });
  }
  const { data, totalCount } = await clerk.organizations.getOrganizationMembershipList({ organizationId: created.id });
  assert.equal(totalCount, 1);
  assertHas(data[0], { role: 'org:admin' });
  assert.equal(data[0].publicUserData.userId, creator.id);
  assert.ok(data[0].permissions.includes('org:sys_memberships:manage'));
  const mine = await clerk.users.getOrganizationMembershipList({ userId: creator.id });
  assert.deepEqual(mine.data.map(({ organization }) => organization.id), [created.id]);
  const instanceWide = await clerk.organizations.getInstanceOrganizationMembershipList({ limit: 500 });
  assert.ok(instanceWide.data.some(({ id }) => id === data[0].id));
  await refused(otherClerk.organizations.getOrganization({ organizationId: created.id }), 404, 'resource_not_found');
});

test('an organization is updated, pictured and deleted', async () => {
  const { id: organizationId } = await newOrganization();
  const name = `Beta ${unique()}`;
  const updated = await clerk.organizations.updateOrganization(organizationId, { name, maxAllowedMemberships: 7, adminDeleteEnabled: false });
  assertHas(updated, { name, maxAllowedMemberships: 7, adminDeleteEnabled: false });
  const merged = await clerk.organizations.updateOrganizationMetadata(organizationId, { publicMetadata: { a: { b: 1 } } });
  assert.deepEqual(merged.publicMetadata, { a: { b: 1 } });
  const replaced = await clerk.organizations.replaceOrganizationMetadata(organizationId, { publicMetadata: { c: 2 } });
  assert.deepEqual(replaced.publicMetadata, { c: 2 });
  const pictured = await clerk.organizations.updateOrganizationLogo(organizationId, { file: new Blob([png(2, 2)], { type: 'image/png' }) });
  assert.equal(pictured.hasImage, true);
  assert.equal((await fetch(pictured.imageUrl)).headers.get('content-type'), 'image/png');
  assert.equal((await clerk.organizations.deleteOrganizationLogo(organizationId)).hasImage, false);
  assertHas(await clerk.organizations.deleteOrganization(organizationId), { id: organizationId, deleted: true });
  await refused(clerk.organizations.getOrganization({ organizationId }), 404, 'resource_not_found');
  await refused(clerk.organizations.deleteOrganization(unknownId('org')), 404, 'resource_not_found');
});

test('members are added, given another role, filtered and removed', async () => {
  const { id: organizationId } = await newOrganization();
  const [admin, member] = [await newUser(), await newUser({ firstName: 'Zoe' })];
  await clerk.organizations.createOrganizationMembership({ organizationId, userId: admin.id, role: 'org:admin' });
  const joined = await clerk.organizations.createOrganizationMembership({ organizationId, userId: member.id, role: 'org:member' });
  assert.match(joined.id, idOf('orgmem'));
  assertHas(joined, { role: 'org:member', publicMetadata: {} });
  const again = clerk.organizations.createOrganizationMembership({ organizationId, userId: member.id, role: 'org:member' });
  await refused(again, 400, 'already_a_member_in_organization');
  const byRole = await clerk.organizations.getOrganizationMembershipList({ organizationId, role: ['org:member'] });
  assert.deepEqual(byRole.data.map(({ publicUserData }) => publicUserData.userId), [member.id]);
  const found = await clerk.organizations.getOrganizationMembershipList({ organizationId, query: 'zoe', orderBy: '-created_at' });
  assert.equal(found.totalCount, 1);
  const promoted = await clerk.organizations.updateOrganizationMembership({ organizationId, userId: member.id, role: 'org:admin' });
  assert.equal(promoted.role, 'org:admin');
  const noted = await clerk.organizations.updateOrganizationMembershipMetadata({ organizationId, userId: member.id, publicMetadata: { seat: 1 } });
  assert.deepEqual(noted.publicMetadata, { seat: 1 });
  await clerk.organizations.deleteOrganizationMembership({ organizationId, userId: member.id });
  const last = clerk.organizations.deleteOrganizationMembership({ organizationId, userId: admin.id });
  await refused(last, 400, 'organization_minimum_permissions_needed');
  const users = await clerk.users.getUserList({ organizationId: [organizationId] });
  assert.deepEqual(users.data.map(({ id }) => id), [admin.id]);
});

test('lists of organizations are filtered and ordered', async () => {
  const empty = connectToNewInstance();
  const made = [];
  for (const name of ['Acme', 'Beta', 'Gamma']) made.push(await empty.organizations.createOrganization({ name }));
  const user = await empty.users.createUser({ emailAddress: ['ada@example.com'] });
  await empty.organizations.createOrganizationMembership({ organizationId: made[1].id, userId: user.id, role: 'org:admin' });
  const names = async (params) => (await empty.organizations.getOrganizationList(params)).data.map(({ name }) => name);
  assert.deepEqual(await names({ orderBy: 'name' }), ['Acme', 'Beta', 'Gamma']);
  assert.deepEqual(await names({ orderBy: '-members_count', limit: 1 }), ['Beta']);
  assert.deepEqual(await names({ query: 'amm' }), ['Gamma']);
  assert.deepEqual(await names({ userId: [user.id] }), ['Beta']);
  assert.deepEqual(await names({ organizationId: [made[0].id] }), ['Acme']);
  const { data, totalCount } = await empty.organizations.getOrganizationList({ includeMembersCount: true, orderBy: 'name' });
  assert.deepEqual([data.map(({ membersCount }) => membersCount), totalCount], [[0, 1, 0], 3]);
});

test('an organization is refused that has no usable name, slug, creator or limit', async (t) => {
  const { slug } = await newOrganization({ slug: `acme-${unique()}` });
  const cases = [
    [{ name: undefined }, 422, 'form_param_missing', 'name'],
    [{ name: '' }, 422, 'form_param_nil', 'name'],
    [{ name: 'x'.repeat(257) }, 422, 'form_param_max_length_exceeded', 'name'],
    [{ slug }, 422, 'form_already_exists', 'slug'],
    [{ slug: 'No Slug' }, 422, 'form_param_format_invalid', 'slug'],
    [{ createdBy: unknownId('user') }, 400, 'organization_creator_not_found', 'created_by'],
    [{ maxAllowedMemberships: -1 }, 422, 'form_param_value_invalid', 'max_allowed_memberships'],
    [{ roleSetKey: 'role_set:none' }, 422, 'form_resource_not_found', 'role_set_key'],
    [{ publicMetadata: { text: 'x'.repeat(9 * 1024) } }, 422, 'form_param_exceeds_allowed_size', 'public_metadata'],
  ];
  for (const [params, status, code, paramName] of cases) {
    await t.test(`${Object.keys(params)} ${code}`, () => refused(newOrganization(params), status, code, paramName));
  }
  const { id } = await newOrganization();
  await refused(clerk.organizations.updateOrganization(id, { slug }), 422, 'form_already_exists', 'slug');
  await refused(clerk.organizations.updateOrganization(unknownId('org'), { name: 'Acme' }), 404, 'resource_not_found');
});

test('a slug is given where none is named, and none where there are none', async () => {
  const { slug } = await newOrganization({ name: 'Über & Söhne' });
  assert.match(slug, /^[a-z0-9-]+-[0-9]+$/);
  const without = connectToNewInstance('organizations.slugs=false');
  await refused(without.organizations.createOrganization({ name: 'Acme', slug: 'acme' }), 403, 'organization_slugs_disabled');
  assert.equal(typeof (await without.organizations.createOrganization({ name: 'Acme' })).slug, 'string');
});

test('metadata is merged by PATCH at every depth, and replaced by PUT', async () => {
  const { id } = await newOrganization({ publicMetadata: { plan: { name: 'pro', seats: 5 }, old: true }, privateMetadata: { note: 'x' } });
  const merged = await clerk.organizations.updateOrganizationMetadata(id, { publicMetadata: { plan: { seats: 6 }, old: null } });
  assertHas(merged, { publicMetadata: { plan: { name: 'pro', seats: 6 } }, privateMetadata: { note: 'x' } });
  const replaced = await clerk.organizations.replaceOrganizationMetadata(id, { publicMetadata: { plan: { seats: 7 } } });
  assertHas(replaced, { publicMetadata: { plan: { seats: 7 } }, privateMetadata: { note: 'x' } });
  // The SDK still takes metadata in an update, and sends it by PUT.
  const updated = await clerk.organizations.updateOrganization(id, { name: 'Gamma', privateMetadata: { seen: 1 } });
  assertHas(updated, { name: 'Gamma', publicMetadata: { plan: { seats: 7 } }, privateMetadata: { seen: 1 } });
  const half = 'x'.repeat(5 * 1024);
  await clerk.organizations.replaceOrganizationMetadata(id, { publicMetadata: { a: half } });
  const tooLarge = clerk.organizations.updateOrganizationMetadata(id, { publicMetadata: { b: half } });
  await refused(tooLarge, 422, 'form_param_exceeds_allowed_size', 'public_metadata');
  assert.deepEqual((await clerk.organizations.getOrganization({ organizationId: id })).publicMetadata, { a: half });
  for (const method of ['updateOrganizationMetadata', 'replaceOrganizationMetadata']) {
    await refused(clerk.organizations[method](unknownId('org'), { publicMetadata: {} }), 404, 'resource_not_found');
  }
});

test('metadata in an update is replaced up to version 2025-11-10 and refused after it', async () => {
  const { id } = await newOrganization({ publicMetadata: { a: 1, b: 2 }, privateMetadata: { c: 3 } });
  const send = (version, method, path, body) => request(method, `/v1/organizations/${id}${path}`, { headers: { 'clerk-api-version': version }, body });
  for (const version of ['2021-02-05', '2024-10-01', '2025-04-10', '2025-11-10']) {
    const updated = await send(version, 'PATCH', '', { public_metadata: { version } });
    assert.deepEqual([updated.status, updated.body.public_metadata, updated.body.private_metadata], [200, { version }, { c: 3 }]);
    const merged = await send(version, 'PATCH', '/metadata', { public_metadata: { merged: true } });
    assert.deepEqual([merged.status, merged.body.public_metadata], [200, { version, merged: true }]);
  }
  const refusal = await send('2026-05-12', 'PATCH', '', { public_metadata: {} });
  assert.deepEqual([refusal.status, refusal.body.errors[0].code, refusal.body.errors[0].meta.param_name], [422, 'form_param_unknown', 'public_metadata']);
  const merged = await send('2026-05-12', 'PATCH', '/metadata', { public_metadata: { merged: null } });
  assert.deepEqual([merged.status, merged.body.public_metadata], [200, { version: '2025-11-10' }]);
});

test('a logo is uploaded in the name of a user, and nothing else is taken for one', async () => {
  const { id, imageUrl: defaultUrl } = await newOrganization();
  const uploader = await newUser();
  const file = new Blob([png(4, 4)], { type: 'image/png' });
  const upload = (params, organizationId = id) => clerk.organizations.updateOrganizationLogo(organizationId, { file, ...params });
  const pictured = await upload({ uploaderUserId: uploader.id });
  assertHas(pictured, { id, hasImage: true });
  assert.notEqual(pictured.imageUrl, defaultUrl);
  assertHas(pictured.raw, { logo_url: pictured.imageUrl });
  const served = await fetch(pictured.imageUrl);
  assert.deepEqual([served.status, served.headers.get('content-type')], [200, 'image/png']);
  await refused(upload({ uploaderUserId: unknownId('user') }), 404, 'resource_not_found');
  await refused(upload({ file: new Blob(['no picture'], { type: 'image/png' }) }), 400, 'request_body_invalid');
  await refused(upload({ file: new Blob([png(8, 8), Buffer.alloc(10 * 1024 * 1024)], { type: 'image/png' }) }), 413, 'image_too_large');
  await refused(upload({}, unknownId('org')), 404, 'resource_not_found');
  assert.equal((await clerk.organizations.getOrganization({ organizationId: id })).imageUrl, pictured.imageUrl);
  const without = await clerk.organizations.deleteOrganizationLogo(id);
  assertHas(without, { hasImage: false, imageUrl: defaultUrl });
  assert.equal((await fetch(defaultUrl)).status, 200);
  await refused(clerk.organizations.deleteOrganizationLogo(unknownId('org')), 404, 'resource_not_found');
});

test('an organization is deleted with its members, invitations and domains', async () => {
  const admin = await newUser();
  const { id: organizationId } = await newOrganization({ createdBy: admin.id });
  const invited = await newUser();
  const emailAddress = invited.primaryEmailAddress.emailAddress;
  await clerk.organizations.createOrganizationInvitation({ organizationId, emailAddress, role: 'org:member' });
  const name = `${unique()}.example.com`;
  const domain = (id) => clerk.organizations.createOrganizationDomain({ organizationId: id, name, enrollmentMode: 'manual_invitation' });
  await domain(organizationId);
  await clerk.organizations.deleteOrganization(organizationId);
  assert.equal((await clerk.users.getOrganizationMembershipList({ userId: admin.id })).totalCount, 0);
  assert.equal((await clerk.users.getOrganizationInvitationList({ userId: invited.id })).totalCount, 0);
  await refused(clerk.organizations.getOrganizationMembershipList({ organizationId }), 404, 'resource_not_found');
  // The name is free again.
  const next = await newOrganization();
  assert.equal((await domain(next.id)).organization_id, next.id);
});

test('organizations tell who is missing, and are left out of lists', async () => {
  const empty = connectToNewInstance();
  const user = await empty.users.createUser({ emailAddress: ['ada@example.com'] });
  const [led, left] = [await empty.organizations.createOrganization({ name: 'Led', createdBy: user.id }), await empty.organizations.createOrganization({ name: 'Left' })];
  const list = async (params) => (await empty.organizations.getOrganizationList(params)).data;
  const names = async (params) => (await list(params)).map(({ name }) => name);
  assert.deepEqual(await names({ userId: [`-${user.id}`] }), ['Left']);
  assert.deepEqual(await names({ organizationId: [`-${left.id}`] }), ['Led']);
  assert.deepEqual(await names({ query: led.slug }), ['Led']);
  assert.deepEqual(await names({ query: left.id }), ['Left']);
  const shown = await list({ includeMissingMemberWithElevatedPermissions: true, orderBy: 'name' });
  const missing = shown.map(({ name, raw }) => [name, raw.missing_member_with_elevated_permissions, raw.members_count]);
  assert.deepEqual(missing, [['Led', false, undefined], ['Left', true, undefined]]);
  await refused(list({ orderBy: 'slug' }), 422, 'form_param_value_invalid', 'order_by');
});
