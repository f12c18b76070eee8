import time

import pytest
from clerk_backend_api import models

from support import (
    assert_has,
    clerk,
    is_id,
    is_verified,
    new_email,
    new_user,
    new_username,
    newest_message,
    refused,
    unique,
    unknown_id,
    wrong,
)


def create(user_id, **params):
    return clerk.email_addresses.create(request={"user_id": user_id, "email_address": new_email(), **params})


def primary_of(user_id):
    return clerk.users.get(user_id=user_id).primary_email_address_id


def test_a_new_email_address_is_neither_verified_nor_primary():
    user = new_user()
    email = new_email()
    created = create(user.id, email_address=email)
    assert is_id("idn", created.id)
    assert_has(created, object="email_address", email_address=email, reserved=False, linked_to=[])
    assert not is_verified(created)
    assert clerk.email_addresses.get(email_address_id=created.id) == created
    assert primary_of(user.id) == user.primary_email_address_id


def test_a_new_email_address_can_be_verified_and_primary_at_once():
    user = new_user()
    created = create(user.id, verified=True, primary=True, notify_primary_email_address_changed=True)
    assert_has(created.verification, status="verified", strategy="admin", attempts=None, expire_at=None)
    assert primary_of(user.id) == created.id


def test_an_email_address_can_be_marked_verified_unverified_and_primary():
    user = new_user()
    address = create(user.id)
    assert is_verified(clerk.email_addresses.update(email_address_id=address.id, verified=True))
    clerk.email_addresses.update(email_address_id=address.id, primary=True, notify_primary_email_address_changed=True)
    assert primary_of(user.id) == address.id
    clerk.email_addresses.update(email_address_id=user.primary_email_address_id, primary=True)
    assert not is_verified(clerk.email_addresses.update(email_address_id=address.id, verified=False))


def test_a_deleted_email_address_is_gone():
    address = create(new_user().id, verified=True)
    deleted = clerk.email_addresses.delete(email_address_id=address.id)
    assert_has(deleted, object="email_address", id=address.id, deleted=True)
    with refused(404, "resource_not_found"):
        clerk.email_addresses.get(email_address_id=address.id)
    with refused(404, "resource_not_found"):
        clerk.email_addresses.delete(email_address_id=address.id)


def test_the_last_identification_of_a_user_cannot_be_deleted():
    user = new_user()
    with refused(400):
        clerk.email_addresses.delete(email_address_id=user.primary_email_address_id)


def test_malformed_requests_are_refused():
    user = new_user()
    with refused(422, "form_param_format_invalid", "email_address"):
        create(user.id, email_address="no-at-sign")
    with refused(422, "form_identifier_exists", "email_address"):
        create(new_user().id, email_address=user.email_addresses[0].email_address, verified=True)
    with refused(404, "resource_not_found"):
        create(unknown_id("user"))
    with refused(404, "resource_not_found"):
        clerk.email_addresses.update(email_address_id=unknown_id("idn"), verified=True)


def test_replace_for_user_leaves_one_verified_primary_address():
    user = new_user(email_address=[new_email(), new_email()])
    email = new_email()
    replacement = clerk.email_addresses.replace_for_user(user_id=user.id, email_address=email)
    assert_has(replacement, email_address=email, reserved=False)
    assert_has(replacement.verification, status="verified", strategy="admin")
    assert_has(clerk.users.get(user_id=user.id), email_addresses=[replacement], primary_email_address_id=replacement.id)


@pytest.mark.parametrize(
    ("status", "reserved"),
    [(models.IdentificationStatus.RESERVED, True), (models.IdentificationStatus.UNVERIFIED, False)],
)
def test_replace_for_user_creates_reserved_and_unverified_addresses(status, reserved):
    user = new_user(username=new_username())
    replacement = clerk.email_addresses.replace_for_user(
        user_id=user.id, email_address=new_email(), identification_status=status
    )
    assert replacement.reserved is reserved
    assert not is_verified(replacement)


def test_a_refused_replacement_keeps_the_old_addresses():
    taken, user = new_user().email_addresses[0].email_address, new_user()
    with refused(422, "form_identifier_exists", "email_address"):
        clerk.email_addresses.replace_for_user(user_id=user.id, email_address=taken)
    assert clerk.users.get(user_id=user.id) == user
    with refused(404, "resource_not_found"):
        clerk.email_addresses.replace_for_user(user_id=unknown_id("user"), email_address=new_email())


def test_a_code_that_was_sent_verifies_an_email_address_once():
    address = create(new_user().id)
    verification = clerk.email_addresses.prepare_verification(email_address_id=address.id)
    assert_has(verification, status="unverified", strategy="email_code")
    assert verification.expire_at > time.time() * 1000
    message = newest_message(address.email_address)
    assert (message["channel"], message["to"]) == ("email", address.email_address)

    def attempt(code):
        return clerk.email_addresses.attempt_verification(
            email_address_id=address.id, verification_id=verification.id, code=code
        )

    assert_has(attempt(wrong(message["code"])), status="unverified", attempts=1)
    assert_has(attempt(message["code"]), status="verified", attempts=2)
    verified = clerk.email_addresses.get(email_address_id=address.id)
    assert_has(verified.verification, object="verification_otp", status="verified", strategy="email_code")
    with refused(400, "verification_already_verified"):
        attempt(message["code"])


def test_a_test_address_is_verified_with_the_fixed_code():
    address = create(new_user().id, email_address=f"{unique()}+clerk_test@example.com")
    verification = clerk.email_addresses.prepare_verification(email_address_id=address.id)
    attempt = clerk.email_addresses.attempt_verification(
        email_address_id=address.id, verification_id=verification.id, code="424242"
    )
    assert attempt.status == "verified"


def test_verifications_of_unknown_addresses_are_not_found():
    address = create(new_user().id)
    with refused(404, "resource_not_found"):
        clerk.email_addresses.prepare_verification(email_address_id=unknown_id("idn"))
    with refused(404, "resource_not_found"):
        clerk.email_addresses.attempt_verification(email_address_id=address.id, verification_id="nothing", code="000000")
