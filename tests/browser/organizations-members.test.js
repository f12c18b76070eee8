// Members of an organization: how they join, what they may do as pages and backends see it, and how they go.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { browserTest } from './support/browser.js';
import { choosePassword, field, isSignedIn, press, sees, signIn } from './support/components.js';
import { serveExpress } from './support/express.js';
import {
  chooseAction, giveRole, newOrganization, openProfile, rolesIn, row, still, tab, visitOf, workFor, worksFor,
} from './support/organizations.js';
import { newEmail, newPassword, newPerson } from './support/people.js';
import { clerk, clerkProps, frontendUrl, nextLink } from './support/server.js';

let site;
before(async () => {
  // Tokens name the permissions of applications only, so backends know nothing of the system's.
  const closing = { key: 'org:ledger:close', name: 'Close the ledger' };
  const permission = await clerk.organizationPermissions.createOrganizationPermission(closing);
  const { data: [role] } = await clerk.organizationRoles.getOrganizationRoleList({ query: 'org:admin' });
  const ids = { organizationRoleId: role.id, permissionId: permission.id };
  await clerk.organizationRoles.assignPermissionToOrganizationRole(ids);
  site = await serveExpress({ proxyUrl: frontendUrl }, { ...clerkProps, ...still });
});
after(() => site.close());

/** Invites people from the page with the members. */
async function invite(page, emails, role) {
  await press(page, 'Invite');
  for (const email of emails) {
    await page.getByTestId('tag-input').fill(email);
    await page.getByTestId('tag-input').press('Enter');
  }
  if (role) {
    await page.locator('form').getByRole('button', { name: /Role/ }).click();
    await page.getByRole('option', { name: role, exact: true }).click();
  }
  await press(page, 'Send invitations');
  await sees(page, 'Invitations successfully sent');
  await press(page, 'Finish');
}

/** What the page says that somebody may do, and what the backend says of the same session. */
async function powers(page) {
  const text = (id) => page.getByTestId(id).textContent();
  await page.goto(`${site.url}/workplace`);
  await page.getByTestId('organization').waitFor();
  const backend = await page.evaluate(async () => (await fetch('/api/organization')).json());
  return { has: await text('has'), shown: await text('protected'), ...backend };
}

const ofAdmin = {
  has: 'manages members, closes the ledger', shown: 'The ledger', orgRole: 'org:admin', closes: true, isAdmin: true,
};
const ofMember = {
  has: 'manages nobody, closes nothing', shown: 'Not for you', orgRole: 'org:member', closes: false, isAdmin: false,
};

