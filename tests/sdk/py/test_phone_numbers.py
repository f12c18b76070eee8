import pytest
from clerk_backend_api import models

from support import (
    assert_has,
    clerk,
    is_id,
    is_verified,
    new_phone,
    new_test_phone,
    new_user,
    newest_message,
    refused,
    unknown_id,
    wrong,
)

Status = models.ReplaceUserPhoneNumberIdentificationStatus


def create(user_id, **params):
    return clerk.phone_numbers.create(request={"user_id": user_id, "phone_number": new_phone(), **params})


def primary_of(user_id):
    return clerk.users.get(user_id=user_id).primary_phone_number_id


def test_a_new_phone_number_is_neither_verified_nor_primary_nor_a_second_factor():
    user = new_user(phone_number=[new_phone()])
    phone = new_phone()
    created = create(user.id, phone_number=phone)
    assert is_id("idn", created.id)
    assert_has(
        created,
        object="phone_number",
        phone_number=phone,
        reserved=False,
        reserved_for_second_factor=False,
        default_second_factor=False,
        linked_to=[],
    )
    assert not is_verified(created)
    assert clerk.phone_numbers.get(phone_number_id=created.id) == created
    assert primary_of(user.id) == user.primary_phone_number_id


def test_the_first_phone_number_of_a_user_becomes_primary():
    user = new_user()
    created = create(user.id, verified=True)
    assert_has(created.verification, status="verified", strategy="admin", attempts=None, expire_at=None)
    assert primary_of(user.id) == created.id


def test_a_phone_number_can_be_marked_verified_unverified_and_primary():
    user = new_user(phone_number=[new_phone()])
    number = create(user.id)
    assert is_verified(clerk.phone_numbers.update(phone_number_id=number.id, verified=True))
    clerk.phone_numbers.update(phone_number_id=number.id, primary=True)
    assert primary_of(user.id) == number.id
    clerk.phone_numbers.update(phone_number_id=user.primary_phone_number_id, primary=True)
    assert not is_verified(clerk.phone_numbers.update(phone_number_id=number.id, verified=False))


def test_the_first_second_factor_is_the_default_one():
    user = new_user()
    first = create(user.id, verified=True, reserved_for_second_factor=True)
    second = create(user.id, verified=True, reserved_for_second_factor=True)
    assert_has(first, reserved_for_second_factor=True, default_second_factor=True)
    assert_has(second, reserved_for_second_factor=True, default_second_factor=False)
    assert clerk.users.get(user_id=user.id).two_factor_enabled is True


def test_a_phone_number_becomes_a_second_factor_and_ceases_to_be_one():
    user = new_user()
    number = create(user.id, verified=True)
    reserved = clerk.phone_numbers.update(phone_number_id=number.id, reserved_for_second_factor=True)
    assert_has(reserved, reserved_for_second_factor=True, default_second_factor=True)
    released = clerk.phone_numbers.update(phone_number_id=number.id, reserved_for_second_factor=False)
    assert_has(released, reserved_for_second_factor=False, default_second_factor=False)
    assert clerk.users.get(user_id=user.id).two_factor_enabled is False


def test_an_unverified_phone_number_cannot_be_a_second_factor():
    user = new_user()
    with refused(400, "identification_create_second_factor_unverified"):
        create(user.id, reserved_for_second_factor=True)
    number = create(user.id)
    with refused(400, "identification_update_second_factor_unverified"):
        clerk.phone_numbers.update(phone_number_id=number.id, reserved_for_second_factor=True)


def test_a_deleted_phone_number_is_gone():
    number = create(new_user().id)
    deleted = clerk.phone_numbers.delete(phone_number_id=number.id)
    assert_has(deleted, object="phone_number", id=number.id, deleted=True)
    with refused(404, "resource_not_found"):
        clerk.phone_numbers.get(phone_number_id=number.id)
    with refused(404, "resource_not_found"):
        clerk.phone_numbers.delete(phone_number_id=number.id)


