// The server's own pages in the colours the browser asks for, and with their words whole.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { browserTest } from './support/browser.js';
import { field, signIn } from './support/components.js';
import { newPerson } from './support/people.js';
import { apiUrl, frontendUrl, secretKey } from './support/server.js';

/** How light the colour of an element is, from 0 (black) to 1 (white), and how light its ground. */
const lightness = (locator) => locator.evaluate((element) => {
  // A canvas knows every way to write a colour.
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return context.getImageData(0, 0, 1, 1).data;
  };
  const value = ([red, green, blue]) => (0.299 * red + 0.587 * green + 0.114 * blue) / 255;
  let ground = element;
  while (ground && rgba(getComputedStyle(ground).backgroundColor)[3] < 128) ground = ground.parentElement;
  return { text: value(rgba(getComputedStyle(element).color)), ground: ground ? value(rgba(getComputedStyle(ground).backgroundColor)) : 1 };
});

const isDark = async (locator, name) => {
  const { text, ground } = await lightness(locator);
  assert.ok(ground < 0.3 && text > 0.6, `${name}: text ${text.toFixed(2)} on ${ground.toFixed(2)}`);
};
const isLight = async (locator, name) => {
  const { text, ground } = await lightness(locator);
  assert.ok(ground > 0.8 && text < 0.5, `${name}: text ${text.toFixed(2)} on ${ground.toFixed(2)}`);
};

/** What `look` sees as soon as it is as wanted, or at last. */
const waitUntil = async (look, isWanted) => {
  let seen = await look();
  for (let tries = 0; tries < 100 && !isWanted(seen); tries += 1) {
    await sleep(50);
    seen = await look();
  }
  return seen;
};

/** A link to the page where webhooks are managed. */
const portal = async () => {
  const call = (path) => fetch(`${apiUrl}/v1/webhooks${path}`, { method: 'POST', headers: { authorization: `Bearer ${secretKey}` } });
  await call('/svix');
  return (await (await call('/svix_url')).json()).svix_url;
};

browserTest('appearance: hosted pages are dark where the browser is, and change with it', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  await page.emulateMedia({ colorScheme: 'dark' });
  for (const path of ['sign-in', 'sign-up']) {
    await page.goto(`${frontendUrl}/${path}`);
    await page.locator('.cl-headerTitle').waitFor();
    await isDark(page.locator('.cl-headerTitle'), path);
    await isDark(page.locator('.cl-formFieldInput').first(), `a field of ${path}`);
    await isDark(page.locator('body'), `the ground of ${path}`);
    await visit.picture(`dark ${path}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  // The components fade from one colour to the other.
  const { ground } = await waitUntil(() => lightness(page.locator('.cl-headerTitle')), ({ text, ground }) => text < 0.5 && ground > 0.8);
  assert.ok(ground > 0.8, `the same page in a light browser is on ${ground}`);
  await page.emulateMedia({ colorScheme: 'dark' });
  await signIn(page, `${frontendUrl}/sign-in`, person);
  await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
  await isDark(page.getByRole('heading', { name: 'You are signed in' }), 'the page of who is signed in');
  await visit.picture('dark default page');
  await page.goto(`${frontendUrl}/user`);
  await page.getByText('Profile details').first().waitFor();
  await isDark(page.getByText('Profile details').first(), 'the profile');
  await visit.picture('dark profile');
});

browserTest('appearance: hosted pages stay light in a light browser', async (visit) => {
  const { page } = visit;
  await page.emulateMedia({ colorScheme: 'light' });
  await page.goto(`${frontendUrl}/sign-in`);
  await field(page, 'identifier').waitFor();
  await isLight(page.locator('.cl-headerTitle'), 'sign-in');
  await page.goto(`${frontendUrl}/unauthorized-sign-in`);
  await isLight(page.locator('h1'), 'a message');
});

browserTest('appearance: messages, inbox, webhooks and reference are dark where the browser is', async (visit) => {
  const { page } = visit;
  await page.emulateMedia({ colorScheme: 'dark' });
  const pages = [
    [`${frontendUrl}/unauthorized-sign-in`, 'h1'],
    [`${frontendUrl}/default-redirect`, 'h1'],
    [`${apiUrl}/dev/inbox`, 'h2'],
    [`${apiUrl}/reference`, 'section h3'],
    [await portal(), 'h1'],
  ];
  for (const [url, shown] of pages) {
    await page.goto(url);
    const heading = page.locator(shown).first();
    await heading.waitFor();
    await isDark(heading, url.split('#')[0]);
    await visit.picture(`dark ${new URL(url).pathname}`);
  }
});

/** Texts that are cut off, or broken inside of a word. The heading of an endpoint is its address, and ids are long: these may break. */
const brokenWords = (page, within = 'body') => page.evaluate((selector) => {
  const found = [];
  const walker = document.createTreeWalker(document.querySelector(selector), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement: element, textContent: text } = walker.currentNode;
    if (!element.checkVisibility?.() || element.closest('script, style, pre, h1')) continue;
    if (getComputedStyle(element).textOverflow === 'ellipsis' && element.scrollWidth > element.clientWidth) found.push(`cut off: ${text}`);
    for (const { 0: word, index } of text.matchAll(/\w+/g)) {
      if (word.length > 24) continue;
      const range = document.createRange();
      range.setStart(walker.currentNode, index);
      range.setEnd(walker.currentNode, index + word.length);
      if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) found.push(`broken: ${word}`);
    }
  }
  return found;
}, within);

browserTest('appearance: the webhooks page shows whole words at usual widths', async (visit) => {
  const { page } = visit;
  await page.goto(await portal());
  await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Add endpoint' }).first().click();
  await page.getByLabel('Only these').check();
  const sizes = [320, 375, 768, 1100, 1440];
  for (const width of sizes) {
    await page.setViewportSize({ width, height: 900 });
    await visit.picture(`webhooks words ${width}`);
    // What lies behind it has addresses of endpoints, which may break.
    assert.deepEqual(await brokenWords(page, 'dialog[open]'), [], `the dialog at ${width} pixels`);
  }
  // Nothing listens there, so deliveries fail with a sentence.
  await page.getByLabel('All events').check();
  await page.getByLabel('Address').fill('http://127.0.0.1:9/webhooks/latchkey');
  await page.locator('dialog').getByRole('button', { name: 'Add endpoint', exact: true }).click();
  await page.getByRole('heading', { name: 'http://127.0.0.1:9/webhooks/latchkey' }).waitFor();
  await newPerson();
  await page.locator('#deliveries summary').first().waitFor();
  // The list is drawn anew while events arrive, which may be at the moment of a click.
  const attempts = page.locator('#deliveries .attempts');
  await waitUntil(async () => {
    const { length } = await attempts.all();
    if (!length) await page.locator('#deliveries details:not([open]) summary').first().click({ timeout: 1000 }).catch(() => {});
    return length;
  }, (length) => length > 0);
  await attempts.first().waitFor();
  for (const width of sizes) {
    await page.setViewportSize({ width, height: 900 });
    await visit.picture(`webhooks endpoint words ${width}`);
    assert.deepEqual(await brokenWords(page), [], `the endpoint at ${width} pixels`);
  }
  for (const width of sizes) {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.evaluate(() => {
      const { clientWidth, scrollWidth } = document.documentElement;
      const sticksOut = (element) => element.getBoundingClientRect().right > clientWidth + 1;
      return scrollWidth > clientWidth ? [...document.body.querySelectorAll('*')].filter(sticksOut).map((one) => one.outerHTML.slice(0, 200)) : [];
    });
    assert.deepEqual(wide, [], `${width} pixels`);
  }
});
