import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertHas, clerk, connectToNewInstance, frontendUrl, idOf, newEmail, newestMessage, newUser, otherClerk, refused, unknownId } from './support.js';

/** Shows the ticket of an invitation at one of the ways into an account. */
async function showTicket(invitation, path, fields = {}) {
  const ticket = new URL(invitation.url).searchParams.get('ticket');
  const body = new URLSearchParams({ strategy: 'ticket', ticket, ...fields });
  const answer = await fetch(`${frontendUrl}/v1/client/${path}?_is_native=1`, { method: 'POST', body });
  return { status: answer.status, body: await answer.json() };
}

test('an address is invited, found again and revoked', async () => {
  const emailAddress = newEmail();
  const made = await clerk.invitations.createInvitation({
    emailAddress, redirectUrl: 'https://example.com/join', publicMetadata: { plan: 'gold' }, expiresInDays: 7, notify: true,
  });
  assert.match(made.id, idOf('inv'));
  assertHas(made, { emailAddress, status: 'pending', publicMetadata: { plan: 'gold' } });
  assert.equal(new URL(made.url).pathname, '/v1/tickets/accept');
  assertHas(await newestMessage(emailAddress), { slug: 'invitation' });
  const { data, totalCount } = await clerk.invitations.getInvitationList({ query: emailAddress, status: 'pending' });
  assert.deepEqual([data.map(({ id }) => id), totalCount], [[made.id], 1]);
  await refused(clerk.invitations.createInvitation({ emailAddress }), 400, 'duplicate_record');
  await refused(otherClerk.invitations.revokeInvitation(made.id), 404, 'resource_not_found');
  assertHas(await clerk.invitations.revokeInvitation(made.id), { id: made.id, status: 'revoked', revoked: true });
  await refused(clerk.invitations.revokeInvitation(made.id), 400, 'invitation_already_revoked');
  await refused(clerk.invitations.revokeInvitation(unknownId('inv')), 404, 'resource_not_found');
});

test('a deleted invitation is gone, and its ticket is not valid', async () => {
  const emailAddress = newEmail();
  const made = await clerk.invitations.createInvitation({ emailAddress });
  await refused(otherClerk.invitations.deleteInvitation(made.id), 404, 'resource_not_found');
  assertHas(await clerk.invitations.deleteInvitation(made.id), { object: 'invitation', id: made.id, deleted: true });
  await refused(clerk.invitations.deleteInvitation(made.id), 404, 'resource_not_found');
  assert.equal((await clerk.invitations.getInvitationList({ query: emailAddress })).totalCount, 0);
  const shown = await showTicket(made, 'sign_ups');
  assert.deepEqual([shown.status, shown.body.errors[0].code], [400, 'ticket_invalid_code']);
});

test('several addresses are invited all or none', async () => {
  const emails = [newEmail(), newEmail()];
  const made = await clerk.invitations.createInvitationBulk(emails.map((emailAddress) => ({ emailAddress, notify: false })));
  assert.deepEqual(made.map(({ emailAddress }) => emailAddress), emails);
  const fresh = newEmail();
  const mixed = [{ emailAddress: fresh }, { emailAddress: emails[0] }];
  await refused(clerk.invitations.createInvitationBulk(mixed), 400, 'duplicate_record');
  assert.equal((await clerk.invitations.getInvitationList({ query: fresh })).totalCount, 0);
  const user = await newUser();
  const held = user.emailAddresses[0].emailAddress;
  await refused(clerk.invitations.createInvitationBulk([{ emailAddress: held, ignoreExisting: true }]), 422, 'form_identifier_exists');
});

test('whoever is invited signs up with what they were promised', async () => {
  const emailAddress = newEmail();
  const made = await clerk.invitations.createInvitation({ emailAddress, publicMetadata: { plan: 'gold' } });
  assertHas((await showTicket(made, 'sign_ins')).body.errors[0], { code: 'invitation_account_not_exists' });
  const { status, body } = await showTicket(made, 'sign_ups', { password: 'countess of numbers' });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.response.status, 'complete');
  const user = await clerk.users.getUser(body.response.created_user_id);
  assert.deepEqual(user.publicMetadata, { plan: 'gold' });
  const { data } = await clerk.invitations.getInvitationList({ query: made.id, status: 'accepted' });
  assert.deepEqual(data.map(({ id }) => id), [made.id]);
});

test('identifiers are put on the lists, shown and taken off', async () => {
  // The name `clerk` is what `methods.test.js` looks for.
  const clerk = connectToNewInstance();
  const email = newEmail();
  const allowed = await clerk.allowlistIdentifiers.createAllowlistIdentifier({ identifier: email, notify: true });
  assert.match(allowed.id, idOf('alid'));
  assertHas(allowed, { identifier: email, identifierType: 'email_address' });
  assert.match(allowed.invitationId, idOf('inv'));
  await refused(clerk.allowlistIdentifiers.createAllowlistIdentifier({ identifier: email, notify: false }), 400, 'duplicate_record');
  assert.equal((await clerk.allowlistIdentifiers.getAllowlistIdentifierList()).totalCount, 1);
  assertHas(await clerk.allowlistIdentifiers.deleteAllowlistIdentifier(allowed.id), { id: allowed.id, deleted: true });
  const blocked = await clerk.blocklistIdentifiers.createBlocklistIdentifier({ identifier: '*@example.org' });
  assert.match(blocked.id, idOf('blid'));
  const listed = await clerk.blocklistIdentifiers.getBlocklistIdentifierList();
  assert.deepEqual([listed.data.map(({ identifier }) => identifier), listed.totalCount], [['*@example.org'], 1]);
  assertHas(await clerk.blocklistIdentifiers.deleteBlocklistIdentifier(blocked.id), { id: blocked.id, deleted: true });
});
