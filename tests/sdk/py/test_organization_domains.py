"""Domains of organizations: who may have which, and how people join by them."""

import pytest
from clerk_backend_api import models

from support import assert_has, clerk, connect_to_new_instance, is_id, new_user, other_clerk, refused, unique, unknown_id


def new_domain():
    return f"{unique()}.example.com"


def new_organization():
    return clerk.organizations.create(request={"name": f"Acme {unique()}", "max_allowed_memberships": 0}).id


def add(organization_id, **params):
    params = {"name": new_domain(), "enrollment_mode": "manual_invitation", **params}
    return clerk.organization_domains.create(organization_id=organization_id, **params)


def pending(user):
    status = models.UsersGetOrganizationInvitationsQueryParamStatus.PENDING
    return clerk.users.get_organization_invitations(user_id=user.id, status=status).data


def test_a_domain_is_added_verified_at_once_listed_changed_and_deleted():
    organization_id = new_organization()
    name = new_domain()
    added = add(organization_id, name=name.upper())
    assert is_id("orgdmn", added.id)
    assert_has(
        added,
        object="organization_domain",
        organization_id=organization_id,
        name=name,
        enrollment_mode=models.EnrollmentMode.MANUAL_INVITATION,
        affiliation_email_address=None,
        ownership_verification=None,
        total_pending_invitations=0,
        total_pending_suggestions=0,
    )
    assert_has(added.affiliation_verification, status="verified", strategy="admin")
    assert added.public_organization_data.id == organization_id
    path = {"organization_id": organization_id, "domain_id": added.id}
    assert clerk.organization_domains.update(**path, verified=False).affiliation_verification is None
    changed = clerk.organization_domains.update(**path, enrollment_mode="enterprise_sso", verified=True)
    assert_has(changed, name=name, enrollment_mode=models.EnrollmentMode.ENTERPRISE_SSO)
    listed = clerk.organization_domains.list(organization_id=organization_id)
    assert (listed.data, listed.total_count) == ([changed], 1)
    gone = clerk.organization_domains.delete(**path)
    assert_has(gone, object="organization_domain", id=added.id, deleted=True)
    with refused(404, "resource_not_found"):
        clerk.organization_domains.delete(**path)
    with refused(404, "resource_not_found"):
        clerk.organization_domains.update(**path, verified=True)


def test_the_domains_of_an_organization_are_filtered_and_paged():
    organization_id = new_organization()
    manual = add(organization_id)
    suggesting = add(organization_id, enrollment_mode="automatic_suggestion")
    unproven = add(organization_id, verified=False)

    def names(**params):
        found = clerk.organization_domains.list(organization_id=organization_id, **params)
        return {domain.name for domain in found.data}

    assert names() == {manual.name, suggesting.name, unproven.name}
    assert names(verified="false") == {unproven.name}
    assert names(enrollment_mode="automatic_suggestion") == {suggesting.name}
    assert names(verified="true", enrollment_mode="-automatic_suggestion") == {manual.name}
    page = clerk.organization_domains.list(organization_id=organization_id, limit=1, offset=2)
    assert (len(page.data), page.total_count) == (1, 3)
    with refused(422, "form_param_value_invalid", "enrollment_mode"):
        names(enrollment_mode="automatic")
    with refused(404, "resource_not_found", kind=models.SDKError):
        clerk.organization_domains.list(organization_id=unknown_id("org"))


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("localhost", "form_param_format_invalid"),
        ("co.uk", "form_param_format_invalid"),
        ("https://example.com", "form_param_format_invalid"),
        ("gmail.com", "organization_domain_common"),
    ],
)
def test_a_domain_is_refused_that_nobody_can_own_or_everybody_uses(name, code):
    with refused(422, code, "name"):
        add(new_organization(), name=name)


def test_a_domain_that_another_organization_has_proven_is_refused():
    mine, other = new_organization(), new_organization()
    name = add(mine).name
    with refused(422, "organization_domain_already_exists_same_organization", "name"):
        add(mine, name=name)
    with refused(422, "organization_domain_already_exists", "name"):
        add(other, name=name)
    unproven = add(other, name=name, verified=False)
    with refused(422, "organization_domain_already_exists", "name"):
        clerk.organization_domains.update(organization_id=other, domain_id=unproven.id, verified=True)
    with refused(422, "form_param_value_invalid", "enrollment_mode"):
        add(other, enrollment_mode="by_luck")
    with refused(404, "resource_not_found"):
        add(unknown_id("org"))


def test_the_ownership_of_a_domain_is_confirmed_once():
    organization_id = new_organization()
    path = {"organization_id": organization_id, "domain_id": add(organization_id, verified=False).id}
    confirmed = clerk.organization_domains.verify_ownership(**path)
    assert_has(confirmed.ownership_verification, status="verified", strategy="manual_override", attempts=None)
    assert confirmed.affiliation_verification is None
    assert clerk.organization_domains.verify_ownership(**path) == confirmed
    with refused(404, "resource_not_found"):
        other_clerk.organization_domains.verify_ownership(**path)


