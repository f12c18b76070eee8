// Organizations that do not exist yet, and what their members do in the components.
import assert from 'node:assert/strict';
import { deflateSync } from 'node:zlib';

import { Visit } from './browser.js';
import { isSignedIn, press, signIn } from './components.js';
import { unique } from './people.js';
import { clerk } from './server.js';

/** For applications whose forms are replaced at once, and not shown beside the next one while they fade. */
export const still = { appearance: { options: { animations: false } } };

export const newName = () => `Guild ${unique()}`;

/** An organization made through the Backend API, whose creator is its admin. */
export const newOrganization = (creator, api = clerk, more = {}) =>
  api.organizations.createOrganization({ name: newName(), createdBy: creator.id, ...more });

/** The roles in an organization by user, as the Backend API tells them. */
export async function rolesIn(organization, api = clerk) {
  const { data } = await api.organizations.getOrganizationMembershipList({ organizationId: organization.id });
  return Object.fromEntries(data.map(({ publicUserData, role }) => [publicUserData.userId, role]));
}

/** Another browser, until the test ends; somebody may be signed in to the application. */
export async function visitOf(t, url, person) {
  const visit = await Visit.start();
  t.after(() => visit.close());
  if (person) {
    await signIn(visit.page, `${url}/sign-in`, person);
    await isSignedIn(visit.page, person.email);
  }
  return visit;
}

/** Takes an organization from the list of one's own, in a browser that is signed in. */
export async function workFor(page, url, organization) {
  await page.goto(`${url}/organizations`);
  await page.getByRole('button', { name: organization.name }).click();
  await worksFor(page, organization.name);
}

/** What the application's page says of the active organization, once it is the expected one. */
export async function worksFor(page, name) {
  await page.getByTestId('organization').getByText(name, { exact: true }).waitFor();
}

/** Opens the switcher at the application's page. */
export const openSwitcher = (page) => press(page, 'Open organization switcher');

/** A page of the profile of the active organization. */
export async function openProfile(page, url, path = '') {
  const isThere = new URL(page.url()).pathname === '/organization';
  await page.goto(`${url}/organization#/${path}`);
  // Only the part after the hash has changed.
  if (isThere) await page.reload();
  await page.getByRole('heading', { name: path === '' ? 'General' : 'Members', exact: true }).waitFor();
}

/** A row of a table: members, invitations, requests. */
export const row = (page, text) => page.getByRole('row').filter({ hasText: text });

/** Waits for the number beside a tab. */
export const tab = (page, name, count) =>
  page.getByRole('tab', { name: count === undefined ? name : `${name} ${count}` });

/** Something from the menu of a row or an item. */
export async function chooseAction(page, item, action) {
  await item.getByRole('button', { name: 'Open menu' }).click();
  await page.getByRole('menuitem', { name: action }).click();
}

/** Gives a member another role, and waits for the answer. */
export async function giveRole(page, member, from, to) {
  const answered = page.waitForResponse(
    (response) => response.request().method() === 'POST' && response.url().includes('/memberships/'),
  );
  await row(page, member).getByRole('button', { name: from, exact: true }).click();
  await page.getByRole('option', { name: to, exact: true }).click();
  assert.equal((await answered).status(), 200);
  await row(page, member).getByRole('button', { name: to, exact: true }).waitFor();
}

function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

function chunk(kind, content) {
  const named = Buffer.concat([Buffer.from(kind), content]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** A square PNG of one colour, as a file that a form takes. */
export function picture([red, green, blue], size = 48) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const line = Buffer.concat([Buffer.alloc(1), Buffer.alloc(size * 3, Buffer.from([red, green, blue]))]);
  const lines = Buffer.concat(Array.from({ length: size }, () => line));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const chunks = [chunk('IHDR', header), chunk('IDAT', deflateSync(lines)), chunk('IEND', Buffer.alloc(0))];
  return { name: 'logo.png', mimeType: 'image/png', buffer: Buffer.concat([signature, ...chunks]) };
}
