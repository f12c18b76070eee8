import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { verifyToken } from '@clerk/backend';
import { createRemoteJWKSet, jwtVerify } from 'jose';

import { browserTest } from './support/browser.js';
import { isSignedIn, signIn } from './support/components.js';
import { newPerson } from './support/people.js';
import { apiUrl, clerkProps, frontendUrl, publishableKey, secretKey } from './support/server.js';
import { serveApplication } from './support/site.js';

let site;
before(async () => {
  site = await serveApplication(clerkProps);
});
after(() => site.close());

browserTest('tokens of a session verify through the JWKS', async ({ page, context }) => {
  const person = await newPerson();
  await signIn(page, `${site.url}/sign-in`, person);
  await isSignedIn(page, person.email);
  await page.getByRole('button', { name: 'Mint a token' }).click();
  await page.waitForFunction(() => document.querySelector('textarea').value.length > 0);
  const token = await page.getByTestId('token').inputValue();

  const keys = createRemoteJWKSet(new URL(`${frontendUrl}/.well-known/jwks.json`));
  const { payload, protectedHeader } = await jwtVerify(token, keys, { algorithms: ['RS256'] });
  const host = atob(publishableKey.split('_')[2]).replace(/\$$/, '');
  assert.equal(protectedHeader.alg, 'RS256');
  assert.equal(payload.sub, person.id);
  assert.equal(payload.sid, await page.getByTestId('session').textContent());
  assert.equal(payload.azp, site.url);
  assert.equal(payload.iss.replace(/^https?:\/\//, ''), host);
  assert.equal(payload.exp - payload.iat, 60);

  const claims = await verifyToken(token, { apiUrl, secretKey, authorizedParties: [site.url] });
  assert.equal(claims.sub, person.id);
  await assert.rejects(verifyToken(token, { apiUrl, secretKey, authorizedParties: ['http://elsewhere.example'] }));

  // What the browser keeps for backends is such a token too.
  const cookie = (await context.cookies(site.url)).find(({ name }) => name === '__session');
  assert.equal((await verifyToken(cookie.value, { apiUrl, secretKey })).sub, person.id);
}, { isSmoke: true });
