import assert from 'node:assert/strict';
import { test } from 'node:test';

import { verifyToken } from '@clerk/backend';

import {
  assertHas, clerk, frontendUrl, idOf, newUser, otherClerk, refused, request, secretKey, unique, unknownId, url,
} from './support.js';

const APP = 'http://localhost:3000';

const open = async () => {
  const user = await newUser();
  return { user, session: await clerk.sessions.createSession({ userId: user.id }) };
};
const check = (token) => verifyToken(token, { secretKey, apiUrl: url });

test('a session is made, found, listed and revoked', async () => {
  const { user, session } = await open();
  assert.match(session.id, idOf('sess'));
  assertHas(session, { userId: user.id, status: 'active', actor: null });
  assert.deepEqual(await clerk.sessions.getSession(session.id), session);
  const listed = await clerk.sessions.getSessionList({ userId: user.id, status: 'active' });
  assert.deepEqual([listed.totalCount, listed.data], [1, [session]]);
  assert.equal((await clerk.sessions.revokeSession(session.id)).status, 'revoked');
  const left = await clerk.sessions.getSessionList({ userId: user.id, status: 'active' });
  assert.deepEqual([left.totalCount, left.data], [0, []]);
});

test('sessions are not made on production instances', async () => {
  const user = await otherClerk.users.createUser({ emailAddress: [`${unique()}@example.com`] });
  await refused(otherClerk.sessions.createSession({ userId: user.id }), 400, 'request_invalid_for_environment');
});

test('a token of a session is verified by the SDK', async () => {
  const { user, session } = await open();
  const { jwt } = await clerk.sessions.getToken(session.id);
  const claims = await check(jwt);
  assertHas(claims, { sub: user.id, sid: session.id, v: 2, sts: 'active', azp: undefined });
  assert.equal(claims.exp - claims.iat, 60);
  const long = await check((await clerk.sessions.getToken(session.id, undefined, 3600)).jwt);
  assert.equal(long.exp - long.iat, 3600);
  assert.equal((await clerk.sessions.verifySession(session.id, jwt)).id, session.id);
  await refused(clerk.sessions.verifySession(session.id, 'nothing'), 400, 'invalid_session_token');
  await clerk.sessions.revokeSession(session.id);
  await refused(clerk.sessions.getToken(session.id), 404, 'resource_not_found');
});

test('the issuer of a token is the one that its instance names', async () => {
  const { session } = await open();
  const { jwt } = await clerk.sessions.getToken(session.id);
  const issuedBy = (issuer) => verifyToken(jwt, { secretKey, apiUrl: url, issuer });
  const { issuer } = await (await fetch(`${frontendUrl}/.well-known/openid-configuration`)).json();
  assertHas(await issuedBy(issuer), { sid: session.id, iss: issuer });
  assertHas(await issuedBy(['https://clerk.example.com', issuer]), { sid: session.id });
  for (const other of ['https://clerk.example.com', `${issuer}/`, issuer.replace(/^http/, 'ftp')]) {
    await assert.rejects(issuedBy(other), { reason: 'token-invalid-issuer' });
  }
});

test('a token from a template is no session token', async () => {
  const { user, session } = await open();
  const name = `template-${unique()}`;
  await clerk.jwtTemplates.create({ name, claims: { email: '{{user.primary_email_address}}' } });
  const { jwt } = await clerk.sessions.getToken(session.id, name);
  const claims = JSON.parse(Buffer.from(jwt.split('.')[1], 'base64url'));
  assert.deepEqual([claims.email, claims.sid], [user.primaryEmailAddress.emailAddress, undefined]);
  await refused(clerk.sessions.verifySession(session.id, jwt), 400, 'invalid_session_token');
  await refused(clerk.sessions.getToken(session.id, 'other'), 404, 'resource_not_found');
});

test('clients are listed, found and verified', async () => {
  const { session } = await open();
  const client = await clerk.clients.getClient(session.clientId);
  assertHas(client, { id: session.clientId, sessionIds: [session.id], lastActiveSessionId: session.id });
  const listed = await clerk.clients.getClientList({ limit: 500 });
  assert.ok(listed.data.some(({ id }) => id === client.id) && listed.totalCount >= 1);
  await refused(clerk.clients.verifyClient('nothing'), 400, 'cookie_invalid');
  await refused(clerk.clients.getHandshakePayload({ nonce: 'guess' }), 404, 'resource_not_found');
  await refused(clerk.clients.getClient(unknownId('client')), 404, 'resource_not_found');
});

