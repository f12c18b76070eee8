// Backends with the official middleware: from a protected page to the sign-in page and back, with cookies lost, and
// with answers lost on their way.
import assert from 'node:assert/strict';

import { enterIdentifier, enterPassword, field, signIn } from '../support/components.js';
import { newPerson } from '../support/people.js';
import { backendAgrees, countHandshakes, isKnown, isNobody, open, settle } from './support/steps.js';
import { apps, frontendUrl, loseAnswers, productionTest } from './support/world.js';

const backends = { express: apps.express, 'next.js': apps.next };

/** Signs in on the hosted page, from where the browser comes back to a page of the app. */
async function arrive(visit, app, person) {
  await visit.step('sign-in', async (page) => {
    await signIn(page, `${frontendUrl}/sign-in?redirect_url=${encodeURIComponent(`${app.url}/who`)}`, person);
    await page.waitForURL(`${app.url}/who`);
    assert.equal(await page.locator('#who').textContent(), person.id);
  });
}

for (const [name, app] of Object.entries(backends)) {
  productionTest(`${name}: a protected page leads to the sign-in page and back`, async (visit) => {
    const { page } = visit;
    const person = await newPerson();
    await visit.step('nobody', () => isNobody(page, app));
    await visit.step('the protected page', async () => {
      await page.goto(`${app.url}/protected`);
      await field(page, 'identifier').waitFor();
      assert.equal(new URL(page.url()).origin, frontendUrl);
      await page.reload();
    });
    const { handshakes } = await countHandshakes(page, () =>
      visit.step('sign-in', async () => {
        await enterIdentifier(page, person.email);
        await enterPassword(page, person.password);
        await page.getByRole('heading', { name: 'Protected' }).waitFor();
      }));
    assert.ok(handshakes <= 1, `${handshakes} handshakes`);
    assert.equal(page.url(), `${app.url}/protected`);
    assert.equal(await page.locator('#who').textContent(), person.id);
    await backendAgrees(visit, app, person);
    await visit.step('a reload', async () => {
      await page.reload();
      assert.equal(await page.locator('#who').textContent(), person.id);
    });
    assert.equal((await page.evaluate(async () => (await fetch('/api/who')).json())).userId, person.id);
  }, { isSmoke: app === apps.express });

  productionTest(`${name}: lost cookies come back by one handshake`, async (visit) => {
    const { page, context } = visit;
    const person = await newPerson();
    await arrive(visit, app, person);
    const losses = [/^__session/, /^__client_uat/, /^__refresh/, /^__(session|refresh)/, /^__(client_uat|refresh)/];
    for (const lost of losses) {
      // Away from the page, so that no script puts back what is taken away.
      await page.goto('about:blank');
      await settle(visit);
      await context.clearCookies({ name: lost, domain: new URL(app.url).hostname });
      await context.clearCookies({ name: lost, domain: '.acme.co.uk' });
      await visit.step(`without ${lost}`, () => isKnown(page, app, person));
      await backendAgrees(visit, app, person);
      const again = await visit.step(`after ${lost}`, () => open(page, app));
      assert.deepEqual(again, { who: person.id, handshakes: 0 });
    }
  });

  productionTest(`${name}: a page asked for again while the handshake is under way`, async (visit) => {
    const { page, context } = visit;
    const person = await newPerson();
    await arrive(visit, app, person);
    const devtools = await context.newCDPSession(page);
    const ask = () => devtools.send('Page.navigate', { url: `${app.url}/who` });
    // Given up at the first request for the page, at the handshake, and at the second request for the page.
    for (const hop of [1, 2, 3]) {
      // Away from the page, so that no script puts back what is taken away.
      await page.goto('about:blank');
      await settle(visit);
      await context.clearCookies({ name: /^__session/, domain: new URL(app.url).hostname });
      await visit.step(`given up at request ${hop}, and again`, async () => {
        let hops = 0;
        const underWay = page.waitForRequest((request) => request.isNavigationRequest() && (hops += 1) === hop);
        const asked = ask().catch(() => {});
        await underWay;
        const loaded = page.waitForEvent('load');
        await ask();
        await asked;
        await loaded;
        assert.equal(await page.locator('#who').textContent(), person.id);
      });
      await backendAgrees(visit, app, person);
    }
  });

  productionTest(`${name}: a tab closed while the handshake is under way`, async (visit) => {
    const { page, context } = visit;
    const person = await newPerson();
    await arrive(visit, app, person);
    await page.goto('about:blank');
    for (const hop of [1, 2, 3]) {
      await settle(visit);
      await context.clearCookies({ name: /^__session/, domain: new URL(app.url).hostname });
      await visit.step(`closed at request ${hop}, and opened again`, async () => {
        const tab = await context.newPage();
        let hops = 0;
        const underWay = tab.waitForRequest((request) => request.isNavigationRequest() && (hops += 1) === hop);
        const loading = tab.goto(`${app.url}/who`).catch(() => {});
        await underWay;
        await tab.close();
        await loading;
        await isKnown(page, app, person);
        await page.goto('about:blank');
      });
      await backendAgrees(visit, app, person);
    }
  });

  productionTest(`${name}: an answer that is lost after the handshake`, async (visit) => {
    const { page, context } = visit;
    const person = await newPerson();
    await arrive(visit, app, person);
    await page.goto('about:blank');
    await context.clearCookies({ name: /^__session/, domain: new URL(app.url).hostname });

    // The backend gets what the handshake left, and answers; the browser hears nothing of it.
    const tab = await context.newPage();
    const lost = await loseAnswers(app, /__clerk_handshake_nonce=/, () => assert.rejects(tab.goto(`${app.url}/who`)));
    await tab.close();
    assert.ok(lost > 0, 'no answer was lost');
    await visit.step('again', () => isKnown(page, app, person));
    await backendAgrees(visit, app, person);
  });
}
