// The page where webhooks are managed, with a receiver that really listens.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { verifyWebhook } from '@clerk/backend/webhooks';

import { browserTest } from './support/browser.js';
import { press, sees } from './support/components.js';
import { newPerson } from './support/people.js';
import { apiUrl, clerk, secretKey } from './support/server.js';
import { listen } from './support/site.js';

const call = async (method, path) => {
  const response = await fetch(`${apiUrl}/v1/webhooks${path}`, { method, headers: { authorization: `Bearer ${secretKey}` } });
  return response.status === 204 ? {} : response.json();
};

/** A link to the page. The instance may manage its webhooks already. */
const link = async () => {
  await call('POST', '/svix');
  return (await call('POST', '/svix_url')).svix_url;
};

/** A receiver that answers as told and keeps what it got. */
const receiver = async (t) => {
  const got = [];
  const answer = { status: 200, body: 'thank you' };
  const site = await listen(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    got.push(new Request(site.url, { method: 'POST', headers: request.headers, body: Buffer.concat(parts) }));
    response.writeHead(answer.status, { 'content-type': 'text/plain' }).end(answer.body);
  });
  t.after(() => site.close());
  return { ...site, got, answer };
};

const refusals = (visit) => visit.log.filter((line) => /content security policy|refused to|error:/i.test(line));
const card = (page, id) => page.locator(`#${id}`);
const inDialog = (page, name) => page.locator('dialog').getByRole('button', { name, exact: true }).click();

/** Adds an endpoint and stays on its page. */
const add = async (page, url, kinds = []) => {
  await press(page, 'Add endpoint');
  await page.getByLabel('Address').fill(url);
  await page.getByLabel('Description').fill('The shop');
  if (kinds.length) {
    await page.getByLabel('Only these').check();
    for (const kind of kinds) await page.getByRole('checkbox', { name: kind, exact: true }).check();
  }
};

browserTest('webhooks page: an endpoint is added, tried, changed and deleted', async (visit, t) => {
  const { page } = visit;
  const site = await receiver(t);
  await page.goto(await link());
  await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
  assert.equal(new URL(page.url()).hash, '', 'the token does not stay in the address');
  await visit.picture('webhooks empty');
  await add(page, `${site.url}/hook`, ['user.created', 'user.deleted']);
  await visit.picture('webhooks add');
  await inDialog(page, 'Add endpoint');
  await page.getByRole('heading', { name: `${site.url}/hook` }).waitFor();
  await sees(page, 'user.created, user.deleted');

  await card(page, 'secrets').getByRole('button', { name: 'Show' }).click();
  // Until the answer is here, what stands there is not the secret.
  await card(page, 'secrets').getByText('Newest', { exact: true }).waitFor();
  const secret = await card(page, 'secrets').locator('code').first().textContent();
  assert.match(secret, /^whsec_/);
  await card(page, 'tester').getByRole('button', { name: 'Send' }).click();
  await page.getByText('Accepted', { exact: true }).waitFor();
  await sees(page, 'thank you');
  const event = await verifyWebhook(site.got[0], { signingSecret: secret });
  assert.equal(event.type, 'user.created');
  await visit.picture('webhooks tested');
  Object.assign(site.answer, { status: 503, body: 'closed for lunch' });
  await card(page, 'tester').getByRole('button', { name: 'Send' }).click();
  await page.getByText('Not accepted', { exact: true }).waitFor();
  await sees(page, 'closed for lunch');
  // Other tests make users too: an endpoint that refuses their events is shown as failing.
  Object.assign(site.answer, { status: 200, body: 'thank you' });

  await card(page, 'secrets').getByRole('button', { name: 'Rotate' }).click();
  await inDialog(page, 'Rotate');
  await sees(page, 'Signs until');
  assert.equal(await card(page, 'secrets').locator('code').count(), 2);
  await visit.picture('webhooks rotated');

  await press(page, 'Edit');
  await page.getByLabel('Description').fill('The new shop');
  await page.getByLabel('All events').check();
  await inDialog(page, 'Save');
  await sees(page, 'The new shop');
  await sees(page, 'Gets all events.');
  await press(page, 'Disable');
  await page.getByText('Disabled', { exact: true }).waitFor();
  await press(page, 'Enable');
  await inDialog(page, 'Enable');
  await page.getByText('Enabled', { exact: true }).waitFor();

  await page.reload();
  await page.getByRole('heading', { name: `${site.url}/hook` }).waitFor();
  await press(page, '← All endpoints');
  await page.getByRole('button', { name: new RegExp(site.url) }).waitFor();
  await visit.picture('webhooks list');
  await page.goBack();
  await press(page, 'Delete');
  await inDialog(page, 'Delete');
  await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
  await page.locator('main').getByText(site.url).waitFor({ state: 'detached' });
  assert.deepEqual(refusals(visit), []);
});

browserTest('webhooks page: the log shows what became of events, and sends them again', async (visit, t) => {
  const { page } = visit;
  const site = await receiver(t);
  await page.goto(await link());
  // No other test deletes users, so that the log has one delivery.
  await add(page, `${site.url}/log`, ['user.deleted']);
  await inDialog(page, 'Add endpoint');
  await card(page, 'deliveries').getByText('No deliveries here yet.').waitFor();
  await clerk.users.deleteUser((await newPerson()).id);
  const row = card(page, 'deliveries').locator('details').first();
  await row.getByText('succeeded').waitFor();
  await row.locator('summary').click();
  await row.getByText('thank you').waitFor();
  await row.getByText('"type": "user.deleted"').waitFor();
  await visit.picture('webhooks log');
  const before = site.got.length;
  await row.getByRole('button', { name: 'Send again' }).click();
  for (let tries = 0; site.got.length === before && tries < 100; tries += 1) await sleep(100);
  assert.equal(site.got[before].headers.get('svix-id'), site.got[0].headers.get('svix-id'));

  await press(page, 'Send again …');
  await page.getByLabel('What').selectOption({ label: 'Everything, in order' });
  await visit.picture('webhooks replay');
  await inDialog(page, 'Send again');
  await sees(page, 'on the way');
  await inDialog(page, 'Close');
  await page.setViewportSize({ width: 390, height: 844 });
  await visit.picture('webhooks phone log');
  const { scrollWidth, clientWidth } = await page.evaluate(() => document.documentElement);
  assert.equal(scrollWidth, clientWidth, 'nothing is wider than a phone');
  assert.deepEqual(refusals(visit), []);
});

browserTest('webhooks page: wrong input is told, and a link that has ended says so', async (visit) => {
  const { page } = visit;
  await page.goto(await link());
  await press(page, 'Add endpoint');
  await page.getByLabel('Address').fill('https://user:pass@example.com');
  await inDialog(page, 'Add endpoint');
  await page.locator('dialog').getByRole('alert').waitFor();
  await sees(page, 'must not contain a user name or a password');
  await visit.picture('webhooks refused');
  await page.goto(`${apiUrl}/webhooks/portal#whp_wrong`);
  await page.getByRole('heading', { name: 'This link has ended' }).waitFor();
  await page.emulateMedia({ colorScheme: 'dark' });
  await visit.picture('webhooks ended');
});
