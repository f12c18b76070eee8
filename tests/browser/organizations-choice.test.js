// Instances where everybody works for an organization, or where nobody does yet, and the hosted pages.
import assert from 'node:assert/strict';

import { browserTest } from './support/browser.js';
import { choosePassword, field, isSignedIn, press, sees, signIn, typeCode } from './support/components.js';
import { newName, newOrganization, openSwitcher, rolesIn, still, visitOf, worksFor } from './support/organizations.js';
import { newPassword, newPerson, newTestEmail } from './support/people.js';
import { frontendUrl, newInstance } from './support/server.js';
import { serveApplication } from './support/site.js';

/** An application of an instance, until the test ends. It has the host of the Frontend API, so cookies reach both. */
async function applicationOf(t, instance) {
  const site = await serveApplication({ ...instance.clerkProps, ...still });
  t.after(() => site.close());
  const url = new URL(site.url);
  url.hostname = new URL(instance.frontendUrl).hostname;
  return url.origin;
}

browserTest('organizations: who signs in or up has to choose one where everybody works for one', async (visit, t) => {
  const { page } = visit;
  const instance = await newInstance('organizations.enabled=true', 'organizations.force_selection=true');
  const url = await applicationOf(t, instance);
  const api = instance.clerk;

  // Nobody is in an organization yet, so there is nothing to choose from.
  const email = newTestEmail();
  await page.goto(`${url}/sign-up`);
  await field(page, 'emailAddress').fill(email);
  await choosePassword(page, newPassword());
  await press(page, 'Continue');
  await typeCode(page, '424242');
  await page.getByRole('heading', { name: 'Setup your organization' }).waitFor();
  await visit.picture('task to set up an organization');
  const name = newName();
  await field(page, 'name').fill(name);
  await press(page, 'Continue');
  await isSignedIn(page, email);
  await page.goto(`${url}/workplace`);
  await worksFor(page, name);
  await openSwitcher(page);
  assert.equal(await page.getByRole('button', { name: 'Personal account' }).count(), 0);
  await visit.picture('organization switcher without a personal account');

  // Somebody who is invited chooses between that and one of their own.
  const { data: [founder] } = await api.users.getUserList({ emailAddress: [email] });
  const person = await newPerson({ api });
  const other = await newOrganization(founder, api);
  await api.organizations.createOrganizationInvitation({
    organizationId: other.id, inviterUserId: founder.id, emailAddress: person.email, role: 'org:admin',
  });
  const elsewhere = await visitOf(t);
  await signIn(elsewhere.page, `${url}/sign-in`, person);
  await elsewhere.page.getByRole('heading', { name: 'Choose an organization' }).waitFor();
  await elsewhere.page.getByText(other.name).waitFor();
  await elsewhere.picture('task to choose an organization');
  // Until then they are not signed in.
  const tab = await elsewhere.context.newPage();
  await tab.goto(url);
  await tab.getByRole('heading', { name: 'Signed out' }).waitFor();
  await press(elsewhere.page, 'Join');
  await elsewhere.page.getByRole('button', { name: other.name }).click();
  await isSignedIn(elsewhere.page, person.email);
  await elsewhere.page.goto(`${url}/workplace`);
  await worksFor(elsewhere.page, other.name);
  assert.deepEqual(await rolesIn(other, api), { [founder.id]: 'org:admin', [person.id]: 'org:admin' });
});

/** Signs in to an application without organizations, opens a page that needs them, and enables them there. */
async function enable(visit, t, membership) {
  const { page } = visit;
  const instance = await newInstance();
  const url = await applicationOf(t, instance);
  const person = await newPerson({ api: instance.clerk });
  await assert.rejects(newOrganization(person, instance.clerk), { status: 403 });
  await signIn(page, `${url}/sign-in`, person);
  await isSignedIn(page, person.email);
  await page.goto(`${url}/create-organization`);
  await page.getByRole('heading', { name: 'Organizations feature required' }).waitFor();
  await page.getByText(membership).click();
  await visit.picture(`prompt to enable organizations, ${membership}`);
  await press(page, 'Enable Organizations');
  await page.getByRole('heading', { name: 'Organizations feature enabled' }).waitFor();
  await press(page, 'Continue');
  await field(page, 'name').waitFor();
  await newOrganization(person, instance.clerk);
  return { url, person };
}

browserTest('organizations: the components of a development instance enable them', async (visit, t) => {
  const { page } = visit;
  await enable(visit, t, 'Membership optional');
  const name = newName();
  await field(page, 'name').fill(name);
  await press(page, 'Create organization');
  await press(page, 'Skip');
  await worksFor(page, name);
  await openSwitcher(page);
  await page.getByRole('button', { name: 'Personal account' }).click();
  await worksFor(page, 'none');

  // Where membership is required, nobody is signed in without an organization, also those who were.
  const { url, person } = await enable(visit, t, 'Membership required');
  await page.goto(`${url}/sign-in`);
  await page.getByRole('heading', { name: 'Choose an organization' }).waitFor();
  await page.getByRole('button', { name: /^Guild/ }).click();
  await isSignedIn(page, person.email);
});

browserTest('organizations: hosted pages create one and show it', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  await page.goto(`${frontendUrl}/create-organization`);
  await field(page, 'identifier').waitFor();
  await field(page, 'identifier').fill(person.email);
  await press(page, 'Continue');
  await field(page, 'password').fill(person.password);
  await press(page, 'Continue');
  const name = newName();
  await field(page, 'name').fill(name);
  await visit.picture('hosted new organization');
  await press(page, 'Create organization');
  await press(page, 'Skip');
  await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
  await page.getByRole('link', { name: 'Your organization' }).click();
  await page.getByRole('heading', { name: 'General', exact: true }).waitFor();
  await sees(page, name);
  await visit.picture('hosted organization');
  const members = page.getByRole('button', { name: 'Members' });
  await members.click();
  await page.getByRole('heading', { name: 'Members', exact: true }).waitFor();
  assert.equal(new URL(page.url()).pathname, '/organization/organization-members');
  await page.reload();
  await sees(page, person.email);
  assert.deepEqual(visit.log.filter((line) => /content security policy|refused to/i.test(line)), []);
});
