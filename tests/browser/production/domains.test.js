// Several domains: two instances on one registrable domain, a satellite, a proxy.
import assert from 'node:assert/strict';

import { isSignedIn, isSignedOut, signIn } from '../support/components.js';
import { newEmail, newPassword, newPerson } from '../support/people.js';
import { backendAgrees, backendSays, isKnown, isNobody, open, settle, signOut } from './support/steps.js';
import { apps, productionTest, suffixes } from './support/world.js';

async function newPersonOnStage() {
  const [email, password] = [newEmail(), newPassword()];
  const { id } = await apps.stage.clerk.users.createUser({ emailAddress: [email], password });
  return { id, email, password };
}

/** The cookies that tell when sessions of the instances came or went, by name. */
async function changes(context) {
  const cookies = (await context.cookies()).filter(({ name }) => name.startsWith('__client_uat'));
  return Object.fromEntries(cookies.map(({ name, value }) => [name, Number(value)]));
}

productionTest('two instances on one registrable domain do not know of each other', async (visit) => {
  const { page, context } = visit;
  const [person, other] = [await newPerson(), await newPersonOnStage()];
  const names = { acme: `__client_uat_${suffixes.acme}`, stage: `__client_uat_${suffixes.stage}` };

  await visit.step('sign-in on the first', async () => {
    await signIn(page, `${apps.express.url}/sign-in`, person);
    await isSignedIn(page, person.email);
  });
  await visit.step('nobody on the second', async () => {
    await page.goto(apps.stage.url);
    await isSignedOut(page);
    await isNobody(page, apps.stage);
  });
  await visit.step('sign-in on the second', async () => {
    await signIn(page, `${apps.stage.url}/sign-in`, other);
    await isSignedIn(page, other.email);
  });
  const both = await changes(context);
  assert.deepEqual(Object.keys(both).sort(), ['__client_uat', names.acme, names.stage].sort());
  assert.ok(both[names.acme] > 0 && both[names.stage] > 0);

  await visit.step('both', async () => {
    await isKnown(page, apps.express, person);
    await isKnown(page, apps.stage, other);
    await isKnown(page, apps.next, person);
  });
  await backendAgrees(visit, apps.express, person);
  await backendAgrees(visit, apps.stage, other);

  await visit.step('sign-out of the second', async () => {
    await page.goto(apps.stage.url);
    await signOut(page);
    await isSignedOut(page);
    await isNobody(page, apps.stage);
  });
  assert.equal((await changes(context))[names.stage], 0);
  assert.ok((await changes(context))[names.acme] > 0);
  await visit.step('the first stays', async () => {
    await isKnown(page, apps.express, person);
    await page.goto(apps.express.url);
    await isSignedIn(page, person.email);
  });
  await backendAgrees(visit, apps.express, person);

  await visit.step('sign-in on the second again', async () => {
    await signIn(page, `${apps.stage.url}/sign-in`, other);
    await isSignedIn(page, other.email);
  });
  await visit.step('sign-out of the first', async () => {
    await page.goto(apps.express.url);
    await signOut(page);
    await isSignedOut(page);
    await isNobody(page, apps.express);
  });
  await visit.step('the second stays', async () => {
    await isKnown(page, apps.stage, other);
    await page.goto(apps.stage.url);
    await isSignedIn(page, other.email);
  });
  await backendAgrees(visit, apps.stage, other);
});

productionTest('a satellite knows who is signed in on the primary domain', async (visit) => {
  const { page, context } = visit;
  const person = await newPerson();
  await visit.step('sign-in on the primary domain', async () => {
    await signIn(page, `${apps.express.url}/sign-in`, person);
    await isSignedIn(page, person.email);
  });
  await visit.step('the satellite', async () => {
    await page.goto(`${apps.shop.url}/who`);
    assert.equal(await page.locator('#who').textContent(), person.id);
  });
  await backendAgrees(visit, apps.shop, person);
  await visit.step('again', () => isKnown(page, apps.shop, person));
  await visit.step('its page', async () => {
    await page.goto(apps.shop.url);
    await isSignedIn(page, person.email);
    await page.reload();
    await isSignedIn(page, person.email);
  });
  await visit.step('a lost token', async () => {
    await settle(visit);
    await page.goto('about:blank');
    await context.clearCookies({ name: /^__session/, domain: apps.shop.host });
    await page.goto(`${apps.shop.url}/who`);
    assert.equal(await page.locator('#who').textContent(), person.id);
  });
  await backendAgrees(visit, apps.shop, person);

  await visit.step('sign-out on the primary domain', async () => {
    await page.goto(apps.express.url);
    await signOut(page);
    await isSignedOut(page);
  });
  await visit.step('the satellite afterwards', async () => {
    await page.goto(apps.shop.url);
    await isSignedOut(page);
    await isNobody(page, apps.shop);
  });
  assert.notEqual((await backendSays(visit, apps.shop)).status, 'signed-in');
}, { isSmoke: true });

productionTest('the application proxies the Frontend API', async (visit) => {
  const { page, context } = visit;
  const person = await newPerson();
  await visit.step('nobody', () => isNobody(page, apps.proxied));
  await visit.step('sign-in', async () => {
    await signIn(page, `${apps.proxied.url}/sign-in`, person);
    await isSignedIn(page, person.email);
  });
  await visit.step('a reload', async () => {
    await page.reload();
    await isSignedIn(page, person.email);
  });
  assert.deepEqual(await visit.step('the backend', () => open(page, apps.proxied)), { who: person.id, handshakes: 0 });
  for (const lost of [/^__session/, /^__client_uat/, /^__refresh/]) {
    await settle(visit);
    await context.clearCookies({ name: lost });
    await visit.step(`without ${lost}`, () => isKnown(page, apps.proxied, person));
    await backendAgrees(visit, apps.proxied, person);
  }
  await visit.step('sign-out', async () => {
    await page.goto(apps.proxied.url);
    await signOut(page);
    await isSignedOut(page);
    await page.reload();
    await isSignedOut(page);
    await isNobody(page, apps.proxied);
  });
  const asked = visit.requests.map((request) => new URL(request).host);
  assert.deepEqual([...new Set(asked)].filter((host) => host !== ''), [apps.proxied.host]);
});