test('sign-in tokens are made and revoked', async () => {
  const user = await newUser();
  const token = await clerk.signInTokens.createSignInToken({ userId: user.id, expiresInSeconds: 60 });
  assert.match(token.id, idOf('sit'));
  assertHas(token, { userId: user.id, status: 'pending' });
  assert.ok(token.url.endsWith(`/v1/tickets/accept?ticket=${token.token}`));
  assert.equal((await clerk.signInTokens.revokeSignInToken(token.id)).status, 'revoked');
  await refused(clerk.signInTokens.revokeSignInToken(token.id), 400, 'sign_in_token_cannot_be_revoked_code');
  await refused(clerk.signInTokens.createSignInToken({ userId: unknownId('user') }), 404, 'resource_not_found');
});

test('actor tokens are made and revoked', async () => {
  const [user, actor] = [await newUser(), await newUser()];
  const token = await clerk.actorTokens.create({ userId: user.id, actor: { sub: actor.id } });
  assert.match(token.id, idOf('act'));
  assertHas(token, { userId: user.id, status: 'pending', actor: { sub: actor.id } });
  assert.equal((await clerk.actorTokens.revoke(token.id)).status, 'revoked');
  await refused(clerk.actorTokens.revoke(token.id), 400, 'actor_token_cannot_be_revoked_code');
});

test('testing tokens tell when they end, in seconds', async () => {
  // The SDK hands this one out as it came.
  const { token, expires_at } = await clerk.testingTokens.createTestingToken();
  assert.equal(Number(token.split('-')[0]) + 3600, expires_at);
});

test('a ticket signs in once, and a backend renews what the handshake gave it', async () => {
  const user = await newUser();
  const { token: ticket } = await clerk.signInTokens.createSignInToken({ userId: user.id });
  const visit = (path, options = {}) => fetch(frontendUrl + path, { redirect: 'manual', ...options });
  const version = '__clerk_api_version=2026-05-12';
  const browser = (await (await visit(`/v1/dev_browser?${version}`, { method: 'POST' })).json()).id;
  const query = `${version}&__clerk_db_jwt=${browser}`;
  const signIn = () => visit(`/v1/client/sign_ins?${query}`, {
    method: 'POST',
    headers: { origin: APP },
    body: new URLSearchParams({ strategy: 'ticket', ticket }),
  });
  const signedIn = await signIn();
  const answer = await signedIn.json();
  assert.equal(answer.response?.status, 'complete', JSON.stringify(answer));
  // The token of the developer's browser changes with the sign-in.
  const changed = `${version}&__clerk_db_jwt=${signedIn.headers.get('clerk-db-jwt')}`;
  assert.notEqual((await signIn()).status, 200);

  const back = encodeURIComponent(`${APP}/`);
  const handshake = await visit(`/v1/client/handshake?${changed}&format=nonce&suffixed_cookies=true&redirect_url=${back}`);
  assert.equal(handshake.status, 307);
  const nonce = new URL(handshake.headers.get('location')).searchParams.get('__clerk_handshake_nonce');
  const { directives } = await clerk.clients.getHandshakePayload({ nonce });
  await refused(clerk.clients.getHandshakePayload({ nonce }), 404, 'resource_not_found');
  const cookie = (name) => directives.find((line) => line.startsWith(name)).split(';')[0].split('=')[1];
  const sessionId = (await check(cookie('__session='))).sid;

  const params = {
    format: 'cookie',
    suffixed_cookies: true,
    expired_token: cookie('__session='),
    refresh_token: cookie('__refresh_'),
    request_origin: APP,
    request_headers: { 'user-agent': ['test'] },
  };
  const { cookies } = await clerk.sessions.refreshSession(sessionId, params);
  assert.deepEqual(cookies.map((line) => line.split('=')[0].slice(0, 10)), ['__session', '__session_']);
  assertHas(await check(cookies.at(-1).split(';')[0].split('=')[1]), { sid: sessionId, sub: user.id, azp: APP });
  const again = clerk.sessions.refreshSession(sessionId, params);
  await refused(again, 401, 'session_refresh_expired_session_token_consumed');
  await clerk.users.banUser(user.id);
  assert.equal((await clerk.sessions.getSession(sessionId)).status, 'revoked');
});

test('the interstitial is a page for anybody', async () => {
  const key = process.env.CLERK_PUBLISHABLE_KEY;
  const page = await fetch(`${url}/v1/public/interstitial?publishable_key=${key}`);
  assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  assert.ok((await page.text()).includes(key));
  const refusal = await request('GET', '/v1/public/interstitial');
  assert.deepEqual([refusal.status, refusal.body.errors[0].code], [400, 'missing_query_parameter']);
});
