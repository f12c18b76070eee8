import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  assertHas,
  clerk,
  idOf,
  newEmail,
  newPassword,
  newPhone,
  newTotpSecret,
  newUser,
  newUsername,
  newWallet,
  refused,
  unique,
  unknownId,
} from './support.js';

const VERIFIED_BY_ADMIN = { object: 'verification_admin', status: 'verified', strategy: 'admin', attempts: null, expire_at: null };

test('a user created with every field has every value', async () => {
  const [email, reservedEmail, phone, reservedPhone] = [newEmail(), newEmail(), newPhone(), newPhone()];
  const [wallet, username, password, externalId] = [newWallet(), newUsername(), newPassword(), unique()];
  const user = await clerk.users.createUser({
    externalId,
    firstName: 'Ada',
    lastName: 'Lovelace',
    locale: 'en-GB',
    timezone: 'Europe/London',
    emailAddress: [email, reservedEmail],
    emailAddressIdentificationStatus: ['verified', 'reserved'],
    phoneNumber: [phone, reservedPhone],
    phoneNumberIdentificationStatus: ['verified', 'reserved'],
    web3Wallet: [wallet],
    username,
    password,
    totpSecret: newTotpSecret(),
    backupCodes: ['first-code', 'second-code'],
    publicMetadata: { plan: 'pro', camelCase: { innerKey: [1, 2.5, 'three', null, true] } },
    privateMetadata: { internalNote: 'vip' },
    unsafeMetadata: { theme: 'dark' },
    deleteSelfEnabled: false,
    createOrganizationEnabled: false,
    createOrganizationsLimit: 3,
    bypassClientTrust: true,
    createdAt: new Date('2020-02-03T04:05:06.789Z'),
    legalAcceptedAt: new Date('2020-02-03T04:05:07.001Z'),
  });

  assert.match(user.id, idOf('user'));
  assertHas(user, {
    externalId,
    firstName: 'Ada',
    lastName: 'Lovelace',
    fullName: 'Ada Lovelace',
    locale: 'en-GB',
    timezone: 'Europe/London',
    deprovisioned: false,
    username,
    passwordEnabled: true,
    totpEnabled: true,
    backupCodeEnabled: true,
    twoFactorEnabled: true,
    publicMetadata: { plan: 'pro', camelCase: { innerKey: [1, 2.5, 'three', null, true] } },
    privateMetadata: { internalNote: 'vip' },
    unsafeMetadata: { theme: 'dark' },
    deleteSelfEnabled: false,
    createOrganizationEnabled: false,
    createOrganizationsLimit: 3,
    createdAt: Date.UTC(2020, 1, 3, 4, 5, 6, 789),
    legalAcceptedAt: Date.UTC(2020, 1, 3, 4, 5, 7, 1),
    lastSignInAt: null,
    lastActiveAt: null,
    banned: false,
    locked: false,
    hasImage: false,
  });
  assert.equal(user.raw.bypass_client_trust, true);
  assert.equal(typeof user.raw.mfa_enabled_at, 'number');
  assert.equal(user.raw.mfa_disabled_at, null);

  assert.equal(user.primaryEmailAddress.emailAddress, email);
  assert.equal(user.primaryPhoneNumber.phoneNumber, phone);
  assert.equal(user.primaryWeb3Wallet.web3Wallet, wallet);
  const emails = Object.fromEntries(user.raw.email_addresses.map((item) => [item.email_address, item]));
  assert.deepEqual(Object.keys(emails).sort(), [email, reservedEmail].sort());
  assertHas(emails[email], { object: 'email_address', reserved: false, verification: VERIFIED_BY_ADMIN, linked_to: [] });
  assertHas(emails[reservedEmail], { object: 'email_address', reserved: true, verification: null, linked_to: [] });
  const phones = Object.fromEntries(user.raw.phone_numbers.map((item) => [item.phone_number, item]));
  assert.deepEqual(Object.keys(phones).sort(), [phone, reservedPhone].sort());
  assertHas(phones[phone], { object: 'phone_number', reserved: false, verification: VERIFIED_BY_ADMIN, linked_to: [] });
  assertHas(phones[reservedPhone], { object: 'phone_number', reserved: true, verification: null, linked_to: [] });

  assert.deepEqual((await clerk.users.getUser(user.id)).raw, user.raw);
  assert.deepEqual(await clerk.users.verifyPassword({ userId: user.id, password }), { verified: true });
});

