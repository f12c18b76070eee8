"""The waitlist."""

from clerk_backend_api import models

from support import assert_has, clerk, connect_to_new_instance, is_id, new_email, other_clerk, refused, unknown_id


def test_an_address_is_put_on_the_waitlist_found_and_invited():
    email = new_email()
    made = clerk.waitlist_entries.create(request={"email_address": email, "notify": False})
    assert is_id("wle", made.id)
    assert_has(made, email_address=email, status="pending", is_locked=False)
    assert clerk.waitlist_entries.create(request={"email_address": email}).id == made.id
    found = clerk.waitlist_entries.list(query=email, status=models.ListWaitlistEntriesQueryParamStatus.PENDING)
    assert ([one.id for one in found.data], found.total_count) == ([made.id], 1)
    with refused(404, "resource_not_found"):
        other_clerk.waitlist_entries.invite(waitlist_entry_id=made.id)
    invited = clerk.waitlist_entries.invite(waitlist_entry_id=made.id)
    assert_has(invited, id=made.id, status="invited")
    assert_has(invited.invitation, email_address=email, status="pending")
    with refused(409, "waitlist_entry_already_invited"):
        clerk.waitlist_entries.invite(waitlist_entry_id=made.id)
    with refused(409, "waitlist_entry_already_invited"):
        clerk.waitlist_entries.delete(waitlist_entry_id=made.id)


def test_several_addresses_are_put_on_the_waitlist_all_or_none():
    clerk = connect_to_new_instance()
    emails = sorted([new_email(), new_email()])
    made = clerk.waitlist_entries.bulk_create(request=[{"email_address": email} for email in emails])
    assert [one.email_address for one in made] == emails
    with refused(422, "form_param_format_invalid"):
        clerk.waitlist_entries.bulk_create(request=[{"email_address": new_email()}, {"email_address": "nobody"}])
    listed = clerk.waitlist_entries.list(order_by="+email_address")
    assert ([one.email_address for one in listed.data], listed.total_count) == (emails, 2)


def test_somebody_who_waits_is_rejected_or_forgotten():
    first = clerk.waitlist_entries.create(request={"email_address": new_email()})
    assert_has(clerk.waitlist_entries.reject(waitlist_entry_id=first.id), id=first.id, status="rejected")
    with refused(409, "waitlist_entry_already_rejected"):
        clerk.waitlist_entries.reject(waitlist_entry_id=first.id)
    second = clerk.waitlist_entries.create(request={"email_address": new_email()})
    assert_has(clerk.waitlist_entries.delete(waitlist_entry_id=second.id), id=second.id, deleted=True)
    with refused(404, "resource_not_found"):
        clerk.waitlist_entries.delete(waitlist_entry_id=unknown_id("wle"))
