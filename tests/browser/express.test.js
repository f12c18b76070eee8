import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { decodeJwt } from 'jose';

import { browserTest } from './support/browser.js';
import { isSignedIn, signIn } from './support/components.js';
import { compareJar, site } from './support/cookies.js';
import { serveExpress } from './support/express.js';
import { newPerson } from './support/people.js';
import { clerkProps, frontendUrl, publishableKey } from './support/server.js';

// Where the middleware's own proxy finds the Frontend API.
process.env.CLERK_FAPI_URL = frontendUrl;

let direct;
let proxied;
before(async () => {
  direct = await serveExpress({ proxyUrl: frontendUrl }, clerkProps);
  proxied = await serveExpress({ frontendApiProxy: { enabled: true } }, { publishableKey, proxyUrl: '/__clerk' });
});
after(() => Promise.all([direct.close(), proxied.close()]));

const development = site({
  kind: 'development', publishableKey, frontendApi: 'localhost', apps: ['localhost'], isSecure: false,
});

/** Opens a page of the backend: whom it saw, and how often it sent the browser to the Frontend API first. */
async function open(page, url) {
  let handshakes = 0;
  const count = (request) => {
    handshakes += request.url().includes('/v1/client/handshake') ? 1 : 0;
  };
  page.on('request', count);
  const response = await page.goto(`${url}/who`);
  page.off('request', count);
  assert.equal(response.status(), 200);
  assert.equal(page.url(), `${url}/who`, 'nothing of the handshake stays in the address');
  await compareJar(page.context(), [development]);
  return { who: await page.locator('#who').textContent(), handshakes };
}

const sessionCookies = async (context, url) =>
  (await context.cookies(url)).filter(({ name }) => /^__session(_|$)/.test(name));

browserTest('express: signed out, signed in', async ({ page }) => {
  const person = await newPerson();
  const first = await open(page, direct.url);
  assert.equal(first.who, 'nobody');
  assert.ok(first.handshakes <= 1, `${first.handshakes} handshakes`);
  assert.deepEqual(await open(page, direct.url), { who: 'nobody', handshakes: 0 });

  await signIn(page, `${direct.url}/sign-in`, person);
  await isSignedIn(page, person.email);
  await compareJar(page.context(), [development]);
  assert.deepEqual(await open(page, direct.url), { who: person.id, handshakes: 0 });
  const answer = await page.evaluate(async () => (await fetch('/api/who')).json());
  assert.equal(answer.userId, person.id);
});

browserTest(
  'express: an expired token becomes a new one by a handshake',
  async ({ page, context }) => {
    const person = await newPerson();
    await signIn(page, `${direct.url}/sign-in`, person);
    await isSignedIn(page, person.email);
    // Away from the page, so that nothing renews the token; then until it has expired for everybody.
    await page.goto('about:blank');
    const [{ value }] = await sessionCookies(context, direct.url);
    const { exp, sid } = decodeJwt(value);
    await sleep(Math.max(0, exp * 1000 - Date.now()) + 6_000);

    assert.deepEqual(await open(page, direct.url), { who: person.id, handshakes: 1 });
    const [renewed] = await sessionCookies(context, direct.url);
    assert.notEqual(renewed.value, value);
    assert.equal(decodeJwt(renewed.value).sid, sid);
    assert.deepEqual(await open(page, direct.url), { who: person.id, handshakes: 0 });
  },
  { timeout: 240_000 },
);

browserTest('express: the middleware proxies the Frontend API', async ({ page, context }) => {
  const person = await newPerson();
  assert.equal((await open(page, proxied.url)).who, 'nobody');
  await signIn(page, `${proxied.url}/sign-in`, person);
  await isSignedIn(page, person.email);
  assert.equal((await open(page, proxied.url)).who, person.id);

  await context.clearCookies({ name: /^__session/ });
  assert.deepEqual(await open(page, proxied.url), { who: person.id, handshakes: 1 });
});
