import httpx
import pytest
from clerk_backend_api import models

from support import (
    SECRET_KEY,
    URL,
    assert_has,
    clerk,
    connect_to_new_instance,
    is_id,
    new_user,
    other_clerk,
    png,
    refused,
    unique,
    unknown_id,
)


def new_organization(**params):
    return clerk.organizations.create(request={"name": f"Acme {unique()}", **params})


def test_an_organization_is_created_with_its_creator_as_admin():
    creator = new_user()
    slug = f"acme-{unique()}"
    created = new_organization(created_by=creator.id, slug=slug, public_metadata={"tier": 1})
    assert is_id("org", created.id)
    assert_has(created, object="organization", slug=slug, created_by=creator.id, max_allowed_memberships=0, members_count=1)
    assert clerk.organizations.get(organization_id=slug).id == created.id
    members = clerk.organization_memberships.list(organization_id=created.id)
    assert members.total_count == 1
    assert_has(members.data[0], role="org:admin", role_name="Admin")
    assert members.data[0].public_user_data.user_id == creator.id
    mine = clerk.users.get_organization_memberships(user_id=creator.id)
    assert [membership.organization.id for membership in mine.data] == [created.id]
    with refused(404, "resource_not_found"):
        other_clerk.organizations.get(organization_id=created.id)


def test_an_organization_is_updated_and_deleted():
    organization = new_organization()
    name = f"Beta {unique()}"
    assert clerk.organizations.update(organization_id=organization.id, name=name).name == name
    merged = clerk.organizations.merge_metadata(organization_id=organization.id, public_metadata={"a": 1})
    assert merged.public_metadata == {"a": 1}
    replaced = clerk.organizations.replace_metadata(organization_id=organization.id, public_metadata={"b": 2})
    assert replaced.public_metadata == {"b": 2}
    logo = {"file_name": "logo.png", "content": png(2, 2), "content_type": "image/png"}
    assert clerk.organizations.upload_logo(organization_id=organization.id, file=logo).has_image
    assert not clerk.organizations.delete_logo(organization_id=organization.id).has_image
    gone = clerk.organizations.delete(organization_id=organization.id)
    assert_has(gone, object="organization", id=organization.id, deleted=True)
    with refused(404, "resource_not_found"):
        clerk.organizations.delete(organization_id=unknown_id("org"))


def test_members_are_added_given_another_role_and_removed():
    organization = new_organization()
    admin, member = new_user(), new_user()
    for user, role in ((admin, "org:admin"), (member, "org:member")):
        clerk.organization_memberships.create(organization_id=organization.id, user_id=user.id, role=role)
    path = {"organization_id": organization.id, "user_id": member.id}
    assert clerk.organization_memberships.update(**path, role="org:admin").role == "org:admin"
    noted = clerk.organization_memberships.update_metadata(**path, public_metadata={"seat": 1})
    assert noted.public_metadata == {"seat": 1}
    assert_has(clerk.organization_memberships.delete(**path), role="org:admin")
    last = {"organization_id": organization.id, "user_id": admin.id}
    with refused(400, "organization_minimum_permissions_needed", kind=models.SDKError):
        clerk.organization_memberships.delete(**last)


def test_lists_are_filtered_and_ordered():
    empty = connect_to_new_instance()
    for name in ("Acme", "Beta"):
        empty.organizations.create(request={"name": name})
    assert clerk.organizations.list(limit=1).total_count > 0
    listed = empty.organizations.list(order_by="name", include_members_count=True)
    assert [organization.name for organization in listed.data] == ["Acme", "Beta"]
    assert listed.total_count == 2
    assert empty.users.get_instance_organization_memberships().total_count == 0
    assert clerk.users.get_instance_organization_memberships(limit=1).total_count > 0


@pytest.mark.parametrize(
    ("params", "status", "code", "param"),
    [
        ({"name": ""}, 422, "form_param_nil", "name"),
        ({"name": "x" * 257}, 422, "form_param_max_length_exceeded", "name"),
        ({"slug": "No Slug"}, 422, "form_param_format_invalid", "slug"),
        ({"created_by": unknown_id("user")}, 400, "organization_creator_not_found", "created_by"),
        ({"max_allowed_memberships": -1}, 422, "form_param_value_invalid", "max_allowed_memberships"),
        ({"role_set_key": "role_set:none"}, 422, "form_resource_not_found", "role_set_key"),
        ({"created_at": "yesterday"}, 422, "form_param_invalid_time", "created_at"),
    ],
)
def test_an_organization_is_refused_that_has_no_usable_name_slug_creator_or_limit(params, status, code, param):
    with refused(status, code, param):
        new_organization(**params)
    organization = new_organization()
    changed = {name: value for name, value in params.items() if name != "created_by"}
    if changed:
        with refused(status, code, param):
            clerk.organizations.update(organization_id=organization.id, **changed)


