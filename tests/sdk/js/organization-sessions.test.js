// The organization that somebody works for: in sessions, in tokens, and as the SDK reads them.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  assertHas, clerk, connectToNewInstance, newUser, otherClerk, refused, signIn, signInByTicket, unique, unknownId,
} from './support.js';

const newOrganization = () => clerk.organizations.createOrganization({ name: `Acme ${unique()}`, slug: `acme-${unique()}` });
const join = (organizationId, userId, role = 'org:member') => clerk.organizations.createOrganizationMembership({ organizationId, userId, role });

/** What a backend knows of whoever shows a token of this session. */
async function authOf(sessionId, by = clerk) {
  const { jwt } = await by.sessions.getToken(sessionId);
  const request = new Request('http://localhost:3000/', { headers: { authorization: `Bearer ${jwt}` } });
  const state = await by.authenticateRequest(request, { publishableKey: process.env.CLERK_PUBLISHABLE_KEY });
  assert.equal(state.isAuthenticated, true, state.message);
  return state.toAuth();
}

test('a session begins with the organization that is asked for, or that was joined last', async () => {
  const user = await newUser();
  const open = (params = {}) => clerk.sessions.createSession({ userId: user.id, ...params });
  assert.equal((await open()).lastActiveOrganizationId, null);
  const [first, second] = [await newOrganization(), await newOrganization()];
  for (const { id } of [first, second]) await join(id, user.id);
  assert.equal((await open()).lastActiveOrganizationId, second.id);
  const session = await open({ activeOrganizationId: first.id });
  assert.equal(session.lastActiveOrganizationId, first.id);
  assert.equal((await clerk.sessions.getSession(session.id)).lastActiveOrganizationId, first.id);
  const { data } = await clerk.sessions.getSessionList({ userId: user.id });
  assert.deepEqual(data.map(({ lastActiveOrganizationId }) => lastActiveOrganizationId).sort(), [null, first.id, second.id].sort());
  await refused(open({ activeOrganizationId: unknownId('org') }), 404, 'resource_not_found');
  const foreign = await otherClerk.organizations.createOrganization({ name: 'Elsewhere' });
  await refused(open({ activeOrganizationId: foreign.id }), 404, 'resource_not_found');
  await refused(open({ activeOrganizationId: (await newOrganization()).id }), 422, 'form_resource_not_found');
});

test('a token tells the organization, the role and the permissions, as they are now', async () => {
  const fresh = connectToNewInstance();
  const permission = await fresh.organizationPermissions.createOrganizationPermission({ name: 'Read pages', key: 'org:pages:read' });
  const { data: roles } = await fresh.organizationRoles.getOrganizationRoleList();
  const member = roles.find(({ key }) => key === 'org:member');
  await fresh.organizationRoles.assignPermissionToOrganizationRole({ organizationRoleId: member.id, permissionId: permission.id });
  const [user, admin] = [await fresh.users.createUser({ emailAddress: ['ann@example.com'] }), await fresh.users.createUser({ emailAddress: ['ben@example.com'] })];
  const { id: organizationId, slug } = await fresh.organizations.createOrganization({ name: 'Acme', createdBy: admin.id });
  await fresh.organizations.createOrganizationMembership({ organizationId, userId: user.id, role: 'org:member' });
  const session = await fresh.sessions.createSession({ userId: user.id });

  const auth = await authOf(session.id, fresh);
  assertHas(auth, { userId: user.id, orgId: organizationId, orgSlug: slug, orgRole: 'org:member' });
  assert.deepEqual(auth.orgPermissions, ['org:pages:read']);
  assert.ok(auth.has({ role: 'org:member' }) && auth.has({ permission: 'org:pages:read' }));
  assert.ok(!auth.has({ role: 'org:admin' }) && !auth.has({ permission: 'org:pages:write' }));

  await fresh.organizations.updateOrganizationMembership({ organizationId, userId: user.id, role: 'org:admin' });
  const promoted = await authOf(session.id, fresh);
  assert.ok(promoted.has({ role: 'org:admin' }) && !promoted.has({ permission: 'org:pages:read' }));
  await fresh.organizations.deleteOrganizationMembership({ organizationId, userId: user.id });
  assertHas(await authOf(session.id, fresh), { userId: user.id, orgId: undefined, orgRole: undefined });
  assert.equal((await fresh.sessions.getSession(session.id)).lastActiveOrganizationId, null);
});

test('a deleted organization is nobody’s active one', async () => {
  const user = await newUser();
  const { id } = await newOrganization();
  await join(id, user.id);
  const session = await clerk.sessions.createSession({ userId: user.id });
  assert.equal((await authOf(session.id)).orgId, id);
  await clerk.organizations.deleteOrganization(id);
  assert.equal((await authOf(session.id)).orgId, undefined);
  assert.equal((await clerk.sessions.getSession(session.id)).lastActiveOrganizationId, null);
});

test('a sign-in token leads into the organization that it names', async () => {
  const user = await newUser();
  const [first, last] = [await newOrganization(), await newOrganization()];
  for (const { id } of [first, last]) await join(id, user.id);
  const { sessionId } = await signIn(user.id, { orgId: first.id });
  assert.equal((await clerk.sessions.getSession(sessionId)).lastActiveOrganizationId, first.id);
  assertHas(await authOf(sessionId), { orgId: first.id, orgSlug: first.slug });
  const create = (orgId) => clerk.signInTokens.createSignInToken({ userId: user.id, orgId });
  await refused(create(unknownId('org')), 404, 'resource_not_found');
  await refused(create((await newOrganization()).id), 403, 'not_a_member_in_organization');
});

test('whoever is removed before they use a sign-in token works for themselves', async () => {
  const user = await newUser();
  const { id: organizationId } = await newOrganization();
  await join(organizationId, user.id);
  const { token: ticket } = await clerk.signInTokens.createSignInToken({ userId: user.id, orgId: organizationId });
  await clerk.organizations.deleteOrganizationMembership({ organizationId, userId: user.id });
  const { sessionId } = await signInByTicket(ticket);
  assert.equal((await clerk.sessions.getSession(sessionId)).lastActiveOrganizationId, null);
});

test('an actor token leads into the organization that it names, and leaves the user’s own choice alone', async () => {
  const [user, actor] = [await newUser(), await newUser()];
  const [first, last] = [await newOrganization(), await newOrganization()];
  for (const { id } of [first, last]) await join(id, user.id);
  const create = (orgId) => clerk.actorTokens.create({ userId: user.id, actor: { sub: actor.id }, orgId });
  const { sessionId, ask } = await signInByTicket((await create(first.id)).token);
  assertHas(await authOf(sessionId), { orgId: first.id, userId: user.id, actor: { sub: actor.id } });
  assert.equal((await ask('POST', `/client/sessions/${sessionId}/touch`, { active_organization_id: '' })).status, 200);
  assertHas(await authOf(sessionId), { orgId: undefined, userId: user.id });
  const own = await signIn(user.id);
  assertHas(await authOf(own.sessionId), { orgId: last.id, actor: undefined });
  for (const id of [unknownId('org'), (await newOrganization()).id]) {
    await refused(create(id), 422, 'form_resource_not_found', 'org_id');
  }
});
