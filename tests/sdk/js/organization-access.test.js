// Roles, permissions, role sets and link tokens of admin portals, in instances of their own: each may have few of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  assertHas, clerk as shared, connectToNewInstance, idOf, newEmail, otherClerk, otherSecretKey, refused, request, unique, unknownId,
} from './support.js';

const keys = (list) => list.map(({ key }) => key);

test('permissions are created, listed, changed and deleted, those of the system never', async () => {
  const clerk = connectToNewInstance();
  const created = await clerk.organizationPermissions.createOrganizationPermission({ name: 'Read', key: 'org:pages:read', description: 'Reads.' });
  assert.match(created.id, idOf('perm'));
  assertHas(created, { name: 'Read', key: 'org:pages:read', description: 'Reads.' });
  assert.deepEqual(await clerk.organizationPermissions.getOrganizationPermission(created.id), created);
  const { data, totalCount } = await clerk.organizationPermissions.getOrganizationPermissionList({ limit: 500, orderBy: '+key' });
  assert.equal(totalCount, 10);
  assert.equal(data[0].key, 'org:pages:read');
  const changed = await clerk.organizationPermissions.updateOrganizationPermission({ permissionId: created.id, key: 'org:pages:see' });
  assertHas(changed, { id: created.id, name: 'Read', key: 'org:pages:see' });
  const system = clerk.organizationPermissions.updateOrganizationPermission({ permissionId: data[1].id, name: 'Other' });
  await refused(system, 403, 'organization_system_permission_not_modifiable');
  const reserved = clerk.organizationPermissions.createOrganizationPermission({ name: 'A', key: 'org:sys_a:read' });
  await refused(reserved, 422, 'form_param_value_invalid', 'key');
  assertHas(await clerk.organizationPermissions.deleteOrganizationPermission(created.id), { id: created.id, deleted: true });
  await refused(clerk.organizationPermissions.getOrganizationPermission(created.id), 404, 'resource_not_found');
});

test('roles are created, listed, changed, given permissions and deleted', async () => {
  const clerk = connectToNewInstance();
  const { data: [domains] } = await clerk.organizationPermissions.getOrganizationPermissionList({ query: 'org:sys_domains:read' });
  const created = await clerk.organizationRoles.createOrganizationRole({
    name: 'Editor', key: 'org:editor', permissions: [domains.id], includeInInitialRoleSet: true,
  });
  assert.match(created.id, idOf('role'));
  assertHas(created, { name: 'Editor', key: 'org:editor', description: null, isCreatorEligible: false });
  assert.deepEqual(keys(created.permissions), ['org:sys_domains:read']);
  assert.deepEqual(await clerk.organizationRoles.getOrganizationRole(created.id), created);
  const { data, totalCount } = await clerk.organizationRoles.getOrganizationRoleList({ orderBy: 'key', query: 'org:' });
  assert.deepEqual([keys(data), totalCount], [['org:admin', 'org:editor', 'org:member'], 3]);
  const ids = { organizationRoleId: created.id, permissionId: domains.id };
  assert.deepEqual((await clerk.organizationRoles.removePermissionFromOrganizationRole(ids)).permissions, []);
  await refused(clerk.organizationRoles.removePermissionFromOrganizationRole(ids), 404, 'organization_role_permission_association_not_found');
  assert.equal((await clerk.organizationRoles.assignPermissionToOrganizationRole(ids)).permissions.length, 1);
  await refused(clerk.organizationRoles.assignPermissionToOrganizationRole(ids), 409, 'organization_role_permission_association_exists');
  const changed = await clerk.organizationRoles.updateOrganizationRole({ organizationRoleId: created.id, key: 'org:author', name: null });
  assertHas(changed, { name: 'Editor', key: 'org:author' });
  await refused(clerk.organizationRoles.deleteOrganizationRole(data[0].id), 422, 'organization_role_default_creator_role');
  await refused(otherClerk.organizationRoles.deleteOrganizationRole(created.id), 404, 'resource_not_found');
  assertHas(await clerk.organizationRoles.deleteOrganizationRole(created.id), { id: created.id, deleted: true });
});

