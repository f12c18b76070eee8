// Passkeys of a production instance: they belong to acme.co.uk, whichever of its hosts they were made on.
import assert from 'node:assert/strict';

import { isSignedIn, press, signIn } from '../support/components.js';
import { withPasskeys } from '../support/passkeys.js';
import { newPerson } from '../support/people.js';
import { apps, frontendUrl, productionTest } from './support/world.js';

productionTest('a passkey made on one host signs in on another', async (visit) => {
  const { page, context } = visit;
  const device = await withPasskeys(visit);
  const person = await newPerson();
  await visit.step('sign in with the password', async () => {
    await device.setPresent(false);
    await signIn(page, `${apps.react.url}/sign-in`, person);
    await isSignedIn(page, person.email);
  });
  await visit.step('register a passkey', async () => {
    await device.setPresent(true);
    await page.goto(`${apps.react.url}/profile#/security`);
    await press(page, 'Add a passkey');
    await page.getByRole('button', { name: /open menu/i }).first().waitFor();
    assert.deepEqual((await device.credentials()).map(({ rpId }) => rpId), ['acme.co.uk']);
  });
  await visit.step('autofill on the hosted page', async () => {
    await context.clearCookies();
    await page.goto(`${frontendUrl}/sign-in?redirect_url=${encodeURIComponent(`${apps.react.url}/`)}`);
    await isSignedIn(page, person.email);
  });
});
