// The components as a person uses them: by their labels and buttons.
import assert from 'node:assert/strict';

export const field = (page, name) => page.locator(`input[name=${name}]`);
export const press = (page, name) => page.getByRole('button', { name, exact: true }).click();
export const link = (page, name) => page.getByRole('link', { name }).click();

/** Types a code as a person would. The component sends it by itself when it is complete. */
export async function typeCode(page, code) {
  await page.getByLabel('Enter verification code').first().pressSequentially(code, { delay: 15 });
}

export async function enterIdentifier(page, identifier) {
  await field(page, 'identifier').fill(identifier);
  await press(page, 'Continue');
}

export async function enterPassword(page, password) {
  await field(page, 'password').fill(password);
  await press(page, 'Continue');
}

/** Fills in a new password. What is said of it appears a moment later, and moves the button below it. */
export async function choosePassword(page, password) {
  await field(page, 'password').fill(password);
  await page.getByTestId('form-feedback-success').waitFor();
}

/** The same where it is asked for twice. */
export async function choosePasswordTwice(page, password) {
  await choosePassword(page, password);
  await field(page, 'confirmPassword').fill(password);
  await page.getByText('Passwords match.').first().waitFor();
}

/** Signs in at a page with the sign-in component, up to a second factor if there is one. */
export async function signIn(page, url, { email, password }) {
  await page.goto(url);
  await enterIdentifier(page, email);
  await enterPassword(page, password);
}

/** Another way to sign in than the one offered first. */
export async function chooseMethod(page, name) {
  await link(page, /use another method/i);
  await page.getByRole('button', { name }).click();
}

export async function isSignedIn(page, email) {
  await page.getByRole('heading', { name: 'Signed in', exact: true }).waitFor();
  assert.equal(await page.getByTestId('email').textContent(), email);
}

export const isSignedOut = (page) => page.getByRole('heading', { name: 'Signed out', exact: true }).waitFor();

export async function sees(page, text) {
  await page.getByText(text).first().waitFor();
}
