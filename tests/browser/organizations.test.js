// An organization from its creation to its end, in the components of an application.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { browserTest } from './support/browser.js';
import { field, isSignedIn, press, sees, signIn } from './support/components.js';
import { serveExpress } from './support/express.js';
import {
  newName, openProfile, openSwitcher, picture, rolesIn, still, workFor, worksFor,
} from './support/organizations.js';
import { newPerson } from './support/people.js';
import { clerk, clerkProps, frontendUrl, newInstance } from './support/server.js';
import { serveBeside } from './support/site.js';

let site;
before(async () => {
  site = await serveExpress({ proxyUrl: frontendUrl }, { ...clerkProps, ...still });
});
after(() => site.close());

const fileInput = (page) => page.locator('input[type=file]');

/** How wide the picture of the active organization is that the switcher shows, once it is there. */
const logoWidth = async (page) => {
  const image = page.locator('.cl-organizationSwitcherTrigger img');
  await image.waitFor();
  return image.evaluate(async (node) => {
    await node.decode();
    return node.naturalWidth;
  });
};

// `home_url` names another application of the same instance. The user came from this one.
browserTest('organizations: components and hosted pages lead back to the application', async (visit, t) => {
  const { page } = visit;
  const instance = await newInstance('organizations.enabled=true', 'display.home_url="http://localhost:9/"');
  const application = await serveBeside(instance);
  t.after(() => application.close());
  const person = await newPerson({ api: instance.clerk });
  await signIn(page, `${application.url}/sign-in`, person);
  await isSignedIn(page, person.email);
  const create = async () => {
    const name = newName();
    await field(page, 'name').fill(name);
    await press(page, 'Create organization');
    await press(page, 'Skip');
    await isSignedIn(page, person.email);
    assert.equal(page.url(), `${application.url}/`);
    return name;
  };
  await page.goto(`${application.url}/create-organization-by-default`);
  await create();
  // The hosted page knows the application by the referrer.
  await page.evaluate((url) => window.location.assign(url), `${instance.frontendUrl}/create-organization`);
  const name = await create();
  const { data: [organization] } = await instance.clerk.organizations.getOrganizationList({ query: name });
  const other = await newPerson({ api: instance.clerk });
  await instance.clerk.organizations.createOrganizationMembership({
    organizationId: organization.id, userId: other.id, role: 'org:admin',
  });
  await page.goto(`${application.url}/organization-by-default`);
  await press(page, 'Leave organization');
  await field(page, 'deleteOrganizationConfirmation').fill(name);
  await press(page, 'Leave organization');
  await isSignedIn(page, person.email);
  assert.equal(page.url(), `${application.url}/`);
});

browserTest('organizations: created with a logo, renamed, switched, left and deleted', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  await signIn(page, `${site.url}/sign-in`, person);
  await isSignedIn(page, person.email);
  await page.goto(`${site.url}/create-organization`);
  const name = newName();
  await field(page, 'name').fill(name);
  assert.equal(await field(page, 'slug').inputValue(), name.toLowerCase().replace(' ', '-'));
  await fileInput(page).setInputFiles(picture([30, 120, 200], 32));
  await visit.picture('create organization');
  await press(page, 'Create organization');
  await press(page, 'Skip');
  await worksFor(page, name);
  assert.equal(await logoWidth(page), 32);
  const slug = name.toLowerCase().replace(' ', '-');
  const first = await clerk.organizations.getOrganization({ slug });
  assert.equal(first.hasImage, true);
  assert.equal(first.createdBy, person.id);
  assert.deepEqual(await rolesIn(first), { [person.id]: 'org:admin' });
  assert.equal(await page.getByTestId('claims').textContent(), `${first.id} ${slug} org:admin`);

  // Renamed, with another slug and without the logo.
  await openProfile(page, site.url);
  await visit.picture('organization profile');
  await press(page, 'Update profile');
  const renamed = newName();
  await field(page, 'name').fill(renamed);
  await field(page, 'slug').fill(`${slug}-2`);
  await visit.picture('organization profile form');
  await press(page, 'Save');
  await sees(page, renamed);
  await press(page, 'Update profile');
  await press(page, 'Remove');
  await field(page, 'name').waitFor({ state: 'detached' });
  const changed = await clerk.organizations.getOrganization({ organizationId: first.id });
  assert.deepEqual([changed.name, changed.slug, changed.hasImage], [renamed, `${slug}-2`, false]);
  // Nothing is left to remove, but a logo can be given.
  await press(page, 'Update profile');
  assert.equal(await page.getByRole('button', { name: 'Remove', exact: true }).count(), 0);
  await fileInput(page).setInputFiles(picture([200, 60, 60], 40));
  await field(page, 'name').waitFor({ state: 'detached' });

  // A second one, made from the switcher.
  await page.goto(`${site.url}/workplace`);
  assert.equal(await logoWidth(page), 40);
  await openSwitcher(page);
  await visit.picture('organization switcher');
  await press(page, 'Create organization');
  const other = newName();
  await field(page, 'name').fill(other);
  await page.locator('.cl-modalContent').getByRole('button', { name: 'Create organization' }).click();
  await press(page, 'Skip');
  await worksFor(page, other);
  await page.goto(`${site.url}/workplace`);
  await openSwitcher(page);
  await visit.picture('organization switcher with two');
  await page.getByRole('dialog').getByRole('button', { name: renamed }).click();
  await worksFor(page, renamed);
  await openSwitcher(page);
  await page.getByRole('button', { name: 'Personal account' }).click();
  await worksFor(page, 'none');
  assert.equal(await page.getByTestId('claims').textContent(), 'none');
  assert.equal((await page.evaluate(async () => (await fetch('/api/organization')).json())).orgId, undefined);

  // The last admin cannot leave, but may delete.
  await workFor(page, site.url, { name: renamed });
  await openProfile(page, site.url);
  await press(page, 'Leave organization');
  await field(page, 'deleteOrganizationConfirmation').fill(renamed);
  await press(page, 'Leave organization');
  await sees(page, 'This is the last member who may manage the organization.');
  await visit.picture('organization left by its last admin');
  await press(page, 'Cancel');
  await press(page, 'Delete organization');
  await field(page, 'deleteOrganizationConfirmation').fill(renamed);
  await visit.picture('organization about to be deleted');
  await press(page, 'Delete organization');
  await page.getByRole('heading', { name: 'Workplace' }).waitFor();
  await worksFor(page, 'none');
  await assert.rejects(clerk.organizations.getOrganization({ organizationId: first.id }), { status: 404 });
  await page.goto(`${site.url}/organizations`);
  await page.getByRole('button', { name: other }).waitFor();
  assert.equal(await page.getByRole('button', { name: renamed }).count(), 0);
}, { isSmoke: true });
