import time
from datetime import datetime, timedelta, timezone

import pytest
from clerk_backend_api import models

from support import (
    assert_has,
    clerk,
    is_id,
    is_verified,
    new_email,
    new_password,
    new_phone,
    new_totp_secret,
    new_user,
    new_username,
    new_wallet,
    refused,
    unique,
    unknown_id,
)


def ms(*date):
    return int(datetime(*date, tzinfo=timezone.utc).timestamp() * 1000)


def test_a_user_created_with_every_field_has_every_value():
    email, reserved_email, phone, reserved_phone = new_email(), new_email(), new_phone(), new_phone()
    wallet, username, password, external_id = new_wallet(), new_username(), new_password(), unique()
    user = clerk.users.create(
        external_id=external_id,
        first_name="Ada",
        last_name="Lovelace",
        locale="en-GB",
        email_address=[email, reserved_email],
        email_address_identification_status=["verified", "reserved"],
        phone_number=[phone, reserved_phone],
        phone_number_identification_status=["verified", "reserved"],
        web3_wallet=[wallet],
        username=username,
        password=password,
        totp_secret=new_totp_secret(),
        backup_codes=["first-code", "second-code"],
        public_metadata={"plan": "pro", "nested": {"list": [1, 2.5, "three", None, True]}},
        private_metadata={"note": "vip"},
        unsafe_metadata={"theme": "dark"},
        delete_self_enabled=False,
        create_organization_enabled=False,
        create_organizations_limit=3,
        bypass_client_trust=True,
        created_at="2020-02-03T04:05:06.789Z",
        legal_accepted_at="2020-02-03T04:05:07.001Z",
        skip_legal_checks=False,
        banned=False,
        locked=False,
    )

    assert is_id("user", user.id)
    assert_has(
        user,
        object="user",
        external_id=external_id,
        first_name="Ada",
        last_name="Lovelace",
        locale="en-GB",
        username=username,
        password_enabled=True,
        totp_enabled=True,
        backup_code_enabled=True,
        two_factor_enabled=True,
        mfa_disabled_at=None,
        public_metadata={"plan": "pro", "nested": {"list": [1, 2.5, "three", None, True]}},
        private_metadata={"note": "vip"},
        unsafe_metadata={"theme": "dark"},
        delete_self_enabled=False,
        create_organization_enabled=False,
        create_organizations_limit=3,
        bypass_client_trust=True,
        created_at=ms(2020, 2, 3, 4, 5, 6, 789_000),
        legal_accepted_at=ms(2020, 2, 3, 4, 5, 7, 1_000),
        last_sign_in_at=None,
        last_active_at=None,
        banned=False,
        locked=False,
        has_image=False,
        passkeys=[],
        external_accounts=[],
        saml_accounts=[],
        enterprise_accounts=[],
    )
    assert isinstance(user.mfa_enabled_at, int)

    emails = {item.email_address: item for item in user.email_addresses}
    assert emails.keys() == {email, reserved_email}
    assert user.primary_email_address_id == emails[email].id
    assert (emails[email].reserved, emails[email].verification.strategy) == (False, "admin")
    assert is_verified(emails[email])
    assert (emails[reserved_email].reserved, emails[reserved_email].verification) == (True, None)
    phones = {item.phone_number: item for item in user.phone_numbers}
    assert phones.keys() == {phone, reserved_phone}
    assert user.primary_phone_number_id == phones[phone].id
    assert is_verified(phones[phone])
    assert (phones[reserved_phone].reserved, phones[reserved_phone].verification) == (True, None)
    assert [item.web3_wallet for item in user.web3_wallets] == [wallet]
    assert user.primary_web3_wallet_id == user.web3_wallets[0].id

    assert clerk.users.get(user_id=user.id) == user
    assert clerk.users.verify_password(user_id=user.id, password=password).verified is True


def test_a_user_created_with_an_email_address_only_has_the_documented_defaults():
    before = int(time.time() * 1000)
    email = new_email()
    user = clerk.users.create(email_address=[email])
    assert_has(
        user,
        username=None,
        first_name=None,
        last_name=None,
        external_id=None,
        has_image=False,
        primary_email_address_id=user.email_addresses[0].id,
        primary_phone_number_id=None,
        primary_web3_wallet_id=None,
        password_enabled=False,
        two_factor_enabled=False,
        totp_enabled=False,
        backup_code_enabled=False,
        mfa_enabled_at=None,
        mfa_disabled_at=None,
        phone_numbers=[],
        web3_wallets=[],
        public_metadata={},
        private_metadata={},
        unsafe_metadata={},
        legal_accepted_at=None,
        banned=False,
        locked=False,
        lockout_expires_in_seconds=None,
        delete_self_enabled=True,
        create_organization_enabled=True,
    )
    assert is_id("idn", user.email_addresses[0].id)
    assert user.email_addresses[0].email_address == email
    assert before <= user.created_at == user.updated_at <= int(time.time() * 1000)


