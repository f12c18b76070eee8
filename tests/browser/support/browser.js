// A real Chromium, and people who use it. Each test gets a browser profile of its own.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { chromium } from 'playwright-core';

const output = join(import.meta.dirname, '..', 'output');
// Long enough for a machine that is busy with other things.
const PATIENCE_MS = 40_000;

/**
 * What a set of tests wants of Chromium; to be set before the first visit. By default no name is found but those of this
 * machine. `hosts` are further names for which `args` name an address of this machine.
 */
export const wishes = {
  args: ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1'],
  hosts: new Set(),
  env: process.env,
};

const LOCAL = /^(localhost|.+\.localhost|127\.0\.0\.1|\[::1\])$/;

/** Whether a request leaves this machine, and is not one for the icon of a provider, whose address is fixed in @clerk/ui. */
function isForeign(request) {
  const { protocol, hostname } = new URL(request.url());
  const isIcon = hostname === 'img.clerk.com' && request.resourceType() === 'image';
  return /^(http|ws)/.test(protocol) && !LOCAL.test(hostname) && !wishes.hosts.has(hostname) && !isIcon;
}

const launching = () => ({
  executablePath: process.env.CHROMIUM,
  // Chromium's sandbox does not start for root, as whom containers run.
  chromiumSandbox: process.getuid() !== 0,
  args: ['--disable-dev-shm-usage', '--no-proxy-server', ...wishes.args],
  env: wishes.env,
});
const appearance = { viewport: { width: 1100, height: 900 }, locale: 'en-US' };

let started;
after(async () => (await started)?.close());

/** A window of the Chromium that all tests share. It takes no cookies of other sites than the page's. */
async function newContext() {
  started ??= chromium.launch(launching());
  return (await started).newContext(appearance);
}

/** The same in a Chromium of its own. */
async function newContextAlone() {
  const browser = await chromium.launch(launching());
  const context = await browser.newContext(appearance);
  context.on('close', () => browser.close().catch(() => {}));
  return context;
}

/** A Chromium of its own, which takes cookies of all sites: the default of Chrome, but not of Debian's Chromium. */
async function newBrowser() {
  const profile = mkdtempSync(join(tmpdir(), 'latchkey-chromium-'));
  mkdirSync(join(profile, 'Default'));
  const preferences = { profile: { cookie_controls_mode: 0, block_third_party_cookies: false } };
  writeFileSync(join(profile, 'Default', 'Preferences'), JSON.stringify(preferences));
  const context = await chromium.launchPersistentContext(profile, { ...launching(), ...appearance });
  // Processes of Chromium may still write there for a while. What they leave behind is no failure of the test.
  context.on('close', () =>
    rm(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }).catch(() => {}));
  return context;
}

