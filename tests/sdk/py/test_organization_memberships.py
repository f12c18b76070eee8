"""Members of organizations: filters, orders, metadata, limits, and the lists of a user and of the instance."""

import pytest
from clerk_backend_api import models

from support import (
    assert_has,
    clerk,
    connect_to_new_instance,
    new_email,
    new_phone,
    new_user,
    new_username,
    new_wallet,
    other_clerk,
    refused,
    unique,
    unknown_id,
)


def new_organization(**params):
    return clerk.organizations.create(request={"name": f"Acme {unique()}", "max_allowed_memberships": 0, **params}).id


def join(organization_id, user, role="org:member", **params):
    return clerk.organization_memberships.create(organization_id=organization_id, user_id=user.id, role=role, **params)


def user_ids(found):
    return [membership.public_user_data.user_id for membership in found.data]


@pytest.fixture(scope="module")
def people():
    """An organization, its admin and a member."""
    ada = new_user(
        email_address=[f"a{new_email()}"],
        phone_number=[new_phone()],
        username=f"a{new_username()}",
        web3_wallet=[new_wallet()],
        first_name="Ada",
        last_name="Young",
    )
    zoe = new_user(email_address=[f"z{new_email()}"], username=f"z{new_username()}", first_name="Zoë", last_name="Adler")
    organization_id = new_organization()
    join(organization_id, ada, "org:admin")
    join(organization_id, zoe)
    return organization_id, ada, zoe


def test_members_are_found_by_what_their_users_are_found_by(people):
    organization_id, ada, zoe = people
    email = zoe.email_addresses[0].email_address
    phone = ada.phone_numbers[0].phone_number
    for params, expected in [
        ({"user_id": [ada.id]}, [ada]),
        ({"user_id": [f"-{ada.id}"]}, [zoe]),
        ({"email_address": [email]}, [zoe]),
        ({"phone_number": [phone]}, [ada]),
        ({"username": [ada.username, zoe.username]}, [zoe, ada]),
        ({"web3_wallet": [ada.web3_wallets[0].web3_wallet]}, [ada]),
        ({"role": ["org:admin"]}, [ada]),
        ({"role": ["org:nobody"]}, []),
        ({"query": "YOUNG"}, [ada]),
        ({"email_address_query": email[1:12]}, [zoe]),
        ({"phone_number_query": phone[4:]}, [ada]),
        ({"username_query": zoe.username[3:15]}, [zoe]),
        ({"name_query": "ada you"}, [ada]),
        ({"created_at_before": 1}, []),
        ({"created_at_after": ada.created_at - 1}, [zoe, ada]),
        ({"last_active_at_after": 1}, []),
        ({"last_active_at_before": 1}, []),
    ]:
        found = clerk.organization_memberships.list(organization_id=organization_id, **params)
        assert user_ids(found) == [user.id for user in expected], params
        assert found.total_count == len(expected)


def test_members_are_ordered_and_paged(people):
    organization_id, ada, zoe = people

    def ordered(order_by):
        return user_ids(clerk.organization_memberships.list(organization_id=organization_id, order_by=order_by))

    for order_by in ("created_at", "first_name", "email_address", "username", "-last_name", "phone_number", "-phone_number"):
        assert ordered(order_by) == [ada.id, zoe.id], order_by
    for order_by in ("-created_at", "-first_name", "-email_address", "-username", "+last_name"):
        assert ordered(order_by) == [zoe.id, ada.id], order_by
    page = clerk.organization_memberships.list(organization_id=organization_id, order_by="created_at", limit=1, offset=1)
    assert (user_ids(page), page.total_count) == ([zoe.id], 2)
    with refused(422, "form_param_value_invalid", "order_by"):
        ordered("age")
    with refused(422, "form_param_value_invalid", "limit"):
        clerk.organization_memberships.list(organization_id=organization_id, limit=0)
    for by, missing in ((clerk, unknown_id("org")), (other_clerk, organization_id)):
        with refused(404, "resource_not_found", kind=models.SDKError):
            by.organization_memberships.list(organization_id=missing)


