// A backend whose pages load the script from the Frontend API.
import { clerkPlugin, getAuth } from '@clerk/fastify';
import Fastify from 'fastify';

const { CLERK_API_URL, CLERK_PROXY_URL, CLERK_PUBLISHABLE_KEY, CLERK_SIGN_IN_URL, PORT } = process.env;
const frontendUrl = CLERK_PROXY_URL ?? `https://${atob(CLERK_PUBLISHABLE_KEY.split('_')[2]).replace(/\$$/, '')}`;

const page = (content, action = '') => `<!doctype html>
<html lang="en">
  <head><title>Fastify</title><link rel="icon" href="data:,"></head>
  <body>
    ${content}
    <script
      crossorigin="anonymous"
      data-clerk-publishable-key="${CLERK_PUBLISHABLE_KEY}"
      data-clerk-proxy-url="${CLERK_PROXY_URL ?? ''}"
      src="${frontendUrl}/npm/@clerk/clerk-js@6/dist/clerk.browser.js"
    ></script>
    <script type="module">
      await window.Clerk.load(${JSON.stringify({ signInUrl: CLERK_SIGN_IN_URL, telemetry: false })});
      ${action}
    </script>
  </body>
</html>`;

const signOut = `
  const button = document.querySelector('button');
  button.onclick = () => window.Clerk.signOut({ redirectUrl: '/' });
  button.disabled = false;`;

const app = Fastify();
app.register(clerkPlugin, { apiUrl: CLERK_API_URL, proxyUrl: CLERK_PROXY_URL, signInUrl: CLERK_SIGN_IN_URL });
app.get('/', (request, reply) =>
  reply.type('text/html').send(page(getAuth(request).userId ? '<h1>Signed in</h1>' : '<h1>Signed out</h1>')));
app.get('/protected', (request, reply) => {
  const { userId } = getAuth(request);
  return userId
    ? reply.type('text/html').send(
        page(`<h1>Protected</h1><p id="who">${userId}</p><button disabled>Sign out</button>`, signOut))
    : reply.redirect('/sign-in');
});
app.get('/sign-in', (_, reply) =>
  reply.type('text/html').send(page('', "await window.Clerk.redirectToSignIn({ redirectUrl: '/protected' });")));

await app.listen({ host: 'localhost', port: Number(PORT) });
