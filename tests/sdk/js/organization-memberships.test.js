// Members of organizations: filters, orders, metadata, limits, and the lists of a user and of the instance.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import {
  assertHas, clerk, connectToNewInstance, newEmail, newPhone, newUser, newUsername, newWallet, refused, request, unique, unknownId,
} from './support.js';

const newOrganization = (params = {}) => clerk.organizations.createOrganization({ name: `Acme ${unique()}`, maxAllowedMemberships: 0, ...params });
const join = (organizationId, userId, role = 'org:member') => clerk.organizations.createOrganizationMembership({ organizationId, userId, role });
const userIds = ({ data }) => data.map(({ publicUserData }) => publicUserData.userId);

let organizationId;
let ada;
let zoe;

before(async () => {
  organizationId = (await newOrganization()).id;
  ada = await newUser({
    emailAddress: [`a${newEmail()}`], phoneNumber: [newPhone()], username: `a${newUsername()}`, web3Wallet: [newWallet()], firstName: 'Ada', lastName: 'Young',
  });
  zoe = await newUser({ emailAddress: [`z${newEmail()}`], username: `z${newUsername()}`, firstName: 'Zoë', lastName: 'Adler' });
  await join(organizationId, ada.id, 'org:admin');
  await join(organizationId, zoe.id);
});

test('members are found by what their users are found by', async (t) => {
  const list = async (params) => {
    const found = await clerk.organizations.getOrganizationMembershipList({ organizationId, ...params });
    assert.equal(found.totalCount, found.data.length);
    return userIds(found);
  };
  const cases = [
    [{ userId: [ada.id] }, [ada]],
    [{ userId: [`-${ada.id}`] }, [zoe]],
    [{ emailAddress: [zoe.primaryEmailAddress.emailAddress] }, [zoe]],
    [{ phoneNumber: [ada.primaryPhoneNumber.phoneNumber] }, [ada]],
    [{ username: [ada.username, zoe.username] }, [zoe, ada]],
    [{ web3Wallet: [ada.web3Wallets[0].web3Wallet] }, [ada]],
    [{ role: ['org:admin'] }, [ada]],
    [{ role: ['org:admin', 'org:member'] }, [zoe, ada]],
    [{ role: ['org:nobody'] }, []],
    [{ query: 'YOUNG' }, [ada]],
    [{ query: zoe.id }, [zoe]],
    [{ emailAddressQuery: ada.primaryEmailAddress.emailAddress.slice(1, 12) }, [ada]],
    [{ phoneNumberQuery: ada.primaryPhoneNumber.phoneNumber.slice(4) }, [ada]],
    [{ usernameQuery: zoe.username.slice(3, 15) }, [zoe]],
    [{ nameQuery: 'ada you' }, [ada]],
    [{ createdAtBefore: zoe.createdAt + 1, createdAtAfter: ada.createdAt - 1 }, [zoe, ada]],
    [{ createdAtAfter: Date.now() + 60_000 }, []],
    [{ lastActiveAtAfter: 1 }, []],
    [{ userId: [unknownId('user')] }, []],
  ];
  for (const [params, expected] of cases) {
    await t.test(JSON.stringify(params), async () => assert.deepEqual(await list(params), expected.map(({ id }) => id)));
  }
});

test('members are ordered and paged', async () => {
  const list = async (params) => userIds(await clerk.organizations.getOrganizationMembershipList({ organizationId, ...params }));
  for (const orderBy of ['created_at', 'first_name', 'email_address', 'username', '-last_name']) {
    assert.deepEqual(await list({ orderBy }), [ada.id, zoe.id], orderBy);
  }
  for (const orderBy of ['-created_at', '-first_name', '-email_address', '-username', '+last_name']) {
    assert.deepEqual(await list({ orderBy }), [zoe.id, ada.id], orderBy);
  }
  // Whoever has no number comes last, whichever way.
  for (const orderBy of ['phone_number', '-phone_number']) {
    assert.deepEqual(await list({ orderBy }), [ada.id, zoe.id], orderBy);
  }
  const page = await clerk.organizations.getOrganizationMembershipList({ organizationId, limit: 1, offset: 1, orderBy: 'created_at' });
  assert.deepEqual([userIds(page), page.totalCount], [[zoe.id], 2]);
  await refused(list({ orderBy: 'age' }), 422, 'form_param_value_invalid', 'order_by');
  await refused(list({ limit: 501 }), 422, 'form_param_value_too_large', 'limit');
  const unknown = clerk.organizations.getOrganizationMembershipList({ organizationId: unknownId('org') });
  await refused(unknown, 404, 'resource_not_found');
});

