import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  assertHas, clerk, connectToNewInstance, frontendUrl, idOf, newEmail, newestMessage, newUser, otherClerk, refused, request, unique, unknownId,
} from './support.js';

/** An organization with room for everybody, and the user who manages it. */
async function newOrganization() {
  const admin = await newUser();
  const { id } = await clerk.organizations.createOrganization({ name: `Acme ${unique()}`, slug: `acme-${unique()}`, createdBy: admin.id, maxAllowedMemberships: 0 });
  return { organizationId: id, admin };
}

const memberIds = async (organizationId) => {
  const { data } = await clerk.organizations.getOrganizationMembershipList({ organizationId });
  return data.map(({ publicUserData }) => publicUserData.userId);
};

/** Shows the ticket of an invitation at one of the ways into an account. */
async function showTicket(invitation, path) {
  const ticket = new URL(invitation.url).searchParams.get('ticket');
  const answer = await fetch(`${frontendUrl}/v1/client/${path}?_is_native=1`, { method: 'POST', body: new URLSearchParams({ strategy: 'ticket', ticket }) });
  return { status: answer.status, body: await answer.json() };
}

test('an address is invited in the name of a member, found again and revoked', async () => {
  const { organizationId, admin } = await newOrganization();
  const emailAddress = newEmail();
  const made = await clerk.organizations.createOrganizationInvitation({
    organizationId, emailAddress, role: 'org:member', inviterUserId: admin.id, redirectUrl: 'https://example.com/join',
    publicMetadata: { team: 'a' }, privateMetadata: { cost: 1 }, expiresInDays: 7,
  });
  assert.match(made.id, idOf('orginv'));
  assertHas(made, { emailAddress, role: 'org:member', organizationId, status: 'pending', publicMetadata: { team: 'a' }, privateMetadata: { cost: 1 } });
  assert.ok(new URL(made.url).pathname === '/v1/tickets/accept', made.url);
  const path = { organizationId, invitationId: made.id };
  assert.equal((await clerk.organizations.getOrganizationInvitation(path)).url, made.url);
  await refused(clerk.organizations.createOrganizationInvitation({ organizationId, emailAddress, role: 'org:member' }), 400, 'organization_invitation_not_unique');
  await refused(otherClerk.organizations.getOrganizationInvitation(path), 404, 'resource_not_found');
  const revoked = await clerk.organizations.revokeOrganizationInvitation({ ...path, requestingUserId: admin.id });
  assertHas(revoked, { id: made.id, status: 'revoked' });
  await refused(clerk.organizations.revokeOrganizationInvitation(path), 404, 'organization_invitation_not_pending');
  await refused(clerk.organizations.getOrganizationInvitation({ organizationId, invitationId: unknownId('orginv') }), 404, 'resource_not_found');
});

test('several addresses are invited all or none, and listed by status', async () => {
  const { organizationId } = await newOrganization();
  const emails = [newEmail(), newEmail(), newEmail()];
  const invitations = emails.map((emailAddress) => ({ emailAddress, role: 'org:member', notify: false }));
  const { data, totalCount } = await clerk.organizations.createOrganizationInvitationBulk(organizationId, invitations);
  assert.equal(totalCount, 3);
  assert.deepEqual(data.map(({ emailAddress }) => emailAddress), emails);
  const twice = [{ emailAddress: newEmail(), role: 'org:member' }, invitations[0]];
  await refused(clerk.organizations.createOrganizationInvitationBulk(organizationId, twice), 400, 'organization_invitation_not_unique');
  await clerk.organizations.revokeOrganizationInvitation({ organizationId, invitationId: data[0].id });
  const listed = async (status) => (await clerk.organizations.getOrganizationInvitationList({ organizationId, status })).data.map(({ id }) => id).sort();
  assert.deepEqual(await listed(['pending']), [data[1].id, data[2].id].sort());
  assert.deepEqual(await listed(['pending', 'revoked']), data.map(({ id }) => id).sort());
  assert.deepEqual(await listed(['accepted', 'expired']), []);
});

test('whoever has an account signs in by the ticket and joins', async () => {
  const { organizationId } = await newOrganization();
  const emailAddress = newEmail();
  const user = await newUser({ emailAddress: [emailAddress] });
  const made = await clerk.organizations.createOrganizationInvitation({ organizationId, emailAddress, role: 'org:admin', publicMetadata: { seat: 3 } });
  const mine = await clerk.users.getOrganizationInvitationList({ userId: user.id, status: 'pending' });
  assert.equal(mine.totalCount, 1);
  assertHas(mine.data[0], { id: made.id });
  assert.equal(mine.data[0].publicOrganizationData.id, organizationId);
  const { status, body } = await showTicket(made, 'sign_ins');
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.response.status, 'complete');
  const { data } = await clerk.organizations.getOrganizationMembershipList({ organizationId, userId: [user.id] });
  assertHas(data[0], { role: 'org:admin', publicMetadata: { seat: 3 } });
  assert.equal((await clerk.organizations.getOrganizationInvitation({ organizationId, invitationId: made.id })).status, 'accepted');
});