test('a user created with an email address only has the documented defaults', async () => {
  const before = Date.now();
  const email = newEmail();
  const user = await clerk.users.createUser({ emailAddress: [email] });

  assertHas(user.raw, {
    object: 'user',
    username: null,
    first_name: null,
    last_name: null,
    external_id: null,
    has_image: false,
    primary_email_address_id: user.emailAddresses[0].id,
    primary_phone_number_id: null,
    primary_web3_wallet_id: null,
    password_enabled: false,
    two_factor_enabled: false,
    totp_enabled: false,
    backup_code_enabled: false,
    mfa_enabled_at: null,
    mfa_disabled_at: null,
    phone_numbers: [],
    web3_wallets: [],
    passkeys: [],
    external_accounts: [],
    saml_accounts: [],
    enterprise_accounts: [],
    public_metadata: {},
    private_metadata: {},
    unsafe_metadata: {},
    last_sign_in_at: null,
    last_active_at: null,
    legal_accepted_at: null,
    banned: false,
    locked: false,
    lockout_expires_in_seconds: null,
    delete_self_enabled: true,
    create_organization_enabled: true,
  });
  assert.match(user.emailAddresses[0].id, idOf('idn'));
  assert.equal(user.emailAddresses[0].emailAddress, email);
  assert.ok(before <= user.createdAt && user.createdAt <= Date.now());
  assert.equal(user.updatedAt, user.createdAt);
});

test('email addresses are stored in lower case', async () => {
  const email = newEmail();
  const user = await newUser({ emailAddress: [email.toUpperCase()] });
  assert.equal(user.emailAddresses[0].emailAddress, email);
});

test('a user can be created banned and locked', async () => {
  const user = await newUser({ banned: true, locked: true });
  assertHas(user, { banned: true, locked: true });
});

test('a user can be created with a username, a phone number or a wallet as the only identifier', async () => {
  const [username, phone, wallet] = [newUsername(), newPhone(), newWallet()];
  const named = await clerk.users.createUser({ username, password: newPassword() });
  const called = await clerk.users.createUser({ phoneNumber: [phone] });
  const funded = await clerk.users.createUser({ web3Wallet: [wallet] });
  assert.equal(named.username, username);
  assert.equal(called.primaryPhoneNumber.phoneNumber, phone);
  assert.equal(funded.primaryWeb3Wallet.web3Wallet, wallet);
});

test('an identifier that belongs to a user is refused for another', async () => {
  const taken = { email: newEmail(), phone: newPhone(), wallet: newWallet(), username: newUsername(), externalId: unique() };
  await clerk.users.createUser({
    emailAddress: [taken.email],
    phoneNumber: [taken.phone],
    web3Wallet: [taken.wallet],
    username: taken.username,
    externalId: taken.externalId,
  });
  const exists = (params, paramName) => refused(newUser(params), 422, 'form_identifier_exists', paramName);
  await exists({ emailAddress: [taken.email] }, 'email_address');
  await exists({ emailAddress: [taken.email.toUpperCase()] }, 'email_address');
  await exists({ phoneNumber: [taken.phone] }, 'phone_number');
  await exists({ web3Wallet: [taken.wallet] }, 'web3_wallet');
  await exists({ username: taken.username }, 'username');
  await exists({ username: taken.username.toUpperCase() }, 'username');
  await refused(newUser({ externalId: taken.externalId }), 422, undefined, 'external_id');
});

test('a reserved identifier cannot be claimed by another user', async () => {
  const [email, phone] = [newEmail(), newPhone()];
  await clerk.users.createUser({
    emailAddress: [email],
    emailAddressIdentificationStatus: ['reserved'],
    phoneNumber: [phone],
    phoneNumberIdentificationStatus: ['reserved'],
  });
  await refused(newUser({ emailAddress: [email] }), 422, 'form_identifier_exists', 'email_address');
  await refused(newUser({ phoneNumber: [phone] }), 422, 'form_identifier_exists', 'phone_number');
});