test('role sets are created, changed and replaced, and members get other roles', async () => {
  const clerk = connectToNewInstance();
  for (const key of ['org:viewer', 'org:guest']) {
    await clerk.organizationRoles.createOrganizationRole({ name: key, key });
  }
  const created = await clerk.roleSets.createRoleSet({
    name: 'Big Customers', defaultRoleKey: 'org:viewer', creatorRoleKey: 'org:admin', roles: ['org:admin', 'org:viewer'],
  });
  assert.match(created.id, idOf('rset'));
  assertHas(created, { key: 'role_set:big_customers', type: 'custom', description: null, roleSetMigration: null });
  assert.deepEqual(await clerk.roleSets.getRoleSet('role_set:big_customers'), created);
  const added = await clerk.roleSets.addRolesToRoleSet({ roleSetKeyOrId: created.id, roleKeys: ['org:guest'] });
  assert.deepEqual(keys(added.roles), ['org:admin', 'org:viewer', 'org:guest']);
  const changed = await clerk.roleSets.updateRoleSet({ roleSetKeyOrId: created.id, name: 'Customers', defaultRoleKey: 'org:guest' });
  assert.deepEqual([changed.name, changed.defaultRole.key], ['Customers', 'org:guest']);
  const { data, totalCount } = await clerk.roleSets.getRoleSetList({ query: 'role_set:', orderBy: '-key' });
  assert.deepEqual([keys(data), totalCount], [['role_set:default', 'role_set:big_customers'], 2]);

  const organization = await clerk.organizations.createOrganization({ name: 'Acme', roleSetKey: 'role_set:big_customers' });
  const user = await clerk.users.createUser({ emailAddress: [newEmail()] });
  await clerk.organizations.createOrganizationMembership({ organizationId: organization.id, userId: user.id, role: 'org:viewer' });
  const roleOf = async () => (await clerk.users.getOrganizationMembershipList({ userId: user.id })).data[0].role;
  const replaced = await clerk.roleSets.replaceRoleInRoleSet({ roleSetKeyOrId: created.id, roleKey: 'org:viewer', toRoleKey: 'org:guest' });
  assert.deepEqual([keys(replaced.roles), replaced.roles[1].membersCount], [['org:admin', 'org:guest'], 1]);
  assert.equal(await roleOf(), 'org:guest');
  const without = clerk.roleSets.replaceRoleSet({ roleSetKeyOrId: created.id, destRoleSetKey: 'role_set:default' });
  await refused(without, 422, 'organization_role_set_reassignment_mappings_missing', 'reassignment_mappings');
  const gone = await clerk.roleSets.replaceRoleSet({
    roleSetKeyOrId: created.id, destRoleSetKey: 'role_set:default', reassignmentMappings: { 'org:guest': 'org:member' },
  });
  assertHas(gone, { id: created.id, deleted: true });
  assert.equal(await roleOf(), 'org:member');
  await refused(clerk.roleSets.getRoleSet(created.id), 404, 'resource_not_found');
  const initial = clerk.roleSets.replaceRoleSet({ roleSetKeyOrId: 'role_set:default', destRoleSetKey: 'role_set:default' });
  await refused(initial, 403, 'cannot_delete_initial_role_set');
  await refused(clerk.roleSets.getRoleSet(unknownId('rset')), 404, 'resource_not_found');
});

