// Domains that bring people into an organization, from adding one to those who join by it.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { browserTest } from './support/browser.js';
import { choosePassword, field, isSignedIn, press, sees, signIn, typeCode } from './support/components.js';
import {
  chooseAction, newOrganization, openProfile, openSwitcher, rolesIn, row, still, tab, visitOf, workFor, worksFor,
} from './support/organizations.js';
import { newPassword, newPerson, unique } from './support/people.js';
import { clerk, clerkProps, nextCode } from './support/server.js';
import { serveApplication } from './support/site.js';

let site;
before(async () => {
  site = await serveApplication({ ...clerkProps, ...still });
});
after(() => site.close());

const domains = (page) => page.locator('.cl-profileSection__organizationDomains');
const domainItem = (page, name) =>
  domains(page).locator('.cl-profileSectionItem__organizationDomains').filter({ hasText: name });

/** Chooses how people of a domain join, in a form that is open. */
async function chooseMode(page, mode) {
  await page.getByRole('radio', { name: mode }).check();
  await press(page, 'Save');
  await page.getByRole('radio').first().waitFor({ state: 'detached' });
}

/** Adds a domain and proves it by the code that was sent to an address there. */
async function addDomain(visit, name) {
  const { page } = visit;
  await openProfile(page, site.url);
  await press(page, 'Add domain');
  await field(page, 'name').fill(name);
  await press(page, 'Save');
  await field(page, 'affiliationEmailAddress').fill('postmaster');
  await visit.picture('domain to be verified');
  await press(page, 'Save');
  await sees(page, `A verification code was sent to postmaster@${name}`);
  const tried = page.waitForResponse((response) => response.url().includes('/attempt_affiliation_verification'));
  await typeCode(page, await nextCode(`postmaster@${name}`));
  assert.equal((await (await tried).json()).response.verification.status, 'verified');
}

/**
 * Opens the form of a verified domain, on a page that was loaded anew: the form that opens after the code shows what it
 * read before it, and closes itself.
 */
async function manage(visit, name) {
  const { page } = visit;
  await openProfile(page, site.url);
  await chooseAction(page, domainItem(page, name), 'Manage');
  await page.getByRole('radio').first().waitFor();
  assert.equal(await page.getByRole('radio').count(), 3, 'no enrollment, invitations, suggestions');
  await visit.picture('domain with its enrollment modes');
}

async function signUp(page, email) {
  await page.goto(`${site.url}/sign-up`);
  await field(page, 'emailAddress').fill(email);
  await choosePassword(page, newPassword());
  await press(page, 'Continue');
  await typeCode(page, await nextCode(email));
  await isSignedIn(page, email);
}

const idOf = async (email) => (await clerk.users.getUserList({ emailAddress: [email] })).data[0].id;

browserTest('organizations: a verified domain suggests, is asked, invites, and is removed', async (visit, t) => {
  const { page } = visit;
  const name = `${unique()}.example.org`;
  const address = (local) => `${local}@${name}`;
  const [admin, early] = [await newPerson(), await newPerson({ email: address('early') })];
  const organization = await newOrganization(admin);
  await signIn(page, `${site.url}/sign-in`, admin);
  await isSignedIn(page, admin.email);
  await workFor(page, site.url, organization);
  await addDomain(visit, name);
  await manage(visit, name);
  await chooseMode(page, /Automatic suggestions/);
  await domainItem(page, name).getByText('Automatic suggestions').waitFor();

  // Who was there before, and who comes later.
  const { page: earlyPage } = await visitOf(t, site.url, early);
  await earlyPage.goto(`${site.url}/organizations`);
  await press(earlyPage, 'Request to join');
  await sees(earlyPage, 'Pending approval');
  const late = await visitOf(t);
  await signUp(late.page, address('late'));
  await late.page.goto(`${site.url}/workplace`);
  await openSwitcher(late.page);
  await late.picture('organization switcher with a suggestion');
  await press(late.page, 'Request to join');
  await sees(late.page, 'Pending approval');

  await openProfile(page, site.url, 'organization-members');
  await tab(page, 'Requests', 2).click();
  await visit.picture('requests to join an organization');
  await row(page, address('early')).getByRole('button', { name: 'Approve' }).click();
  await tab(page, 'Requests', 1).waitFor();
  await row(page, address('late')).getByRole('button', { name: 'Reject' }).click();
  await tab(page, 'Requests', 0).waitFor();
  await sees(page, 'No requests to display');
  assert.deepEqual(await rolesIn(organization), { [admin.id]: 'org:admin', [early.id]: 'org:member' });
  await workFor(earlyPage, site.url, organization);
  // Whoever was rejected is not asked to ask again.
  await late.page.goto(`${site.url}/organizations`);
  await late.page.getByRole('button', { name: 'Personal account' }).click();
  await worksFor(late.page, 'none');

  await manage(visit, name);
  await chooseMode(page, /Automatic invitations/);
  await domainItem(page, name).getByText('Automatic invitations').waitFor();
  const invited = await visitOf(t);
  await signUp(invited.page, address('invited'));
  await invited.page.goto(`${site.url}/workplace`);
  await openSwitcher(invited.page);
  await invited.picture('organization switcher with an invitation');
  await press(invited.page, 'Join');
  await invited.page.getByRole('dialog').getByRole('button', { name: organization.name }).click();
  await worksFor(invited.page, organization.name);
  assert.equal((await rolesIn(organization))[await idOf(address('invited'))], 'org:member');

  await openProfile(page, site.url);
  await chooseAction(page, domainItem(page, name), 'Delete');
  await sees(page, `The email domain ${name} will be removed.`);
  await press(page, 'Remove');
  await domainItem(page, name).waitFor({ state: 'detached' });
  const { totalCount } = await clerk.organizations.getOrganizationDomainList({ organizationId: organization.id });
  assert.equal(totalCount, 0);
});