test('malformed values are refused with the name of the parameter', async (t) => {
  const tomorrow = new Date(Date.now() + 86_400_000);
  const large = { blob: 'x'.repeat(9 * 1024) };
  const cases = [
    [{ emailAddress: ['no-at-sign'] }, 'form_param_format_invalid', 'email_address'],
    [{ phoneNumber: ['0123'] }, 'form_param_format_invalid', 'phone_number'],
    [{ web3Wallet: ['0x12'] }, 'form_param_format_invalid', 'web3_wallet'],
    [{ username: 'abc' }, 'form_username_invalid_length', 'username'],
    [{ username: 'a'.repeat(65) }, 'form_username_invalid_length', 'username'],
    [{ username: `${unique()}!` }, 'form_username_invalid_character', 'username'],
    [{ username: '12345678' }, 'form_username_needs_non_number_char', 'username'],
    [{ password: 'aB3!xyz' }, 'form_password_length_too_short', 'password'],
    [{ password: 'password123' }, 'form_password_pwned', 'password'],
    [{ totpSecret: 'not base32!' }, 'invalid_totp_secret_code', 'totp_secret'],
    [{ createdAt: tomorrow }, 'form_disallow_future_date', 'created_at'],
    [{ locale: '!!' }, 'form_param_format_invalid', 'locale'],
    [{ timezone: 'somewhere else' }, 'form_param_format_invalid', 'timezone'],
    [{ publicMetadata: large }, 'form_param_exceeds_allowed_size', 'public_metadata'],
    [{ privateMetadata: large }, 'form_param_exceeds_allowed_size', 'private_metadata'],
    [{ unsafeMetadata: large }, 'form_param_exceeds_allowed_size', 'unsafe_metadata'],
    [{ firstName: 7 }, 'form_param_type_invalid', 'first_name'],
    [{ nickname: 'Ada' }, 'form_param_unknown', 'nickname'],
    [
      { emailAddress: [newEmail()], emailAddressIdentificationStatus: ['verified', 'reserved'] },
      'form_param_array_length_mismatch',
      'email_address_identification_status',
    ],
    [
      { phoneNumber: [newPhone()], phoneNumberIdentificationStatus: ['verified', 'reserved'] },
      'form_param_array_length_mismatch',
      'phone_number_identification_status',
    ],
    [{ passwordDigest: 'nonsense', passwordHasher: 'bcrypt' }, 'form_password_digest_invalid_code', 'password_digest'],
  ];
  for (const [params, code, paramName] of cases) {
    await t.test(`${paramName}: ${code}`, () => refused(newUser(params), 422, code, paramName));
  }
});

test('a refused creation leaves nothing behind', async () => {
  const email = newEmail();
  await refused(newUser({ emailAddress: [email], username: '1' }), 422);
  assert.equal(await clerk.users.getCount({ emailAddress: [email] }), 0);
  assert.equal((await newUser({ emailAddress: [email] })).emailAddresses[0].emailAddress, email);
});

test('a weak password is accepted when the checks are skipped', async () => {
  const user = await newUser({ password: 'password', skipPasswordChecks: true });
  assert.deepEqual(await clerk.users.verifyPassword({ userId: user.id, password: 'password' }), { verified: true });
});

test('an unknown user is not found', async () => {
  await refused(clerk.users.getUser(unknownId('user')), 404, 'resource_not_found');
});

test('a deleted user is gone and its identifiers are free again', async () => {
  const [email, username, externalId] = [newEmail(), newUsername(), unique()];
  const user = await clerk.users.createUser({ emailAddress: [email], username, externalId });
  assertHas(await clerk.users.deleteUser(user.id), { object: 'user', id: user.id, deleted: true });

  await refused(clerk.users.getUser(user.id), 404, 'resource_not_found');
  await refused(clerk.users.deleteUser(user.id), 404, 'resource_not_found');
  await refused(clerk.emailAddresses.getEmailAddress(user.emailAddresses[0].id), 404, 'resource_not_found');
  const successor = await clerk.users.createUser({ emailAddress: [email], username, externalId });
  assert.notEqual(successor.id, user.id);
});