test('a permission is refused whose key is taken or has not its form', async () => {
  const clerk = connectToNewInstance();
  const create = (params) => clerk.organizationPermissions.createOrganizationPermission({ name: 'Read', key: 'org:pages:read', ...params });
  await create({});
  await refused(create({}), 422, 'form_already_exists', 'key');
  for (const key of ['pages:read', 'org:pages', 'org:Pages:read', 'org:pages:read:all', '']) {
    await refused(create({ key }), 422, undefined, 'key');
  }
  await refused(create({ key: 'org:pages:see', name: '' }), 422, 'form_param_nil', 'name');
  await refused(clerk.organizationPermissions.deleteOrganizationPermission(unknownId('perm')), 404, 'resource_not_found');
  await refused(clerk.organizationPermissions.updateOrganizationPermission({ permissionId: unknownId('perm'), name: 'A' }), 404, 'resource_not_found');
  const { data: [system] } = await clerk.organizationPermissions.getOrganizationPermissionList({ query: 'org:sys_billing:read' });
  await refused(clerk.organizationPermissions.deleteOrganizationPermission(system.id), 403, 'organization_system_permission_not_modifiable');
});

test('a deleted permission leaves the roles that had it', async () => {
  const clerk = connectToNewInstance();
  const { id } = await clerk.organizationPermissions.createOrganizationPermission({ name: 'Read', key: 'org:pages:read' });
  const role = await clerk.organizationRoles.createOrganizationRole({ name: 'Reader', key: 'org:reader', permissions: [id] });
  assert.deepEqual(keys(role.permissions), ['org:pages:read']);
  await clerk.organizationPermissions.deleteOrganizationPermission(id);
  assert.deepEqual((await clerk.organizationRoles.getOrganizationRole(role.id)).permissions, []);
});

test('a role is refused that is taken, has not its form, or names what is not there', async () => {
  const clerk = connectToNewInstance();
  const create = (params) => clerk.organizationRoles.createOrganizationRole({ name: 'Editor', key: 'org:editor', ...params });
  const { id: organizationRoleId } = await create({});
  await refused(create({}), 422, 'form_already_exists', 'key');
  for (const key of ['editor', 'org:', 'org:The Editor', '']) await refused(create({ key }), 422, undefined, 'key');
  await refused(create({ key: 'org:author', permissions: [unknownId('perm')] }), 422, 'form_resource_not_found', 'permissions');
  const ids = { organizationRoleId, permissionId: unknownId('perm') };
  await refused(clerk.organizationRoles.assignPermissionToOrganizationRole(ids), 404, 'resource_not_found');
  await refused(clerk.organizationRoles.removePermissionFromOrganizationRole(ids), 404, 'resource_not_found');
  await refused(clerk.organizationRoles.updateOrganizationRole({ organizationRoleId: unknownId('role'), name: 'A' }), 404, 'resource_not_found');
  await refused(clerk.organizationRoles.updateOrganizationRole({ organizationRoleId, key: 'org:admin' }), 422, 'form_already_exists', 'key');
});

test('a role stays while members have it or invitations promise it', async () => {
  const clerk = connectToNewInstance();
  const { id } = await clerk.organizationRoles.createOrganizationRole({ name: 'Editor', key: 'org:editor', includeInInitialRoleSet: true });
  const { id: organizationId } = await clerk.organizations.createOrganization({ name: 'Acme' });
  const user = await clerk.users.createUser({ emailAddress: [newEmail()] });
  await clerk.organizations.createOrganizationMembership({ organizationId, userId: user.id, role: 'org:editor' });
  await refused(clerk.organizationRoles.deleteOrganizationRole(id), 422, 'organization_role_assigned_members');
  await clerk.organizations.updateOrganizationMembership({ organizationId, userId: user.id, role: 'org:member' });
  const invitation = await clerk.organizations.createOrganizationInvitation({ organizationId, emailAddress: newEmail(), role: 'org:editor' });
  await refused(clerk.organizationRoles.deleteOrganizationRole(id), 422, 'organization_role_exists_in_invitations');
  await clerk.organizations.revokeOrganizationInvitation({ organizationId, invitationId: invitation.id });
  assertHas(await clerk.organizationRoles.deleteOrganizationRole(id), { id, deleted: true });
});

