from clerk_backend_api import models

from support import assert_has, clerk, is_id, new_email, new_user, other_clerk, refused, unique, unknown_id


def new_organization():
    admin = new_user()
    organization = clerk.organizations.create(
        request={"name": f"Acme {unique()}", "slug": f"acme-{unique()}", "created_by": admin.id, "max_allowed_memberships": 0}
    )
    return organization.id, admin


def test_an_address_is_invited_found_again_and_revoked():
    organization_id, admin = new_organization()
    address = new_email()
    made = clerk.organization_invitations.create(
        organization_id=organization_id,
        email_address=address,
        role="org:member",
        inviter_user_id=admin.id,
        public_metadata={"team": "a"},
        private_metadata={"cost": 1},
        redirect_url="https://example.com/join",
        expires_in_days=7,
    )
    assert is_id("orginv", made.id)
    assert_has(made, email_address=address, role="org:member", role_name="Member", status="pending", inviter_id=admin.id)
    assert made.public_inviter_data.user_id == admin.id
    assert "/v1/tickets/accept?ticket=" in made.url
    path = {"organization_id": organization_id, "invitation_id": made.id}
    assert clerk.organization_invitations.get(**path).url == made.url
    with refused(404, "resource_not_found"):
        other_clerk.organization_invitations.get(**path)
    assert_has(clerk.organization_invitations.revoke(**path, requesting_user_id=admin.id), status="revoked", url=None)
    with refused(404, "organization_invitation_not_pending"):
        clerk.organization_invitations.revoke(**path)
    with refused(404, "resource_not_found"):
        clerk.organization_invitations.get(organization_id=organization_id, invitation_id=unknown_id("orginv"))


def test_invitations_are_made_in_bulk_and_listed():
    organization_id, _ = new_organization()
    user = new_user()
    addresses = [new_email(), new_email(), new_email()]
    body = [{"email_address": address, "role": "org:member"} for address in addresses]
    made = clerk.organization_invitations.bulk_create(organization_id=organization_id, request_body=body)
    assert made.total_count == 3
    with refused(400, "organization_invitation_not_unique"):
        clerk.organization_invitations.create(organization_id=organization_id, email_address=addresses[0], role="org:member")
    clerk.organization_invitations.revoke(organization_id=organization_id, invitation_id=made.data[0].id)
    pending = clerk.organization_invitations.list_pending(organization_id=organization_id)
    assert {invitation.email_address for invitation in pending.data} == set(addresses[1:])
    listed = clerk.organization_invitations.list(
        organization_id=organization_id, status=models.ListOrganizationInvitationsQueryParamStatus.REVOKED
    )
    assert [invitation.email_address for invitation in listed.data] == [addresses[0]]
    found = clerk.organization_invitations.list(organization_id=organization_id, email_address=addresses[1])
    assert found.total_count == 1
    instance_wide = clerk.organization_invitations.get_all(query=addresses[2])
    assert instance_wide.data[0].public_organization_data.id == organization_id
    mine = clerk.users.get_organization_invitations(user_id=user.id)
    assert mine.total_count == 0


def test_an_invitation_is_refused_that_nobody_may_send_or_nobody_can_take_up():
    organization_id, admin = new_organization()
    member, stranger = new_user(), new_user()
    clerk.organization_memberships.create(organization_id=organization_id, user_id=member.id, role="org:member")

    def invite(**params):
        new = {"organization_id": organization_id, "email_address": new_email(), "role": "org:member", **params}
        return clerk.organization_invitations.create(**new)

    with refused(422, "form_param_format_invalid", "email_address"):
        invite(email_address="nobody")
    with refused(422, "form_resource_not_found", "role"):
        invite(role="org:owner")
    with refused(422, None, "expires_in_days"):
        invite(expires_in_days=366)
    with refused(403, "not_a_member_in_organization"):
        invite(inviter_user_id=stranger.id)
    with refused(403, "missing_organization_permission"):
        invite(inviter_user_id=member.id)
    with refused(400, "already_a_member_in_organization"):
        invite(email_address=admin.email_addresses[0].email_address)
    with refused(404, "resource_not_found"):
        invite(organization_id=unknown_id("org"))
    body = [{"email_address": new_email(), "role": "org:member"} for _ in range(11)]
    with refused(400, "bulk_size_exceeded"):
        clerk.organization_invitations.bulk_create(organization_id=organization_id, request_body=body)
    twice = [{"email_address": new_email(), "role": "org:member"}] * 2
    with refused(400, "organization_invitation_not_unique"):
        clerk.organization_invitations.bulk_create(organization_id=organization_id, request_body=twice)
    assert clerk.organization_invitations.list(organization_id=organization_id).total_count == 0
    made = invite()
    with refused(403, "missing_organization_permission"):
        clerk.organization_invitations.revoke(
            organization_id=organization_id, invitation_id=made.id, requesting_user_id=member.id
        )


def test_invitations_of_another_instance_or_organization_are_not_found():
    organization_id, _ = new_organization()
    made = clerk.organization_invitations.create(organization_id=organization_id, email_address=new_email(), role="org:member")
    own = {"organization_id": organization_id, "invitation_id": made.id}
    foreign = {"organization_id": new_organization()[0], "invitation_id": made.id}
    for by, path in ((other_clerk, own), (clerk, foreign)):
        with refused(404, "resource_not_found"):
            by.organization_invitations.get(**path)
        with refused(404, "resource_not_found"):
            by.organization_invitations.revoke(**path)
    new = {"email_address": new_email(), "role": "org:member"}
    path = {"organization_id": organization_id}
    for call in (
        lambda: other_clerk.organization_invitations.create(**path, **new),
        lambda: other_clerk.organization_invitations.bulk_create(**path, request_body=[new]),
        lambda: other_clerk.organization_invitations.list(**path),
        lambda: other_clerk.organization_invitations.list_pending(**path),
    ):
        with refused(404, "resource_not_found"):
            call()
    assert other_clerk.organization_invitations.get_all(query=made.email_address).total_count == 0
    assert clerk.organization_invitations.get(**own) == made


def test_invitations_of_all_organizations_are_searched_and_ordered():
    organization_id, _ = new_organization()
    mark = unique()
    for letter in "bac":
        clerk.organization_invitations.create(
            organization_id=organization_id, email_address=f"{letter}-{mark}@example.com", role="org:member"
        )

    def letters(**params):
        found = clerk.organization_invitations.get_all(query=mark, **params)
        return "".join(invitation.email_address[0] for invitation in found.data)

    statuses = models.ListInstanceOrganizationInvitationsQueryParamStatus
    assert letters() == "cab"
    assert letters(order_by="+email_address") == "abc"
    assert letters(order_by="-email_address", limit=1, offset=1) == "b"
    assert letters(status=statuses.PENDING, order_by="created_at") == "bac"
    assert letters(status=statuses.REVOKED) == ""
    with refused(422, "form_param_value_invalid", "order_by"):
        letters(order_by="age")
