// Serves the built application on a port of its own.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';

const dist = join(import.meta.dirname, '..', 'app', 'dist');
const types = { '.js': 'text/javascript', '.css': 'text/css', '.html': 'text/html' };

/** A file of the application; every other path is the page, which looks at the path itself. */
export async function applicationFile(path, props) {
  if (path === '/config.js') {
    return { type: types['.js'], body: `window.config = ${JSON.stringify(props)};` };
  }
  const name = path.startsWith('/assets/') ? join('/', path) : '/index.html';
  return { type: types[extname(name)], body: await readFile(join(dist, name)) };
}

/** Starts a handler on a free port and returns its address and a way to stop it. */
export async function listen(handler) {
  const server = createServer(handler);
  await new Promise((resolve, reject) => server.listen(0, 'localhost', resolve).once('error', reject));
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://localhost:${server.address().port}`, close };
}

/** A handler that serves the application. */
export const application = (props) => async (request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  try {
    const { type, body } = await applicationFile(pathname, props);
    response.writeHead(200, { 'content-type': type }).end(body);
  } catch {
    response.writeHead(404).end();
  }
};

export const serveApplication = (props) => listen(application(props));

/** An application of an instance, at the instance's host: that gets the cookies of pages there, and of no other site. */
export async function serveBeside(instance) {
  const site = await serveApplication(instance.clerkProps);
  const { hostname } = new URL(instance.frontendUrl);
  return { ...site, url: site.url.replace('localhost', hostname) };
}
