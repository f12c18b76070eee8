// Tokens that have expired, again and again. The apps wait at the same time: each round takes as long as a token lives.
// Of all files this one takes longest, so its name is the first.
import assert from 'node:assert/strict';
import { describe } from 'node:test';

import { isSignedIn, isSignedOut, signIn } from '../support/components.js';
import { newPerson } from '../support/people.js';
import { backendAgrees, isKnown, isNobody, open, outlive, sessionToken, signOut } from './support/steps.js';
import { apps, frontendUrl, productionTest } from './support/world.js';

const ROUNDS = process.env.BROWSER_SMOKE === '1' ? 1 : 5;
const patience = { timeout: 400_000 };
const waiting = { express: apps.express, 'next.js': apps.next, proxied: apps.proxied };

describe('expired tokens', { concurrency: 5 }, () => {
  for (const [name, app] of Object.entries(waiting)) {
    productionTest(
      `${name}: an expired token becomes a new one, again and again`,
      async (visit) => {
        const { page, context } = visit;
        const person = await newPerson();
        await visit.step('sign-in', async () => {
          const form = app === apps.proxied ? `${app.url}/sign-in` : `${frontendUrl}/sign-in`;
          await signIn(page, `${form}?redirect_url=${encodeURIComponent(`${app.url}/`)}`, person);
          await page.waitForURL(`${app.url}/`);
          await page.getByRole('button', { name: /open user/i }).waitFor();
        });
        for (let round = 1; round <= ROUNDS; round += 1) {
          const before = await sessionToken(context, app);
          await outlive(visit, app);
          await visit.step(`round ${round}`, () => isKnown(page, app, person));
          assert.notEqual(await sessionToken(context, app), before);
          await backendAgrees(visit, app, person);
          const again = await visit.step(`round ${round}, again`, () => open(page, app));
          assert.deepEqual(again, { who: person.id, handshakes: 0 });
        }
      },
      { ...patience, isSmoke: app === apps.express },
    );
  }

  productionTest('express: without its refresh cookie an expired token takes one handshake', async (visit) => {
    const { page, context } = visit;
    const person = await newPerson();
    await visit.step('sign-in', async () => {
      await signIn(page, `${frontendUrl}/sign-in?redirect_url=${encodeURIComponent(`${apps.root.url}/who`)}`, person);
      await page.waitForURL(`${apps.root.url}/who`);
    });
    await outlive(visit, apps.root);
    await context.clearCookies({ name: /^__refresh/ });
    const handshakes = await visit.step('once', () => isKnown(page, apps.root, person));
    assert.equal(handshakes, 1);
    await backendAgrees(visit, apps.root, person);
    // Now there is one.
    await outlive(visit, apps.root);
    assert.deepEqual(await visit.step('twice', () => open(page, apps.root)), { who: person.id, handshakes: 0 });
  }, patience);

  productionTest('satellite: a sign-out on the primary domain ends it with its token', async (visit) => {
    const { page } = visit;
    const person = await newPerson();
    await visit.step('sign-in on the primary domain', async () => {
      await signIn(page, `${apps.express.url}/sign-in`, person);
      await isSignedIn(page, person.email);
    });
    await visit.step('the satellite', async () => {
      const { who } = await open(page, apps.shop);
      assert.equal(who, person.id);
    });
    await outlive(visit, apps.shop);
    await visit.step('with an expired token', () => isKnown(page, apps.shop, person));
    await backendAgrees(visit, apps.shop, person);
    await visit.step('sign-out on the primary domain', async () => {
      await page.goto(apps.express.url);
      await signOut(page);
      await isSignedOut(page);
    });
    await outlive(visit, apps.shop);
    await visit.step('with another one', () => isNobody(page, apps.shop));
  }, patience);
});
