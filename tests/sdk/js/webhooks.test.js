// Webhooks: what the server sends is what receivers' libraries believe, and nothing else is.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';

import { verifyWebhook } from '@clerk/backend/webhooks';
import { Webhook, WebhookVerificationError } from 'svix';

import { connectToNewInstance, idOf, newUser, request } from './support.js';

const ANOTHER_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** A receiver that keeps what arrives: headers, and the body as it came. */
class Receiver {
  #arrived = [];
  #waiting = [];
  #server = createServer(async (message, response) => {
    const chunks = await message.toArray();
    this.#arrived.push({ headers: message.headers, body: Buffer.concat(chunks).toString('utf8') });
    response.writeHead(200).end('thank you');
    this.#waiting.splice(0).forEach((look) => look());
  });

  async listen() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${this.#server.address().port}/webhooks`;
  }

  /** The first arrival of which this is true, now or within half a minute. */
  async find(isIt) {
    const deadline = AbortSignal.timeout(30_000);
    for (;;) {
      const found = this.#arrived.find(isIt);
      if (found) return found;
      await new Promise((resolve, reject) => {
        this.#waiting.push(resolve);
        deadline.addEventListener('abort', () => reject(new Error('it did not arrive')), { once: true });
      });
    }
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

const receiver = new Receiver();
let endpoint;
let secret;

async function secrets() {
  const shown = await request('GET', `/v1/webhooks/endpoints/${endpoint.id}/secret`);
  return shown.body.secrets.map((each) => each.secret);
}

before(async () => {
  const made = await request('POST', '/v1/webhooks/endpoints', {
    body: { url: await receiver.listen(), event_types: ['user.created'] },
  });
  assert.equal(made.status, 200);
  endpoint = made.body;
  [secret] = await secrets();
});

after(async () => {
  await request('DELETE', `/v1/webhooks/endpoints/${endpoint.id}`);
  receiver.close();
});

/** Makes a user and returns what the receiver was told about it. */
async function arrivalOfNewUser(params) {
  const user = await newUser(params);
  return [user, await receiver.find(({ body }) => JSON.parse(body).data.id === user.id)];
}

/** An event as the feed shows it. Other tests on the same instance cause many. */
async function fromFeed(id) {
  for (let after = 0; ; ) {
    const { body } = await request('GET', `/v1/events?after=${after}&limit=500`);
    const found = body.data.find((event) => event.id === id);
    if (found) return found;
    assert.ok(body.has_more, `${id} is not in the feed`);
    after = body.last_seq;
  }
}

/** The arrival as the SDK takes it. */
const asRequest = ({ headers, body }) =>
  new Request('http://receiver.example/webhooks', { method: 'POST', headers, body });

/** Both libraries believe it; returns the body, and what the SDK makes of it. */
async function believed(arrival, withSecret) {
  new Webhook(withSecret).verify(arrival.body, arrival.headers);
  return [JSON.parse(arrival.body), await verifyWebhook(asRequest(arrival), { signingSecret: withSecret })];
}

/** Neither library believes it. */
async function refused(arrival, withSecret) {
  assert.throws(() => new Webhook(withSecret).verify(arrival.body, arrival.headers), WebhookVerificationError);
  await assert.rejects(verifyWebhook(asRequest(arrival), { signingSecret: withSecret }), /verify incoming webhook/);
}

const withHeader = (arrival, name, value) => ({ ...arrival, headers: { ...arrival.headers, [name]: value } });

test('libraries of receivers believe what arrives', async () => {
  const [user, arrival] = await arrivalOfNewUser({ firstName: 'Zoë', unsafeMetadata: { note: '– “ü” 😀' } });
  assert.match(arrival.headers['svix-id'], idOf('msg'));
  const [payload, bySdk] = await believed(arrival, secret);
  assert.deepEqual([payload.type, payload.object, payload.data.id], ['user.created', 'event', user.id]);
  assert.deepEqual([bySdk.type, bySdk.data.id, bySdk.data.first_name], ['user.created', user.id, 'Zoë']);
  assert.deepEqual(bySdk.data.unsafe_metadata, { note: '– “ü” 😀' });
  assert.equal(typeof bySdk.event_attributes.http_request.client_ip, 'string');
  assert.equal(typeof bySdk.event_attributes.http_request.user_agent, 'string');
  // It is what the operation answered and what the feed shows.
  const { id, seq, key_id, ...rest } = await fromFeed(arrival.headers['svix-id']);
  assert.deepEqual(payload, rest);
  assert.equal(id, arrival.headers['svix-id']);
  assert.ok(seq > 0);
  assert.match(key_id, /^key_/);
});

test('libraries of receivers refuse what was changed', async () => {
  const [user, arrival] = await arrivalOfNewUser();
  await believed(arrival, secret);
  await refused({ ...arrival, body: arrival.body.replace(user.id, `${user.id.slice(0, -1)}_`) }, secret);
  await refused({ ...arrival, body: `${arrival.body} ` }, secret);
  await refused(withHeader(arrival, 'svix-id', 'msg_000000000000000000000000000'), secret);
  const later = String(Number(arrival.headers['svix-timestamp']) + 1);
  await refused(withHeader(arrival, 'svix-timestamp', later), secret);
  const [version, mac] = arrival.headers['svix-signature'].split(',');
  const other = mac[0] === 'A' ? 'B' : 'A';
  await refused(withHeader(arrival, 'svix-signature', `${version},${other}${mac.slice(1)}`), secret);
  await refused(withHeader(arrival, 'svix-signature', `v2,${mac}`), secret);
  await refused(arrival, ANOTHER_SECRET);
});

test('libraries of receivers refuse what is old, signed or not', async () => {
  const [, arrival] = await arrivalOfNewUser();
  const old = new Date(Date.now() - 6 * 60_000);
  const signature = new Webhook(secret).sign(arrival.headers['svix-id'], old, arrival.body);
  const timestamp = String(Math.floor(old.getTime() / 1000));
  const resent = withHeader(withHeader(arrival, 'svix-timestamp', timestamp), 'svix-signature', signature);
  await refused(resent, secret);
});

test('while a secret is rotated receivers with either of them believe', async () => {
  const [old] = await secrets();
  const path = `/v1/webhooks/endpoints/${endpoint.id}/secret/rotate`;
  assert.equal((await request('POST', path, { body: { expire_old_in_seconds: 3600 } })).status, 200);
  const [fresh, before] = await secrets();
  assert.equal(before, old);
  const [, during] = await arrivalOfNewUser();
  assert.equal(during.headers['svix-signature'].split(' ').length, 2);
  await believed(during, old);
  await believed(during, fresh);
  await refused(during, ANOTHER_SECRET);
  // The next one ends all before it at once.
  assert.equal((await request('POST', path, { body: { expire_old_in_seconds: 0 } })).status, 200);
  const [newest] = await secrets();
  const [, afterwards] = await arrivalOfNewUser();
  await believed(afterwards, newest);
  await refused(afterwards, fresh);
  await refused(afterwards, old);
  secret = newest;
});

test('a secret of the receiver\'s own is signed with', async () => {
  const own = new Receiver();
  try {
    const body = { url: await own.listen(), event_types: ['user.created'], secret: ANOTHER_SECRET };
    const made = await request('POST', '/v1/webhooks/endpoints', { body });
    const user = await newUser();
    const arrival = await own.find((each) => JSON.parse(each.body).data.id === user.id);
    await believed(arrival, ANOTHER_SECRET);
    await refused(arrival, secret);
    assert.equal((await request('DELETE', `/v1/webhooks/endpoints/${made.body.id}`)).status, 200);
  } finally {
    own.close();
  }
});

test('a test event is signed like any other', async () => {
  const sent = await request('POST', `/v1/webhooks/endpoints/${endpoint.id}/test`, { body: { type: 'user.deleted' } });
  assert.deepEqual([sent.status, sent.body.attempt.succeeded, sent.body.attempt.response], [200, true, 'thank you']);
  const arrival = await receiver.find(({ body }) => JSON.parse(body).type === 'user.deleted');
  const [payload, bySdk] = await believed(arrival, secret);
  assert.deepEqual(payload, sent.body.payload);
  assert.equal(bySdk.type, 'user.deleted');
});

test('the SDK begins and ends the management of webhooks', async () => {
  const fresh = connectToNewInstance();
  const begun = await fresh.webhooks.createSvixApp();
  assert.match(begun.svix_url, /^http/);
  const again = await fresh.webhooks.generateSvixAuthURL();
  const page = await fetch(again.svix_url);
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-type'), /^text\/html/);
  await fresh.webhooks.deleteSvixApp();
  await assert.rejects(fresh.webhooks.generateSvixAuthURL());
});
