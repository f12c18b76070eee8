// The waitlist of https://clerk.stage.acme.co.uk, from joining to having an account.
import assert from 'node:assert/strict';

import { choosePassword, field, press, sees } from '../support/components.js';
import { newEmail, newPassword } from '../support/people.js';
import { apps, productionTest } from './support/world.js';

const frontendUrl = 'https://clerk.stage.acme.co.uk';
const { clerk } = apps.stage;

productionTest('waitlist: joined, invited, signed up by the link', async (visit) => {
  const { page } = visit;
  const email = newEmail();
  await visit.step('joining', async () => {
    await page.goto(`${frontendUrl}/waitlist`);
    await sees(page, 'Join the waitlist');
    await field(page, 'emailAddress').fill(email);
    await press(page, 'Join the waitlist');
    await sees(page, 'Thanks for joining the waitlist!');
  });
  await visit.step('no way around it', async () => {
    await page.goto(`${frontendUrl}/sign-up`);
    await sees(page, 'Access restricted');
  });
  const { data } = await clerk.waitlistEntries.list({ query: email });
  assert.deepEqual(data.map(({ status }) => status), ['pending']);
  const invited = await clerk.waitlistEntries.invite(data[0].id);
  assert.equal(new URL(invited.invitation.url).origin, frontendUrl);
  await visit.step('the link', async () => {
    await page.goto(invited.invitation.url);
    await choosePassword(page, newPassword());
    await press(page, 'Continue');
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
    await sees(page, email);
  });
  assert.equal((await clerk.users.getUserList({ emailAddress: [email] })).totalCount, 1);
  const after = await clerk.waitlistEntries.list({ query: email });
  assert.deepEqual(after.data.map(({ status }) => status), ['completed']);
});
