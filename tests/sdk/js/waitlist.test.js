import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertHas, clerk, connectToNewInstance, frontendUrl, idOf, newEmail, newestMessage, otherClerk, refused, unknownId } from './support.js';

test('an address is put on the waitlist, found, invited and let in', async () => {
  const emailAddress = newEmail();
  const made = await clerk.waitlistEntries.create({ emailAddress });
  assert.match(made.id, idOf('wle'));
  assertHas(made, { emailAddress, status: 'pending', invitation: null, isLocked: false });
  assertHas(await newestMessage(emailAddress), { slug: 'waitlist_confirmation' });
  assert.deepEqual(await clerk.waitlistEntries.create({ emailAddress }), made);
  const { data, totalCount } = await clerk.waitlistEntries.list({ query: emailAddress, status: 'pending', orderBy: '-created_at' });
  assert.deepEqual([data, totalCount], [[made], 1]);
  await refused(otherClerk.waitlistEntries.invite(made.id), 404, 'resource_not_found');
  const invited = await clerk.waitlistEntries.invite(made.id, { ignoreExisting: false });
  assertHas(invited, { id: made.id, status: 'invited' });
  assertHas(invited.invitation, { emailAddress, status: 'pending' });
  assertHas(await newestMessage(emailAddress), { slug: 'waitlist_invitation' });
  await refused(clerk.waitlistEntries.invite(made.id), 409, 'waitlist_entry_already_invited');
  await refused(clerk.waitlistEntries.reject(made.id), 409, 'waitlist_entry_already_invited');
  await refused(clerk.waitlistEntries.delete(made.id), 409, 'waitlist_entry_already_invited');
  const ticket = new URL(invited.invitation.url).searchParams.get('ticket');
  const form = new URLSearchParams({ strategy: 'ticket', ticket, password: 'countess of numbers' });
  const signedUp = await fetch(`${frontendUrl}/v1/client/sign_ups?_is_native=1`, { method: 'POST', body: form });
  assert.equal((await signedUp.json()).response.status, 'complete');
  const { data: [completed] } = await clerk.waitlistEntries.list({ query: made.id });
  assert.deepEqual([completed.status, completed.invitation.status], ['completed', 'accepted']);
});

test('several addresses are put on the waitlist all or none', async () => {
  // The name `clerk` is what `methods.test.js` looks for.
  const clerk = connectToNewInstance();
  const emails = [newEmail(), newEmail()];
  const made = await clerk.waitlistEntries.createBulk(emails.map((emailAddress) => ({ emailAddress, notify: false })));
  assert.deepEqual(made.map(({ emailAddress }) => emailAddress), emails);
  const twice = newEmail();
  await refused(clerk.waitlistEntries.createBulk([{ emailAddress: twice }, { emailAddress: twice }]), 400, 'duplicate_record');
  await refused(clerk.waitlistEntries.createBulk([{ emailAddress: twice }, { emailAddress: 'nobody' }]), 422, 'form_param_format_invalid');
  const { data, totalCount } = await clerk.waitlistEntries.list({ limit: 1, offset: 1, orderBy: '+email_address' });
  assert.deepEqual([data.map(({ emailAddress }) => emailAddress), totalCount], [[emails.toSorted()[1]], 2]);
});

test('somebody who waits is rejected or forgotten', async () => {
  const [first, second] = await clerk.waitlistEntries.createBulk([{ emailAddress: newEmail() }, { emailAddress: newEmail() }]);
  assertHas(await clerk.waitlistEntries.reject(first.id), { id: first.id, status: 'rejected', invitation: null });
  await refused(clerk.waitlistEntries.invite(first.id), 409, 'waitlist_entry_already_rejected');
  assertHas(await clerk.waitlistEntries.delete(second.id), { id: second.id, object: 'waitlist_entry', deleted: true });
  await refused(clerk.waitlistEntries.delete(second.id), 404, 'resource_not_found');
  await refused(clerk.waitlistEntries.reject(unknownId('wle')), 404, 'resource_not_found');
});
