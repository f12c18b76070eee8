// A production instance as a browser and the backend of an application meet it. Its domains lead nowhere, so every
// host is the server under test, and redirects are followed by hand. The jar is the one of RFC 6265, with the public
// suffix list.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { request as httpRequest } from 'node:http';

import { createClerkClient } from '@clerk/backend';
import { CookieJar } from 'tough-cookie';

import { frontendUrl, newEmail, newPassword, unique, url } from './support.js';

export const latchkey = (...line) => execFileSync(process.env.LATCHKEY_BIN, line, { encoding: 'utf8' });

/** A browser that asks the Frontend API at whatever host. */
export class Browser {
  jar = new CookieJar();

  visit(there, { method = 'GET', body, headers = {} } = {}) {
    return new Promise((resolve, reject) => {
      const { host, pathname, search } = new URL(there);
      const options = { method, headers: { host, cookie: this.jar.getCookieStringSync(there), ...headers } };
      const sent = httpRequest(frontendUrl + pathname + search, options, (response) => {
        this.keep(response.headers['set-cookie'] ?? [], there);
        let text = '';
        response.on('data', (chunk) => { text += chunk; });
        response.on('end', () => resolve({ status: response.statusCode, location: response.headers.location, text }));
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  keep(lines, there) {
    // A cookie the browser would refuse is an error here.
    lines.forEach((line) => this.jar.setCookieSync(line, there));
  }

  /** Follows redirects until a page of the application. */
  async follow(there, host) {
    for (let step = 0; step < 8; step += 1) {
      if (new URL(there).host === host) return there;
      const answer = await this.visit(there);
      assert.equal(answer.status, 307, answer.text);
      there = answer.location;
    }
    throw new Error(`The handshake goes in circles: ${there}`);
  }

  /** The cookies a page gets, without values. */
  names(there) {
    return this.jar.getCookiesSync(there).map(({ key }) => key);
  }

  forget(pattern) {
    const kept = this.jar.serializeSync();
    kept.cookies = kept.cookies.filter(({ key }) => !pattern.test(key));
    this.jar = CookieJar.deserializeSync(kept);
  }
}

/** A production instance with one user, and clients of it. */
export async function newProduction(domain = `p${unique()}.example.com`, settings = []) {
  const host = `clerk.${domain}`;
  const made = JSON.parse(latchkey('instances', 'create', '--environment', 'production', '--frontend-api', host, '--json'));
  if (settings.length > 0) latchkey('settings', 'set', '--instance', made.instance_id, ...settings);
  const { secret_key: secretKey, publishable_key: publishableKey } = made;
  const clerk = createClerkClient({ apiUrl: url, secretKey, publishableKey, telemetry: { disabled: true } });
  const [email, password] = [newEmail(), newPassword()];
  const user = await clerk.users.createUser({ emailAddress: [email], password });

  /** Signs the user in, as a script in a page of the application does. */
  const signIn = async (browser, origin = `https://${domain}`) => {
    const signedIn = await browser.visit(`https://${host}/v1/client/sign_ins?__clerk_api_version=2026-05-12`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin },
      body: new URLSearchParams({ identifier: email, password }).toString(),
    });
    assert.equal(JSON.parse(signedIn.text).response?.status, 'complete', signedIn.text);
  };

  /** What a backend of the application makes of a browser that opens a page; the browser keeps what it is given. */
  const arrive = async (browser, page, options = {}) => {
    const { host: name } = new URL(page);
    const headers = {
      'sec-fetch-dest': 'document',
      accept: 'text/html',
      host: name,
      'x-forwarded-proto': 'https',
      'x-forwarded-host': name,
      cookie: browser.jar.getCookieStringSync(page),
    };
    const state = await clerk.authenticateRequest(new Request(page, { headers }), options);
    browser.keep(state.headers.getSetCookie(), page);
    return state;
  };

  return { domain, host, clerk, user, signIn, arrive, instanceId: made.instance_id };
}
