// The API reference, as somebody reads it who tries operations with their key.
import assert from 'node:assert/strict';

import { browserTest } from './support/browser.js';
import { newEmail } from './support/people.js';
import { apiUrl, clerk, secretKey } from './support/server.js';

const refusals = (visit) => visit.log.filter((line) => /content security policy|refused to|error:/i.test(line));
const section = (page, operation) => page.locator(`section#${operation}`);

/** Opens the page and waits until all operations are there. */
async function open(page) {
  await page.goto(`${apiUrl}/reference`);
  await section(page, 'CreateUser').waitFor();
}

/** How far anything sticks out of the window. */
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

browserTest('reference: an operation is tried with the key', async (visit) => {
  const { page } = visit;
  await open(page);
  await page.getByLabel('Secret key').fill(secretKey);
  const create = section(page, 'CreateUser');
  await create.getByText('Try it').click();
  const body = create.getByLabel('Body JSON');
  const email = newEmail();
  await body.fill((await body.inputValue()).replace('ada@example.com', email));
  await create.getByRole('button', { name: 'Send' }).click();
  await create.getByText(/^200 after/).waitFor();
  await visit.picture('reference tried');
  const { data: [user] } = await clerk.users.getUserList({ emailAddress: [email] });
  assert.ok(user);

  // Path and query parameters, and a refusal.
  const get = section(page, 'GetUser');
  await get.getByText('Try it').click();
  await get.getByLabel('user_id').fill(user.id);
  await get.getByRole('button', { name: 'Send' }).click();
  await get.getByText(/^200 after/).waitFor();
  await get.getByRole('status').getByText(email).waitFor();
  await get.getByLabel('user_id').fill('../users');
  await get.getByRole('button', { name: 'Send' }).click();
  await get.getByText(/^404 after/).waitFor();
  const list = section(page, 'GetUserList');
  await list.getByText('Try it').click();
  await list.getByLabel('email_address several with commas', { exact: true }).fill(`${email}, ${newEmail()}`);
  await list.getByRole('button', { name: 'Send' }).click();
  await list.getByRole('status').getByText(email).waitFor();

  // The key is kept for this tab, and in no address.
  await page.reload();
  await section(page, 'CreateUser').waitFor();
  assert.equal(await page.getByLabel('Secret key').inputValue(), secretKey);
  assert.ok(visit.requests.every((url) => !url.includes(secretKey) && url.startsWith(apiUrl)), 'nobody else is asked');
  assert.deepEqual(refusals(visit).filter((line) => !line.includes('404')), []);
});

browserTest('reference: every operation has an example that can be read by a shell and by JSON', async ({ page }) => {
  await open(page);
  const examples = await page.locator('section').evaluateAll((sections) => sections.map(({ id, children }) => {
    const sample = [...children].find((child) => child.className === 'sample');
    return [id, sample?.textContent ?? ''];
  }));
  assert.ok(examples.length > 90, `${examples.length} operations`);
  for (const [id, text] of examples) {
    assert.match(text, /^curl /, id);
    assert.doesNotMatch(text, /undefined|\[object/, id);
    const body = text.match(/-d '([^]*)'Copy$/)?.[1];
    if (body) assert.doesNotThrow(() => JSON.parse(body.replaceAll(String.raw`'\''`, "'")), id);
  }
});

browserTest('reference: a body that is a list shows what each of its objects has', async ({ page }) => {
  await open(page);
  const bulk = section(page, 'CreateBulkInvitations');
  await bulk.getByText('Body: a list of objects, each with').waitFor();
  const fields = await bulk.locator('table').first().locator('tr').count();
  assert.ok(fields > 1, `${fields} fields`);
});

browserTest('reference: nothing sticks out at any usual width, with everything open', async (visit) => {
  const { page } = visit;
  await open(page);
  await page.locator('details').evaluateAll((all) => all.forEach((details) => { details.open = true; }));
  await page.locator('details form').first().waitFor();
  for (const width of [320, 375, 768, 1024, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    assert.equal(await overflow(page), 0, `${width} pixels`);
    await section(page, 'CreateUser').scrollIntoViewIfNeeded();
    await visit.picture(`reference ${width}`);
  }
});