def test_a_user_can_be_created_banned_and_locked():
    assert_has(new_user(banned=True, locked=True), banned=True, locked=True)


def test_a_user_can_be_created_without_an_email_address():
    username = new_username()
    user = clerk.users.create(username=username, password=new_password())
    assert_has(user, username=username, email_addresses=[], primary_email_address_id=None)


def test_skip_flags_are_accepted():
    user = new_user(password="password", skip_password_checks=True, skip_legal_checks=True)
    assert clerk.users.verify_password(user_id=user.id, password="password").verified is True
    user = new_user(skip_password_requirement=True, skip_user_requirement=True)
    assert user.password_enabled is False


def test_an_identifier_that_belongs_to_a_user_is_refused_for_another():
    email, phone, wallet, username, external_id = new_email(), new_phone(), new_wallet(), new_username(), unique()
    clerk.users.create(
        email_address=[email], phone_number=[phone], web3_wallet=[wallet], username=username, external_id=external_id
    )
    with refused(422, "form_identifier_exists", "email_address"):
        new_user(email_address=[email.upper()])
    with refused(422, "form_identifier_exists", "phone_number"):
        new_user(phone_number=[phone])
    with refused(422, "form_identifier_exists", "web3_wallet"):
        new_user(web3_wallet=[wallet])
    with refused(422, "form_identifier_exists", "username"):
        new_user(username=username)
    with refused(422, param_name="external_id"):
        new_user(external_id=external_id)


@pytest.mark.parametrize(
    ("param_name", "value", "code"),
    [
        ("email_address", ["no-at-sign"], "form_param_format_invalid"),
        ("phone_number", ["0123"], "form_param_format_invalid"),
        ("web3_wallet", ["0x12"], "form_param_format_invalid"),
        ("username", "abc", "form_username_invalid_length"),
        ("username", "white space", "form_username_invalid_character"),
        ("username", "12345678", "form_username_needs_non_number_char"),
        ("password", "aB3!xyz", "form_password_length_too_short"),
        ("password", "password123", "form_password_pwned"),
        ("totp_secret", "not base32!", "invalid_totp_secret_code"),
        ("created_at", (datetime.now(timezone.utc) + timedelta(days=1)).isoformat(), "form_disallow_future_date"),
        ("created_at", "yesterday", "form_param_invalid_time"),
        ("public_metadata", {"blob": "x" * 9 * 1024}, "form_param_exceeds_allowed_size"),
        ("private_metadata", {"blob": "x" * 9 * 1024}, "form_param_exceeds_allowed_size"),
        ("unsafe_metadata", {"blob": "x" * 9 * 1024}, "form_param_exceeds_allowed_size"),
        ("email_address_identification_status", ["verified", "reserved"], "form_param_array_length_mismatch"),
    ],
)
def test_malformed_values_are_refused_with_the_name_of_the_parameter(param_name, value, code):
    with refused(422, code, param_name):
        new_user(**{param_name: value})


def test_a_digest_that_does_not_fit_its_hasher_is_refused():
    with refused(422, "form_password_digest_invalid_code", "password_digest"):
        new_user(password_digest="nonsense", password_hasher="bcrypt")


def test_an_unknown_user_is_not_found():
    with refused(404, "resource_not_found"):
        clerk.users.get(user_id=unknown_id("user"))


def test_a_deleted_user_is_gone_and_its_identifiers_are_free_again():
    email, username = new_email(), new_username()
    user = clerk.users.create(email_address=[email], username=username)
    assert_has(clerk.users.delete(user_id=user.id), object="user", id=user.id, deleted=True)
    with refused(404, "resource_not_found"):
        clerk.users.get(user_id=user.id)
    with refused(404, "resource_not_found"):
        clerk.users.delete(user_id=user.id)
    assert clerk.users.create(email_address=[email], username=username).id != user.id


def test_the_status_arrays_accept_the_enums_of_the_sdk():
    user = new_user(email_address_identification_status=[models.EmailAddressIdentificationStatus.RESERVED])
    assert user.email_addresses[0].reserved is True
