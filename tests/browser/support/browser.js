// A real Chromium, and people who use it. Each test gets a browser profile of its own.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { chromium } from 'playwright-core';

const output = join(import.meta.dirname, '..', 'output');
// Long enough for a machine that is busy with other things.
const PATIENCE_MS = 40_000;

let browser;
before(async () => {
  mkdirSync(output, { recursive: true });
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    // Chromium's sandbox does not start for root, as whom containers run.
    chromiumSandbox: process.getuid() !== 0,
    args: ['--disable-dev-shm-usage', '--no-proxy-server'],
  });
});
after(() => browser?.close());

/** One person's browser: profile, first tab, and what went wrong in it. */
export class Visit {
  static async start() {
    const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, locale: 'en-US' });
    context.setDefaultTimeout(PATIENCE_MS);
    const visit = new Visit();
    visit.context = context;
    visit.log = [];
    context.on('console', (message) => visit.log.push(`console ${message.type()}: ${message.text()}`));
    context.on('weberror', (error) => visit.log.push(`error: ${error.error()}`));
    context.on('requestfailed', (request) =>
      visit.log.push(`failed: ${request.method()} ${request.url()} ${request.failure()?.errorText}`));
    context.on('response', (response) => {
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
      t.diagnostic(`at ${visit.page.url()}\n${visit.log.join('\n')}`);
      throw error;
    } finally {
      await visit.close();
    }
  });
}
