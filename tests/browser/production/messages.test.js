// Mails of a production instance: where their links lead, and what they finish.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import {
  chooseMethod, choosePasswordTwice, enterIdentifier, enterPassword, field, isSignedIn, isSignedOut, link, press,
  sees, signIn, typeCode,
} from '../support/components.js';
import { newPassword, newPerson } from '../support/people.js';
import { addressesIn, codeIn, serveMail } from './support/mail.js';
import { anotherVisit, apps, askedOnlyUs, frontendUrl, productionTest } from './support/world.js';

let mail;
before(async () => {
  mail = await serveMail();
});
after(() => mail.close());

const signInPage = `${apps.express.url}/sign-in`;

/** The next mail; all links in it lead to the Frontend API, over TLS. */
async function nextMail(email) {
  const texts = await mail.next(email);
  addressesIn(texts).forEach((address) => assert.equal(new URL(address).origin, frontendUrl, address));
  return texts;
}

/** Asks for an email link, and returns it. */
async function askForLink(visit, email) {
  await visit.step('a link is asked for', async (page) => {
    await page.goto(signInPage);
    await enterIdentifier(page, email);
    await chooseMethod(page, /email link to/i);
  });
  const found = addressesIn(await nextMail(email)).find((address) => new URL(address).pathname === '/v1/verify');
  assert.ok(found, 'the mail has no link');
  return found;
}

productionTest('an email link signs in, opened in the same browser', async (visit) => {
  const person = await newPerson();
  const address = await askForLink(visit, person.email);
  const tab = await visit.context.newPage();
  await visit.step('the link', async () => {
    await tab.goto(address);
    await isSignedIn(tab, person.email);
  });
  assert.equal(new URL(tab.url()).origin, apps.express.url);
  await visit.step('the tab that waited', () => sees(visit.page, 'Signed in on other tab'));
  await visit.step('a reload', async () => {
    await tab.reload();
    await isSignedIn(tab, person.email);
  });
});

productionTest('an email link opened in another browser gives a code for the first one', async (visit) => {
  const person = await newPerson();
  const address = await askForLink(visit, person.email);
  const elsewhere = await anotherVisit();
  try {
    const code = await elsewhere.step('the link', async (page) => {
      await page.goto(address);
      await page.getByRole('heading', { name: /in the browser where you started/i }).waitFor();
      return (await page.locator('.code').textContent()).trim();
    });
    await visit.step('the browser that waited', async (page) => {
      await chooseMethod(page, /email code/i);
      await typeCode(page, code);
      await isSignedIn(page, person.email);
    });
    await elsewhere.step('nobody elsewhere', async (page) => {
      await page.goto(apps.express.url);
      await isSignedOut(page);
    });
    askedOnlyUs(elsewhere);
  } finally {
    await elsewhere.close();
  }
});

productionTest('a forgotten password is changed by a code', async (visit) => {
  const { page } = visit;
  const { email } = await newPerson();
  await visit.step('a code is asked for', async () => {
    await page.goto(signInPage);
    await enterIdentifier(page, email);
    await link(page, /forgot password/i);
    await press(page, 'Reset your password');
  });
  const code = codeIn(await nextMail(email));
  const changed = newPassword();
  await visit.step('the code', async () => {
    await typeCode(page, code);
    await field(page, 'password').waitFor();
  });
  await visit.step('the new password', async () => {
    await choosePasswordTwice(page, changed);
    await press(page, 'Reset Password');
    await isSignedIn(page, email);
  });
  // The notice that the password changed.
  await nextMail(email);
  await visit.context.clearCookies();
  await visit.step('sign-in with it', async () => {
    await page.goto(signInPage);
    await enterIdentifier(page, email);
    await enterPassword(page, changed);
    await isSignedIn(page, email);
  });
});

productionTest('the notice of a new device leads to a page of the instance', async (visit) => {
  const person = await newPerson();
  await visit.step('the first device', async (page) => {
    await signIn(page, signInPage, person);
    await isSignedIn(page, person.email);
  });
  const elsewhere = await anotherVisit();
  try {
    await elsewhere.step('a new device', async (page) => {
      await signIn(page, signInPage, person);
      await isSignedIn(page, person.email);
    });
  } finally {
    await elsewhere.close();
  }
  const addresses = addressesIn(await nextMail(person.email));
  for (const address of new Set(addresses)) {
    await visit.step(address, async (page) => {
      const answer = await page.goto(address);
      assert.equal(answer.status(), 200, address);
    });
  }
});
