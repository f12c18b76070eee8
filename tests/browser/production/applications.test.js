// The application in the browser, on its own and next to others of the same instance.
import assert from 'node:assert/strict';

import {
  choosePassword, field, isSignedIn, isSignedOut, press, signIn, typeCode,
} from '../support/components.js';
import { newPassword, newPerson, newTestEmail } from '../support/people.js';
import { backendAgrees, backendSays, isKnown, isNobody, signOut } from './support/steps.js';
import { apps, productionTest } from './support/world.js';

productionTest('sign-up in the application', async (visit) => {
  const { page } = visit;
  const email = newTestEmail();
  await visit.step('nobody', async () => {
    await page.goto(apps.express.url);
    await isSignedOut(page);
  });
  await visit.step('address and password', async () => {
    await page.goto(`${apps.express.url}/sign-up`);
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
  await visit.step('a reload', async () => {
    await page.reload();
    await isSignedIn(page, email);
  });
  await visit.step('the profile', async () => {
    await page.goto(`${apps.express.url}/profile`);
    await page.getByText('Profile details').first().waitFor();
  });
  const id = await visit.step('the backend', async () => {
    await page.goto(`${apps.express.url}/who`);
    return page.locator('#who').textContent();
  });
  await backendAgrees(visit, apps.express, { id });
}, { isSmoke: true });

for (const app of [apps.express, apps.react, apps.root]) {
  productionTest(`sign-in with a password and sign-out on ${app.host}`, async (visit) => {
    const { page } = visit;
    const person = await newPerson();
    await visit.step('sign-in', async () => {
      await signIn(page, `${app.url}/sign-in`, person);
      await isSignedIn(page, person.email);
    });
    await visit.step('a reload', async () => {
      await page.reload();
      await isSignedIn(page, person.email);
    });
    await visit.step('sign-out', async () => {
      await signOut(page);
      await isSignedOut(page);
    });
    await visit.step('another reload', async () => {
      await page.reload();
      await isSignedOut(page);
    });
    await visit.step('sign-in again', async () => {
      await signIn(page, `${app.url}/sign-in`, person);
      await isSignedIn(page, person.email);
    });
  }, { isSmoke: app === apps.express });
}

/** An app where nobody has been yet: its backend, its page, and its backend again. */
async function isKnownAtFirstSight(visit, app, person) {
  await visit.step(`the backend of ${app.host}`, (page) => isKnown(page, app, person));
  await backendAgrees(visit, app, person);
  await visit.step(`the page on ${app.host}`, async (page) => {
    await page.goto(app.url);
    await page.getByRole('button', { name: /open user/i }).waitFor();
  });
}

const neighbours = [apps.express, apps.next, apps.root];
for (const first of neighbours.filter((app) => app !== apps.next)) {
  productionTest(`signed in on ${first.host} is signed in on its neighbours, and so is signed out`, async (visit) => {
    const { page } = visit;
    const person = await newPerson();
    const others = neighbours.filter((app) => app !== first);
    await visit.step('sign-in', async () => {
      await signIn(page, `${first.url}/sign-in`, person);
      await isSignedIn(page, person.email);
    });
    for (const other of others) {
      await isKnownAtFirstSight(visit, other, person);
    }
    await visit.step('sign-out', async () => {
      await page.goto(first.url);
      await signOut(page);
      await isSignedOut(page);
    });
    for (const other of others) {
      await visit.step(`${other.host} afterwards`, () => isNobody(page, other));
      assert.equal((await backendSays(visit, other)).status, 'signed-out');
      await visit.step(`the page on ${other.host} afterwards`, async () => {
        await page.goto(other.url);
        await page.waitForFunction(() => window.Clerk?.loaded);
        assert.equal(await page.evaluate(() => window.Clerk.user), null);
      });
    }
  });
}

productionTest('a page without a backend learns of its neighbour by a reload', async (visit) => {
  const { page, context } = visit;
  const person = await newPerson();
  const other = await context.newPage();
  await visit.step('nobody', async () => {
    await other.goto(apps.react.url);
    await isSignedOut(other);
  });
  await visit.step('sign-in', async () => {
    await signIn(page, `${apps.root.url}/sign-in`, person);
    await isSignedIn(page, person.email);
  });
  await visit.step('a reload', async () => {
    await other.reload();
    await isSignedIn(other, person.email);
  });
  await visit.step('sign-out', async () => {
    await signOut(other);
    await isSignedOut(other);
    await page.reload();
    await isSignedOut(page);
  });
});

productionTest('two tabs of an application: both see the sign-out of one', async (visit) => {
  const { page, context } = visit;
  const person = await newPerson();
  await visit.step('sign-in', async () => {
    await signIn(page, `${apps.express.url}/sign-in`, person);
    await isSignedIn(page, person.email);
  });
  const tab = await context.newPage();
  await visit.step('a second tab', async () => {
    await tab.goto(apps.express.url);
    await isSignedIn(tab, person.email);
  });
  await visit.step('sign-out in the first', async () => {
    await page.bringToFront();
    await signOut(page);
    await isSignedOut(page);
  });
  await visit.step('the second', async () => {
    await tab.bringToFront();
    await isSignedOut(tab);
  });
  await visit.step('the backend', () => isNobody(tab, apps.express));
});
