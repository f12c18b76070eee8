// The inbox of a development instance, as a person reads it while they try out an application.
import assert from 'node:assert/strict';

import { browserTest } from './support/browser.js';
import { newEmail } from './support/people.js';
import { apiUrl, clerk, secretKey } from './support/server.js';

const inboxUrl = `${apiUrl}/dev/inbox`;

/** Has a code sent to a new address. */
async function sendCode(email) {
  const user = await clerk.users.createUser({ emailAddress: [email] });
  const response = await fetch(`${apiUrl}/v1/email_addresses/${user.emailAddresses[0].id}/prepare_verification`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' },
    body: '{}',
  });
  assert.equal(response.status, 200, await response.text());
}

/** The message as programs read it. */
async function received(email) {
  const response = await fetch(`${apiUrl}/v1/inbox?wait=5s&to=${encodeURIComponent(email)}`, {
    headers: { authorization: `Bearer ${secretKey}` },
  });
  const { data } = await response.json();
  assert.equal(data.length, 1);
  return data[0];
}

const refusals = (visit) => visit.log.filter((line) => /content security policy|refused to/i.test(line));

async function open(page) {
  await page.goto(inboxUrl);
  await page.getByLabel('Secret key').fill(secretKey);
  await page.getByRole('button', { name: 'Open', exact: true }).click();
  await page.getByText('live', { exact: true }).waitFor();
}

browserTest('inbox: asks for the key and shows messages as they arrive', async (visit) => {
  const { page } = visit;
  await page.goto(inboxUrl);
  await page.getByRole('heading', { name: 'Open the inbox' }).waitFor();
  await visit.picture('inbox gate');
  await page.getByLabel('Secret key').fill('sk_test_wrong');
  await page.getByRole('button', { name: 'Open', exact: true }).click();
  await page.getByRole('alert').waitFor();
  await open(page);
  const email = newEmail();
  await sendCode(email);
  const { code, subject } = await received(email);
  await page.getByLabel('Messages').getByText(email).click();
  await page.locator('#digits').getByText(code).waitFor();
  await page.getByRole('heading', { name: subject }).waitFor();
  await visit.picture('inbox with a code');
  await page.getByLabel('Filter by recipient').fill('nobody@');
  assert.equal(await page.getByLabel('Messages').getByText(email).count(), 0);
  await page.getByLabel('Filter by recipient').fill('');
  // It is kept for this tab, and for no other.
  await page.reload();
  await page.getByText('live', { exact: true }).waitFor();
  const other = await visit.context.newPage();
  await other.goto(inboxUrl);
  await other.getByRole('heading', { name: 'Open the inbox' }).waitFor();
  assert.deepEqual(refusals(visit), []);
});

browserTest('inbox: on a phone, a list and then a message', async (visit) => {
  const { page } = visit;
  await page.setViewportSize({ width: 390, height: 780 });
  await open(page);
  const email = newEmail();
  await sendCode(email);
  const { code } = await received(email);
  await page.getByLabel('Messages').getByText(email).waitFor();
  await visit.picture('inbox phone list');
  await page.getByLabel('Messages').getByText(email).click();
  await page.locator('#digits').getByText(code).waitFor();
  await visit.picture('inbox phone message');
  await page.getByRole('button', { name: 'All messages' }).click();
  await page.getByLabel('Messages').getByText(email).waitFor();
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 390, `the page is ${width} wide`);
});

browserTest('inbox: the HTML of a message runs no scripts and styles itself', async (visit) => {
  const { page } = visit;
  const html = '<h1 style="color: rgb(1, 2, 3)">Hello</h1><script>parent.document.title = "owned"</script>'
    + '<img src="data:," onerror="parent.document.title = \'owned\'"><a href="https://example.com/">Go</a>';
  const message = {
    object: 'message', id: 'ema_1', channel: 'email', to: 'ada@example.com', slug: 'magic_link_sign_in', subject: '<b>Hi</b>',
    body: 'Hello', html, code: null, link: 'https://example.com/verify?token=1', status: 'held', failure: null, created_at: 1767225600000,
  };
  await page.route('**/v1/inbox?limit=100', (route) => route.fulfill({ json: { data: [message], total_count: 1 } }));
  // The server does not know that message and would refuse to wait for those after it.
  await page.route('**/v1/inbox?wait=*', () => {});
  await open(page);
  await page.getByRole('heading', { name: '<b>Hi</b>' }).waitFor();
  const heading = page.frameLocator('#html').getByRole('heading', { name: 'Hello' });
  await heading.waitFor();
  assert.equal(await heading.evaluate((node) => getComputedStyle(node).color), 'rgb(1, 2, 3)');
  assert.equal(await page.getByRole('link', { name: 'Open link' }).getAttribute('href'), message.link);
  await visit.picture('inbox with html');
  assert.equal(await page.title(), 'Inbox (1)');
});

browserTest('inbox: a link opens it, and what opened it leaves the address', async ({ page }) => {
  await page.goto(`${inboxUrl}#${secretKey}`);
  await page.getByText('live', { exact: true }).waitFor();
  assert.equal(page.url(), inboxUrl);
});
