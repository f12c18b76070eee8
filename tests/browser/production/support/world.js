// The names of the tests, who answers at each, and a Chromium that finds them. Nothing else is reachable.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { createServer, request as httpsRequest } from 'node:https';
import { after, before } from 'node:test';

import { createClerkClient } from '@clerk/backend';

import { browserTest, Visit, wishes } from '../../support/browser.js';
import { compareJar, site } from '../../support/cookies.js';
import { expressApplication } from '../../support/express.js';
import { apiUrl, publishableKey, secretKey } from '../../support/server.js';
import { application } from '../../support/site.js';

const { STAGE_SECRET_KEY, STAGE_PUBLISHABLE_KEY, NEXT_URL, TEST_CERTIFICATE, TEST_KEY, CHROMIUM_HOME } = process.env;
assert.ok(STAGE_SECRET_KEY, 'run the tests by production/run.sh');
const frontendPort = process.env.LATCHKEY_FRONTEND_LISTEN.split(':').pop();

const tls = { cert: readFileSync(TEST_CERTIFICATE), key: readFileSync(TEST_KEY) };
// Where the middleware's own proxy finds the Frontend API.
process.env.CLERK_FAPI_URL = `https://127.0.0.1:${frontendPort}`;

export const frontendUrl = 'https://clerk.acme.co.uk';

const client = (keys) => createClerkClient({ apiUrl, ...keys, telemetry: { disabled: true } });
const acme = { publishableKey, secretKey };
const stage = { publishableKey: STAGE_PUBLISHABLE_KEY, secretKey: STAGE_SECRET_KEY };
const clerk = { acme: client(acme), stage: client(stage) };

const satellite = { isSatellite: true, domain: 'acme-shop.net', satelliteAutoSync: true };
const signInUrl = 'https://app.acme.co.uk/sign-in';
const proxyUrl = 'https://proxied.acme.co.uk/__clerk';

/** An application: where it is, the clerk client of its backend, and what that needs to know of a request. */
const app = (host, of, options = {}) => ({ host, url: `https://${host}`, keys: of, clerk: clerk[of], options });

export const apps = {
  root: app('acme.co.uk', 'acme'),
  express: app('app.acme.co.uk', 'acme'),
  react: app('app.acme.co.uk:8443', 'acme'),
  next: app('admin.acme.co.uk', 'acme'),
  proxied: app('proxied.acme.co.uk', 'acme', { proxyUrl }),
  stage: app('stage.acme.co.uk', 'stage'),
  shop: app('acme-shop.net', 'acme', { ...satellite, signInUrl }),
};
export const evilUrl = 'https://evil.example';

/** Passes requests on, as the proxy in front of an application does that speaks TLS for it. */
const passedOnTo = (url) => (request, response) => {
  const headers = { ...request.headers, 'x-forwarded-host': request.headers.host, 'x-forwarded-proto': 'https' };
  const inner = httpRequest(new URL(request.url, url), { method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.rawHeaders);
    answer.pipe(response);
  });
  inner.on('error', () => response.writeHead(502).end());
  request.pipe(inner);
};

