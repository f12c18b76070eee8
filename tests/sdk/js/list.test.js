import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import { connectToNewInstance, refused, unknownId } from './support.js';

const clerk = connectToNewInstance();
const users = {};

const PEOPLE = [
  { firstName: 'Anna', lastName: 'Zimmer', username: 'walnut', phone: '+14155552001', wallet: 'd1', year: 2020 },
  { firstName: 'Bert', lastName: 'Young', username: 'xylophone', phone: '+13125552002', wallet: 'c2', year: 2021 },
  { firstName: 'Carl', lastName: 'Xavier', username: 'yodel', phone: '+12125552003', wallet: 'b3', year: 2022 },
  { firstName: 'Dora', lastName: 'Winter', username: 'zebra', phone: '+16175552004', wallet: 'a4', year: 2023 },
];
const EMAILS = { Anna: 'm.one@delta.example', Bert: 'l.two@gamma.example', Carl: 'k.three@beta.example', Dora: 'j.four@alpha.example' };
const wallet = (digits) => `0x${digits.repeat(20)}`;
const NEW_YEAR_2022 = Date.UTC(2022, 0, 1);

before(async () => {
  for (const person of PEOPLE) {
    users[person.firstName] = await clerk.users.createUser({
      firstName: person.firstName,
      lastName: person.lastName,
      username: person.username,
      emailAddress: [EMAILS[person.firstName]],
      phoneNumber: [person.phone],
      web3Wallet: [wallet(person.wallet)],
      externalId: `external-${person.firstName}`,
      createdAt: new Date(Date.UTC(person.year, 5, 1)),
      banned: person.firstName === 'Carl',
    });
  }
});

async function names(params) {
  const { data } = await clerk.users.getUserList(params);
  return data.map((user) => user.firstName).join(' ');
}

test('users are listed newest first, with the count of all', async () => {
  const { data, totalCount } = await clerk.users.getUserList();
  assert.deepEqual(data.map((user) => user.firstName), ['Dora', 'Carl', 'Bert', 'Anna']);
  assert.equal(totalCount, 4);
  assert.deepEqual(data[3].raw, users.Anna.raw);
});

test('limit and offset cut a page out of the list', async () => {
  const page = await clerk.users.getUserList({ limit: 2 });
  assert.deepEqual(page.data.map((user) => user.firstName), ['Dora', 'Carl']);
  assert.equal(page.totalCount, 4);
  assert.equal(await names({ limit: 2, offset: 2 }), 'Bert Anna');
  assert.equal(await names({ limit: 2, offset: 3 }), 'Anna');
  assert.equal(await names({ offset: 4 }), '');
  assert.equal(await names({ limit: 500 }), 'Dora Carl Bert Anna');
});

test('limits and offsets out of range are refused', async () => {
  await refused(clerk.users.getUserList({ limit: 501 }), 422, undefined, 'limit');
  await refused(clerk.users.getUserList({ limit: -1 }), 422, undefined, 'limit');
  await refused(clerk.users.getUserList({ offset: -1 }), 422, undefined, 'offset');
});

test('the list is ordered by each field in both directions', async (t) => {
  const ascending = {
    created_at: 'Anna Bert Carl Dora',
    first_name: 'Anna Bert Carl Dora',
    last_name: 'Dora Carl Bert Anna',
    username: 'Anna Bert Carl Dora',
    email_address: 'Dora Carl Bert Anna',
    phone_number: 'Carl Bert Anna Dora',
    web3wallet: 'Dora Carl Bert Anna',
  };
  for (const [field, order] of Object.entries(ascending)) {
    await t.test(field, async () => {
      assert.equal(await names({ orderBy: field }), order);
      assert.equal(await names({ orderBy: `+${field}` }), order);
      assert.equal(await names({ orderBy: `-${field}` }), order.split(' ').reverse().join(' '));
    });
  }
});

test('the list is ordered by the time of the last update', async () => {
  const times = async (orderBy) => (await clerk.users.getUserList({ orderBy })).data.map((user) => user.updatedAt);
  const ascending = await times('updated_at');
  assert.equal(ascending.length, 4);
  assert.deepEqual(ascending, [...ascending].sort((a, b) => a - b));
  assert.deepEqual(await times('-updated_at'), [...ascending].reverse());
});

test('ordering by activity keeps users that never signed in', async () => {
  for (const orderBy of ['last_active_at', '-last_active_at', 'last_sign_in_at', '-last_sign_in_at']) {
    assert.equal((await clerk.users.getUserList({ orderBy })).data.length, 4);
  }
});

test('only the first of several orders is used, and an unknown one is refused', async () => {
  assert.equal(await names({ orderBy: ['+first_name', '-created_at'] }), 'Anna Bert Carl Dora');
  await refused(clerk.users.getUserList({ orderBy: 'password' }), 422, undefined, 'order_by');
});

