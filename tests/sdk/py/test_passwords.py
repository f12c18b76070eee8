import json
import pathlib

import pytest
from clerk_backend_api import models

from support import assert_has, clerk, new_password, new_user, refused, unknown_id

IMPORTED = json.loads((pathlib.Path(__file__).parent.parent / "digests.json").read_text())


def refused_verification(status, code):
    # The description of the SDK has no body for the errors of this operation.
    return refused(status, code, kind=models.SDKError)


def test_verify_password_accepts_the_password_and_nothing_else():
    password = new_password()
    user = new_user(password=password)
    assert clerk.users.verify_password(user_id=user.id, password=password).verified is True
    with refused_verification(422, "incorrect_password"):
        clerk.users.verify_password(user_id=user.id, password=password + "x")


def test_verify_password_without_a_password_is_refused():
    user = new_user()
    with refused_verification(400, "no_password_set"):
        clerk.users.verify_password(user_id=user.id, password=new_password())
    with refused_verification(404, "resource_not_found"):
        clerk.users.verify_password(user_id=unknown_id("user"), password=new_password())


@pytest.mark.parametrize("hasher", IMPORTED["digests"])
def test_a_password_is_verified_after_its_digest_was_imported(hasher):
    user = new_user(password_digest=IMPORTED["digests"][hasher], password_hasher=hasher)
    assert user.password_enabled is True
    # The first success upgrades the digest; the second one checks the new digest.
    for _ in range(2):
        assert clerk.users.verify_password(user_id=user.id, password=IMPORTED["password"]).verified is True
        with refused_verification(422, "incorrect_password"):
            clerk.users.verify_password(user_id=user.id, password="wrong horse battery staple")


def test_a_digest_can_be_imported_by_an_update():
    user = new_user(password=new_password())
    clerk.users.update(user_id=user.id, password_digest=IMPORTED["digests"]["argon2id"], password_hasher="argon2id")
    assert clerk.users.verify_password(user_id=user.id, password=IMPORTED["password"]).verified is True


def test_remove_password_removes_it_and_does_nothing_the_second_time():
    password = new_password()
    user = new_user(password=password)
    removed = clerk.users.remove_password(user_id=user.id, sign_out_of_other_sessions=True)
    assert_has(removed, id=user.id, password_enabled=False)
    with refused_verification(400, "no_password_set"):
        clerk.users.verify_password(user_id=user.id, password=password)
    assert clerk.users.remove_password(user_id=user.id) == removed
    with refused(404, "resource_not_found"):
        clerk.users.remove_password(user_id=unknown_id("user"))


def test_a_password_can_be_marked_as_compromised_and_not_compromised():
    password = new_password()
    user = new_user(password=password)
    marked = clerk.users.set_password_compromised(user_id=user.id, revoke_all_sessions=True)
    assert_has(marked, id=user.id, password_enabled=True)
    assert_has(clerk.users.unset_password_compromised(user_id=user.id), id=user.id, password_enabled=True)
    assert clerk.users.verify_password(user_id=user.id, password=password).verified is True
    with refused(404, "resource_not_found"):
        clerk.users.set_password_compromised(user_id=unknown_id("user"))
    with refused(404, "resource_not_found"):
        clerk.users.unset_password_compromised(user_id=unknown_id("user"))