def test_a_membership_shows_its_user_its_organization_and_its_role(people):
    organization_id, ada, _ = people
    [membership] = clerk.organization_memberships.list(organization_id=organization_id, user_id=[ada.id]).data
    assert_has(membership, role="org:admin", role_name="Admin")
    assert "org:sys_memberships:manage" in membership.permissions
    assert membership.organization.id == organization_id
    assert_has(
        membership.public_user_data,
        user_id=ada.id,
        identifier=ada.email_addresses[0].email_address,
        first_name="Ada",
        last_name="Young",
        has_image=False,
        username=ada.username,
    )


def test_somebody_becomes_a_member_who_is_a_user_in_a_role_that_members_can_have(people):
    organization_id, ada, _ = people
    user = new_user()
    with refused(404, "resource_not_found"):
        join(unknown_id("org"), user)
    with refused(404, "resource_not_found"):
        clerk.organization_memberships.create(organization_id=organization_id, user_id=unknown_id("user"), role="org:member")
    with refused(422, "form_resource_not_found", "role"):
        join(organization_id, user, "org:owner")
    with refused(400, "already_a_member_in_organization"):
        join(organization_id, ada)
    assert clerk.users.get_organization_memberships(user_id=user.id).total_count == 0
    made = join(organization_id, user, public_metadata={"team": "a"}, private_metadata={"cost": 1})
    assert_has(made, role="org:member", public_metadata={"team": "a"}, private_metadata={"cost": 1})
    clerk.organization_memberships.delete(organization_id=organization_id, user_id=user.id)


def test_an_organization_has_no_more_members_than_it_may():
    organization_id = new_organization(max_allowed_memberships=1)
    join(organization_id, new_user(), "org:admin")
    with refused(403, "organization_membership_quota_exceeded"):
        join(organization_id, new_user())
    assert clerk.organizations.get(organization_id=organization_id, include_members_count=True).members_count == 1


def test_roles_change_while_somebody_is_left_who_manages_the_organization():
    organization_id = new_organization()
    admin, member = new_user(), new_user()
    join(organization_id, admin, "org:admin")
    join(organization_id, member)

    def change(user_id, role):
        return clerk.organization_memberships.update(organization_id=organization_id, user_id=user_id, role=role)

    with refused(400, "organization_minimum_permissions_needed", kind=models.SDKError):
        change(admin.id, "org:member")
    with refused(422, "form_resource_not_found", "role"):
        change(member.id, "org:owner")
    with refused(404, "resource_not_found"):
        change(unknown_id("user"), "org:member")
    assert change(member.id, "org:admin").role_name == "Admin"
    assert change(admin.id, "org:member").role == "org:member"
    with refused(404, "resource_not_found"):
        other_clerk.organization_memberships.update(organization_id=organization_id, user_id=member.id, role="org:member")
    with refused(404, "resource_not_found"):
        other_clerk.organization_memberships.delete(organization_id=organization_id, user_id=admin.id)
    clerk.organization_memberships.delete(organization_id=organization_id, user_id=admin.id)
    with refused(404, "resource_not_found"):
        clerk.organization_memberships.delete(organization_id=organization_id, user_id=admin.id)


def test_metadata_of_a_membership_is_merged_at_every_depth(people):
    organization_id, _, zoe = people
    path = {"organization_id": organization_id, "user_id": zoe.id}
    change = clerk.organization_memberships.update_metadata
    change(**path, public_metadata={"seat": {"row": 1, "place": 2}, "old": True}, private_metadata={"cost": 3})
    merged = change(**path, public_metadata={"seat": {"place": 4}, "old": None})
    assert_has(merged, public_metadata={"seat": {"row": 1, "place": 4}}, private_metadata={"cost": 3}, role="org:member")
    with refused(422, "form_param_exceeds_allowed_size", "public_metadata"):
        change(**path, public_metadata={"text": "x" * 9 * 1024})
    with refused(404, "resource_not_found"):
        change(organization_id=organization_id, user_id=unknown_id("user"), public_metadata={})
    with refused(404, "resource_not_found"):
        other_clerk.organization_memberships.update_metadata(**path, public_metadata={})


