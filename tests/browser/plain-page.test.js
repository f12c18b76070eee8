// A page without a framework or a build: what `latchkey env html` prints, as it is.
import assert from 'node:assert/strict';

import { browserTest } from './support/browser.js';
import { choosePassword, enterIdentifier, field, press, signIn, typeCode } from './support/components.js';
import { newEmail, newPassword, newPerson } from './support/people.js';
import { latchkey, nextCode, instanceId } from './support/server.js';
import { listen } from './support/site.js';

async function servePage() {
  const markup = await latchkey('env', 'html', '--instance', instanceId);
  const page = `<!doctype html><html lang="en"><title>Plain</title><body>\n${markup}</body></html>`;
  return listen((request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page));
}

const userButton = (page) => page.getByRole('button', { name: 'Open user menu' });

browserTest('plain page: sign-in, user button, sign-out', async (visit) => {
  const { page } = visit;
  const [person, site] = await Promise.all([newPerson(), servePage()]);
  await signIn(page, site.url, person);
  await userButton(page).click();
  await visit.picture('plain page');
  await press(page, 'Sign out');
  await field(page, 'identifier').waitFor();
  assert.equal(new URL(page.url()).origin, site.url);
  await site.close();
});

browserTest('plain page: whoever is new signs up on it', async (visit) => {
  const { page } = visit;
  const site = await servePage();
  const email = newEmail();
  await page.goto(site.url);
  await enterIdentifier(page, email);
  await choosePassword(page, newPassword());
  await press(page, 'Continue');
  await typeCode(page, await nextCode(email));
  await userButton(page).waitFor();
  await site.close();
});
