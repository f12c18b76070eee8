// Who may ask the Frontend API of a production instance, and whom its pages ask.
import assert from 'node:assert/strict';

import { isSignedIn, signIn } from '../support/components.js';
import { newPerson } from '../support/people.js';
import { clerk } from '../support/server.js';
import { apps, ask, evilUrl, frontendUrl, productionTest } from './support/world.js';

const clientUrl = `${frontendUrl}/v1/client?__clerk_api_version=2026-05-12`;

/** What a script in the page learns from the Frontend API, with the cookies of the browser. */
const read = (page) =>
  page.evaluate(async (url) => {
    const answer = await fetch(url, { credentials: 'include' });
    return { status: answer.status, text: await answer.text() };
  }, clientUrl);

productionTest('only the own domain reads the client', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  await visit.step('sign-in', async () => {
    await signIn(page, `${apps.express.url}/sign-in`, person);
    await isSignedIn(page, person.email);
  });
  for (const app of [apps.express, apps.root, apps.react, apps.next]) {
    await page.goto(`${app.url}/who`);
    const { status, text } = await visit.step(app.host, () => read(page));
    assert.equal(status, 200, text);
    assert.equal(JSON.parse(text).response.sessions[0].user.id, person.id);
  }
  await page.goto(evilUrl);
  const refusal = await visit.step('a foreign origin', () => read(page));
  assert.equal(refusal.status, 400);
  assert.equal(JSON.parse(refusal.text).errors[0].code, 'origin_invalid');
  assert.doesNotMatch(refusal.text, /client_|sess_|user_|@/, 'the refusal tells who is signed in');

  const foreign = ['https://acme.co.uk.evil.example', 'https://evil-acme.co.uk', 'http://app.acme.co.uk', 'null'];
  for (const origin of foreign) {
    assert.equal((await ask(clientUrl, { origin })).status, 400, origin);
  }
}, { others: ['evil.example'] });

// The smallest PNG there is.
const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

productionTest('scripts and pictures come from the Frontend API', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  await clerk.users.updateUserProfileImage(person.id, { file: new File([picture], 'me.png', { type: 'image/png' }) });
  const asked = [];
  visit.context.on('request', (request) => asked.push({ type: request.resourceType(), url: new URL(request.url()) }));
  await visit.step('sign-in', async () => {
    await signIn(page, `${apps.express.url}/sign-in`, person);
    await isSignedIn(page, person.email);
  });
  await visit.step('the profile', async () => {
    await page.goto(`${apps.express.url}/profile`);
    await page.getByText('Profile details').first().waitFor();
    await page.waitForLoadState('networkidle');
  });
  const others = asked.filter(({ url }) => url.protocol.startsWith('http') && url.origin !== apps.express.url);
  assert.deepEqual(others.filter(({ url }) => url.origin !== frontendUrl).map(({ url }) => url.href), []);
  const scripts = others.filter(({ type }) => type === 'script');
  assert.ok(scripts.length > 0 && scripts.every(({ url }) => url.pathname.startsWith('/npm/@clerk/')));
  assert.ok(others.some(({ type }) => type === 'image'), 'no picture of the user was asked for');
  assert.deepEqual(visit.log.filter((line) => /mixed content|insecure/i.test(line)), []);
  // Addresses of pictures that nobody asked for yet.
  const shown = await page.evaluate(() => [...document.querySelectorAll('[src]')].map((element) => element.src));
  shown.forEach((address) => assert.match(address, /^(https:|data:|blob:)/));
});