test('whoever has no account signs up by the ticket and joins', async () => {
  const { organizationId } = await newOrganization();
  const emailAddress = newEmail();
  const made = await clerk.organizations.createOrganizationInvitation({ organizationId, emailAddress, role: 'org:member' });
  const refusedSignIn = await showTicket(made, 'sign_ins');
  assert.equal(refusedSignIn.body.errors[0].code, 'organization_invitation_identification_not_exist');
  const { body } = await showTicket(made, 'sign_ups');
  assertHas(body.response, { email_address: emailAddress, unverified_fields: [] });
  assert.deepEqual(body.response.missing_fields, ['password']);
  assert.equal((await memberIds(organizationId)).length, 1);
});

test('an organization has no more members and invitations than it may', async () => {
  const fresh = connectToNewInstance();
  const { id: organizationId } = await fresh.organizations.createOrganization({ name: 'Small', maxAllowedMemberships: 1 });
  await fresh.organizations.createOrganizationInvitation({ organizationId, emailAddress: newEmail(), role: 'org:member' });
  const second = fresh.organizations.createOrganizationInvitation({ organizationId, emailAddress: newEmail(), role: 'org:member' });
  await refused(second, 403, 'organization_membership_quota_exceeded');
});

test('an invitation is refused that nobody may send, or nobody can take up', async () => {
  const { organizationId, admin } = await newOrganization();
  const [member, stranger] = [await newUser(), await newUser()];
  await clerk.organizations.createOrganizationMembership({ organizationId, userId: member.id, role: 'org:member' });
  const invite = (params) => clerk.organizations.createOrganizationInvitation({ organizationId, emailAddress: newEmail(), role: 'org:member', ...params });
  await refused(invite({ emailAddress: 'nobody' }), 422, 'form_param_format_invalid', 'email_address');
  await refused(invite({ role: 'org:owner' }), 422, 'form_resource_not_found', 'role');
  await refused(invite({ expiresInDays: 366 }), 422, undefined, 'expires_in_days');
  await refused(invite({ redirectUrl: 'nowhere' }), 422, undefined, 'redirect_url');
  await refused(invite({ inviterUserId: stranger.id }), 403, 'not_a_member_in_organization');
  await refused(invite({ inviterUserId: member.id }), 403, 'missing_organization_permission');
  await refused(invite({ emailAddress: admin.primaryEmailAddress.emailAddress }), 400, 'already_a_member_in_organization');
  await refused(invite({ organizationId: unknownId('org') }), 404, 'resource_not_found');
  const many = Array.from({ length: 11 }, () => ({ emailAddress: newEmail(), role: 'org:member' }));
  await refused(clerk.organizations.createOrganizationInvitationBulk(organizationId, many), 400, 'bulk_size_exceeded');
  const none = await request('POST', `/v1/organizations/${organizationId}/invitations/bulk`, { body: [] });
  assert.equal(none.status, 422);
  assert.equal((await clerk.organizations.getOrganizationInvitationList({ organizationId })).totalCount, 0);

  const made = await invite({});
  const revoke = (requestingUserId) => clerk.organizations.revokeOrganizationInvitation({ organizationId, invitationId: made.id, requestingUserId });
  await refused(revoke(stranger.id), 403, 'not_a_member_in_organization');
  await refused(revoke(member.id), 403, 'missing_organization_permission');
  assert.equal((await clerk.organizations.getOrganizationInvitation({ organizationId, invitationId: made.id })).status, 'pending');
});

test('pending invitations of an organization, and those of all, are listed', async () => {
  const { organizationId } = await newOrganization();
  const mark = unique();
  const made = [];
  for (const letter of ['b', 'a', 'c']) {
    made.push(await clerk.organizations.createOrganizationInvitation({ organizationId, emailAddress: `${letter}-${mark}@example.com`, role: 'org:member' }));
  }
  await clerk.organizations.revokeOrganizationInvitation({ organizationId, invitationId: made[2].id });
  const letters = async (path) => {
    const { body } = await request('GET', `/v1${path}`);
    return body.data.map(({ email_address: address }) => address[0]).join('');
  };
  assert.equal(await letters(`/organizations/${organizationId}/invitations/pending`), 'ab');
  assert.equal(await letters(`/organizations/${organizationId}/invitations?order_by=email_address`), 'abc');
  assert.equal(await letters(`/organizations/${organizationId}/invitations?email_address=b-${mark}@example.com`), 'b');
  assert.equal(await letters(`/organization_invitations?query=${mark.toUpperCase()}&order_by=-email_address`), 'cba');
  assert.equal(await letters(`/organization_invitations?query=${mark}&status=pending&limit=1&offset=1`), 'b');
  const { body } = await request('GET', `/v1/organization_invitations?query=${mark}`);
  assert.deepEqual([body.total_count, body.data[0].public_organization_data.id], [3, organizationId]);
  const refusal = await request('GET', '/v1/organization_invitations?order_by=age');
  assert.deepEqual([refusal.status, refusal.body.errors[0].code], [422, 'form_param_value_invalid']);
});

test('an invitation is sent, unless told otherwise', async () => {
  const { organizationId, admin } = await newOrganization();
  const [told, untold] = [newEmail(), newEmail()];
  const invite = (emailAddress, params) => clerk.organizations.createOrganizationInvitation({ organizationId, emailAddress, role: 'org:member', inviterUserId: admin.id, ...params });
  const made = await invite(told);
  await invite(untold, { notify: false });
  const message = await newestMessage(told);
  assert.ok(JSON.stringify(message).includes(new URL(made.url).searchParams.get('ticket')), 'the message has no link');
  const inbox = await request('GET', `/dev/inbox?to=${encodeURIComponent(untold)}`);
  assert.deepEqual(inbox.body.data, []);
});
