import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { test } from 'node:test';

import { clerk, instanceId, otherClerk } from './support.js';

test('the key set has the RSA-2048 key of the instance and nothing private', async () => {
  const { keys } = await clerk.jwks.getJwks();
  assert.equal(keys.length, 1);
  const { n, ...rest } = keys[0];
  assert.deepEqual(rest, { use: 'sig', kty: 'RSA', alg: 'RS256', kid: instanceId, e: 'AQAB' });
  const key = createPublicKey({ key: keys[0], format: 'jwk' });
  assert.deepEqual(key.asymmetricKeyDetails, { modulusLength: 2048, publicExponent: 65537n });
  assert.equal(Buffer.from(n, 'base64url').length, 256);
});

test('the key set stays the same and differs between instances', async () => {
  const [ours, again, theirs] = [await clerk.jwks.getJwks(), await clerk.jwks.getJwks(), await otherClerk.jwks.getJwks()];
  assert.deepEqual(again, ours);
  assert.notEqual(theirs.keys[0].kid, ours.keys[0].kid);
  assert.notEqual(theirs.keys[0].n, ours.keys[0].n);
});
