import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertHas, connectToNewInstance, refused } from './support.js';

test('the settings of an instance are shown and changed', async () => {
  const own = connectToNewInstance();
  assertHas(await own.instance.get(), { environmentType: 'development', allowedOrigins: [] });
  const origin = 'chrome-extension://abcdefghijklmnop';
  await own.instance.update({ allowedOrigins: [origin], supportEmail: 'help@example.com', hibp: false, testMode: true });
  assert.deepEqual((await own.instance.get()).allowedOrigins, [origin]);
  await refused(own.instance.update({ supportEmail: 'nobody' }), 422, 'form_param_value_invalid', 'support_email');
});

test('the settings of organizations are shown and changed', async () => {
  const own = connectToNewInstance();
  const changed = await own.instance.updateOrganizationSettings({ maxAllowedMemberships: 9, domainsEnabled: true });
  assertHas(changed, { enabled: true, maxAllowedMemberships: 9, domainsEnabled: true, creatorRole: 'org:admin' });
  const organization = await own.organizations.createOrganization({ name: 'Nine' });
  assert.equal(organization.maxAllowedMemberships, 9);
  assert.deepEqual(await own.instance.getOrganizationSettings(), changed);
  const off = await own.instance.updateOrganizationSettings({ enabled: false });
  assertHas(off, { enabled: false, domainsEnabled: false });
});

test('restrictions are changed and obeyed', async () => {
  const own = connectToNewInstance();
  const changed = await own.instance.updateRestrictions({ blocklist: true, blockEmailSubaddresses: true });
  assertHas(changed, { allowlist: false, blocklist: true, blockEmailSubaddresses: true, blockDisposableEmailDomains: false });
  await own.blocklistIdentifiers.createBlocklistIdentifier({ identifier: '*@blocked.example' });
  for (const address of ['ada@blocked.example', 'ada+1@example.com']) {
    await refused(own.users.createUser({ emailAddress: [address], skipPasswordRequirement: true }), 403, 'not_allowed_access', 'email_address');
  }
});
