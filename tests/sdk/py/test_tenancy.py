"""Everything here is done with the key of another instance than the user's."""

import pytest
from clerk_backend_api import models

from support import (
    clerk,
    connect,
    new_email,
    new_password,
    new_phone,
    new_totp_secret,
    new_wallet,
    other_clerk,
    png,
    refused,
    unknown_id,
)


@pytest.fixture(scope="module")
def user():
    return clerk.users.create(
        email_address=[new_email()],
        phone_number=[new_phone()],
        web3_wallet=[new_wallet()],
        password=new_password(),
        totp_secret=new_totp_secret(),
        public_metadata={"secret": "ours"},
    )


CALLS = {
    "get": {},
    "update": {"first_name": "Mallory"},
    "update_metadata": {"public_metadata": {"taken": True}},
    "replace_metadata": {"public_metadata": {}},
    "set_profile_image": {"file": {"file_name": "image.png", "content": png(8, 8), "content_type": "image/png"}},
    "delete_profile_image": {},
    "ban": {},
    "unban": {},
    "lock": {},
    "unlock": {},
    "remove_password": {},
    "verify_password": {"password": "anything"},
    "verify_totp": {"code": "000000"},
    "set_password_compromised": {},
    "unset_password_compromised": {},
    "disable_mfa": {},
    "delete_totp": {},
    "delete_backup_codes": {},
    "get_o_auth_access_token": {"provider": "oauth_google"},
    "list_trusted_devices": {},
    "delete": {},
}

# The description of the SDK does not name 404 for these operations.
UNDECLARED = {"ban", "unban", "lock", "unlock", "verify_password", "verify_totp"}


@pytest.mark.parametrize("name", CALLS)
def test_a_user_of_another_instance_is_not_found(user, name):
    kind = models.SDKError if name in UNDECLARED else models.ClerkErrors
    with refused(404, "resource_not_found", kind=kind):
        getattr(other_clerk.users, name)(user_id=user.id, **CALLS[name])
    assert clerk.users.get(user_id=user.id) == user


def test_identifications_of_another_instance_are_not_found(user):
    email, phone, wallet = user.primary_email_address_id, user.primary_phone_number_id, user.primary_web3_wallet_id
    for call in [
        lambda: other_clerk.email_addresses.get(email_address_id=email),
        lambda: other_clerk.email_addresses.update(email_address_id=email, verified=False),
        lambda: other_clerk.email_addresses.delete(email_address_id=email),
        lambda: other_clerk.email_addresses.prepare_verification(email_address_id=email),
        lambda: other_clerk.email_addresses.create(request={"user_id": user.id, "email_address": new_email()}),
        lambda: other_clerk.email_addresses.replace_for_user(user_id=user.id, email_address=new_email()),
        lambda: other_clerk.phone_numbers.get(phone_number_id=phone),
        lambda: other_clerk.phone_numbers.update(phone_number_id=phone, verified=False),
        lambda: other_clerk.phone_numbers.delete(phone_number_id=phone),
        lambda: other_clerk.phone_numbers.prepare_verification(phone_number_id=phone),
        lambda: other_clerk.phone_numbers.create(request={"user_id": user.id, "phone_number": new_phone()}),
        lambda: other_clerk.phone_numbers.replace_for_user(user_id=user.id, phone_number=new_phone()),
        lambda: other_clerk.users.delete_web3_wallet(user_id=user.id, web3_wallet_identification_id=wallet),
    ]:
        with refused(404, "resource_not_found"):
            call()
    assert clerk.users.get(user_id=user.id) == user


def test_lists_searches_and_counts_do_not_see_another_instance(user):
    email = user.email_addresses[0].email_address
    for filters in ({"user_id": [user.id]}, {"email_address": [email]}, {"query": email}):
        assert other_clerk.users.list(request=filters) == []
        assert other_clerk.users.count(request=filters).total_count == 0
        assert clerk.users.count(request=filters).total_count == 1


def test_the_same_identifiers_may_exist_in_two_instances(user):
    twin = other_clerk.users.create(email_address=[user.email_addresses[0].email_address])
    assert twin.id != user.id
    other_clerk.users.delete(user_id=twin.id)
    assert clerk.users.get(user_id=user.id) == user


def test_an_unknown_key_is_refused():
    stranger = connect("sk_test_0000000000000000000000000000000000000000")
    with refused(401, "clerk_key_invalid"):
        stranger.users.list()
    with refused(401, "clerk_key_invalid"):
        stranger.users.create(email_address=[new_email()])
    with refused(401, "clerk_key_invalid"):
        stranger.email_addresses.get(email_address_id=unknown_id("idn"))
    with refused(401, "clerk_key_invalid"):
        stranger.phone_numbers.get(phone_number_id=unknown_id("idn"))
    with refused(401, "clerk_key_invalid", kind=models.SDKError):
        stranger.jwks.get_jwks()
