// What the tests share: clients of the server under test, fresh values, and expectations.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHmac, randomBytes, randomInt } from 'node:crypto';
import { deflateSync } from 'node:zlib';

import { createClerkClient } from '@clerk/backend';
import { isClerkAPIResponseError } from '@clerk/backend/errors';

function setting(name) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: run the tests under scripts/with-server.sh`);
  return value;
}

export const url = setting('LATCHKEY_URL');
/** Where browsers reach the server. */
export const frontendUrl = `http://${setting('LATCHKEY_FRONTEND_LISTEN')}`;
export const secretKey = setting('CLERK_SECRET_KEY');
export const otherSecretKey = setting('LATCHKEY_OTHER_SECRET_KEY');
export const instanceId = setting('LATCHKEY_INSTANCE_ID');

export const connect = (key) => createClerkClient({ apiUrl: url, secretKey: key, telemetry: { disabled: true } });

export const clerk = connect(secretKey);
/** A client of another instance of the same server. */
export const otherClerk = connect(otherSecretKey);

/**
 * A client of an instance that is still empty, for tests that count or order everything, and for those that need other
 * settings, each as `path=JSON`.
 */
export function connectToNewInstance(...settings) {
  const latchkey = (...args) => execFileSync(setting('LATCHKEY_BIN'), args, { encoding: 'utf8' });
  const created = JSON.parse(latchkey('instances', 'create', '--environment', 'development', '--json'));
  latchkey('settings', 'set', '--instance', created.instance_id, 'organizations.enabled=true', ...settings);
  return connect(created.secret_key);
}

/** A request by hand, for operations that the SDK does not have and for requests it would not send. */
export async function request(method, path, { body, headers = {}, key = secretKey } = {}) {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) };
}

/** Asks as an application without cookies does. */
async function askNatively(method, path, form, authorization) {
  const answer = await fetch(`${frontendUrl}/v1${path}${path.includes('?') ? '&' : '?'}_is_native=1`, {
    method,
    headers: authorization ? { authorization } : {},
    body: form && new URLSearchParams(form),
  });
  return { status: answer.status, headers: answer.headers, body: await answer.json() };
}

/** Signs in by a ticket, without cookies. Returns the session, and a way to ask further. */
export async function signInByTicket(ticket) {
  const { status, headers, body } = await askNatively('POST', '/client/sign_ins', { strategy: 'ticket', ticket });
  assert.deepEqual([status, body.response?.status], [200, 'complete'], JSON.stringify(body));
  const ask = (method, path, form) => askNatively(method, path, form, headers.get('authorization'));
  return { sessionId: body.response.created_session_id, ask };
}

/** Signs a user in. */
export async function signIn(userId, params = {}) {
  const { token } = await clerk.signInTokens.createSignInToken({ userId, ...params });
  return signInByTicket(token);
}

// Fresh values: the tests run side by side on one instance, so nothing may be taken twice.

export const unique = () => randomBytes(8).toString('hex');
export const newEmail = () => `${unique()}@example.com`;
export const newUsername = () => `user_${unique()}`;
export const newPassword = () => `Zq7!${unique()}`;
export const newWallet = () => `0x${randomBytes(20).toString('hex')}`;
export const newPhone = () => `+1${randomInt(201, 990)}${randomInt(2_000_000, 10_000_000)}`;
/** A number to which nothing is ever sent: its code on a development instance is 424242. */
export const newTestPhone = () => `+1${randomInt(201, 990)}55501${String(randomInt(100)).padStart(2, '0')}`;

export const newUser = (params = {}) => clerk.users.createUser({ emailAddress: [newEmail()], ...params });

/** An id of the right form that nothing has. */
export const unknownId = (prefix) => `${prefix}_${'0'.repeat(27)}`;

// Expectations.

export const idOf = (prefix) => new RegExp(`^${prefix}_[0-9A-Za-z]{27}$`);

/** The promise must be refused by the server with this status and code, in the shape the SDK relies on. */
export async function refused(promise, status, code, paramName) {
  await assert.rejects(promise, (error) => {
    assert.ok(isClerkAPIResponseError(error), `not an answer of the server: ${error}`);
    const [first] = error.errors;
    assert.deepEqual([error.status, first?.code], [status, code ?? first?.code]);
    if (paramName) {
      assert.equal(first.meta.paramName, paramName);
    }
    assert.ok(first.message.length > 0);
    assert.ok(first.longMessage.length > 0);
    assert.match(error.clerkTraceId, /^[0-9a-f]{32}$/);
    return true;
  });
}

/** The values that `actual` has for the keys of `expected` must be those. */
export function assertHas(actual, expected) {
  const picked = Object.fromEntries(Object.keys(expected).map((key) => [key, actual[key]]));
  assert.deepEqual(picked, expected);
}

/** The newest message to an address or number in the development inbox. */
export async function newestMessage(to) {
  const inbox = await request('GET', `/dev/inbox?to=${encodeURIComponent(to)}`);
  assert.equal(inbox.status, 200);
  assert.ok(inbox.body.data.length > 0, `no message to ${to}`);
  return inbox.body.data[0];
}

// Things to send.

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export const newTotpSecret = () => Array.from(randomBytes(32), (byte) => BASE32[byte % 32]).join('');

/** The code of RFC 6238 (SHA-1, 6 digits, 30 s), `steps` periods away from now. */
export function totp(secret, steps = 0) {
  const bits = [...secret].map((char) => BASE32.indexOf(char).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const mac = createHmac('sha1', key).update(counter).digest();
  const number = mac.readUInt32BE(mac[19] & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}

/** A code that is wrong now and in the periods around it. */
export function wrongTotp(secret) {
  const right = [-3, -2, -1, 0, 1, 2, 3].map((steps) => totp(secret, steps));
  return ['000000', '111111', '222222', '333333', '444444', '555555', '666666', '777777'].find((code) => !right.includes(code));
}

function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
  }
  return ~crc >>> 0;
}

function greyRows(width, height) {
  const rows = Buffer.alloc((width + 1) * height, 128);
  for (let row = 0; row < height; row += 1) {
    rows[row * (width + 1)] = 0;
  }
  return rows;
}

/** A grey PNG of this size, or one that only claims the size when it is given other pixels. */
export function png(width, height, rows = greyRows(width, height)) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const framed = Buffer.alloc(body.length + 8);
    framed.writeUInt32BE(data.length, 0);
    framed.set(body, 4);
    framed.writeUInt32BE(crc32(body), body.length + 4);
    return framed;
  };
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
