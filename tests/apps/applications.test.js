// What a newcomer does first, in an application of each framework.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { verifyToken } from '@clerk/backend';

import { browserTest, wishes } from '../browser/support/browser.js';
import { choosePassword, field, link, press, typeCode } from '../browser/support/components.js';
import { newPassword, newTestEmail } from '../browser/support/people.js';
import { apiUrl, clerk, publishableKey, secretKey } from '../browser/support/server.js';

// It trusts the local authority, and finds nobody but this machine.
wishes.args = ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost'];
wishes.env = { ...process.env, HOME: process.env.CHROMIUM_HOME, XDG_DATA_HOME: undefined };

const frontendPort = process.env.LATCHKEY_FRONTEND_LISTEN.split(':').pop();
const plain = `http://localhost:${frontendPort}`;
const trusted = `https://${atob(publishableKey.split('_')[2]).replace(/\$$/, '')}`;

const withoutBackend = ['vue', 'react-5'];

/**
 * Where people sign in. The scripts of pages lead to another origin only with a token of the developer's browser, which
 * comes with a handshake of a backend, or by a cookie of the Frontend API where that is on localhost too. Pages without
 * either sign people in themselves.
 */
function signInOrigin(folder, way, url) {
  if (way === 'plain') return plain;
  return withoutBackend.includes(folder) ? url : trusted;
}

const applications = process.env.APPLICATIONS.trim().split('\n').map((line) => {
  const [folder, way, port] = line.split(' ');
  const url = `http://localhost:${port}`;
  return { name: `${folder} ${way}`, way, url, signInOrigin: signInOrigin(folder, way, url) };
});

// What backends allow for clocks that differ, and a moment more.
const SKEW_MS = 5_200;

const heading = (page, name) => page.getByRole('heading', { name, exact: true }).waitFor();

/** Waits until an application was built and answers. */
async function isUp({ url }) {
  for (let tries = 0; tries < 2_400; tries += 1) {
    if (await fetch(url, { redirect: 'manual' }).catch(() => null)) return;
    await sleep(100);
  }
  throw new Error(`Nothing answers at ${url}: what it printed is above.`);
}

/** Opens the protected page as somebody who is not signed in. */
async function isSentToSignIn(page, { url, signInOrigin }) {
  await page.goto(`${url}/protected`);
  await page.waitForURL(({ origin, pathname }) => origin === signInOrigin && pathname.startsWith('/sign-in'));
  await field(page, 'identifier').waitFor();
}

async function signUp(page) {
  const email = newTestEmail();
  await link(page, 'Sign up');
  await field(page, 'emailAddress').fill(email);
  await choosePassword(page, newPassword());
  await press(page, 'Continue');
  await typeCode(page, '424242');
  return email;
}

/** Whom the protected page shows. */
async function isProtectedPage(page, { url }) {
  await page.waitForURL(({ origin, pathname }) => origin === url && pathname === '/protected');
  await heading(page, 'Protected');
  return page.locator('#who').textContent();
}

/** The token that the browser has for the application's backend. */
async function sessionCookie(context, { url }) {
  return (await context.cookies(url)).find(({ name }) => name === '__session')?.value;
}

/** The claims of that token, once there is one other than `old`. Pages without a backend show people before it comes. */
async function claims(context, application, old) {
  for (let tries = 0; tries < 400; tries += 1) {
    const token = await sessionCookie(context, application);
    if (token && token !== old) {
      return verifyToken(token, { apiUrl, secretKey, authorizedParties: [application.url] });
    }
    await sleep(100);
  }
  throw new Error(`There is no ${old ? 'new ' : ''}token in the cookies of ${application.url}.`);
}

async function story({ page, context }, application) {
  await page.goto(application.url);
  await heading(page, 'Signed out');

  await isSentToSignIn(page, application);
  const email = await signUp(page);
  const who = await isProtectedPage(page, application);
  const { data } = await clerk.users.getUserList({ emailAddress: [email] });
  assert.deepEqual(data.map(({ id }) => id), [who]);
  const first = await claims(context, application);
  assert.equal(first.sub, who);

  // Away from the page, so that nothing renews the token.
  await page.goto('about:blank');
  const old = await sessionCookie(context, application);
  const { exp } = await claims(context, application);
  await sleep(Math.max(0, exp * 1000 - Date.now()) + SKEW_MS);
  await page.goto(`${application.url}/protected`);
  assert.equal(await isProtectedPage(page, application), who);
  const renewed = await claims(context, application, old);
  assert.equal(renewed.sid, first.sid);
  assert.ok(renewed.exp > exp);

  // Buttons that a backend has written do nothing before the script is there.
  await page.waitForFunction(() => window.Clerk?.loaded);
  await press(page, 'Sign out');
  await heading(page, 'Signed out');
  assert.equal(await sessionCookie(context, application), undefined);
  assert.notEqual((await clerk.sessions.getSession(first.sid)).status, 'active');
  await isSentToSignIn(page, application);
}

describe('applications', { concurrency: true }, () => {
  for (const application of applications) {
    browserTest(
      `${application.name}: sign-up, protected page, expired token, sign-out`,
      async (visit) => {
        await isUp(application);
        await story(visit, application);
      },
      // Over https the Frontend API is another site than the applications.
      { timeout: 400_000, takesAllCookies: application.way === 'trusted' },
    );
  }
});