browserTest('organizations: people are invited, join by link, get roles, leave and are removed', async (visit, t) => {
  const { page } = visit;
  const [admin, holder] = [await newPerson(), await newPerson()];
  const organization = await newOrganization(admin, clerk, { maxAllowedMemberships: 5 });
  const { id: orgId, slug: orgSlug } = organization;
  await signIn(page, `${site.url}/sign-in`, admin);
  await isSignedIn(page, admin.email);
  await workFor(page, site.url, organization);
  await openProfile(page, site.url, 'organization-members');
  const stranger = newEmail();
  const unwanted = newEmail();
  await invite(page, [holder.email, unwanted]);
  await invite(page, [stranger], 'Admin');
  await tab(page, 'Invitations', 3).click();
  await row(page, stranger).getByText('Admin').waitFor();
  await row(page, holder.email).getByText('Member').waitFor();
  await sees(page, '4 of 5 seats used');
  await visit.picture('invitations to an organization');
  await chooseAction(page, row(page, unwanted), 'Revoke invitation');
  await tab(page, 'Invitations', 2).waitFor();

  // Who has an account is signed in by the link, and joins.
  const known = await visitOf(t);
  await known.page.goto(await nextLink(holder.email));
  await known.page.getByRole('heading', { name: 'You are signed in' }).waitFor();
  await sees(known.page, holder.email);
  await known.picture('joined by signing in');
  // Who has none signs up, with the address that the invitation proves.
  const unknown = await visitOf(t);
  await unknown.page.goto(await nextLink(stranger));
  await choosePassword(unknown.page, newPassword());
  await unknown.picture('signing up by an invitation');
  await press(unknown.page, 'Continue');
  await unknown.page.getByRole('heading', { name: 'You are signed in' }).waitFor();
  await sees(unknown.page, stranger);
  await unknown.page.goto(await nextLink(unwanted));
  await unknown.page.getByRole('heading', { name: 'This link is no longer valid' }).waitFor();
  await unknown.picture('revoked invitation');
  const { data: [{ id: strangerId }] } = await clerk.users.getUserList({ emailAddress: [stranger] });
  const roles = { [admin.id]: 'org:admin', [holder.id]: 'org:member', [strangerId]: 'org:admin' };
  assert.deepEqual(await rolesIn(organization), roles);

  await openProfile(page, site.url, 'organization-members');
  await tab(page, 'Members', 3).waitFor();
  await visit.picture('members of an organization');
  const member = await visitOf(t, site.url, holder);
  await workFor(member.page, site.url, organization);
  assert.deepEqual(await powers(member.page), { orgId, orgSlug, ...ofMember });
  await openProfile(member.page, site.url, 'organization-members');
  await tab(member.page, 'Members', 3).waitFor();
  assert.equal(await tab(member.page, 'Invitations').count(), 0, 'members do not see invitations');
  await member.picture('members as a member sees them');
  await giveRole(page, holder.email, 'Member', 'Admin');
  assert.deepEqual(await powers(member.page), { orgId, orgSlug, ...ofAdmin });
  await giveRole(page, holder.email, 'Admin', 'Member');
  assert.deepEqual(await powers(member.page), { orgId, orgSlug, ...ofMember });

  // Whoever is removed is in no organization any more, and is asked to create one.
  const hosted = `${new URL(unknown.page.url()).origin}/organization`;
  await unknown.page.goto(hosted);
  await sees(unknown.page, organization.name);
  await chooseAction(page, row(page, stranger), 'Remove member');
  await tab(page, 'Members', 2).waitFor();
  assert.equal(await row(page, stranger).count(), 0);
  await unknown.page.goto(hosted);
  await unknown.page.getByRole('heading', { name: 'Create Organization' }).waitFor();
  await unknown.picture('hosted organization of nobody');
  await openProfile(member.page, site.url);
  await press(member.page, 'Leave organization');
  await field(member.page, 'deleteOrganizationConfirmation').fill(organization.name);
  await press(member.page, 'Leave organization');
  await worksFor(member.page, 'none');
  assert.deepEqual(await rolesIn(organization), { [admin.id]: 'org:admin' });
});

browserTest('organizations: an invitation leads into the application and is found there', async (visit, t) => {
  const { page } = visit;
  const [admin, holder, present] = [await newPerson(), await newPerson(), await newPerson()];
  const organization = await newOrganization(admin);
  const stranger = newEmail();
  const wanted = { organizationId: organization.id, inviterUserId: admin.id, role: 'org:member' };
  const pages = [[stranger, '/sign-up'], [holder.email, '/sign-in'], [present.email, '/workplace']];
  await Promise.all(pages.map(([emailAddress, path]) =>
    clerk.organizations.createOrganizationInvitation({ ...wanted, emailAddress, redirectUrl: `${site.url}${path}` })));

  await page.goto(await nextLink(stranger));
  await choosePassword(page, newPassword());
  await press(page, 'Continue');
  await isSignedIn(page, stranger);
  // Whoever joins on the way in works for the organization at once.
  await page.goto(`${site.url}/workplace`);
  await worksFor(page, organization.name);
  const known = await visitOf(t);
  await known.page.goto(await nextLink(holder.email));
  await isSignedIn(known.page, holder.email);
  await known.page.goto(`${site.url}/workplace`);
  await worksFor(known.page, organization.name);

  // Whoever is signed in finds the invitation without the link.
  const there = await visitOf(t, site.url, present);
  await there.page.goto(`${site.url}/organizations`);
  await press(there.page, 'Join');
  await there.page.getByRole('button', { name: organization.name }).click();
  await worksFor(there.page, organization.name);
  const { data: users } = await clerk.users.getUserList({ emailAddress: [stranger] });
  assert.deepEqual(await rolesIn(organization), {
    [admin.id]: 'org:admin', [holder.id]: 'org:member', [present.id]: 'org:member', [users[0].id]: 'org:member',
  });
});