test('the list and the count are filtered alike', async (t) => {
  const { Anna, Bert, Carl, Dora } = users;
  const cases = [
    [{ emailAddress: [EMAILS.Anna] }, 'Anna'],
    [{ emailAddress: [EMAILS.Anna.toUpperCase()] }, 'Anna'],
    [{ emailAddress: [EMAILS.Anna, EMAILS.Dora, 'nobody@example.com'] }, 'Dora Anna'],
    [{ emailAddress: ['nobody@example.com'] }, ''],
    [{ phoneNumber: ['+13125552002', '+16175552004'] }, 'Dora Bert'],
    [{ username: ['yodel', 'nobody'] }, 'Carl'],
    [{ web3Wallet: [wallet('c2')] }, 'Bert'],
    [{ userId: [Anna.id, Bert.id] }, 'Bert Anna'],
    [{ userId: [`+${Anna.id}`, `+${Bert.id}`] }, 'Bert Anna'],
    [{ userId: [`-${Anna.id}`, `-${Bert.id}`] }, 'Dora Carl'],
    [{ userId: [unknownId('user')] }, ''],
    [{ externalId: ['external-Carl'] }, 'Carl'],
    [{ externalId: ['+external-Carl', '+external-Dora'] }, 'Dora Carl'],
    [{ externalId: ['-external-Carl'] }, 'Dora Bert Anna'],
    [{ organizationId: [unknownId('org')] }, ''],
    [{ query: 'GAMMA' }, 'Bert'],
    [{ query: '555200' }, 'Dora Carl Bert Anna'],
    [{ query: '3125552' }, 'Bert'],
    [{ query: 'YLOPH' }, 'Bert'],
    [{ query: 'b3b3b3' }, 'Carl'],
    [{ query: Dora.id }, 'Dora'],
    [{ query: 'dora' }, 'Dora'],
    [{ query: 'imme' }, 'Anna'],
    [{ query: 'example' }, 'Dora Carl Bert Anna'],
    [{ query: '100%' }, ''],
    [{ query: 'z_b' }, ''],
    [{ emailAddressQuery: 'ONE@DEL' }, 'Anna'],
    [{ emailAddressQuery: 'j.' }, 'Dora'],
    [{ emailAddressQuery: 'walnut' }, ''],
    [{ phoneNumberQuery: '2003' }, 'Carl'],
    [{ usernameQuery: 'ODE' }, 'Carl'],
    [{ usernameQuery: 'carl' }, ''],
    [{ nameQuery: 'CARL' }, 'Carl'],
    [{ nameQuery: 'inte' }, 'Dora'],
    [{ nameQuery: 'zebra' }, ''],
    [{ banned: true }, 'Carl'],
    [{ banned: 'false' }, 'Dora Bert Anna'],
    [{ createdAtBefore: NEW_YEAR_2022 }, 'Bert Anna'],
    [{ createdAtAfter: NEW_YEAR_2022 }, 'Dora Carl'],
    [{ createdAtAfter: Date.UTC(2021, 0, 1), createdAtBefore: NEW_YEAR_2022 }, 'Bert'],
    [{ lastActiveAtAfter: 1 }, ''],
    [{ lastActiveAtBefore: Date.now() }, ''],
    [{ last_active_at_since: 1 }, ''],
    [{ lastSignInAtAfter: 1 }, ''],
    [{ lastSignInAtBefore: Date.now() }, ''],
    [{ provider: 'oauth_google', providerUserId: ['12345'] }, ''],
    [{ query: 'example', banned: true, userId: [Carl.id, Dora.id] }, 'Carl'],
  ];
  for (const [params, expected] of cases) {
    await t.test(`${JSON.stringify(params)} gives ${expected || 'nobody'}`, async () => {
      const { data, totalCount } = await clerk.users.getUserList(params);
      assert.equal(data.map((user) => user.firstName).join(' '), expected);
      assert.equal(totalCount, data.length);
      assert.equal(await clerk.users.getCount(params), data.length);
    });
  }
});

test('a list of filter values may have 100 entries and not more', async () => {
  const emails = (count) => Array.from({ length: count }, (_, index) => `nobody${index}@example.com`);
  assert.equal(await names({ emailAddress: [EMAILS.Anna, ...emails(99)] }), 'Anna');
  const tooMany = { emailAddress: emails(101) };
  await refused(clerk.users.getUserList(tooMany), 422, 'form_param_array_size_exceeded', 'email_address');
  await refused(clerk.users.getCount(tooMany), 422, 'form_param_array_size_exceeded', 'email_address');
});

test('a provider without its user ids is refused, and the other way round', async () => {
  await refused(clerk.users.getUserList({ provider: 'oauth_google' }), 422);
  await refused(clerk.users.getUserList({ providerUserId: ['12345'] }), 422);
});

test('a cursor walks the list in both directions without gaps', async () => {
  for (const [orderBy, pages] of [
    [undefined, ['Dora Carl', 'Bert Anna', '']],
    ['-created_at', ['Dora Carl', 'Bert Anna', '']],
    ['created_at', ['Anna Bert', 'Carl Dora', '']],
    ['+created_at', ['Anna Bert', 'Carl Dora', '']],
  ]) {
    let startingAfter;
    for (const expected of pages) {
      const { data } = await clerk.users.getUserList({ limit: 2, orderBy, startingAfter });
      assert.equal(data.map((user) => user.firstName).join(' '), expected);
      startingAfter = data.at(-1)?.id;
    }
  }
});

test('a cursor needs the order of creation and no offset', async () => {
  const startingAfter = users.Dora.id;
  await refused(clerk.users.getUserList({ startingAfter, orderBy: 'username' }), 422);
  await refused(clerk.users.getUserList({ startingAfter, orderBy: '-updated_at' }), 422);
  await refused(clerk.users.getUserList({ startingAfter, offset: 1 }), 422);
});
