// The waitlist, from joining on the hosted page to having an account.
import assert from 'node:assert/strict';
import { before } from 'node:test';

import { browserTest } from './support/browser.js';
import { choosePassword, field, link, press, sees } from './support/components.js';
import { newEmail, newPassword, newPerson } from './support/people.js';
import { newInstance } from './support/server.js';

let instance;
before(async () => {
  instance = await newInstance('sign_up.mode=waitlist');
});

/** Joins on the hosted page. */
async function join(page, email, { frontendUrl } = instance) {
  await page.goto(`${frontendUrl}/waitlist`);
  await sees(page, 'Join the waitlist');
  await field(page, 'emailAddress').fill(email);
  await press(page, 'Join the waitlist');
}

/** The only entry of an address. */
async function entryOf(email, { clerk } = instance) {
  const { data, totalCount } = await clerk.waitlistEntries.list({ query: email });
  assert.equal(totalCount, 1);
  return data[0];
}

browserTest('waitlist: joined, invited, followed from the inbox, signed up', async (visit) => {
  const { page } = visit;
  const { clerk, nextLink, nextMessage } = instance;
  const email = newEmail();
  await join(page, email);
  await sees(page, 'Thanks for joining the waitlist!');
  await visit.picture('waitlist joined');
  assert.equal((await nextMessage(email)).slug, 'waitlist_confirmation');
  const entry = await entryOf(email);
  assert.equal(entry.status, 'pending');

  // Without an invitation nobody gets further, however often they join.
  await join(page, email);
  await sees(page, 'Thanks for joining the waitlist!');
  await page.goto(`${instance.frontendUrl}/sign-up`);
  await sees(page, 'Access restricted');
  await visit.picture('sign-up with a waitlist');

  await clerk.waitlistEntries.invite(entry.id);
  await page.goto(await nextLink(email));
  await choosePassword(page, newPassword());
  await visit.picture('sign-up from the waitlist');
  await press(page, 'Continue');
  await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
  await sees(page, email);
  assert.equal((await clerk.users.getUserList({ emailAddress: [email] })).totalCount, 1);
  assert.equal((await entryOf(email)).status, 'completed');
});

browserTest('waitlist: people find it from the sign-in page, and back', async (visit) => {
  const { page } = visit;
  await page.goto(`${instance.frontendUrl}/sign-in`);
  await field(page, 'identifier').waitFor();
  await link(page, /join waitlist/i);
  await page.waitForURL(`${instance.frontendUrl}/waitlist**`);
  await field(page, 'emailAddress').waitFor();
  await visit.picture('hosted waitlist');
  await link(page, /sign in/i);
  await field(page, 'identifier').waitFor();
});

browserTest('waitlist: an account of before signs in, and its address may join', async ({ page }) => {
  const { email, password } = await newPerson({ api: instance.clerk });
  await join(page, email);
  await sees(page, 'Thanks for joining the waitlist!');
  await page.goto(`${instance.frontendUrl}/sign-in`);
  await field(page, 'identifier').fill(email);
  await press(page, 'Continue');
  await field(page, 'password').fill(password);
  await press(page, 'Continue');
  await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
});

browserTest('waitlist: a refused address is told why', async (visit) => {
  const { page } = visit;
  const strict = await newInstance('sign_up.mode=waitlist', 'restrictions.blocklist=true');
  await strict.clerk.blocklistIdentifiers.createBlocklistIdentifier({ identifier: '*@example.com' });
  const email = newEmail();
  await join(page, email, strict);
  await sees(page, `${email} is not allowed to access this application.`);
  await visit.picture('waitlist refused');
  assert.equal((await strict.clerk.waitlistEntries.list()).totalCount, 0);
});

browserTest('waitlist: the settings say where the page is and where people get to', async ({ page }) => {
  const there = await newInstance('sign_up.mode=waitlist');
  const elsewhere = await newInstance(
    'sign_up.mode=waitlist',
    `display.waitlist_url="${there.frontendUrl}/waitlist"`,
    `display.after_join_waitlist_url="${there.frontendUrl}/sign-in"`,
  );
  await page.goto(`${elsewhere.frontendUrl}/sign-in`);
  await field(page, 'identifier').waitFor();
  await link(page, /join waitlist/i);
  await page.waitForURL(`${there.frontendUrl}/waitlist**`);
  await join(page, newEmail(), elsewhere);
  await page.waitForURL(`${there.frontendUrl}/sign-in**`);
});