test('whoever creates an organization keeps a role with which to manage it', async () => {
  const clerk = connectToNewInstance();
  const { data: [admin] } = await clerk.organizationRoles.getOrganizationRoleList({ query: 'org:admin' });
  const manage = admin.permissions.find(({ key }) => key === 'org:sys_memberships:manage');
  const ids = { organizationRoleId: admin.id, permissionId: manage.id };
  await refused(clerk.organizationRoles.removePermissionFromOrganizationRole(ids), 422, 'organization_missing_creator_role_permissions');
  const role = clerk.roleSets.updateRoleSet({ roleSetKeyOrId: 'role_set:default', creatorRoleKey: 'org:member' });
  await refused(role, 422, 'organization_missing_creator_role_permissions');
});

test('a role set is refused that lacks its roles, and only one is initial', async () => {
  const clerk = connectToNewInstance();
  await clerk.organizationRoles.createOrganizationRole({ name: 'Guest', key: 'org:guest' });
  const set = { name: 'Customers', key: 'role_set:customers', roles: ['org:admin', 'org:member'], defaultRoleKey: 'org:member', creatorRoleKey: 'org:admin' };
  const create = (params) => clerk.roleSets.createRoleSet({ ...set, ...params });
  await refused(create({ roles: [] }), 422, undefined, 'roles');
  await refused(create({ roles: ['org:admin', 'org:owner'] }), 422, 'form_resource_not_found', 'roles');
  await refused(create({ defaultRoleKey: 'org:guest' }), 422, undefined, 'default_role_key');
  await refused(create({ key: 'customers' }), 422, undefined, 'key');
  const made = await create({ type: 'initial' });
  await refused(create({}), 422, 'form_already_exists', 'key');
  assert.equal(made.type, 'initial');
  assert.equal((await clerk.roleSets.getRoleSet('role_set:default')).type, 'custom');
  assert.equal((await clerk.organizations.createOrganization({ name: 'Acme' })).raw.role_set_key, 'role_set:customers');
  await clerk.roleSets.updateRoleSet({ roleSetKeyOrId: 'role_set:default', type: 'initial' });
  assert.equal((await clerk.roleSets.getRoleSet(made.id)).type, 'custom');

  const add = (params) => clerk.roleSets.addRolesToRoleSet({ roleSetKeyOrId: made.id, ...params });
  await refused(add({ roleKeys: ['org:owner'] }), 422, 'form_resource_not_found', 'role_keys');
  const added = await add({ roleKeys: ['org:guest', 'org:member'], defaultRoleKey: 'org:guest' });
  assert.deepEqual([keys(added.roles), added.defaultRole.key], [['org:admin', 'org:member', 'org:guest'], 'org:guest']);
  const replace = (roleKey, toRoleKey) => clerk.roleSets.replaceRoleInRoleSet({ roleSetKeyOrId: made.id, roleKey, toRoleKey });
  await refused(replace('org:owner', 'org:guest'), 422, 'form_resource_not_found', 'role_key');
  await refused(replace('org:guest', 'org:guest'), 422, 'form_param_value_invalid', 'to_role_key');
  const leave = (params) => clerk.roleSets.replaceRoleSet({ roleSetKeyOrId: made.id, ...params });
  await refused(leave({ destRoleSetKey: 'role_set:none' }), 422, 'form_resource_not_found', 'dest_role_set_key');
  await refused(leave({ destRoleSetKey: made.key }), 422, 'form_param_value_invalid', 'dest_role_set_key');
  const badly = leave({ destRoleSetKey: 'role_set:default', reassignmentMappings: { 'org:guest': 'org:guest' } });
  await refused(badly, 422, 'organization_role_set_reassignment_mappings_invalid', 'reassignment_mappings');
  await leave({ destRoleSetKey: 'role_set:default' });
  const { data: [organization] } = await clerk.organizations.getOrganizationList();
  assert.equal(organization.raw.role_set_key, 'role_set:default');
});

