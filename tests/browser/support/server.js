// The server under test, seen from outside: its addresses, its Backend API and its inbox.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { createClerkClient } from '@clerk/backend';

function setting(name) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: run the tests under scripts/with-server.sh`);
  return value;
}

export const apiUrl = setting('LATCHKEY_URL');
export const secretKey = setting('CLERK_SECRET_KEY');
export const publishableKey = setting('CLERK_PUBLISHABLE_KEY');

/** Where browsers reach the Frontend API: the same site as the applications, which are on localhost too. */
export const frontendUrl = `http://localhost:${setting('LATCHKEY_FRONTEND_LISTEN').split(':').pop()}`;

/** What an application needs in a world of plain http. */
export const clerkProps = {
  publishableKey,
  proxyUrl: frontendUrl,
  __internal_clerkJSUrl: `${frontendUrl}/npm/@clerk/clerk-js@6/dist/clerk.browser.js`,
  __internal_clerkUIUrl: `${frontendUrl}/npm/@clerk/ui@1/dist/ui.browser.js`,
};

export const clerk = createClerkClient({ apiUrl, secretKey, publishableKey, telemetry: { disabled: true } });

async function messages(to) {
  const response = await fetch(`${apiUrl}/dev/inbox?to=${encodeURIComponent(to)}`, {
    headers: { authorization: `Bearer ${secretKey}` },
  });
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()).data;
}

/** The next message to an address, or one that is there already. Each is handed out once. */
const read = new Set();
async function nextMessage(to) {
  for (let tries = 0; tries < 100; tries += 1) {
    const unread = (await messages(to)).filter((message) => !read.has(message.id));
    if (unread.length > 0) {
      unread.forEach((message) => read.add(message.id));
      return unread[0];
    }
    await sleep(100);
  }
  throw new Error(`No message to ${to} within 10 seconds.`);
}

export async function nextCode(to) {
  const { code, body } = await nextMessage(to);
  assert.match(code ?? '', /^\d{6}$/, `no code in: ${body}`);
  return code;
}

export async function nextLink(to) {
  const { body } = await nextMessage(to);
  const link = body.match(/https?:\/\/\S+\/v1\/verify\?\S+/)?.[0];
  assert.ok(link, `no link in: ${body}`);
  return link;
}
