// A backend with the official middleware. It tells who asks, and serves the application itself.
import { clerkMiddleware, getAuth } from '@clerk/express';
import express from 'express';

import { apiUrl } from './server.js';
import { applicationFile, listen } from './site.js';

const escape = (text) => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);

export function serveExpress(options, props) {
  const app = express();
  app.use(clerkMiddleware({ apiUrl, ...options }));
  app.get('/who', (request, response) => {
    const { userId } = getAuth(request);
    response.send(`<!doctype html><title>Who</title><h1>Backend</h1><p id="who">${escape(userId ?? 'nobody')}</p>`);
  });
  app.get('/api/who', (request, response) => {
    const { userId, sessionId } = getAuth(request);
    response.status(userId ? 200 : 401).json({ userId, sessionId });
  });
  app.use(async (request, response) => {
    const { type, body } = await applicationFile(request.path, props);
    response.type(type).send(body);
  });
  return listen(app);
}
