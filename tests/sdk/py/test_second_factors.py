from clerk_backend_api import models

from support import assert_has, clerk, new_phone, new_totp_secret, new_user, refused, totp, unknown_id, wrong_totp


def refused_verification(status, code=None):
    # The description of the SDK has no body for the errors of this operation.
    return refused(status, code, kind=models.SDKError)


def with_backup_codes():
    return new_user(totp_secret=new_totp_secret(), backup_codes=["first-code", "second-code"])


def test_verify_totp_accepts_the_current_code_once():
    secret = new_totp_secret()
    user = new_user(totp_secret=secret)
    code = totp(secret)
    assert_has(clerk.users.verify_totp(user_id=user.id, code=code), verified=True, code_type="totp")
    with refused_verification(422, "totp_incorrect_code"):
        clerk.users.verify_totp(user_id=user.id, code=code)


def test_verify_totp_refuses_wrong_and_old_codes():
    secret = new_totp_secret()
    user = new_user(totp_secret=secret)
    for code in (wrong_totp(secret), totp(secret, -20)):
        with refused_verification(422, "totp_incorrect_code"):
            clerk.users.verify_totp(user_id=user.id, code=code)


def test_verify_totp_of_a_user_without_totp_is_refused():
    user = new_user()
    with refused_verification(400, "totp_disabled"):
        clerk.users.verify_totp(user_id=user.id, code="123456")
    with refused_verification(404, "resource_not_found"):
        clerk.users.verify_totp(user_id=unknown_id("user"), code="123456")


def test_a_backup_code_is_accepted_once():
    user = with_backup_codes()
    verified = clerk.users.verify_totp(user_id=user.id, code="first-code")
    assert_has(verified, verified=True, code_type="backup_code")
    with refused_verification(422):
        clerk.users.verify_totp(user_id=user.id, code="first-code")
    assert_has(clerk.users.verify_totp(user_id=user.id, code="second-code"), verified=True)


def test_an_update_sets_totp_and_backup_codes():
    secret = new_totp_secret()
    user = new_user()
    updated = clerk.users.update(user_id=user.id, totp_secret=secret, backup_codes=["new-code"])
    assert_has(updated, totp_enabled=True, backup_code_enabled=True, two_factor_enabled=True)
    assert clerk.users.verify_totp(user_id=user.id, code=totp(secret)).code_type == "totp"
    assert clerk.users.verify_totp(user_id=user.id, code="new-code").code_type == "backup_code"


def test_delete_totp_removes_totp():
    user = new_user(totp_secret=new_totp_secret())
    assert clerk.users.delete_totp(user_id=user.id).user_id == user.id
    assert_has(clerk.users.get(user_id=user.id), totp_enabled=False, two_factor_enabled=False)
    with refused_verification(400, "totp_disabled"):
        clerk.users.verify_totp(user_id=user.id, code="123456")


def test_delete_backup_codes_removes_them_and_leaves_totp():
    user = with_backup_codes()
    assert clerk.users.delete_backup_codes(user_id=user.id).user_id == user.id
    assert_has(clerk.users.get(user_id=user.id), totp_enabled=True, backup_code_enabled=False)
    with refused_verification(422):
        clerk.users.verify_totp(user_id=user.id, code="first-code")


def test_disable_mfa_removes_every_second_factor():
    user = with_backup_codes()
    clerk.phone_numbers.create(
        request={"user_id": user.id, "phone_number": new_phone(), "verified": True, "reserved_for_second_factor": True}
    )
    assert clerk.users.disable_mfa(user_id=user.id).user_id == user.id
    without = clerk.users.get(user_id=user.id)
    assert_has(without, totp_enabled=False, backup_code_enabled=False, two_factor_enabled=False)
    assert_has(without.phone_numbers[0], reserved_for_second_factor=False, default_second_factor=False)
    assert isinstance(without.mfa_disabled_at, int)


def test_second_factors_of_an_unknown_user_are_not_found():
    with refused(404, "resource_not_found"):
        clerk.users.delete_totp(user_id=unknown_id("user"))
    with refused(404, "resource_not_found"):
        clerk.users.delete_backup_codes(user_id=unknown_id("user"))
    with refused(404, "resource_not_found"):
        clerk.users.disable_mfa(user_id=unknown_id("user"))
