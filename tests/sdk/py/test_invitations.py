"""Invitations to the application, the allow-list and the block-list."""

from support import assert_has, clerk, connect_to_new_instance, is_id, new_email, other_clerk, refused, unknown_id


def test_an_address_is_invited_found_again_and_revoked():
    email = new_email()
    made = clerk.invitations.create(request={"email_address": email, "public_metadata": {"plan": "gold"}, "expires_in_days": 7})
    assert is_id("inv", made.id)
    assert_has(made, email_address=email, status="pending", public_metadata={"plan": "gold"})
    assert [one.id for one in clerk.invitations.list(query=email, status="pending")] == [made.id]
    with refused(400, "duplicate_record"):
        clerk.invitations.create(request={"email_address": email})
    with refused(404, "resource_not_found"):
        other_clerk.invitations.revoke(invitation_id=made.id)
    assert_has(clerk.invitations.revoke(invitation_id=made.id), id=made.id, status="revoked")
    with refused(400, "invitation_already_revoked"):
        clerk.invitations.revoke(invitation_id=made.id)
    with refused(404, "resource_not_found"):
        clerk.invitations.revoke(invitation_id=unknown_id("inv"))


def test_several_addresses_are_invited_all_or_none():
    emails = [new_email(), new_email()]
    made = clerk.invitations.bulk_create(request=[{"email_address": email, "notify": False} for email in emails])
    assert [one.email_address for one in made] == emails
    fresh = new_email()
    with refused(400, "duplicate_record"):
        clerk.invitations.bulk_create(request=[{"email_address": fresh}, {"email_address": emails[0]}])
    assert clerk.invitations.list(query=fresh) == []


def test_identifiers_are_put_on_the_lists_shown_and_taken_off():
    clerk = connect_to_new_instance()
    email = new_email()
    allowed = clerk.allowlist_identifiers.create(request={"identifier": email, "notify": True})
    assert is_id("alid", allowed.id) and is_id("inv", allowed.invitation_id)
    assert_has(allowed, identifier=email, identifier_type="email_address")
    with refused(400, "duplicate_record"):
        clerk.allowlist_identifiers.create(request={"identifier": email})
    assert [one.id for one in clerk.allowlist_identifiers.list()] == [allowed.id]
    assert_has(clerk.allowlist_identifiers.delete(identifier_id=allowed.id), id=allowed.id, deleted=True)
    blocked = clerk.blocklist_identifiers.create(request={"identifier": "*@example.org"})
    assert is_id("blid", blocked.id)
    listed = clerk.blocklist_identifiers.list()
    assert ([one.identifier for one in listed.data], listed.total_count) == (["*@example.org"], 1)
    assert_has(clerk.blocklist_identifiers.delete(identifier_id=blocked.id), id=blocked.id, deleted=True)
