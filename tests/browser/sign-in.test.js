import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { browserTest, Visit } from './support/browser.js';
import {
  chooseMethod, choosePasswordTwice, enterIdentifier, enterPassword, field, isSignedIn, isSignedOut, link, press,
  sees, signIn, typeCode,
} from './support/components.js';
import { newEmail, newPassword, newPerson } from './support/people.js';
import { clerkProps, nextCode, nextLink } from './support/server.js';
import { serveApplication } from './support/site.js';

let site;
before(async () => {
  site = await serveApplication(clerkProps);
});
after(() => site.close());

const signInPage = () => `${site.url}/sign-in`;

browserTest('sign-in with a password, reload, sign-out', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  await page.goto(signInPage());
  await field(page, 'identifier').waitFor();
  await visit.picture('sign-in start');
  await enterIdentifier(page, person.email);
  await enterPassword(page, person.password);
  await isSignedIn(page, person.email);
  const session = await page.getByTestId('session').textContent();

  await page.reload();
  await isSignedIn(page, person.email);
  assert.equal(await page.getByTestId('session').textContent(), session);

  await page.getByRole('button', { name: /open user/i }).click();
  const signOut = page.getByRole('button', { name: 'Sign out' });
  await signOut.waitFor();
  await visit.picture('user button');
  await signOut.click();
  await isSignedOut(page);
  await page.reload();
  await isSignedOut(page);
}, { isSmoke: true });

browserTest('sign-in with a wrong password says so', async ({ page }) => {
  const { email, password } = await newPerson();
  await signIn(page, signInPage(), { email, password: newPassword() });
  await sees(page, /password is incorrect/i);
  await enterPassword(page, password);
  await isSignedIn(page, email);
});

browserTest('sign-in of nobody says so', async ({ page }) => {
  await page.goto(signInPage());
  await enterIdentifier(page, newEmail());
  await sees(page, /couldn.t find your account/i);
});

browserTest('sign-in with an email code', async ({ page }) => {
  const { email } = await newPerson();
  await page.goto(signInPage());
  await enterIdentifier(page, email);
  await chooseMethod(page, /email code to/i);
  await typeCode(page, await nextCode(email));
  await isSignedIn(page, email);
});

/** Asks for an email link, and returns it. */
async function askForLink({ page }, email) {
  await page.goto(signInPage());
  await enterIdentifier(page, email);
  await chooseMethod(page, /email link to/i);
  return nextLink(email);
}

browserTest('sign-in with an email link, opened in the same browser', async (visit) => {
  const { email } = await newPerson();
  const address = await askForLink(visit, email);
  await visit.picture('email link awaited');
  const tab = await visit.context.newPage();
  await tab.goto(address);
  await isSignedIn(tab, email);
  // The tab that waited notices, and sends its person to the new one.
  await sees(visit.page, 'Signed in on other tab');
});

browserTest('an email link opened in another browser gives a code for the first one', async (visit) => {
  const { email } = await newPerson();
  const address = await askForLink(visit, email);
  const elsewhere = await Visit.start();
  try {
    await elsewhere.page.goto(address);
    await elsewhere.page.getByRole('heading', { name: /in the browser where you started/i }).waitFor();
    await elsewhere.picture('email link opened elsewhere');
    const code = (await elsewhere.page.locator('.code').textContent()).trim();
    // The browser that waited is the one that is signed in.
    await chooseMethod(visit.page, /email code/i);
    await typeCode(visit.page, code);
    await isSignedIn(visit.page, email);
    await elsewhere.page.goto(site.url);
    await isSignedOut(elsewhere.page);
  } finally {
    await elsewhere.close();
  }
});

browserTest('password reset by code', async (visit) => {
  const { page } = visit;
  const { email, password } = await newPerson();
  await page.goto(signInPage());
  await enterIdentifier(page, email);
  await link(page, /forgot password/i);
  await press(page, 'Reset your password');
  await typeCode(page, await nextCode(email));
  const changed = newPassword();
  await choosePasswordTwice(page, changed);
  await visit.picture('password reset form');
  await press(page, 'Reset Password');
  await isSignedIn(page, email);

  await visit.context.clearCookies();
  await signIn(page, signInPage(), { email, password });
  await sees(page, /password is incorrect/i);
  await enterPassword(page, changed);
  await isSignedIn(page, email);
});
