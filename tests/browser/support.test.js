// What the support code promises to all other tests.
import assert from 'node:assert/strict';

import { browserTest } from './support/browser.js';
import { frontendUrl } from './support/server.js';

browserTest('support: a request that leaves the machine is noticed', async (visit) => {
  await visit.page.goto(`${frontendUrl}/sign-in`);
  assert.equal(await visit.page.evaluate(() => navigator.webdriver), false, 'SDKs are quiet where a program drives');
  await visit.stayedHere();
  const post = (url) => fetch(url, { method: 'POST', keepalive: true, body: '{}' }).catch(() => {});
  // Without the policy of the hosted page, which would not let it out.
  await visit.page.goto(`${frontendUrl}/.well-known/jwks.json`);
  await visit.page.evaluate(post, 'https://telemetry.example/v1/event');
  await assert.rejects(visit.stayedHere(), /telemetry\.example/);
  await visit.stayedHere(['telemetry.example']);
  visit.foreign = [];
  await visit.context.route('https://answered.example/**', (route) => route.fulfill({ body: '{}' }));
  await visit.page.evaluate(post, 'https://answered.example/v1/event');
  await visit.stayedHere();
});
