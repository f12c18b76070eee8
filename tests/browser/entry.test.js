// Who may enter: by invitation only, and by the lists.
import assert from 'node:assert/strict';

import { browserTest } from './support/browser.js';
import { choosePassword, field, press, sees, signIn } from './support/components.js';
import { newEmail, newPassword, newPerson } from './support/people.js';
import { newInstance } from './support/server.js';

const isSignedIn = (page) => page.getByRole('heading', { name: 'You are signed in' }).waitFor();

browserTest('entry: by invitation only, followed from the inbox', async (visit) => {
  const { page } = visit;
  const { clerk, frontendUrl, nextLink } = await newInstance('sign_up.mode=restricted');
  await page.goto(`${frontendUrl}/sign-up`);
  await sees(page, 'Access restricted');
  await visit.picture('sign-up by invitation only');

  const email = newEmail();
  const invited = await clerk.invitations.createInvitation({ emailAddress: email, publicMetadata: { plan: 'gold' } });
  const link = await nextLink(email);
  await page.goto(link);
  await choosePassword(page, newPassword());
  await visit.picture('sign-up by an invitation');
  await press(page, 'Continue');
  await isSignedIn(page);
  const { data: [user] } = await clerk.users.getUserList({ emailAddress: [email] });
  assert.deepEqual(user.publicMetadata, { plan: 'gold' });
  assert.equal(user.emailAddresses[0].verification.status, 'verified');
  const { data: [accepted] } = await clerk.invitations.getInvitationList({ status: 'accepted' });
  assert.equal(accepted.id, invited.id);
});

browserTest('entry: an invitation that was revoked opens nothing', async (visit) => {
  const { page } = visit;
  const { clerk, nextLink } = await newInstance('sign_up.mode=restricted');
  const email = newEmail();
  const { id } = await clerk.invitations.createInvitation({ emailAddress: email });
  await clerk.invitations.revokeInvitation(id);
  await page.goto(await nextLink(email));
  await sees(page, 'This link is no longer valid');
  await visit.picture('revoked invitation');
  assert.equal((await clerk.users.getUserList()).totalCount, 0);
});

browserTest('entry: whoever is signed in and opens an invitation of somebody else is told so', async (visit) => {
  const { page } = visit;
  const { clerk, frontendUrl, nextLink } = await newInstance('sign_up.mode=restricted');
  const person = await newPerson({ api: clerk });
  await signIn(page, `${frontendUrl}/sign-in`, person);
  await isSignedIn(page);
  const email = newEmail();
  await clerk.invitations.createInvitation({ emailAddress: email });
  await page.goto(await nextLink(email));
  await sees(page, 'You are signed in already');
  await sees(page, `As ${person.email}.`);
  await visit.picture('invitation of somebody else');
  await press(page, 'Sign out and go on');
  await choosePassword(page, newPassword());
  await press(page, 'Continue');
  await isSignedIn(page);
  await sees(page, email);
});

browserTest('entry: an address on the block-list is told so, when signing up and in', async (visit) => {
  const { page } = visit;
  const instance = await newInstance(
    'restrictions.blocklist=true',
    'restrictions.allowlist_blocklist_disabled_on_sign_in=false',
  );
  const { clerk, frontendUrl } = instance;
  const person = await newPerson({ api: clerk });
  await clerk.blocklistIdentifiers.createBlocklistIdentifier({ identifier: '*@example.com' });
  const email = newEmail();
  await page.goto(`${frontendUrl}/sign-up`);
  await field(page, 'emailAddress').fill(email);
  await choosePassword(page, newPassword());
  await press(page, 'Continue');
  await sees(page, `${email} is not allowed to access this application.`);
  await visit.picture('sign-up with a blocked address');
  await page.goto(`${frontendUrl}/sign-in`);
  await field(page, 'identifier').fill(person.email);
  await press(page, 'Continue');
  await sees(page, `${person.email} is not allowed to access this application.`);

  await clerk.instance.updateRestrictions({ blocklist: false });
  await signIn(page, `${frontendUrl}/sign-in`, person);
  await isSignedIn(page);
});