test('a membership shows its user and its organization', async () => {
  const { data: [membership] } = await clerk.organizations.getOrganizationMembershipList({ organizationId, userId: [ada.id] });
  assertHas(membership.publicUserData, {
    userId: ada.id, identifier: ada.primaryEmailAddress.emailAddress, firstName: 'Ada', lastName: 'Young', hasImage: false, imageUrl: ada.imageUrl,
  });
  assert.equal(membership.organization.id, organizationId);
  assertHas(membership.raw, { role: 'org:admin', role_name: 'Admin' });
});

test('somebody becomes a member who is a user, in a role that members can have', async () => {
  const { id } = await newUser();
  await refused(join(unknownId('org'), id), 404, 'resource_not_found');
  await refused(join(organizationId, unknownId('user')), 404, 'resource_not_found');
  await refused(join(organizationId, id, 'org:owner'), 422, 'form_resource_not_found', 'role');
  const without = await request('POST', `/v1/organizations/${organizationId}/memberships`, { body: { user_id: id } });
  assert.deepEqual([without.status, without.body.errors[0].code], [422, 'form_param_missing']);
  assert.equal((await clerk.users.getOrganizationMembershipList({ userId: id })).totalCount, 0);
});

test('an organization has no more members than it may', async () => {
  const { id } = await newOrganization({ maxAllowedMemberships: 1 });
  const [first, second] = [await newUser(), await newUser()];
  await join(id, first.id, 'org:admin');
  await refused(join(id, second.id), 403, 'organization_membership_quota_exceeded');
  await clerk.organizations.updateOrganization(id, { maxAllowedMemberships: 2 });
  await join(id, second.id);
  assert.equal((await clerk.organizations.getOrganization({ organizationId: id, includeMembersCount: true })).membersCount, 2);
});

test('roles change while somebody is left who manages the organization', async () => {
  const { id } = await newOrganization();
  const [admin, member] = [await newUser(), await newUser()];
  await join(id, admin.id, 'org:admin');
  await join(id, member.id);
  const change = (userId, role) => clerk.organizations.updateOrganizationMembership({ organizationId: id, userId, role });
  await refused(change(admin.id, 'org:member'), 400, 'organization_minimum_permissions_needed');
  await refused(change(member.id, 'org:owner'), 422, 'form_resource_not_found', 'role');
  const promoted = await change(member.id, 'org:admin');
  assert.ok(promoted.permissions.includes('org:sys_profile:manage'));
  const demoted = await change(admin.id, 'org:member');
  assertHas(demoted, { role: 'org:member' });
  assert.ok(!demoted.permissions.includes('org:sys_profile:manage'));
  await refused(change(unknownId('user'), 'org:member'), 404, 'resource_not_found');
  const removed = await clerk.organizations.deleteOrganizationMembership({ organizationId: id, userId: admin.id });
  assert.equal(removed.publicUserData.userId, admin.id);
  await refused(clerk.organizations.deleteOrganizationMembership({ organizationId: id, userId: admin.id }), 404, 'resource_not_found');
});

test('metadata of a membership is merged at every depth', async () => {
  const change = (params, userId = zoe.id) => clerk.organizations.updateOrganizationMembershipMetadata({ organizationId, userId, ...params });
  await change({ publicMetadata: { seat: { row: 1, place: 2 }, old: true }, privateMetadata: { cost: 3 } });
  const merged = await change({ publicMetadata: { seat: { place: 4 }, old: null } });
  assertHas(merged, { publicMetadata: { seat: { row: 1, place: 4 } }, privateMetadata: { cost: 3 }, role: 'org:member' });
  const { data: [found] } = await clerk.organizations.getOrganizationMembershipList({ organizationId, userId: [zoe.id] });
  assert.deepEqual(found.raw, merged.raw);
  await refused(change({ publicMetadata: { text: 'x'.repeat(9 * 1024) } }), 422, 'form_param_exceeds_allowed_size', 'public_metadata');
  await refused(change({ publicMetadata: {} }, unknownId('user')), 404, 'resource_not_found');
});