def test_a_slug_is_given_to_one_organization_of_an_instance():
    slug = f"acme-{unique()}"
    organization = new_organization(slug=slug)
    with refused(422, "form_already_exists", "slug"):
        new_organization(slug=slug)
    with refused(422, "form_already_exists", "slug"):
        clerk.organizations.update(organization_id=new_organization().id, slug=slug)
    twin = other_clerk.organizations.create(request={"name": "Twin", "slug": slug})
    assert clerk.organizations.get(organization_id=slug).id == organization.id
    assert other_clerk.organizations.get(organization_id=slug).id == twin.id
    without = connect_to_new_instance("organizations.slugs=false")
    with refused(403, "organization_slugs_disabled"):
        without.organizations.create(request={"name": "Acme", "slug": "acme"})


def test_an_update_changes_what_it_names():
    organization = new_organization(public_metadata={"a": 1})
    changed = clerk.organizations.update(
        organization_id=organization.id,
        slug=f"beta-{unique()}",
        max_allowed_memberships=7,
        admin_delete_enabled=False,
        created_at="2020-01-01T00:00:00Z",
    )
    assert_has(
        changed,
        name=organization.name,
        max_allowed_memberships=7,
        admin_delete_enabled=False,
        created_at=1_577_836_800_000,
        public_metadata={"a": 1},
    )
    assert clerk.organizations.get(organization_id=changed.slug).id == organization.id
    with refused(404, "resource_not_found"):
        clerk.organizations.update(organization_id=unknown_id("org"), name="Acme")


def test_metadata_is_merged_by_patch_and_replaced_by_put():
    organization = new_organization(public_metadata={"plan": {"name": "pro", "seats": 5}, "old": True}, private_metadata={"note": "x"})
    path = {"organization_id": organization.id}
    merged = clerk.organizations.merge_metadata(**path, public_metadata={"plan": {"seats": 6}, "old": None})
    assert_has(merged, public_metadata={"plan": {"name": "pro", "seats": 6}}, private_metadata={"note": "x"})
    replaced = clerk.organizations.replace_metadata(**path, public_metadata={"plan": {"seats": 7}})
    assert_has(replaced, public_metadata={"plan": {"seats": 7}}, private_metadata={"note": "x"})
    large = {"text": "x" * 9 * 1024}
    for change in (clerk.organizations.merge_metadata, clerk.organizations.replace_metadata):
        with refused(422, "form_param_exceeds_allowed_size", "private_metadata"):
            change(**path, private_metadata=large)
        with refused(404, "resource_not_found"):
            change(organization_id=unknown_id("org"), public_metadata={})
    for change in (other_clerk.organizations.merge_metadata, other_clerk.organizations.replace_metadata):
        with refused(404, "resource_not_found"):
            change(**path, public_metadata={})
    assert clerk.organizations.get(**path).private_metadata == {"note": "x"}


@pytest.mark.parametrize("version", ["2021-02-05", "2024-10-01", "2025-04-10", "2025-11-10", "2026-05-12"])
def test_metadata_in_an_update_is_replaced_up_to_version_2025_11_10(version):
    organization = new_organization(public_metadata={"a": 1, "b": 2})
    answer = httpx.patch(
        f"{URL}/v1/organizations/{organization.id}",
        headers={"Authorization": f"Bearer {SECRET_KEY}", "Clerk-API-Version": version},
        json={"public_metadata": {"c": 3}},
    )
    if version < "2026-05-12":
        assert (answer.status_code, answer.json()["public_metadata"]) == (200, {"c": 3})
    else:
        [error] = answer.json()["errors"]
        assert (answer.status_code, error["code"], error["meta"]["param_name"]) == (422, "form_param_unknown", "public_metadata")