test('link tokens of admin portals are created, shown once and revoked', async () => {
  const organization = await shared.organizations.createOrganization({ name: `Acme ${unique()}` });
  const create = (body, key) => request('POST', '/v1/admin_portal_link_tokens', { body, key });
  const revoke = (id, body = {}, key = undefined) => request('POST', `/v1/admin_portal_link_tokens/${id}/revoke`, { body, key });
  const { status, body: made } = await create({ organization_id: organization.id, it_contact_id: 'ann', scopes: ['sso'], seconds_until_expiration: 60 });
  assert.equal(status, 201);
  assertHas(made, { object: 'admin_portal_link_token', organization_id: organization.id, it_contact_id: 'ann', scopes: ['sso'], revoked: false, expired: false });
  assert.match(made.id, /^aplt_[0-9a-f]{32}$/);
  assert.match(made.token, /^aplt_[0-9A-Za-z]{32}$/);
  assert.equal(made.expiration, made.created_at + 60_000);
  const code = ({ status, body }) => [status, body.errors[0].code, body.errors[0].meta?.param_name];
  assert.deepEqual(code(await create({ organization_id: unknownId('org') })), [400, 'bad_request', 'organization_id']);
  assert.deepEqual(code(await create({ organization_id: organization.id }, otherSecretKey)), [400, 'bad_request', 'organization_id']);
  assert.deepEqual(code(await create({ seconds_until_expiration: 86_401 }))[0], 400);
  assert.deepEqual(code(await revoke(made.id, {}, otherSecretKey)).slice(0, 2), [404, 'resource_not_found']);
  const { body: revoked } = await revoke(made.id, { revocation_reason: 'Lost' });
  assertHas(revoked, { id: made.id, revoked: true, revocation_reason: 'Lost', token: undefined });
  assert.deepEqual((await revoke(made.id, { revocation_reason: 'Found' })).body, revoked);
  assert.deepEqual(code(await revoke(`aplt_${'0'.repeat(32)}`)).slice(0, 2), [404, 'resource_not_found']);
});

test('roles, permissions and role sets of another instance are not found', async () => {
  const clerk = connectToNewInstance();
  const permission = await clerk.organizationPermissions.createOrganizationPermission({ name: 'Read', key: 'org:pages:read' });
  const role = await clerk.organizationRoles.createOrganizationRole({ name: 'Editor', key: 'org:editor' });
  const set = await clerk.roleSets.createRoleSet({ name: 'Others', roles: ['org:admin'], defaultRoleKey: 'org:admin', creatorRoleKey: 'org:admin' });
  const { organizationPermissions, organizationRoles, roleSets } = otherClerk;
  const ids = { organizationRoleId: role.id, permissionId: permission.id };
  const roleSetKeyOrId = set.id;
  const calls = [
    () => organizationPermissions.getOrganizationPermission(permission.id),
    () => organizationPermissions.updateOrganizationPermission({ permissionId: permission.id, name: 'Taken' }),
    () => organizationPermissions.deleteOrganizationPermission(permission.id),
    () => organizationRoles.getOrganizationRole(role.id),
    () => organizationRoles.updateOrganizationRole({ organizationRoleId: role.id, name: 'Taken' }),
    () => organizationRoles.deleteOrganizationRole(role.id),
    () => organizationRoles.assignPermissionToOrganizationRole(ids),
    () => organizationRoles.removePermissionFromOrganizationRole(ids),
    () => roleSets.getRoleSet(set.id),
    () => roleSets.getRoleSet(set.key),
    () => roleSets.updateRoleSet({ roleSetKeyOrId, name: 'Taken' }),
    () => roleSets.addRolesToRoleSet({ roleSetKeyOrId, roleKeys: ['org:member'] }),
    () => roleSets.replaceRoleInRoleSet({ roleSetKeyOrId, roleKey: 'org:admin', toRoleKey: 'org:member' }),
    () => roleSets.replaceRoleSet({ roleSetKeyOrId, destRoleSetKey: 'role_set:default' }),
  ];
  for (const call of calls) await refused(call(), 404, 'resource_not_found');
  assert.deepEqual(await clerk.organizationPermissions.getOrganizationPermission(permission.id), permission);
  assert.deepEqual(await clerk.organizationRoles.getOrganizationRole(role.id), role);
  assert.deepEqual(await clerk.roleSets.getRoleSet(set.id), set);
});