/** One person's browser: profile, first tab, and what went wrong in it. */
export class Visit {
  static async start({ takesAllCookies = false, isAlone = false } = {}) {
    mkdirSync(output, { recursive: true });
    const context = await (takesAllCookies ? newBrowser() : isAlone ? newContextAlone() : newContext());
    context.setDefaultTimeout(PATIENCE_MS);
    // The SDKs are quiet in browsers that a program drives: they send no telemetry and leave passkeys alone.
    await context.addInitScript(() => Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => false }));
    const visit = new Visit();
    visit.context = context;
    visit.log = [];
    visit.requests = [];
    visit.foreign = [];
    context.on('request', (request) => {
      visit.requests.push(request.url());
      if (isForeign(request)) visit.foreign.push(request);
    });
    context.on('console', (message) => visit.log.push(`console ${message.type()}: ${message.text()}`));
    context.on('weberror', (error) => visit.log.push(`error: ${error.error()}`));
    context.on('requestfailed', (request) =>
      visit.log.push(`failed: ${request.method()} ${request.url()} ${request.failure()?.errorText}`));
    visit.scripts = [];
    context.on('response', (response) => {
      if (response.request().resourceType() === 'script') visit.scripts.push(response);
      if (response.status() >= 400) {
        visit.log.push(`${response.status()}: ${response.request().method()} ${response.url()}`);
      }
    });
    visit.page = await context.newPage();
    return visit;
  }

  /** Keeps a picture of the page as test output. */
  async picture(name, page = this.page) {
    const file = `${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.png`;
    await page.screenshot({ path: join(output, file), animations: 'disabled' });
  }

  /** The scripts as the browser got them, to tell what was cut off or spoiled on its way. */
  async gotScripts() {
    const lines = await Promise.all(this.scripts.map(async (response) => {
      // Bodies of pages that were left are gone.
      const body = await response.body().catch(() => null);
      const sum = body && createHash('sha256').update(body).digest('hex').slice(0, 12);
      return body && `script ${response.url()} ${body.length} of ${response.headers()['content-length']} bytes, ${sum}`;
    }));
    return lines.filter(Boolean);
  }

  /** Fails if a page sent a request that left this machine. One that a test answered itself did not. */
  async stayedHere(others = []) {
    const left = [];
    for (const request of this.foreign) {
      const isAnswered = await request.response().catch(() => null);
      if (!isAnswered && !others.includes(new URL(request.url()).hostname)) left.push(request.url());
    }
    assert.deepEqual(left, [], 'requests that left this machine');
  }

  async close() {
    await this.context.close();
  }
}

/** Waits for something, but not longer than said. */
async function within(ms, something, what) {
  const tooLong = new AbortController();
  const late = sleep(ms, undefined, { signal: tooLong.signal }).then(() => {
    throw new Error(`${what} took longer than ${ms / 1000} seconds`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([something, late]);
  } finally {
    tooLong.abort();
  }
}

/** Does a test in a browser profile of its own. What the page looked like at its end is kept, also when it fails. */
async function attempt(name, body, t, { timeout, others, ...options }) {
  const visit = await within(PATIENCE_MS, Visit.start(options), 'starting the browser');
  try {
    await within(timeout, body(visit, t), 'the test');
    await within(PATIENCE_MS, visit.stayedHere(others), 'looking for requests that left this machine');
    await within(PATIENCE_MS, visit.picture(name), 'the picture');
  } catch (error) {
    t.diagnostic([`at ${visit.page.url()}`, ...visit.log].join('\n'));
    await within(PATIENCE_MS, visit.picture(`failed ${name}`), 'the picture').catch(() => {});
    const scripts = await within(PATIENCE_MS, visit.gotScripts(), 'reading the scripts').catch(() => []);
    t.diagnostic(scripts.join('\n'));
    throw error;
  } finally {
    await within(PATIENCE_MS, visit.close(), 'closing the browser').catch((error) => t.diagnostic(error.message));
  }
}

// Set by run.sh --smoke: only the few tests that `make test` runs.
const isSmokeOnly = process.env.BROWSER_SMOKE === '1';

/**
 * A test with a browser. It fails if its pages ask a host that is not on this machine and not one of `others`. One that fails or hangs is done once more from its start in a Chromium of its own, as on a
 * busy machine a page may move under the pointer. What breaks, breaks twice; what failed once is told in the output, to
 * be looked into, and `scripts/file_tests.py` counts it. Tests with `isSmoke` are part of `make test`.
 */
export function browserTest(name, body, { timeout = 180_000, isSmoke = false, ...options } = {}) {
  if (isSmokeOnly && !isSmoke) return;
  // Each attempt has its time, and as much again to start and end its browser and to tell what went wrong.
  test(name, { timeout: 4 * timeout }, async (t) => {
    try {
      await attempt(name, body, t, { timeout, ...options });
    } catch (error) {
      t.diagnostic(`"${name}" failed at first, and is done once more: ${error.stack}`);
      await attempt(name, body, t, { timeout, isAlone: true, ...options });
    }
  });
}
