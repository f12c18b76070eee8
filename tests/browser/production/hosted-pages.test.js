// The server's own pages on https://clerk.acme.co.uk, and back to the application.
import assert from 'node:assert/strict';

import {
  choosePassword, enterIdentifier, enterPassword, field, isSignedIn, isSignedOut, press, signIn, typeCode,
} from '../support/components.js';
import { newPassword, newPerson, newTestEmail } from '../support/people.js';
import { clerk } from '../support/server.js';
import { backendAgrees, isKnown, signOut } from './support/steps.js';
import { apps, ask, evilUrl, frontendUrl, productionTest } from './support/world.js';

const hosted = (page, app) => `${frontendUrl}/${page}?redirect_url=${encodeURIComponent(`${app.url}/`)}`;

for (const app of [apps.express, apps.react]) {
  productionTest(`hosted sign-up leads back to ${app.host}`, async (visit) => {
    const { page } = visit;
    const email = newTestEmail();
    await visit.step('the form', async () => {
      await page.goto(hosted('sign-up', app));
      await field(page, 'emailAddress').waitFor();
      await page.reload();
    });
    await visit.step('address and password', async () => {
      await field(page, 'emailAddress').fill(email);
      await choosePassword(page, newPassword());
      await press(page, 'Continue');
      await page.getByLabel('Enter verification code').first().waitFor();
    });
    await visit.step('a reload while the code is awaited', async () => {
      await page.reload();
      await page.getByLabel('Enter verification code').first().waitFor();
    });
    await visit.step('the code', async () => {
      await typeCode(page, '424242');
      await isSignedIn(page, email);
    });
    assert.equal(page.url(), `${app.url}/`);
    assert.equal((await clerk.users.getUserList({ emailAddress: [email] })).totalCount, 1);
    await visit.step('a reload in the app', async () => {
      await page.reload();
      await isSignedIn(page, email);
    });
  });

  productionTest(`hosted sign-in leads back to ${app.host}`, async (visit) => {
    const { page } = visit;
    const person = await newPerson();
    await visit.step('the identifier', async () => {
      await page.goto(hosted('sign-in', app));
      await enterIdentifier(page, person.email);
      await field(page, 'password').waitFor();
    });
    await visit.step('the password', async () => {
      await enterPassword(page, person.password);
      await isSignedIn(page, person.email);
    });
    assert.equal(page.url(), `${app.url}/`);
    await visit.step('a reload in the app', async () => {
      await page.reload();
      await isSignedIn(page, person.email);
    });
    await visit.step('sign-out in the app', async () => {
      await signOut(page);
      await isSignedOut(page);
      await page.reload();
      await isSignedOut(page);
    });
    await visit.step('the hosted page asks again', async () => {
      await page.goto(hosted('sign-in', app));
      await field(page, 'identifier').waitFor();
    });
  }, { isSmoke: app === apps.express });
}

productionTest('whoever is signed in passes the hosted sign-in page', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  await visit.step('sign-in', async () => {
    await signIn(page, hosted('sign-in', apps.express), person);
    await isSignedIn(page, person.email);
  });
  await visit.step('the page again', async () => {
    await page.goto(hosted('sign-in', apps.react));
    await isSignedIn(page, person.email);
  });
  assert.equal(page.url(), `${apps.react.url}/`);
  await visit.step('the backend', () => isKnown(page, apps.express, person));
  await backendAgrees(visit, apps.express, person);
});

productionTest('the host of the account portal leads to the hosted pages', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  await visit.step('sign-in', async () => {
    const there = `https://accounts.acme.co.uk/sign-in?redirect_url=${encodeURIComponent(`${apps.express.url}/`)}`;
    await signIn(page, there, person);
    await isSignedIn(page, person.email);
  });
  assert.equal(page.url(), `${apps.express.url}/`);
});

productionTest('a foreign redirect_url is not followed', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  const foreign = [
    `${evilUrl}/`, 'https://acme.co.uk.evil.example/', 'https://evil-acme.co.uk/', '//evil.example',
    'https://app.acme.co.uk@evil.example/',
  ];
  for (const there of foreign) {
    await visit.context.clearCookies();
    await visit.step(there, async () => {
      await signIn(page, `${frontendUrl}/sign-in?redirect_url=${encodeURIComponent(there)}`, person);
      await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
    });
    assert.equal(new URL(page.url()).origin, frontendUrl, there);
    const handshake = `${frontendUrl}/v1/client/handshake?format=nonce&redirect_url=${encodeURIComponent(there)}`;
    assert.equal((await ask(handshake)).status, 400, there);
  }
});