const servers = {
  [apps.root.host]: () => expressApplication(acme, { publishableKey }, `${frontendUrl}/sign-in`),
  [apps.express.host]: () => expressApplication(acme, { publishableKey }, `${frontendUrl}/sign-in`),
  [apps.react.host]: () => application({ publishableKey }),
  [apps.next.host]: () => passedOnTo(NEXT_URL),
  [apps.proxied.host]: () =>
    expressApplication({ ...acme, frontendApiProxy: { enabled: true } }, { publishableKey, proxyUrl: '/__clerk' }),
  // A client of its own, because the middleware makes one with the secret key of the environment.
  [apps.stage.host]: () =>
    expressApplication({ ...stage, clerkClient: clerk.stage }, { publishableKey: stage.publishableKey }),
  [apps.shop.host]: () =>
    expressApplication({ ...acme, ...satellite, signInUrl }, { publishableKey, ...satellite, signInUrl }, signInUrl),
  'evil.example': () => (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Evil</h1>'),
};
const latchkeys = ['clerk.acme.co.uk', 'accounts.acme.co.uk', 'clerk.stage.acme.co.uk', 'clerk.acme-shop.net'];

const losses = new Map();

/** Lets an answer be written, and ends the connection instead of sending it. */
function lose(response) {
  response.write = () => true;
  response.end = () => response.socket?.destroy();
}

/** While something is done, answers of an app to requests with such cookies are lost; says how many were. */
export async function loseAnswers({ host }, cookies, action) {
  const loss = { cookies, count: 0 };
  losses.set(host, loss);
  try {
    await action();
  } finally {
    losses.delete(host);
  }
  return loss.count;
}

const running = [];
async function listen(host, handler) {
  const server = createServer(tls, (request, response) => {
    const loss = losses.get(host);
    if (loss?.cookies.test(request.headers.cookie)) {
      loss.count += 1;
      lose(response);
    }
    handler(request, response);
  });
  await new Promise((resolve, reject) => server.listen(0, '127.0.0.1', resolve).once('error', reject));
  running.push(server);
  return server.address().port;
}

before(async () => {
  const ports = latchkeys.map((host) => [host, frontendPort]);
  for (const [host, handler] of Object.entries(servers)) {
    ports.push([host, await listen(host, handler())]);
  }
  // The first rule that fits counts: hosts with a port go before those without.
  ports.sort(([one], [other]) => Number(other.includes(':')) - Number(one.includes(':')));
  const rules = [...ports.map(([host, port]) => `MAP ${host} 127.0.0.1:${port}`), 'EXCLUDE 127.0.0.1', 'MAP * ~NOTFOUND'];
  wishes.args = [`--host-resolver-rules=${rules.join(',')}`];
  wishes.hosts = new Set(ports.map(([host]) => host.split(':')[0]));
  wishes.env = { ...process.env, HOME: CHROMIUM_HOME, XDG_DATA_HOME: undefined };
});
after(() => running.forEach((server) => {
  server.closeAllConnections();
  server.close();
}));

/** Asks the server without a browser: status and headers of its answer. Redirects are not followed. */
export const ask = (url, headers = {}) =>
  new Promise((resolve, reject) => {
    const { hostname, host, pathname, search } = new URL(url);
    const target = { host: '127.0.0.1', port: frontendPort, servername: hostname, path: pathname + search };
    const sent = httpsRequest({ ...target, headers: { host, ...headers } }, (response) => {
      response.resume();
      resolve({ status: response.statusCode, headers: response.headers });
    });
    sent.on('error', reject).end();
  });

const hostname = ({ host }) => host.split(':')[0];
const places = [
  site({
    kind: 'production', publishableKey, frontendApi: 'clerk.acme.co.uk', registrable: 'acme.co.uk',
    apps: [apps.root, apps.express, apps.next].map(hostname),
  }),
  site({
    kind: 'proxied', publishableKey, frontendApi: apps.proxied.host, registrable: 'acme.co.uk',
    apps: [apps.proxied.host],
  }),
  site({
    kind: 'production', publishableKey: stage.publishableKey, frontendApi: 'clerk.stage.acme.co.uk',
    registrable: 'acme.co.uk', apps: [apps.stage.host],
  }),
  site({
    kind: 'satellite', publishableKey, frontendApi: 'clerk.acme-shop.net', registrable: 'acme-shop.net',
    apps: [apps.shop.host],
  }),
];
export const suffixes = { acme: places[0].suffix, stage: places[2].suffix };

const known = new Set([...latchkeys, ...Object.values(apps).map(hostname)]);

/** Fails if the browser asked anybody but our hosts, or without TLS. */
export function askedOnlyUs(visit, others = []) {
  const isOurs = ({ protocol, hostname: host }) =>
    ['data:', 'blob:', 'about:'].includes(protocol) ||
    (protocol === 'https:' && (known.has(host) || others.includes(host)));
  const foreign = visit.requests.filter((request) => !isOurs(new URL(request)));
  assert.deepEqual(foreign, [], 'requests to others, or without TLS');
}

/** Does something, then compares all cookies with docs/COOKIES.md. */
async function step(visit, name, action) {
  try {
    const result = await action(visit.page);
    await compareJar(visit.context, places);
    return result;
  } catch (error) {
    error.message = `step "${name}": ${error.message}`;
    throw error;
  }
}

function equip(visit) {
  visit.step = (name, action) => step(visit, name, action);
  return visit;
}

/** A second person, or a second browser of the same one. */
export const anotherVisit = async () => equip(await Visit.start());

/** A test on production instances; `others` are further hosts that its pages may ask. */
export function productionTest(name, body, { others = [], ...options } = {}) {
  browserTest(`production: ${name}`, async (visit, t) => {
    await body(equip(visit), t);
    askedOnlyUs(visit, others);
  }, { others, ...options });
}
