// Domains of organizations: who may have which, and how people join by them. The SDK hands them out as they came.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  assertHas, clerk, connectToNewInstance, idOf, newUser, otherClerk, otherSecretKey, refused, request, signIn, unique, unknownId,
} from './support.js';

const newDomain = () => `${unique()}.example.com`;

/** The id of an organization with room for everybody. */
async function newOrganization() {
  const { id } = await clerk.organizations.createOrganization({ name: `Acme ${unique()}`, maxAllowedMemberships: 0 });
  return id;
}

const addDomain = (organizationId, params = {}) =>
  clerk.organizations.createOrganizationDomain({ organizationId, name: newDomain(), enrollmentMode: 'manual_invitation', ...params });
const domainsOf = async (organizationId, params = {}) =>
  (await clerk.organizations.getOrganizationDomainList({ organizationId, ...params })).data;
const ofInstance = async (query) => (await request('GET', `/v1/organization_domains?${query}`)).body;

test('a domain is added, verified at once, listed, changed and deleted', async () => {
  const organizationId = await newOrganization();
  const name = newDomain();
  const added = await addDomain(organizationId, { name: ` ${name.toUpperCase()} ` });
  assert.match(added.id, idOf('orgdmn'));
  assertHas(added, {
    object: 'organization_domain',
    organization_id: organizationId,
    name,
    enrollment_mode: 'manual_invitation',
    affiliation_email_address: null,
    ownership_verification: null,
    total_pending_invitations: 0,
    total_pending_suggestions: 0,
  });
  assertHas(added.verification, { status: 'verified', strategy: 'admin' });
  const path = { organizationId, domainId: added.id };
  const unverified = await clerk.organizations.updateOrganizationDomain({ ...path, verified: false });
  assert.equal(unverified.verification, null);
  const changed = await clerk.organizations.updateOrganizationDomain({ ...path, enrollmentMode: 'enterprise_sso', verified: true });
  assertHas(changed, { id: added.id, name, enrollment_mode: 'enterprise_sso' });
  assert.equal(changed.verification.status, 'verified');
  assert.deepEqual(await domainsOf(organizationId), [changed]);
  assertHas(await clerk.organizations.deleteOrganizationDomain(path), { id: added.id, deleted: true });
  assert.deepEqual(await domainsOf(organizationId), []);
  await refused(clerk.organizations.deleteOrganizationDomain(path), 404, 'resource_not_found');
  await refused(clerk.organizations.updateOrganizationDomain({ ...path, verified: true }), 404, 'resource_not_found');
});

test('the domains of an organization are filtered and paged', async () => {
  const organizationId = await newOrganization();
  const [manual, suggesting, unproven] = [
    await addDomain(organizationId),
    await addDomain(organizationId, { enrollmentMode: 'automatic_suggestion' }),
    await addDomain(organizationId, { verified: false }),
  ];
  const page = await clerk.organizations.getOrganizationDomainList({ organizationId, limit: 1, offset: 1 });
  assert.equal(page.totalCount, 3);
  assert.equal(page.data.length, 1);
  const names = async (params) => (await domainsOf(organizationId, params)).map(({ name }) => name).sort();
  assert.deepEqual(await names({}), [manual.name, suggesting.name, unproven.name].sort());
  assert.deepEqual(await names({ verified: 'false' }), [unproven.name]);
  assert.deepEqual(await names({ enrollmentMode: 'automatic_suggestion' }), [suggesting.name]);
  assert.deepEqual(await names({ verified: 'true', enrollmentMode: '-automatic_suggestion' }), [manual.name]);
  await refused(domainsOf(organizationId, { enrollmentMode: 'automatic' }), 422, 'form_param_value_invalid', 'enrollment_mode');
  await refused(domainsOf(organizationId, { limit: 501 }), 422, 'form_param_value_too_large', 'limit');
  await refused(domainsOf(unknownId('org')), 404, 'resource_not_found');
});

test('a domain is refused that nobody can own, everybody uses, or another organization has', async () => {
  const organizationId = await newOrganization();
  for (const name of ['localhost', 'co.uk', 'a b.com', 'https://example.com', 'x@example.com', '']) {
    await refused(addDomain(organizationId, { name }), 422, 'form_param_format_invalid', 'name');
  }
  await refused(addDomain(organizationId, { name: undefined }), 422, 'form_param_missing', 'name');
  await refused(addDomain(organizationId, { name: 'gmail.com' }), 422, 'organization_domain_common', 'name');
  const { name } = await addDomain(organizationId);
  await refused(addDomain(organizationId, { name }), 422, 'organization_domain_already_exists_same_organization', 'name');
  const other = await newOrganization();
  await refused(addDomain(other, { name }), 422, 'organization_domain_already_exists', 'name');
  // Whoever has not proven it does not have it yet.
  const unproven = await addDomain(other, { name, verified: false });
  const proving = clerk.organizations.updateOrganizationDomain({ organizationId: other, domainId: unproven.id, verified: true });
  await refused(proving, 422, 'organization_domain_already_exists', 'name');
  await refused(addDomain(unknownId('org')), 404, 'resource_not_found');
});

