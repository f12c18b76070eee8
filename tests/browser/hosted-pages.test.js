// The server's own pages: nothing else runs in these tests.
import assert from 'node:assert/strict';

import { browserTest } from './support/browser.js';
import { choosePassword, field, isSignedIn, press, sees, signIn, typeCode } from './support/components.js';
import { expressApplication } from './support/express.js';
import { newEmail, newPassword, newPerson } from './support/people.js';
import { clerk, clerkProps, frontendUrl, newInstance, nextCode } from './support/server.js';
import { listen, serveApplication } from './support/site.js';

const isAtHome = async (page, email) => {
  await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
  await sees(page, email);
};

/** What a strict policy would have stopped. */
const refusals = (visit) => visit.log.filter((line) => /content security policy|refused to/i.test(line));

browserTest('hosted pages: sign-up, profile, sign-out', async (visit) => {
  const { page } = visit;
  const email = newEmail();
  await page.goto(`${frontendUrl}/sign-up`);
  await field(page, 'emailAddress').fill(email);
  await choosePassword(page, newPassword());
  await visit.picture('hosted sign-up');
  await press(page, 'Continue');
  await typeCode(page, await nextCode(email));
  await isAtHome(page, email);
  await visit.picture('hosted default page');
  assert.equal((await clerk.users.getUserList({ emailAddress: [email] })).totalCount, 1);

  await page.getByRole('link', { name: 'Your account' }).click();
  await page.getByText('Profile details').first().waitFor();
  await visit.picture('hosted profile');

  await page.goto(`${frontendUrl}/default-redirect`);
  await press(page, 'Sign out');
  await field(page, 'identifier').waitFor();
  await page.goto(`${frontendUrl}/default-redirect`);
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  assert.deepEqual(refusals(visit), []);
}, { isSmoke: true });

browserTest('hosted pages: sign-in, and the profile only for those who did', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  await page.goto(`${frontendUrl}/user`);
  await field(page, 'identifier').waitFor();
  await visit.picture('hosted sign-in');
  await signIn(page, `${frontendUrl}/sign-in`, person);
  await isAtHome(page, person.email);
  await page.goto(`${frontendUrl}/sign-in/choose`);
  await isAtHome(page, person.email);
  assert.deepEqual(refusals(visit), []);
});

browserTest('hosted pages: where there is no waitlist, nobody is asked to join it', async ({ page }) => {
  await page.goto(`${frontendUrl}/waitlist`);
  await page.getByRole('heading', { name: 'There is no waitlist' }).waitFor();
  await page.getByRole('link', { name: 'Sign up' }).click();
  await field(page, 'emailAddress').waitFor();
});

browserTest('hosted pages: known values are filled in', async ({ page }) => {
  const email = newEmail();
  await page.goto(`${frontendUrl}/sign-in?email_address=${encodeURIComponent(email)}`);
  await field(page, 'identifier').waitFor();
  assert.equal(await field(page, 'identifier').inputValue(), email);
});

browserTest('hosted pages: query parameters neither run nor lead astray', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  const evil = ['javascript:alert(1)', 'https://evil.example/', '//evil.example', 'data:text/html,x'];
  page.on('dialog', () => assert.fail('a script of the query ran'));
  for (const target of evil) {
    await visit.context.clearCookies();
    const query = `redirect_url=${encodeURIComponent(target)}&x=${encodeURIComponent('</script><script>alert(2)</script>')}`;
    await signIn(page, `${frontendUrl}/sign-in?${query}`, person);
    await isAtHome(page, person.email);
    assert.equal(new URL(page.url()).origin, frontendUrl, target);
  }
});

// Backend SDKs add the token to the URL of the sign-in page.
browserTest('hosted pages: the URL shows no token of the development browser', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  const back = `${frontendUrl}/user`;
  await page.goto(`${frontendUrl}/sign-in?redirect_url=${encodeURIComponent(back)}&__clerk_db_jwt=dvb_example`);
  await field(page, 'identifier').waitFor();
  assert.equal(page.url(), `${frontendUrl}/sign-in?redirect_url=${encodeURIComponent(back)}`);
  await field(page, 'identifier').fill(person.email);
  await press(page, 'Continue');
  await field(page, 'password').fill(person.password);
  assert.ok(!page.url().includes('__clerk_db_jwt'), page.url());
  await press(page, 'Continue');
  await page.getByText('Profile details').first().waitFor();
  assert.equal(page.url(), back);
});

