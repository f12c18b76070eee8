// Guards the others: a method that the SDK has and no test calls is a gap.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

import { clerk } from './support.js';

const GROUPS = [
  'users', 'emailAddresses', 'phoneNumbers', 'jwks', 'jwtTemplates', 'sessions', 'clients', 'signInTokens', 'actorTokens', 'testingTokens',
  'invitations', 'allowlistIdentifiers', 'blocklistIdentifiers', 'domains', 'proxyChecks', 'betaFeatures', 'instance', 'redirectUrls',
  'waitlistEntries',
  'organizations', 'organizationPermissions', 'organizationRoles', 'roleSets',
];

const folder = new URL('.', import.meta.url);
const sources = readdirSync(folder)
  .filter((name) => name.endsWith('.test.js'))
  .map((name) => readFileSync(new URL(name, folder), 'utf8'))
  .join('\n');

test('every method of the SDK is called by a test', () => {
  for (const group of GROUPS) {
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(clerk[group]));
    const missing = methods.filter((name) => name !== 'constructor' && !sources.includes(`${group}.${name}(`));
    assert.deepEqual(missing, []);
  }
});