def test_the_memberships_of_a_user_are_listed_newest_first():
    user = new_user()
    joined = [new_organization() for _ in range(3)]
    for organization_id in joined:
        join(organization_id, user)

    def listed(**params):
        found = clerk.users.get_organization_memberships(user_id=user.id, **params)
        assert found.total_count == 3
        return [membership.organization.id for membership in found.data]

    assert listed() == joined[::-1]
    assert listed(limit=1, offset=1) == [joined[1]]
    for by, user_id in ((clerk, unknown_id("user")), (other_clerk, user.id)):
        with refused(404, "resource_not_found", kind=models.SDKError):
            by.users.get_organization_memberships(user_id=user_id)


def test_the_invitations_of_a_user_are_listed_by_status():
    user = new_user()
    address = user.email_addresses[0].email_address
    made = [
        clerk.organization_invitations.create(organization_id=new_organization(), email_address=address, role="org:member")
        for _ in range(3)
    ]
    clerk.organization_invitations.revoke(organization_id=made[1].organization_id, invitation_id=made[1].id)
    statuses = models.UsersGetOrganizationInvitationsQueryParamStatus

    def listed(**params):
        found = clerk.users.get_organization_invitations(user_id=user.id, **params)
        return [invitation.id for invitation in found.data], found.total_count

    assert listed() == ([invitation.id for invitation in made[::-1]], 3)
    assert listed(limit=1, offset=2) == ([made[0].id], 3)
    assert listed(status=statuses.PENDING) == ([made[2].id, made[0].id], 2)
    assert listed(status=statuses.REVOKED) == ([made[1].id], 1)
    assert listed(status=statuses.ACCEPTED) == ([], 0)
    for by, user_id in ((clerk, unknown_id("user")), (other_clerk, user.id)):
        with refused(404, "resource_not_found"):
            by.users.get_organization_invitations(user_id=user_id)


def test_the_memberships_of_all_organizations_are_ordered_and_paged():
    empty = connect_to_new_instance()
    for name in ("Cleo", "Ben", "Ann"):
        user = empty.users.create(email_address=[f"{name}@example.com"], first_name=name)
        organization = empty.organizations.create(request={"name": name})
        empty.organization_memberships.create(organization_id=organization.id, user_id=user.id, role="org:admin")

    def names(**params):
        found = empty.users.get_instance_organization_memberships(**params)
        assert found.total_count == 3
        return " ".join(membership.public_user_data.first_name for membership in found.data)

    assert names() == "Ann Ben Cleo"
    assert names(order_by="created_at") == "Cleo Ben Ann"
    assert names(order_by="-first_name") == "Cleo Ben Ann"
    assert names(order_by="email_address", limit=1, offset=1) == "Ben"
    with refused(422, "form_param_value_invalid", "order_by"):
        names(order_by="age")


def test_users_are_listed_and_counted_by_their_organizations(people):
    organization_id, ada, zoe = people
    both = new_user()
    other = new_organization()
    for each in (organization_id, other):
        join(each, both, "org:admin")

    def listed(*organizations):
        request = {"organization_id": list(organizations), "order_by": "+created_at"}
        assert clerk.users.count(request={"organization_id": list(organizations)}).total_count == len(clerk.users.list(request=request))
        return [user.id for user in clerk.users.list(request=request)]

    assert listed(other) == [both.id]
    assert listed(organization_id, other) == [ada.id, zoe.id, both.id]
    assert listed(organization_id, f"-{other}") == [ada.id, zoe.id]
    assert listed(unknown_id("org")) == []
    assert other_clerk.users.list(request={"organization_id": [organization_id]}) == []
    clerk.organization_memberships.delete(organization_id=organization_id, user_id=both.id)
    assert listed(organization_id) == [ada.id, zoe.id]
