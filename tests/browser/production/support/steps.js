// What people and backends do on production instances.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { decodeJwt } from 'jose';

import { suffixes } from './world.js';

// What backends allow for clocks that differ, and a moment more.
const SKEW_MS = 5_200;

const isHandshake = (url) => new URL(url).pathname.endsWith('/v1/client/handshake');

/** Does something, and counts how often the browser went to the Frontend API for a handshake meanwhile. */
export async function countHandshakes(page, action) {
  let handshakes = 0;
  const count = (request) => {
    handshakes += isHandshake(request.url()) ? 1 : 0;
  };
  page.on('request', count);
  try {
    return { result: await action(), handshakes };
  } finally {
    page.off('request', count);
  }
}

/** Opens a page of an app's backend: whom that saw, and how many handshakes it took. */
export async function open(page, app, path = '/who') {
  const { result, handshakes } = await countHandshakes(page, () => page.goto(app.url + path));
  assert.equal(result.status(), 200);
  // Satellites are told in the address that they were brought together with the primary domain; scripts take it away.
  const address = app.options.isSatellite ? page.url().replace('?__clerk_synced=true', '') : page.url();
  assert.equal(address, app.url + path, 'nothing of a handshake stays in the address');
  return { who: await page.locator('#who').textContent(), handshakes };
}

/** Opens a page and expects a person there, by at most one handshake, or by as many as said. */
export async function isKnown(page, app, person, { atMost = 1, path } = {}) {
  const { who, handshakes } = await open(page, app, path);
  assert.equal(who, person.id);
  assert.ok(handshakes <= atMost, `${handshakes} handshakes`);
  return handshakes;
}

export const isNobody = async (page, app, path) => assert.equal((await open(page, app, path)).who, 'nobody');

/** The request a browser would make for a page of the app, with its cookies. */
async function requestOf(context, app) {
  const url = `${app.url}/who`;
  const cookies = await context.cookies(url);
  const headers = {
    host: app.host,
    accept: 'text/html',
    'sec-fetch-dest': 'document',
    cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
  };
  return () => new Request(url, { headers });
}

/** Asks the SDK of a backend what it makes of the cookies the browser has, again and again. */
export async function backendAgrees({ context }, app, person) {
  const request = await requestOf(context, app);
  for (let round = 1; round <= 10; round += 1) {
    const state = await app.clerk.authenticateRequest(request(), app.options);
    assert.equal(state.status, 'signed-in', `round ${round}: ${state.reason} ${state.message}`);
    assert.equal(state.toAuth().userId, person.id);
    assert.equal(state.headers.get('location'), null);
  }
}

/** What the SDK of a backend says of the browser: its status, and the reason for it. */
export async function backendSays({ context }, app) {
  const { status, reason } = await app.clerk.authenticateRequest((await requestOf(context, app))(), app.options);
  return { status, reason };
}

/** The token that the backend of an app gets. A first handshake may leave the name without the suffix alone. */
export async function sessionToken(context, app) {
  const cookies = await context.cookies(app.url);
  const named = (name) => cookies.find((cookie) => cookie.name === name);
  const cookie = named(`__session_${suffixes[app.keys]}`) ?? named('__session');
  assert.ok(cookie, `${app.host} has no session token`);
  return cookie.value;
}

/** Waits until the token has expired for everybody, away from the page, so that nothing renews it. */
export async function outlive({ page, context }, app) {
  await page.goto('about:blank');
  const { exp } = decodeJwt(await sessionToken(context, app));
  await sleep(Math.max(0, exp * 1000 - Date.now()) + SKEW_MS);
}

/** Waits until backends no longer count the last handshakes: they take three in two seconds for a loop. */
export async function settle({ context }) {
  while ((await context.cookies()).some(({ name }) => name === '__clerk_redirect_count')) {
    await sleep(100);
  }
}

/** Signs out with the component that shows who is signed in. */
export async function signOut(page) {
  await page.getByRole('button', { name: /open user/i }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
}
