// A real Chromium, and people who use it. Each test gets a browser profile of its own.
import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { chromium } from 'playwright-core';

const output = join(import.meta.dirname, '..', 'output');
// Long enough for a machine that is busy with other things.
const PATIENCE_MS = 40_000;

/** What a set of tests wants of Chromium; to be set before the first visit. */
export const wishes = { args: [], env: process.env };

let started;
const browser = () => {
  mkdirSync(output, { recursive: true });
  started ??= chromium.launch({
    executablePath: process.env.CHROMIUM,
    // Chromium's sandbox does not start for root, as whom containers run.
    chromiumSandbox: process.getuid() !== 0,
    args: ['--disable-dev-shm-usage', '--no-proxy-server', ...wishes.args],
    env: wishes.env,
  });
  return started;
};
after(async () => (await started)?.close());

/** One person's browser: profile, first tab, and what went wrong in it. */
export class Visit {
  static async start() {
    const context = await (await browser()).newContext({ viewport: { width: 1100, height: 900 }, locale: 'en-US' });
    context.setDefaultTimeout(PATIENCE_MS);
    const visit = new Visit();
    visit.context = context;
    visit.log = [];
    visit.requests = [];
    context.on('request', (request) => visit.requests.push(request.url()));
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

  close() {
    return this.context.close();
  }
}

/** A test with a browser. What the page looked like at its end is kept, also when it fails. */
export function browserTest(name, body, { timeout = 180_000 } = {}) {
  test(name, { timeout }, async (t) => {
    const visit = await Visit.start();
    try {
      await body(visit, t);
      await visit.picture(name);
    } catch (error) {
      await visit.picture(`failed ${name}`).catch(() => {});
      t.diagnostic([`at ${visit.page.url()}`, ...visit.log, ...(await visit.gotScripts())].join('\n'));
      throw error;
    } finally {
      await visit.close();
    }
  });
}
