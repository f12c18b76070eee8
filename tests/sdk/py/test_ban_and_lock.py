import pytest
from clerk_backend_api import models

from support import assert_has, clerk, new_user, refused, unknown_id


def test_ban_and_unban():
    user = new_user()
    assert_has(clerk.users.ban(user_id=user.id), id=user.id, banned=True, locked=False)
    assert clerk.users.get(user_id=user.id).banned is True
    assert_has(clerk.users.unban(user_id=user.id), id=user.id, banned=False)
    assert clerk.users.get(user_id=user.id).banned is False


def test_bulk_ban_and_bulk_unban():
    ids = sorted(new_user().id for _ in range(3))
    banned = clerk.users.bulk_ban(user_ids=ids)
    assert sorted((user.id, user.banned) for user in banned) == [(id, True) for id in ids]
    unbanned = clerk.users.bulk_unban(user_ids=ids)
    assert sorted((user.id, user.banned) for user in unbanned) == [(id, False) for id in ids]


@pytest.mark.parametrize("method", ["bulk_ban", "bulk_unban"])
def test_more_than_50_users_in_bulk_are_refused(method):
    with refused(400, "bulk_size_exceeded"):
        getattr(clerk.users, method)(user_ids=[unknown_id("user")] * 51)


def test_lock_and_unlock():
    user = new_user()
    locked = clerk.users.lock(user_id=user.id)
    assert_has(locked, id=user.id, locked=True, banned=False)
    assert 3500 < locked.lockout_expires_in_seconds <= 3600
    assert clerk.users.get(user_id=user.id).locked is True
    unlocked = clerk.users.unlock(user_id=user.id)
    assert_has(unlocked, id=user.id, locked=False, lockout_expires_in_seconds=None)


@pytest.mark.parametrize("method", ["ban", "unban", "lock", "unlock"])
def test_an_unknown_user_can_be_neither_banned_nor_locked(method):
    # The description of the SDK does not name 404 for these operations.
    with refused(404, "resource_not_found", kind=models.SDKError):
        getattr(clerk.users, method)(user_id=unknown_id("user"))