// A page without a backend would keep the token in the address bar. A backend may accept only its own session tokens.
browserTest('hosted pages: they lead back to applications without a token in the URL', async (visit, t) => {
  const { page } = visit;
  const person = await newPerson();
  const plain = await serveApplication(clerkProps);
  let backend;
  const strict = await listen((request, response) => backend(request, response));
  backend = expressApplication({ proxyUrl: frontendUrl, authorizedParties: [strict.url] }, clerkProps);
  t.after(() => Promise.all([plain.close(), strict.close()]));
  const withToken = [];
  page.on('request', (request) => {
    const { origin, searchParams } = new URL(request.url());
    if (origin !== frontendUrl && searchParams.has('__clerk_db_jwt')) withToken.push(request.url());
  });
  await page.goto(plain.url);
  await page.getByRole('heading', { name: 'Signed out' }).waitFor();
  await signIn(page, `${frontendUrl}/sign-in?redirect_url=${encodeURIComponent(`${plain.url}/`)}`, person);
  await isSignedIn(page, person.email);
  assert.equal(page.url(), `${plain.url}/`);
  await page.goto(`${frontendUrl}/sign-in?redirect_url=${encodeURIComponent(`${strict.url}/who`)}`);
  await page.waitForURL(`${strict.url}/who`);
  assert.equal(await page.locator('#who').textContent(), person.id);
  assert.deepEqual(withToken, []);
});

browserTest('hosted pages: a place on the same origin is gone to', async (visit) => {
  const { page } = visit;
  const person = await newPerson();
  await signIn(page, `${frontendUrl}/sign-in?redirect_url=${encodeURIComponent(`${frontendUrl}/user`)}`, person);
  await page.getByText('Profile details').first().waitFor();
  assert.equal(new URL(page.url()).pathname, '/user');
});

browserTest('hosted pages: people get to where the settings say', async (visit) => {
  const { page } = visit;
  const app = 'https://app.example.com';
  const icon = '<svg xmlns="http://www.w3.org/2000/svg"/>';
  await visit.context.route(`${app}/**`, (route) => route.fulfill({ contentType: 'text/html', body: '<h1>The application</h1>' }));
  await visit.context.route(`${app}/*.svg`, (route) => route.fulfill({ contentType: 'image/svg+xml', body: icon }));
  const own = await newInstance(
    `display.after_sign_in_url="${app}/in"`,
    `display.after_sign_out_all_url="${app}/out"`,
    `display.help_url="${app}/help"`,
    `display.logo_image_url="${app}/logo.svg"`,
    `display.logo_link_url="${app}/"`,
    `display.favicon_image_url="${app}/icon.svg"`,
  );
  const person = await newPerson({ api: own.clerk });
  await page.goto(`${own.frontendUrl}/sign-in`);
  await page.getByRole('link', { name: 'Help' }).waitFor();
  assert.equal(await page.locator('link[rel=icon]').getAttribute('href'), `${app}/icon.svg`);
  assert.equal(await page.locator('.cl-logoBox a').getAttribute('href'), `${app}/`);
  await signIn(page, `${own.frontendUrl}/sign-in`, person);
  await page.waitForURL(`${app}/in**`);
  await page.goto(`${own.frontendUrl}/default-redirect`);
  await press(page, 'Sign out');
  await page.waitForURL(`${app}/out**`);
  assert.deepEqual(refusals(visit), []);
});

browserTest('hosted pages: without scripts the page says what to do', async ({ page, context }) => {
  await context.route('**/npm/**', (route) => route.abort());
  await page.goto(`${frontendUrl}/sign-in`);
  await sees(page, /browser scripts/i);
  await sees(page, /make scripts/);
});

browserTest('hosted pages: a reported sign-in has a page', async ({ page }) => {
  await page.goto(`${frontendUrl}/unauthorized-sign-in`);
  await page.getByRole('link', { name: 'Sign in' }).waitFor();
});
