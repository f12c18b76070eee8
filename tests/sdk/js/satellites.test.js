// A satellite domain as @clerk/backend's authenticateRequest sees it: from a page nobody is known on to a signed-in
// request, by way of the primary domain.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { unique } from './support.js';
import { Browser, newProduction } from './support-production.js';

test('a satellite is signed in by way of the primary domain', async () => {
  const satellite = `s${unique()}.example.org`;
  const production = await newProduction(undefined, [`satellites=[{"name": "${satellite}"}]`]);
  const browser = new Browser();
  await production.signIn(browser);

  const signInUrl = `https://${production.domain}/sign-in`;
  const options = { isSatellite: true, domain: satellite, signInUrl, satelliteAutoSync: true };
  const page = `https://${satellite}/cart?a=1`;
  const unknown = await production.arrive(browser, page, options);
  assert.deepEqual([unknown.status, unknown.reason], ['handshake', 'satellite-needs-syncing']);
  const asked = unknown.headers.get('location');
  assert.ok(asked.startsWith(`https://clerk.${satellite}/v1/client/handshake?`), asked);

  const there = await browser.follow(asked, satellite);
  assert.equal(there, `${page}&__clerk_synced=true`);
  // With the cookies of the first answer the next pages need nobody else.
  for (const url of [there, page, page, page]) {
    const state = await production.arrive(browser, url, options);
    assert.equal(state.status, 'signed-in', `${state.reason} ${state.message}`);
    assert.equal(state.toAuth().userId, production.user.id);
  }
});