test('an organization has at most ten domains', async () => {
  const organizationId = await newOrganization();
  for (let count = 0; count < 10; count += 1) await addDomain(organizationId);
  await refused(addDomain(organizationId), 403, 'organization_domain_quota_exceeded');
});

test('the ownership of a domain is confirmed once', async () => {
  const organizationId = await newOrganization();
  const { id } = await addDomain(organizationId, { verified: false });
  const confirm = (domainId = id, key) => request('POST', `/v1/organizations/${organizationId}/domains/${domainId}/verify_ownership`, { key });
  const first = await confirm();
  assert.equal(first.status, 200);
  assertHas(first.body.ownership_verification, { status: 'verified', strategy: 'manual_override', attempts: null, expire_at: null });
  // It says nothing about the people of the domain.
  assert.equal(first.body.affiliation_verification, null);
  assert.deepEqual((await confirm()).body, first.body);
  for (const [domainId, key] of [[id, otherSecretKey], [unknownId('orgdmn'), undefined]]) {
    const answer = await confirm(domainId, key);
    assert.deepEqual([answer.status, answer.body.errors[0].code], [404, 'resource_not_found']);
  }
});

test('domains of all organizations are searched and ordered', async () => {
  const [first, second] = [await newOrganization(), await newOrganization()];
  const mark = unique();
  await addDomain(first, { name: `a-${mark}.example.com` });
  await addDomain(first, { name: `c-${mark}.example.com`, verified: false });
  await addDomain(second, { name: `b-${mark}.example.com`, enrollmentMode: 'automatic_invitation' });
  const letters = async (query) => (await ofInstance(query)).data.map(({ name }) => name[0]).join('');
  assert.equal(await letters(`query=${mark.toUpperCase()}&order_by=name`), 'abc');
  assert.equal(await letters(`query=${mark}&order_by=-name`), 'cba');
  assert.equal(await letters(`query=${mark}&order_by=%2Bcreated_at`), 'acb');
  assert.equal(await letters(`query=${first}&order_by=name`), 'ac');
  assert.equal(await letters(`organization_id=${second}`), 'b');
  assert.equal(await letters(`query=${mark}&verified=false`), 'c');
  assert.equal(await letters(`query=${mark}&enrollment_mode=-manual_invitation`), 'b');
  assert.equal(await letters(`domains=a-${mark}.example.com&domains=b-${mark}.example.com&order_by=name`), 'ab');
  const page = await ofInstance(`query=${mark}&limit=1&offset=1&order_by=name`);
  assert.deepEqual([page.total_count, page.data.map(({ name }) => name[0])], [3, ['b']]);
  assert.equal(page.data[0].public_organization_data.id, second);
  const empty = await request('GET', '/v1/organization_domains?query=%20');
  assert.deepEqual([empty.status, empty.body.errors[0].code], [422, 'form_param_value_invalid']);
  const elsewhere = await request('GET', `/v1/organization_domains?query=${mark}`, { key: otherSecretKey });
  assert.deepEqual(elsewhere.body, { data: [], total_count: 0 });
});

