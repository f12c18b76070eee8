// A backend with the official middleware. It tells who asks, and serves the application itself.
import { clerkMiddleware, getAuth } from '@clerk/express';
import express from 'express';

import { apiUrl } from './server.js';
import { applicationFile, listen } from './site.js';

const escape = (text) => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);

const page = (title, userId) =>
  `<!doctype html><title>${title}</title><h1>${title}</h1><p id="who">${escape(userId ?? 'nobody')}</p>`;

/** A handler: the middleware with its options, the props of the application, and where people sign in. */
export function expressApplication(options, props, signInUrl = '/sign-in') {
  const app = express();
  app.use(clerkMiddleware({ apiUrl, ...options }));
  app.get('/who', (request, response) => {
    response.send(page('Public', getAuth(request).userId));
  });
  app.get('/protected', (request, response) => {
    const { userId } = getAuth(request);
    const here = `${request.protocol}://${request.get('host')}${request.originalUrl}`;
    if (userId) {
      response.send(page('Protected', userId));
    } else {
      response.redirect(`${signInUrl}?redirect_url=${encodeURIComponent(here)}`);
    }
  });
  app.get('/api/who', (request, response) => {
    const { userId, sessionId } = getAuth(request);
    response.status(userId ? 200 : 401).json({ userId, sessionId });
  });
  app.get('/api/organization', (request, response) => {
    const { orgId, orgSlug, orgRole, has } = getAuth(request);
    const closes = has({ permission: 'org:ledger:close' });
    response.json({ orgId, orgSlug, orgRole, closes, isAdmin: has({ role: 'org:admin' }) });
  });
  app.use(async (request, response) => {
    const { type, body } = await applicationFile(request.path, props);
    response.type(type).send(body);
  });
  return app;
}

export const serveExpress = (options, props) => listen(expressApplication(options, props));
