// Everything here is done with the key of another instance than the organization's, or with organizations off.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import {
  clerk, connectToNewInstance, newEmail, newUser, otherClerk, otherSecretKey, png, refused, request, unique, unknownId,
} from './support.js';

let organization;
let admin;
let invitation;

before(async () => {
  admin = await newUser();
  organization = await clerk.organizations.createOrganization({ name: `Acme ${unique()}`, createdBy: admin.id, publicMetadata: { secret: 'ours' } });
  invitation = await clerk.organizations.createOrganizationInvitation({ organizationId: organization.id, emailAddress: newEmail(), role: 'org:member' });
});

/** Every method on an organization, by its name. */
function calls({ organizations, users }) {
  const { id: organizationId, slug } = organization;
  const { id: userId } = admin;
  const file = new Blob([png(8, 8)], { type: 'image/png' });
  const invited = { emailAddress: newEmail(), role: 'org:member' };
  return {
    getOrganization: () => organizations.getOrganization({ organizationId }),
    'getOrganization by slug': () => organizations.getOrganization({ slug }),
    updateOrganization: () => organizations.updateOrganization(organizationId, { name: 'Taken' }),
    updateOrganizationMetadata: () => organizations.updateOrganizationMetadata(organizationId, { publicMetadata: { taken: true } }),
    replaceOrganizationMetadata: () => organizations.replaceOrganizationMetadata(organizationId, { publicMetadata: {} }),
    updateOrganizationLogo: () => organizations.updateOrganizationLogo(organizationId, { file }),
    deleteOrganizationLogo: () => organizations.deleteOrganizationLogo(organizationId),
    deleteOrganization: () => organizations.deleteOrganization(organizationId),
    getOrganizationMembershipList: () => organizations.getOrganizationMembershipList({ organizationId }),
    createOrganizationMembership: () => organizations.createOrganizationMembership({ organizationId, userId, role: 'org:member' }),
    updateOrganizationMembership: () => organizations.updateOrganizationMembership({ organizationId, userId, role: 'org:member' }),
    updateOrganizationMembershipMetadata: () =>
      organizations.updateOrganizationMembershipMetadata({ organizationId, userId, publicMetadata: { taken: true } }),
    deleteOrganizationMembership: () => organizations.deleteOrganizationMembership({ organizationId, userId }),
    getOrganizationInvitationList: () => organizations.getOrganizationInvitationList({ organizationId }),
    createOrganizationInvitation: () => organizations.createOrganizationInvitation({ organizationId, ...invited }),
    createOrganizationInvitationBulk: () => organizations.createOrganizationInvitationBulk(organizationId, [invited]),
    getOrganizationInvitation: () => organizations.getOrganizationInvitation({ organizationId, invitationId: invitation.id }),
    revokeOrganizationInvitation: () => organizations.revokeOrganizationInvitation({ organizationId, invitationId: invitation.id }),
    'memberships of a user': () => users.getOrganizationMembershipList({ userId }),
    'invitations of a user': () => users.getOrganizationInvitationList({ userId }),
  };
}

const shownNow = async () => {
  const { id: organizationId } = organization;
  const members = await clerk.organizations.getOrganizationMembershipList({ organizationId });
  const invitations = await clerk.organizations.getOrganizationInvitationList({ organizationId });
  const itself = await clerk.organizations.getOrganization({ organizationId });
  return [itself.raw, members.data.map(({ raw }) => raw), invitations.data.map(({ raw }) => raw)];
};

test('an organization of another instance is not found by any method', async (t) => {
  const before = await shownNow();
  for (const [name, call] of Object.entries(calls(otherClerk))) {
    await t.test(name, () => refused(call(), 404, 'resource_not_found'));
  }
  const pending = await request('GET', `/v1/organizations/${organization.id}/invitations/pending`, { key: otherSecretKey });
  assert.equal(pending.status, 404);
  assert.deepEqual(await shownNow(), before);
});

test('users of another instance do not join', async () => {
  const stranger = await otherClerk.users.createUser({ emailAddress: [newEmail()] });
  const { id: organizationId } = organization;
  const join = clerk.organizations.createOrganizationMembership({ organizationId, userId: stranger.id, role: 'org:member' });
  await refused(join, 404, 'resource_not_found');
  await refused(clerk.organizations.createOrganization({ name: 'Acme', createdBy: stranger.id }), 400, 'organization_creator_not_found');
});

test('lists do not see another instance', async () => {
  const { organizations, users } = otherClerk;
  assert.deepEqual(await organizations.getOrganizationList({ organizationId: [organization.id] }), { data: [], totalCount: 0 });
  assert.deepEqual(await organizations.getOrganizationList({ query: organization.slug }), { data: [], totalCount: 0 });
  assert.deepEqual(await users.getUserList({ organizationId: [organization.id] }), { data: [], totalCount: 0 });
  const { data } = await organizations.getInstanceOrganizationMembershipList({ limit: 500 });
  assert.ok(!data.some((membership) => membership.organization.id === organization.id));
  const invited = (key) => request('GET', `/v1/organization_invitations?query=${encodeURIComponent(invitation.emailAddress)}`, { key });
  assert.equal((await invited(otherSecretKey)).body.total_count, 0);
  assert.equal((await invited()).body.data[0].id, invitation.id);
});

test('the same slug may exist in two instances', async () => {
  const twin = await otherClerk.organizations.createOrganization({ name: 'Twin', slug: organization.slug });
  assert.equal((await clerk.organizations.getOrganization({ slug: organization.slug })).id, organization.id);
  assert.equal((await otherClerk.organizations.getOrganization({ slug: organization.slug })).id, twin.id);
  await otherClerk.organizations.deleteOrganization(twin.id);
  assert.equal((await clerk.organizations.getOrganization({ slug: organization.slug })).id, organization.id);
});

test('where organizations are off every method says so', async (t) => {
  const without = connectToNewInstance('organizations.enabled=false');
  const { organizations, organizationRoles, organizationPermissions, roleSets } = without;
  const { id: organizationId } = organization;
  const domain = { organizationId, domainId: unknownId('orgdmn') };
  const all = {
    ...calls(without),
    getOrganizationList: () => organizations.getOrganizationList(),
    createOrganization: () => organizations.createOrganization({ name: 'Acme' }),
    getInstanceOrganizationMembershipList: () => organizations.getInstanceOrganizationMembershipList(),
    getOrganizationDomainList: () => organizations.getOrganizationDomainList({ organizationId }),
    createOrganizationDomain: () => organizations.createOrganizationDomain({ organizationId, name: 'example.com' }),
    updateOrganizationDomain: () => organizations.updateOrganizationDomain({ ...domain, verified: true }),
    deleteOrganizationDomain: () => organizations.deleteOrganizationDomain(domain),
    getOrganizationRoleList: () => organizationRoles.getOrganizationRoleList(),
    getOrganizationPermissionList: () => organizationPermissions.getOrganizationPermissionList(),
    getRoleSetList: () => roleSets.getRoleSetList(),
  };
  for (const [name, call] of Object.entries(all)) {
    await t.test(name, () => refused(call(), 403, 'organization_not_enabled_in_instance'));
  }
});