test('an invitation waits for everybody with an address of the domain, now and later', async () => {
  const organizationId = await newOrganization();
  const name = newDomain();
  const already = await newUser({ emailAddress: [`ann@${name}`] });
  const stranger = await newUser({ emailAddress: [`ann@sub.${name}`] });
  const { id: domainId } = await addDomain(organizationId, { name, enrollmentMode: 'automatic_invitation' });
  const later = await newUser({ emailAddress: [`ben@${name}`] });
  const pendingOf = async ({ id: userId }) => (await clerk.users.getOrganizationInvitationList({ userId, status: 'pending' })).data;
  for (const user of [already, later]) {
    const [invitation, ...others] = await pendingOf(user);
    assert.deepEqual(others, []);
    assertHas(invitation, { role: 'org:member', emailAddress: user.primaryEmailAddress.emailAddress });
    assert.equal(invitation.publicOrganizationData.id, organizationId);
  }
  assert.deepEqual(await pendingOf(stranger), []);
  assert.equal((await domainsOf(organizationId))[0].total_pending_invitations, 2);
  // As published, the organization's own list does not show them.
  assert.equal((await clerk.organizations.getOrganizationInvitationList({ organizationId })).totalCount, 0);

  const [invitation] = await pendingOf(later);
  const { ask } = await signIn(later.id);
  assert.equal((await ask('POST', `/me/organization_invitations/${invitation.id}/accept`)).status, 200);
  const { data } = await clerk.organizations.getOrganizationMembershipList({ organizationId });
  assert.deepEqual(data.map(({ role, publicUserData }) => [role, publicUserData.userId]), [['org:member', later.id]]);
  // Nobody is the organization's because of a domain that it no longer has.
  await clerk.organizations.deleteOrganizationDomain({ organizationId, domainId });
  assert.deepEqual(await pendingOf(already), []);
});

test('the organization is suggested to everybody with an address of the domain', async () => {
  const organizationId = await newOrganization();
  const { name, id: domainId } = await addDomain(organizationId);
  const user = await newUser({ emailAddress: [`ann@${name}`] });
  const { ask } = await signIn(user.id);
  const suggested = async () => (await ask('GET', '/me/organization_suggestions')).body.response.data;
  assert.deepEqual(await suggested(), []);
  const path = { organizationId, domainId };
  await clerk.organizations.updateOrganizationDomain({ ...path, enrollmentMode: 'automatic_suggestion' });
  const [suggestion] = await suggested();
  assertHas(suggestion, { status: 'pending' });
  assert.equal(suggestion.public_organization_data.id, organizationId);
  assert.equal((await domainsOf(organizationId))[0].total_pending_suggestions, 1);
  await clerk.organizations.updateOrganizationDomain({ ...path, verified: false });
  assert.deepEqual(await suggested(), []);
});

test('domains and modes must be enabled', async () => {
  const without = connectToNewInstance();
  const organization = await without.organizations.createOrganization({ name: 'Acme' });
  const ids = { organizationId: organization.id, domainId: unknownId('orgdmn') };
  const body = { organizationId: organization.id, name: 'example.com', enrollmentMode: 'manual_invitation' };
  await refused(without.organizations.createOrganizationDomain(body), 403, 'organization_domains_not_enabled');
  await refused(without.organizations.getOrganizationDomainList(ids), 403, 'organization_domains_not_enabled');
  await refused(without.organizations.updateOrganizationDomain({ ...ids, verified: true }), 403, 'organization_domains_not_enabled');
  await refused(without.organizations.deleteOrganizationDomain(ids), 403, 'organization_domains_not_enabled');

  const manual = connectToNewInstance('organizations.domains=true');
  const { id: organizationId } = await manual.organizations.createOrganization({ name: 'Acme' });
  const create = (enrollmentMode) => manual.organizations.createOrganizationDomain({ organizationId, name: 'example.com', enrollmentMode });
  for (const mode of ['automatic_invitation', 'automatic_suggestion']) {
    await refused(create(mode), 403, 'organization_domain_enrollment_mode_not_enabled', 'enrollment_mode');
  }
  await refused(create('by_luck'), 422, 'form_param_value_invalid', 'enrollment_mode');
  const { id: domainId } = await create('manual_invitation');
  const change = manual.organizations.updateOrganizationDomain({ organizationId, domainId, enrollmentMode: 'automatic_invitation' });
  await refused(change, 403, 'organization_domain_enrollment_mode_not_enabled', 'enrollment_mode');
});

test('domains of another instance, or of another organization, are not found', async () => {
  const organizationId = await newOrganization();
  const { id: domainId } = await addDomain(organizationId);
  const before = await domainsOf(organizationId);
  const { organizations } = otherClerk;
  const body = { organizationId, name: newDomain(), enrollmentMode: 'manual_invitation' };
  await refused(organizations.createOrganizationDomain(body), 404, 'resource_not_found');
  await refused(organizations.getOrganizationDomainList({ organizationId }), 404, 'resource_not_found');
  const foreign = { organizationId: await newOrganization(), domainId };
  for (const [by, path] of [[organizations, { organizationId, domainId }], [clerk.organizations, foreign]]) {
    await refused(by.updateOrganizationDomain({ ...path, verified: false }), 404, 'resource_not_found');
    await refused(by.deleteOrganizationDomain(path), 404, 'resource_not_found');
  }
  assert.deepEqual(await domainsOf(organizationId), before);
});
