// An OpenID provider that is not ours: npm's oidc-provider. Its pages let people sign in by any name, which is their
// e-mail address, and ask what they agree to.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';

import Provider from 'oidc-provider';

const CREDENTIALS = { client_id: 'latchkey', client_secret: 'the secret of latchkey' };

/** Who somebody is by the address they signed in with: `unproven.` before it, and the provider has not verified it. */
const account = (_, id) => ({
  accountId: id,
  claims: () => ({
    sub: id, email: id, email_verified: !id.startsWith('unproven.'), given_name: 'Ada', family_name: 'Lovelace',
  }),
});

/** What is set of a provider, so that the instance is one of its clients. */
const credentials = (key) => [
  `social.${key}.client_id=${CREDENTIALS.client_id}`, `social.${key}.client_secret=${CREDENTIALS.client_secret}`,
  `social.${key}.enabled=true`,
];

/**
 * Starts the provider for an instance whose browsers come back to `callback`; over TLS with the certificate of the
 * tests, if there is one. With `google` it is where Google is and says what Google says.
 */
export async function serveProvider(callback, { google = false } = {}) {
  const { TEST_CERTIFICATE: cert, TEST_KEY: key } = process.env;
  const server = cert ? createSecureServer({ cert: readFileSync(cert), key: readFileSync(key) }) : createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http${cert ? 's' : ''}://127.0.0.1:${server.address().port}`;
  const places = {
    authorization: '/accounts.google.com/o/oauth2/v2/auth',
    token: '/oauth2.googleapis.com/token',
    jwks: '/www.googleapis.com/oauth2/v3/certs',
  };
  const provider = new Provider(google ? 'https://accounts.google.com' : url, {
    clients: [{ ...CREDENTIALS, redirect_uris: [callback], grant_types: ['authorization_code', 'refresh_token'] }],
    findAccount: account,
    claims: { email: ['email', 'email_verified'], profile: ['given_name', 'family_name'] },
    // In the ID token too, as Google does it.
    conformIdTokenClaims: !google,
    pkce: { required: () => true },
    scopes: ['openid', 'offline_access', 'calendar'],
    routes: google ? places : {},
    // Shorter than what counts as nearly over: every reading renews the token.
    ttl: { AccessToken: 30 },
    cookies: { keys: ['a key for cookies'] },
  });
  const answers = [];
  provider.on('grant.success', ({ oidc }) => answers.push(oidc.params.grant_type));
  provider.on('server_error', (_, error) => answers.push(error.stack));
  server.on('request', provider.callback());
  return {
    url,
    /** The kinds of grants it gave tokens for. */
    answers,
    settings: google
      ? [`social.google.stand_in_url=${url}`, ...credentials('google')]
      : ['social.custom_acme.name=Acme', `social.custom_acme.discovery_url=${url}/.well-known/openid-configuration`,
        'social.custom_acme.scopes=["email","profile","offline_access"]', 'social.custom_acme.authorize_params={"prompt":"consent"}',
        ...credentials('custom_acme')],
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Signs in at the provider, and agrees. Whoever is signed in there already is only asked to agree. */
export async function agree(page, email) {
  if (email) {
    await page.locator('input[name=login]').fill(email);
    await page.locator('input[name=password]').fill('any');
    await page.getByRole('button', { name: 'Sign-in' }).click();
  }
  // The page that led here may still be there, with a button of the same name.
  await page.locator('form[action*="/interaction/"]').getByRole('button', { name: 'Continue' }).click();
}
