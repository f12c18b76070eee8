// The server under test, seen from outside: its addresses, its Backend API and its inbox.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { createClerkClient } from '@clerk/backend';

function setting(name) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: run the tests under scripts/with-server.sh`);
  return value;
}

export const apiUrl = setting('LATCHKEY_URL');
export const secretKey = setting('CLERK_SECRET_KEY');
export const publishableKey = setting('CLERK_PUBLISHABLE_KEY');
export const instanceId = setting('LATCHKEY_INSTANCE_ID');

/** Where browsers reach the Frontend API: the same site as the applications, which are on localhost too. */
export const frontendUrl = `http://localhost:${setting('LATCHKEY_FRONTEND_LISTEN').split(':').pop()}`;

/** What an application needs in a world of plain http. */
const propsOf = (key, url) => ({
  publishableKey: key,
  proxyUrl: url,
  __internal_clerkJSUrl: `${url}/npm/@clerk/clerk-js@6/dist/clerk.browser.js`,
  __internal_clerkUIUrl: `${url}/npm/@clerk/ui@1/dist/ui.browser.js`,
});
export const clerkProps = propsOf(publishableKey, frontendUrl);

const clientOf = (secret, key) =>
  createClerkClient({ apiUrl, secretKey: secret, publishableKey: key, telemetry: { disabled: true } });
export const clerk = clientOf(secretKey, publishableKey);

/** What a command of the program prints. */
export async function latchkey(...args) {
  return (await promisify(execFile)(setting('LATCHKEY_BIN'), args)).stdout;
}

/** Another development instance of the server, for settings that everybody on an instance notices. */
export async function newInstance(...settings) {
  const made = JSON.parse(await latchkey('instances', 'create', '--environment', 'development', '--json'));
  const set = (...changes) => latchkey('settings', 'set', '--instance', made.instance_id, ...changes);
  if (settings.length > 0) await set(...settings);
  const url = `http://${made.frontend_api}`;
  return {
    clerk: clientOf(made.secret_key, made.publishable_key),
    clerkProps: propsOf(made.publishable_key, url),
    frontendUrl: url,
    set,
    nextMessage: (to) => nextMessage(to, made.secret_key),
    nextLink: (to) => nextLink(to, made.secret_key),
  };
}

async function messages(to, key) {
  const response = await fetch(`${apiUrl}/dev/inbox?to=${encodeURIComponent(to)}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()).data;
}

/** The next message to an address, or one that is there already. Each is handed out once. */
const read = new Set();
async function nextMessage(to, key = secretKey) {
  for (let tries = 0; tries < 600; tries += 1) {
    const unread = (await messages(to, key)).filter((message) => !read.has(message.id));
    if (unread.length > 0) {
      unread.forEach((message) => read.add(message.id));
      return unread[0];
    }
    await sleep(100);
  }
  throw new Error(`No message to ${to} within a minute.`);
}

export async function nextCode(to) {
  const { code, body } = await nextMessage(to);
  assert.match(code ?? '', /^\d{6}$/, `no code in: ${body}`);
  return code;
}

export async function nextLink(to, key) {
  const { body } = await nextMessage(to, key);
  const link = body.match(/https?:\/\/\S+\/v1\/(verify|tickets\/accept)\?\S+/)?.[0];
  assert.ok(link, `no link in: ${body}`);
  return link;
}
