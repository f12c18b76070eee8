// A satellite domain as @clerk/backend's authenticateRequest sees it: from a page nobody is known on to a signed-in
// request, by way of the primary domain. The domains lead nowhere, so redirects are followed by hand.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { request as httpRequest } from 'node:http';
import { test } from 'node:test';

import { createClerkClient } from '@clerk/backend';

import { frontendUrl, newEmail, newPassword, unique, url } from './support.js';

const latchkey = (...line) => execFileSync(process.env.LATCHKEY_BIN, line, { encoding: 'utf8' });

/** A browser with cookies for each host; every host is the server under test. */
function browser() {
  const jars = new Map();
  return (there, { method = 'GET', body, headers = {} } = {}) => new Promise((resolve, reject) => {
    const { host, pathname, search } = new URL(there);
    const jar = jars.get(host) ?? jars.set(host, new Map()).get(host);
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ');
    const options = { method, headers: { host, cookie, ...headers } };
    const sent = httpRequest(frontendUrl + pathname + search, options, (response) => {
      const lines = response.headers['set-cookie'] ?? [];
      for (const line of lines) {
        const [, name, value] = line.match(/^([^=]+)=([^;]*)/);
        jar.set(name, value);
      }
      let text = '';
      response.on('data', (chunk) => { text += chunk; });
      response.on('end', () => resolve({ status: response.statusCode, location: response.headers.location, lines, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

test('a satellite is signed in by way of the primary domain', async () => {
  const primary = `clerk.p${unique()}.example.com`;
  const domain = `s${unique()}.example.org`;
  const made = JSON.parse(latchkey('instances', 'create', '--environment', 'production', '--frontend-api', primary, '--json'));
  latchkey('settings', 'set', '--instance', made.instance_id, `satellites=[{"name": "${domain}"}]`);
  const { secret_key: secretKey, publishable_key: publishableKey } = made;
  const clerk = createClerkClient({ apiUrl: url, secretKey, publishableKey, telemetry: { disabled: true } });
  const [emailAddress, password] = [newEmail(), newPassword()];
  const user = await clerk.users.createUser({ emailAddress: [emailAddress], password });
  const visit = browser();
  const signIn = await visit(`https://${primary}/v1/client/sign_ins?__clerk_api_version=2026-05-12`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: `https://${primary.slice(6)}` },
    body: new URLSearchParams({ identifier: emailAddress, password }).toString(),
  });
  assert.equal(JSON.parse(signIn.text).response?.status, 'complete', signIn.text);

  const options = { isSatellite: true, domain, signInUrl: `https://${primary.slice(6)}/sign-in`, satelliteAutoSync: true };
  const arrive = (there, cookie = '') => {
    const headers = { 'sec-fetch-dest': 'document', accept: 'text/html', host: domain, cookie, 'x-forwarded-proto': 'https', 'x-forwarded-host': domain };
    return clerk.authenticateRequest(new Request(there, { headers }), options);
  };
  const page = `https://${domain}/cart?a=1`;
  const unknown = await arrive(page);
  assert.deepEqual([unknown.status, unknown.reason], ['handshake', 'satellite-needs-syncing']);

  let there = unknown.headers.get('location');
  assert.ok(there.startsWith(`https://clerk.${domain}/v1/client/handshake?`), there);
  let lines = [];
  for (let step = 0; new URL(there).host !== domain; step += 1) {
    assert.ok(step < 8, 'the handshake goes in circles');
    const answer = await visit(there);
    assert.equal(answer.status, 307, answer.text);
    ({ location: there, lines } = answer);
  }
  assert.equal(there, `${page}&__clerk_synced=true`);
  const shared = lines.filter((line) => line.includes(`Domain=${domain}`)).map((line) => line.split(';')[0]);
  const state = await arrive(there, shared.join('; '));
  assert.equal(state.status, 'signed-in', `${state.reason} ${state.message}`);
  assert.equal(state.toAuth().userId, user.id);

  // With the cookies of that answer the next page needs nobody else.
  const cookies = state.headers.getSetCookie().map((line) => line.split(';')[0]);
  const next = await arrive(page, cookies.join('; '));
  assert.equal(next.status, 'signed-in', `${next.reason} ${next.message}`);
});