test('a membership is created with metadata', async () => {
  const { id } = await newUser();
  const made = await request('POST', `/v1/organizations/${organizationId}/memberships`, {
    body: { user_id: id, role: 'org:member', public_metadata: { team: 'a' }, private_metadata: { cost: 1 } },
  });
  assertHas(made.body, { public_metadata: { team: 'a' }, private_metadata: { cost: 1 } });
  await clerk.organizations.deleteOrganizationMembership({ organizationId, userId: id });
});

test('the memberships of a user are listed, newest first', async () => {
  const user = await newUser();
  const joined = [];
  for (const role of ['org:admin', 'org:member', 'org:member']) {
    const { id } = await newOrganization();
    await join(id, user.id, role);
    joined.unshift(id);
  }
  const list = async (params) => clerk.users.getOrganizationMembershipList({ userId: user.id, ...params });
  const all = await list({});
  assert.deepEqual([all.data.map(({ organization }) => organization.id), all.totalCount], [joined, 3]);
  const page = await list({ limit: 1, offset: 2 });
  assert.deepEqual([page.data.map(({ role }) => role), page.totalCount], [['org:admin'], 3]);
  await clerk.organizations.deleteOrganization(joined[0]);
  assert.deepEqual((await list({})).data.map(({ organization }) => organization.id), joined.slice(1));
  await refused(clerk.users.getOrganizationMembershipList({ userId: unknownId('user') }), 404, 'resource_not_found');
});

test('the memberships of all organizations are ordered and paged', async () => {
  const empty = connectToNewInstance();
  const users = [];
  for (const name of ['Cleo', 'Ben', 'Ann']) users.push(await empty.users.createUser({ emailAddress: [`${name}@example.com`], firstName: name }));
  for (const [at, user] of users.entries()) {
    const { id } = await empty.organizations.createOrganization({ name: `Acme ${at}` });
    await empty.organizations.createOrganizationMembership({ organizationId: id, userId: user.id, role: 'org:admin' });
  }
  const names = async (params) => {
    const { data } = await empty.organizations.getInstanceOrganizationMembershipList(params);
    return data.map(({ publicUserData }) => publicUserData.firstName).join(' ');
  };
  assert.equal(await names({}), 'Ann Ben Cleo');
  assert.equal(await names({ orderBy: 'created_at' }), 'Cleo Ben Ann');
  assert.equal(await names({ orderBy: '-first_name' }), 'Cleo Ben Ann');
  assert.equal(await names({ orderBy: 'email_address', limit: 1, offset: 1 }), 'Ben');
  assert.equal((await empty.organizations.getInstanceOrganizationMembershipList({ limit: 1 })).totalCount, 3);
  await refused(names({ orderBy: 'age' }), 422, 'form_param_value_invalid', 'order_by');
});

test('users are listed and counted by their organizations', async () => {
  const { id: other } = await newOrganization();
  const both = await newUser();
  for (const id of [organizationId, other]) await join(id, both.id, 'org:admin');
  const list = async (...organizations) => (await clerk.users.getUserList({ organizationId: organizations, orderBy: '+created_at' })).data.map(({ id }) => id);
  assert.deepEqual(await list(other), [both.id]);
  assert.deepEqual(await list(organizationId, other), [ada.id, zoe.id, both.id]);
  assert.deepEqual(await list(organizationId, `-${other}`), [ada.id, zoe.id]);
  assert.deepEqual(await list(unknownId('org')), []);
  assert.equal(await clerk.users.getCount({ organizationId: [organizationId] }), 3);
  assert.equal(await clerk.users.getCount({ organizationId: [organizationId, `-${other}`] }), 2);
  await clerk.organizations.deleteOrganizationMembership({ organizationId, userId: both.id });
  assert.equal(await clerk.users.getCount({ organizationId: [organizationId] }), 2);
  // Whoever is deleted is no member any more.
  await clerk.users.deleteUser(both.id);
  assert.deepEqual(await list(other), []);
});