def test_a_logo_is_uploaded_in_the_name_of_a_user():
    organization = new_organization()
    uploader = new_user()
    logo = {"file_name": "logo.png", "content": png(4, 4), "content_type": "image/png"}
    pictured = clerk.organizations.upload_logo(organization_id=organization.id, file=logo, uploader_user_id=uploader.id)
    assert pictured.has_image
    assert pictured.image_url != organization.image_url
    served = httpx.get(pictured.image_url)
    assert (served.status_code, served.headers["content-type"]) == (200, "image/png")
    with refused(404, "resource_not_found"):
        clerk.organizations.upload_logo(organization_id=organization.id, file=logo, uploader_user_id=unknown_id("user"))
    with refused(400, "request_body_invalid"):
        clerk.organizations.upload_logo(organization_id=organization.id, file={**logo, "content": b"no picture"})
    for by, organization_id in ((clerk, unknown_id("org")), (other_clerk, organization.id)):
        with refused(404, "resource_not_found"):
            by.organizations.upload_logo(organization_id=organization_id, file=logo)
        with refused(404, "resource_not_found"):
            by.organizations.delete_logo(organization_id=organization_id)
    without = clerk.organizations.delete_logo(organization_id=organization.id)
    assert_has(without, has_image=False, image_url=organization.image_url)


def test_an_organization_is_deleted_with_its_members_and_invitations():
    admin, invited = new_user(), new_user()
    organization = new_organization(created_by=admin.id)
    address = invited.email_addresses[0].email_address
    clerk.organization_invitations.create(organization_id=organization.id, email_address=address, role="org:member")
    with refused(404, "resource_not_found"):
        other_clerk.organizations.delete(organization_id=organization.id)
    clerk.organizations.delete(organization_id=organization.id)
    assert clerk.users.get_organization_memberships(user_id=admin.id).total_count == 0
    assert clerk.users.get_organization_invitations(user_id=invited.id).total_count == 0
    with refused(404, "resource_not_found"):
        clerk.organizations.get(organization_id=organization.id)


def test_organizations_are_found_by_members_ids_and_names():
    empty = connect_to_new_instance()
    user = empty.users.create(email_address=["ada@example.com"])
    led = empty.organizations.create(request={"name": "Led", "created_by": user.id})
    left = empty.organizations.create(request={"name": "Left"})

    def names(**params):
        return [organization.name for organization in empty.organizations.list(**params).data]

    assert names(user_id=[user.id]) == ["Led"]
    assert names(user_id=[f"-{user.id}"]) == ["Left"]
    assert names(organization_id=[f"-{left.id}"]) == ["Led"]
    assert names(query=led.slug) == names(query=led.id) == ["Led"]
    assert names(query="le", order_by="-members_count") == ["Led", "Left"]
    assert names(limit=1, offset=1, order_by="+name") == ["Left"]
    shown = empty.organizations.list(include_missing_member_with_elevated_permissions=True, order_by="name").data
    assert [organization.missing_member_with_elevated_permissions for organization in shown] == [False, True]
    one = empty.organizations.get(organization_id=left.id, include_missing_member_with_elevated_permissions=True)
    assert one.missing_member_with_elevated_permissions
    with refused(422, "form_param_value_invalid", "order_by"):
        names(order_by="slug")
    assert other_clerk.organizations.list(organization_id=[led.id]).total_count == 0


def test_where_organizations_are_off_every_group_says_so():
    without = connect_to_new_instance("organizations.enabled=false")
    path = {"organization_id": unknown_id("org")}
    code = (403, "organization_not_enabled_in_instance")
    with refused(*code):
        without.organizations.list()
    with refused(*code):
        without.organizations.create(request={"name": "Acme"})
    with refused(*code, kind=models.SDKError):
        without.organization_memberships.list(**path)
    with refused(*code, kind=models.SDKError):
        without.organization_invitations.list(**path)
    with refused(*code, kind=models.SDKError):
        without.organization_domains.list(**path)
    with refused(*code):
        without.organization_domains.list_all()
    with refused(*code):
        without.organization_roles.list()
    with refused(*code, kind=models.SDKError):
        without.organization_permissions.list()
    with refused(*code):
        without.role_sets.list()
    with refused(*code, kind=models.CreateAdminPortalLinkTokenAdminPortalLinkTokensResponse403ResponseBody):
        without.admin_portal_link_tokens.create_admin_portal_link_token()