def test_malformed_requests_are_refused():
    user = new_user(phone_number=[new_phone()])
    with refused(422, "form_param_format_invalid", "phone_number"):
        create(user.id, phone_number="12")
    with refused(422, "form_identifier_exists", "phone_number"):
        create(new_user().id, phone_number=user.phone_numbers[0].phone_number, verified=True)
    with refused(404, "resource_not_found"):
        create(unknown_id("user"))
    with refused(404, "resource_not_found"):
        clerk.phone_numbers.update(phone_number_id=unknown_id("idn"), verified=True)


def test_replace_for_user_leaves_one_verified_primary_number_that_is_no_second_factor():
    user = new_user()
    create(user.id, verified=True, reserved_for_second_factor=True)
    phone = new_phone()
    replacement = clerk.phone_numbers.replace_for_user(user_id=user.id, phone_number=phone)
    assert_has(replacement, phone_number=phone, reserved=False, reserved_for_second_factor=False)
    assert is_verified(replacement)
    assert_has(
        clerk.users.get(user_id=user.id),
        phone_numbers=[replacement],
        primary_phone_number_id=replacement.id,
        two_factor_enabled=False,
    )


@pytest.mark.parametrize(("status", "reserved"), [(Status.RESERVED, True), (Status.UNVERIFIED, False)])
def test_replace_for_user_creates_reserved_and_unverified_numbers(status, reserved):
    user = new_user()
    replacement = clerk.phone_numbers.replace_for_user(
        user_id=user.id, phone_number=new_phone(), identification_status=status
    )
    assert replacement.reserved is reserved
    assert not is_verified(replacement)


def test_a_refused_replacement_keeps_the_old_numbers():
    taken = new_phone()
    new_user(phone_number=[taken])
    user = new_user(phone_number=[new_phone()])
    with refused(422, "form_identifier_exists", "phone_number"):
        clerk.phone_numbers.replace_for_user(user_id=user.id, phone_number=taken)
    assert clerk.users.get(user_id=user.id) == user
    with refused(404, "resource_not_found"):
        clerk.phone_numbers.replace_for_user(user_id=unknown_id("user"), phone_number=new_phone())


def test_a_code_that_was_sent_verifies_a_phone_number_once():
    number = create(new_user().id)
    verification = clerk.phone_numbers.prepare_verification(phone_number_id=number.id)
    assert_has(verification, status="unverified", strategy="phone_code")
    message = newest_message(number.phone_number)
    assert (message["channel"], message["to"]) == ("sms", number.phone_number)

    def attempt(code):
        return clerk.phone_numbers.attempt_verification(
            phone_number_id=number.id, verification_id=verification.id, code=code
        )

    assert_has(attempt(wrong(message["code"])), status="unverified", attempts=1)
    assert_has(attempt(message["code"]), status="verified", attempts=2)
    verified = clerk.phone_numbers.get(phone_number_id=number.id)
    assert_has(verified.verification, object="verification_otp", status="verified", strategy="phone_code")
    with refused(400, "verification_already_verified"):
        attempt(message["code"])


def test_a_test_number_is_verified_with_the_fixed_code():
    number = create(new_user().id, phone_number=new_test_phone())
    verification = clerk.phone_numbers.prepare_verification(phone_number_id=number.id)
    attempt = clerk.phone_numbers.attempt_verification(
        phone_number_id=number.id, verification_id=verification.id, code="424242"
    )
    assert attempt.status == "verified"


def test_verifications_of_unknown_numbers_are_not_found():
    number = create(new_user().id)
    with refused(404, "resource_not_found"):
        clerk.phone_numbers.prepare_verification(phone_number_id=unknown_id("idn"))
    with refused(404, "resource_not_found"):
        clerk.phone_numbers.attempt_verification(phone_number_id=number.id, verification_id="nothing", code="000000")
