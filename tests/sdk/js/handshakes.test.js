// Handshakes of production instances, as @clerk/backend's authenticateRequest and a browser's jar see them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { unique } from './support.js';
import { Browser, newProduction } from './support-production.js';

const TIMES = 10;

/** Opens a page until the backend knows who asks; how often the browser was sent to the Frontend API. */
async function open(production, browser, page) {
  for (let handshakes = 0; handshakes < 3; handshakes += 1) {
    const state = await production.arrive(browser, page);
    if (state.status !== 'handshake') return { state, handshakes };
    assert.equal(await browser.follow(state.headers.get('location'), new URL(page).host), page, 'the URL stays clean');
  }
  throw new Error('handshakes without end');
}

/** The backend knows the user at every request from now on, and nothing of a handshake is left. */
async function isSignedIn(production, browser, page, times = TIMES) {
  for (let time = 0; time < times; time += 1) {
    const { status, reason, ...state } = await production.arrive(browser, page);
    assert.equal(status, 'signed-in', `request ${time + 1}: ${reason}`);
    assert.equal(state.toAuth().userId, production.user.id);
  }
  assert.deepEqual(browser.names(page).filter((name) => name.includes('handshake')), []);
}

for (const place of ['', 'app.', 'app.:8443', '.co.uk']) {
  test(`after each handshake every request is signed in: ${place || 'root domain'}`, async () => {
    const production = await newProduction(place === '.co.uk' ? `p${unique()}.co.uk` : undefined);
    const [prefix, port] = place === '.co.uk' ? ['', ''] : place.split(/(?=:)/);
    const page = `https://${prefix ?? ''}${production.domain}${port ?? ''}/page?a=1`;
    const browser = new Browser();
    assert.deepEqual(await open(production, browser, page).then(({ state, handshakes }) => [state.status, handshakes]), ['signed-out', 0]);
    await production.signIn(browser, new URL(page).origin);
    for (const lost of [/^$/, /^__session/, /^__client_uat/, /^__(session|refresh)/, /^__(session|refresh|client_uat_)/]) {
      browser.forget(lost);
      // The SDK takes three handshakes within two seconds for a circle.
      browser.forget(/^__clerk_redirect_count$/);
      const { state, handshakes } = await open(production, browser, page);
      assert.equal(state.status, 'signed-in', `without ${lost}: ${state.reason}`);
      assert.ok(handshakes <= 1, `without ${lost}: ${handshakes} handshakes`);
      await isSignedIn(production, browser, page);
    }
    const uats = browser.jar.getCookiesSync(page).filter(({ key }) => key.startsWith('__client_uat'));
    assert.equal(uats.length, 2, 'one with the suffix and one without');
  });
}

test('a handshake whose answer is lost is good for the next request too', async () => {
  const production = await newProduction();
  const page = `https://app.${production.domain}/`;
  const browser = new Browser();
  await production.signIn(browser);
  const asked = await production.arrive(browser, page);
  await browser.follow(asked.headers.get('location'), new URL(page).host);
  // Two tabs and a reload at once: each shows the same nonce, and no answer has arrived yet.
  const before = browser.jar.serializeSync();
  for (let time = 0; time < 3; time += 1) {
    browser.jar = browser.jar.constructor.deserializeSync(before);
    const state = await production.arrive(browser, page);
    assert.equal(state.status, 'signed-in', state.reason);
  }
  await isSignedIn(production, browser, page);
});

test('an expired token is renewed by the backend, or by a handshake', async () => {
  const production = await newProduction(undefined, ['session.token_lifetime_seconds=30']);
  const page = `https://app.${production.domain}/`;
  const [withRefresh, without] = [new Browser(), new Browser()];
  for (const browser of [withRefresh, without]) {
    await production.signIn(browser);
    await open(production, browser, page);
  }
  // Longer than the token's life and the five seconds the SDK adds to it. Browsers do it again and again in
  // tests/browser.
  await sleep(36_000);
  without.forget(/^__refresh/);
  assert.equal((await open(production, withRefresh, page)).handshakes, 0);
  assert.equal((await open(production, without, page)).handshakes, 1);
  await isSignedIn(production, withRefresh, page);
  await isSignedIn(production, without, page);
});

test('applications on sibling subdomains see the sign-in and the sign-out', async () => {
  const production = await newProduction();
  const pages = ['', 'app.', 'admin.'].map((name) => `https://${name}${production.domain}/`);
  const browser = new Browser();
  await production.signIn(browser, new URL(pages[1]).origin);
  for (const page of pages) {
    assert.equal((await open(production, browser, page)).state.status, 'signed-in');
    await isSignedIn(production, browser, page, 3);
  }
  const left = await browser.visit(`https://${production.host}/v1/client/sessions?_method=DELETE&__clerk_api_version=2026-05-12`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: new URL(pages[0]).origin },
  });
  assert.equal(left.status, 200, left.text);
  for (const page of pages) {
    const { state } = await open(production, browser, page);
    assert.equal(state.status, 'signed-out', page);
    assert.deepEqual(browser.names(page).filter((name) => /^__(session|refresh)/.test(name)), []);
  }
});

test('instances that share a registrable domain keep to themselves', async () => {
  const domain = `p${unique()}.example.com`;
  const [one, two] = [await newProduction(domain), await newProduction(`stage.${domain}`)];
  const [first, second] = [`https://${domain}/`, `https://stage.${domain}/`];
  const browser = new Browser();
  await one.signIn(browser, new URL(first).origin);
  assert.equal((await open(one, browser, first)).state.status, 'signed-in');
  assert.equal((await open(two, browser, second)).state.status, 'signed-out');
  await two.signIn(browser, new URL(second).origin);
  assert.equal((await open(two, browser, second)).state.status, 'signed-in');
  await isSignedIn(two, browser, second, 3);
  await isSignedIn(one, browser, first, 3);
  assert.equal(browser.names(second).filter((name) => name.startsWith('__client_uat')).length, 3);
});
