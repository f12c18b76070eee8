import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';

import {
  assertHas,
  connect,
  connectToNewInstance,
  frontendUrl,
  idOf,
  otherClerk,
  refused,
  request,
  secretKey,
  unique,
  unknownId,
} from './support.js';
import { Browser, newProduction } from './support-production.js';

test('a satellite is added, renamed and deleted, and keeps its id', async () => {
  const own = connectToNewInstance();
  const {
    data: [primary],
    totalCount,
  } = await own.domains.list();
  assert.equal(totalCount, 1);
  assert.match(primary.id, idOf('dmn'));
  assert.equal(primary.isSatellite, false);
  const [first, second] = [`${unique()}.localhost:4123`, `${unique()}.localhost:4124`];
  const added = await own.domains.add({ name: first, is_satellite: true });
  assertHas(added, { name: first, isSatellite: true, accountsPortalUrl: null });
  const renamed = await own.domains.update({ domainId: added.id, name: second });
  assertHas(renamed, { id: added.id, name: second });
  assert.deepEqual(
    (await own.domains.list()).data.map((it) => it.id),
    [added.id, primary.id],
  );
  await refused(own.domains.add({ name: second, is_satellite: true }), 422, 'form_already_exists', 'name');
  await own.domains.delete(added.id);
  assert.equal((await own.domains.list()).totalCount, 1);
  const last = await own.domains.add({ name: first, is_satellite: true });
  assertHas(await own.domains.deleteDomain(last.id), { id: last.id, deleted: true });
  await refused(own.domains.delete(primary.id), 403, 'operation_not_allowed_on_primary_domain');
  await refused(otherClerk.domains.delete(primary.id), 404, 'resource_not_found');
  await refused(own.domains.update({ domainId: unknownId('dmn'), name: second }), 404, 'resource_not_found');
  const proxied = own.domains.update({ domainId: primary.id, proxyUrl: 'https://example.com/__clerk' });
  await refused(proxied, 400, 'domain_update_forbidden', 'proxy_url');
});

test('satellites of the command line and of the API are the same', async () => {
  const name = `s${unique()}.example.org`;
  const { clerk, host } = await newProduction(undefined, [`satellites=[{"name": "${name}"}]`]);
  const { data } = await clerk.domains.list();
  assertHas(data[0], { name, isSatellite: true, frontendApiUrl: `https://clerk.${name}` });
  assertHas(data[0].cnameTargets[0], { host: `clerk.${name}`, value: host, required: true });
  assertHas(data[1], { isSatellite: false, frontendApiUrl: `https://${host}`, accountsPortalUrl: `https://${host}` });
});

test('a change of domain moves the Frontend API and signs everybody out', async () => {
  const production = await newProduction();
  const browser = new Browser();
  await production.signIn(browser);
  const sessions = async () => (await production.clerk.sessions.getSessionList({ userId: production.user.id })).data;
  assert.deepEqual((await sessions()).map((it) => it.status), ['active']);
  const domain = `n${unique()}.example.net`;
  await production.clerk.betaFeatures.changeDomain({ homeUrl: `https://${domain}`, isSecondary: true });
  const [primary] = (await production.clerk.domains.list()).data;
  assertHas(primary, { name: domain, frontendApiUrl: `https://clerk.${domain}` });
  assert.deepEqual((await sessions()).map((it) => it.status), ['revoked']);
  const environment = async (host) =>
    (await browser.visit(`https://${host}/v1/environment?__clerk_api_version=2026-05-12`)).status;
  assert.deepEqual([await environment(`clerk.${domain}`), await environment(production.host)], [200, 400]);
  const proxyUrl = `https://www.${domain}/__clerk`;
  assertHas(await production.clerk.domains.update({ domainId: primary.id, proxyUrl }), { proxyUrl });
  const other = production.clerk.betaFeatures.changeDomain({ homeUrl: 'https://co.uk' });
  await refused(other, 422, 'form_param_value_invalid', 'home_url');
  await refused(connectToNewInstance().betaFeatures.changeDomain({ homeUrl: `https://${domain}` }), 400, 'domain_update_forbidden');
});

/** What the SDKs do behind `proxyUrl`, on a port of its own. */
async function withProxy(headers, work) {
  const server = createServer(async (asked, answer) => {
    const there = `${frontendUrl}${asked.url.replace('/__clerk', '')}`;
    const passed = await fetch(there, { headers });
    answer.writeHead(passed.status, { 'content-type': 'application/json' });
    answer.end(await passed.text());
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await work(`http://127.0.0.1:${server.address().port}/__clerk`);
  } finally {
    server.close();
  }
}

test('a proxy is tried by way of the Frontend API', async () => {
  const own = connect(secretKey);
  const { data } = await own.domains.list();
  const primary = data.find((it) => !it.isSatellite);
  const headers = { 'clerk-proxy-url': 'http://localhost:3000/__clerk', 'clerk-secret-key': secretKey };
  await withProxy({ ...headers, 'x-forwarded-for': '127.0.0.1' }, async (proxyUrl) => {
    const check = await own.proxyChecks.verify({ domainId: primary.id, proxyUrl });
    assertHas(check, { domainId: primary.id, proxyUrl, successful: true });
    assert.match(check.id, idOf('proxchk'));
    const { body } = await request('POST', '/v1/proxy_checks', {
      body: { domain_id: primary.id, proxy_url: proxyUrl },
      headers: { 'clerk-api-version': '2021-02-05' },
    });
    assert.equal(body.object, 'proxy_check');
  });
  await withProxy({}, async (proxyUrl) => {
    const check = own.proxyChecks.verify({ domainId: primary.id, proxyUrl });
    await refused(check, 422, 'invalid_proxy_configuration', 'proxy_url');
  });
  const dead = own.proxyChecks.verify({ domainId: primary.id, proxyUrl: 'http://127.0.0.1:9/__clerk' });
  await refused(dead, 422, 'invalid_proxy_configuration', 'proxy_url');
});