def test_domains_of_all_organizations_are_searched_and_ordered():
    first, second = new_organization(), new_organization()
    mark = unique()
    add(first, name=f"a-{mark}.example.com")
    add(first, name=f"c-{mark}.example.com", verified=False)
    add(second, name=f"b-{mark}.example.com", enrollment_mode="automatic_invitation")

    def letters(**params):
        return "".join(domain.name[0] for domain in clerk.organization_domains.list_all(**params).data)

    modes = models.QueryParamEnrollmentMode
    assert letters(query=mark.upper(), order_by="name") == "abc"
    assert letters(query=mark, order_by="-name") == "cba"
    assert letters(query=first, order_by="+created_at") == "ac"
    assert letters(organization_id=second) == "b"
    assert letters(query=mark, verified=models.Verified.FALSE) == "c"
    assert letters(query=mark, enrollment_mode=[modes.AUTOMATIC_INVITATION]) == "b"
    # Modes to include and modes to exclude come in one value, separated by commas.
    both = [modes.MINUS_AUTOMATIC_INVITATION, modes.MINUS_ENTERPRISE_SSO]
    assert letters(query=mark, enrollment_mode=both, order_by="name") == "ac"
    assert letters(domains=[f"a-{mark}.example.com", f"b-{mark}.example.com"], order_by="name") == "ab"
    page = clerk.organization_domains.list_all(query=mark, order_by="name", limit=1, offset=1)
    assert ([domain.name[0] for domain in page.data], page.total_count) == (["b"], 3)
    with refused(422, "form_param_value_invalid", "query"):
        letters(query=" ")
    with refused(422, "form_param_value_invalid", "order_by"):
        letters(order_by="age")
    assert other_clerk.organization_domains.list_all(query=mark).total_count == 0


def test_an_invitation_waits_for_everybody_with_an_address_of_the_domain():
    organization_id = new_organization()
    name = new_domain()
    already = new_user(email_address=[f"ann@{name}"])
    stranger = new_user(email_address=[f"ann@sub.{name}"])
    domain = add(organization_id, name=name, enrollment_mode="automatic_invitation")
    later = new_user(email_address=[f"ben@{name}"])
    for user in (already, later):
        [invitation] = pending(user)
        assert_has(invitation, role="org:member", email_address=user.email_addresses[0].email_address)
        assert invitation.public_organization_data.id == organization_id
    assert pending(stranger) == []
    assert clerk.organization_domains.list(organization_id=organization_id).data[0].total_pending_invitations == 2
    # As published, the organization's own list does not show them.
    assert clerk.organization_invitations.list(organization_id=organization_id).total_count == 0
    clerk.organization_domains.delete(organization_id=organization_id, domain_id=domain.id)
    assert pending(already) == pending(later) == []


def test_suggestions_are_counted_and_taken_back():
    organization_id = new_organization()
    domain = add(organization_id)
    new_user(email_address=[f"ann@{domain.name}"])
    path = {"organization_id": organization_id, "domain_id": domain.id}
    suggesting = clerk.organization_domains.update(**path, enrollment_mode="automatic_suggestion")
    assert suggesting.total_pending_suggestions == 1
    assert clerk.organization_domains.update(**path, verified=False).total_pending_suggestions == 0


def test_domains_and_modes_must_be_enabled():
    without = connect_to_new_instance()
    organization = without.organizations.create(request={"name": "Acme"})
    new = {"organization_id": organization.id, "name": "example.com"}
    with refused(403, "organization_domains_not_enabled"):
        without.organization_domains.create(**new, enrollment_mode="manual_invitation")
    with refused(403, "organization_domains_not_enabled"):
        without.organization_domains.list_all()
    with refused(403, "organization_domains_not_enabled"):
        without.organization_domains.verify_ownership(organization_id=organization.id, domain_id=unknown_id("orgdmn"))
    manual = connect_to_new_instance("organizations.domains=true")
    new["organization_id"] = manual.organizations.create(request={"name": "Acme"}).id
    for mode in ("automatic_invitation", "automatic_suggestion"):
        with refused(403, "organization_domain_enrollment_mode_not_enabled", "enrollment_mode"):
            manual.organization_domains.create(**new, enrollment_mode=mode)
    assert manual.organization_domains.create(**new, enrollment_mode="manual_invitation").name == "example.com"


def test_domains_of_another_instance_or_organization_are_not_found():
    organization_id = new_organization()
    domain = add(organization_id)
    own = {"organization_id": organization_id, "domain_id": domain.id}
    foreign = {"organization_id": new_organization(), "domain_id": domain.id}
    for by, path in ((other_clerk, own), (clerk, foreign)):
        with refused(404, "resource_not_found"):
            by.organization_domains.update(**path, verified=False)
        with refused(404, "resource_not_found"):
            by.organization_domains.delete(**path)
    with refused(404, "resource_not_found"):
        other_clerk.organization_domains.create(organization_id=organization_id, name=new_domain(), enrollment_mode="manual_invitation")
    with refused(404, "resource_not_found", kind=models.SDKError):
        other_clerk.organization_domains.list(organization_id=organization_id)
    assert clerk.organization_domains.list(organization_id=organization_id).data == [domain]
