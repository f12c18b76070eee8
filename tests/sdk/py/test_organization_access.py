"""Roles, permissions, role sets and link tokens, in instances of their own: each may have few of them."""

import re

from clerk_backend_api import models

from support import assert_has, connect_to_new_instance, is_id, new_email, other_clerk, refused, unknown_id


def keys(items):
    return [item.key for item in items]


def test_permissions_are_created_listed_changed_and_deleted():
    clerk = connect_to_new_instance()
    created = clerk.organization_permissions.create(name="Read", key="org:pages:read")
    assert is_id("perm", created.id)
    assert_has(created, object="permission", name="Read", key="org:pages:read", description="", type="user")
    assert clerk.organization_permissions.get(permission_id=created.id) == created
    found = clerk.organization_permissions.list(order_by="key", limit=500)
    assert (found.total_count, found.data[0]) == (10, created)
    changed = clerk.organization_permissions.update(permission_id=created.id, description="Reads.")
    assert_has(changed, name="Read", description="Reads.")
    with refused(403, "organization_system_permission_not_modifiable"):
        clerk.organization_permissions.delete(permission_id=found.data[1].id)
    gone = clerk.organization_permissions.delete(permission_id=created.id)
    assert_has(gone, object="permission", id=created.id, deleted=True)
    with refused(404, "resource_not_found"):
        clerk.organization_permissions.get(permission_id=created.id)


def test_roles_are_created_listed_changed_given_permissions_and_deleted():
    clerk = connect_to_new_instance()
    domains = clerk.organization_permissions.list(query="org:sys_domains:read").data[0]
    created = clerk.organization_roles.create(name="Editor", key="org:editor", permissions=[domains.id])
    assert is_id("role", created.id)
    assert_has(created, object="role", key="org:editor", description=None, is_creator_eligible=False)
    assert keys(created.permissions) == ["org:sys_domains:read"]
    assert clerk.organization_roles.get(organization_role_id=created.id) == created
    found = clerk.organization_roles.list(order_by="key")
    assert (keys(found.data), found.total_count) == (["org:admin", "org:editor", "org:member"], 3)
    ids = {"organization_role_id": created.id, "permission_id": domains.id}
    assert clerk.organization_roles.remove_permission(**ids).permissions == []
    assert len(clerk.organization_roles.assign_permission(**ids).permissions) == 1
    with refused(409, "organization_role_permission_association_exists"):
        clerk.organization_roles.assign_permission(**ids)
    changed = clerk.organization_roles.update(organization_role_id=created.id, name=None, key="org:author")
    assert_has(changed, name="Editor", key="org:author")
    with refused(422, "organization_role_default_creator_role"):
        clerk.organization_roles.delete(organization_role_id=found.data[0].id)
    gone = clerk.organization_roles.delete(organization_role_id=created.id)
    assert_has(gone, object="role", id=created.id, deleted=True)


def test_role_sets_are_created_changed_and_replaced():
    clerk = connect_to_new_instance()
    for key in ["org:viewer", "org:guest"]:
        clerk.organization_roles.create(name=key, key=key)
    created = clerk.role_sets.create(
        name="Customers",
        roles=["org:admin", "org:viewer"],
        default_role_key="org:viewer",
        creator_role_key="org:admin",
    )
    assert is_id("rset", created.id)
    assert_has(created, object="role_set", key="role_set:customers", description=None)
    assert clerk.role_sets.get(role_set_key_or_id="role_set:customers") == created
    assert keys(clerk.role_sets.list(order_by="key").data) == ["role_set:customers", "role_set:default"]
    added = clerk.role_sets.add_roles(role_set_key_or_id=created.id, role_keys=["org:guest"])
    assert keys(added.roles) == ["org:admin", "org:viewer", "org:guest"]
    changed = clerk.role_sets.update(role_set_key_or_id=created.id, name="Guests", default_role_key="org:guest")
    assert (changed.name, changed.default_role.key) == ("Guests", "org:guest")
    organization = clerk.organizations.create(request={"name": "Acme", "role_set_key": "role_set:customers"})
    user = clerk.users.create(email_address=[new_email()])
    clerk.organization_memberships.create(organization_id=organization.id, user_id=user.id, role="org:viewer")
    replaced = clerk.role_sets.replace_role(role_set_key_or_id=created.id, role_key="org:viewer", to_role_key="org:guest")
    assert (keys(replaced.roles), replaced.roles[1].members_count) == (["org:admin", "org:guest"], 1)
    with refused(422, "organization_role_set_reassignment_mappings_missing"):
        clerk.role_sets.replace(role_set_key_or_id=created.id, dest_role_set_key="role_set:default")
    mappings = {"org:guest": "org:member"}
    gone = clerk.role_sets.replace(
        role_set_key_or_id=created.id, dest_role_set_key="role_set:default", reassignment_mappings=mappings
    )
    assert_has(gone, object="role_set", id=created.id, deleted=True)
    members = clerk.organization_memberships.list(organization_id=organization.id)
    assert [member.role for member in members.data] == ["org:member"]
    with refused(404, "resource_not_found"):
        clerk.role_sets.get(role_set_key_or_id=unknown_id("rset"))


def test_link_tokens_of_admin_portals_are_created_and_revoked():
    clerk = connect_to_new_instance()
    organization = clerk.organizations.create(request={"name": "Acme"})
    created = clerk.admin_portal_link_tokens.create_admin_portal_link_token(
        organization_id=organization.id, it_contact_id="contact", scopes=["portal:read"]
    )
    assert re.fullmatch("aplt_[0-9a-f]{32}", created.id)
    assert is_id("apl", created.admin_portal_link_id)
    assert_has(created, organization_id=organization.id, scopes=["portal:read"], revoked=False, expired=False)
    assert created.expiration == created.created_at + 3_600_000
    assert created.token.startswith("aplt_")
    revoked = clerk.admin_portal_link_tokens.revoke_admin_portal_link_token(
        admin_portal_link_token_id=created.id, revocation_reason="Lost"
    )
    assert_has(revoked, id=created.id, revoked=True, revocation_reason="Lost")
    with refused(404, "resource_not_found", kind=models.RevokeAdminPortalLinkTokenAdminPortalLinkTokensResponse404ResponseBody):
        clerk.admin_portal_link_tokens.revoke_admin_portal_link_token(
            admin_portal_link_token_id="aplt_" + "0" * 32
        )


def test_a_permission_is_refused_whose_key_is_taken_or_has_not_its_form():
    clerk = connect_to_new_instance()
    clerk.organization_permissions.create(name="Read", key="org:pages:read")
    with refused(422, "form_already_exists", "key"):
        clerk.organization_permissions.create(name="Read", key="org:pages:read")
    for key in ("pages:read", "org:pages", "org:Pages:read", "org:sys_pages:read"):
        with refused(422, None, "key"):
            clerk.organization_permissions.create(name="Read", key=key)
    with refused(404, "resource_not_found"):
        clerk.organization_permissions.update(permission_id=unknown_id("perm"), name="A")
    with refused(404, "resource_not_found"):
        clerk.organization_permissions.delete(permission_id=unknown_id("perm"))


def test_a_role_is_refused_that_is_taken_or_names_what_is_not_there():
    clerk = connect_to_new_instance()
    role = clerk.organization_roles.create(name="Editor", key="org:editor")
    with refused(422, "form_already_exists", "key"):
        clerk.organization_roles.create(name="Editor", key="org:editor")
    with refused(422, None, "key"):
        clerk.organization_roles.create(name="Editor", key="The Editor")
    with refused(422, "form_resource_not_found", "permissions"):
        clerk.organization_roles.create(name="Author", key="org:author", permissions=[unknown_id("perm")])
    ids = {"organization_role_id": role.id, "permission_id": unknown_id("perm")}
    with refused(404, "resource_not_found"):
        clerk.organization_roles.assign_permission(**ids)
    with refused(404, "resource_not_found"):
        clerk.organization_roles.remove_permission(**ids)
    with refused(422, "form_already_exists", "key"):
        clerk.organization_roles.update(organization_role_id=role.id, key="org:admin")
    with refused(404, "resource_not_found"):
        clerk.organization_roles.get(organization_role_id=unknown_id("role"))


def test_a_role_stays_while_members_have_it_or_invitations_promise_it():
    clerk = connect_to_new_instance()
    role = clerk.organization_roles.create(name="Editor", key="org:editor", include_in_initial_role_set=True)
    organization = clerk.organizations.create(request={"name": "Acme"})
    user = clerk.users.create(email_address=[new_email()])
    path = {"organization_id": organization.id, "user_id": user.id}
    clerk.organization_memberships.create(**path, role="org:editor")
    with refused(422, "organization_role_assigned_members"):
        clerk.organization_roles.delete(organization_role_id=role.id)
    clerk.organization_memberships.update(**path, role="org:member")
    invitation = clerk.organization_invitations.create(
        organization_id=organization.id, email_address=new_email(), role="org:editor"
    )
    with refused(422, "organization_role_exists_in_invitations"):
        clerk.organization_roles.delete(organization_role_id=role.id)
    clerk.organization_invitations.revoke(organization_id=organization.id, invitation_id=invitation.id)
    assert clerk.organization_roles.delete(organization_role_id=role.id).deleted


def test_a_role_set_is_refused_that_lacks_its_roles_and_only_one_is_initial():
    clerk = connect_to_new_instance()
    new = {"name": "Others", "roles": ["org:admin"], "default_role_key": "org:admin", "creator_role_key": "org:admin"}
    with refused(422, "form_resource_not_found", "roles"):
        clerk.role_sets.create(**{**new, "roles": ["org:admin", "org:owner"]})
    with refused(422, None, "default_role_key"):
        clerk.role_sets.create(**{**new, "default_role_key": "org:member"})
    with refused(422, "form_already_exists", "key"):
        clerk.role_sets.create(**new, key="role_set:default")
    made = clerk.role_sets.create(**new, type_="initial")
    assert (made.type, clerk.role_sets.get(role_set_key_or_id="role_set:default").type) == ("initial", "custom")
    with refused(403, "cannot_delete_initial_role_set"):
        clerk.role_sets.replace(role_set_key_or_id=made.id, dest_role_set_key="role_set:default")
    clerk.role_sets.update(role_set_key_or_id="role_set:default", type_="initial")
    with refused(422, "form_resource_not_found", "role_keys"):
        clerk.role_sets.add_roles(role_set_key_or_id=made.id, role_keys=["org:owner"])
    added = clerk.role_sets.add_roles(role_set_key_or_id=made.id, role_keys=["org:member"], default_role_key="org:member")
    assert (keys(added.roles), added.default_role.key) == (["org:admin", "org:member"], "org:member")
    with refused(422, "form_param_value_invalid", "to_role_key"):
        clerk.role_sets.replace_role(role_set_key_or_id=made.id, role_key="org:member", to_role_key="org:member")
    with refused(422, "organization_missing_creator_role_permissions"):
        clerk.role_sets.replace_role(role_set_key_or_id=made.id, role_key="org:admin", to_role_key="org:member")
    with refused(422, "form_resource_not_found", "dest_role_set_key"):
        clerk.role_sets.replace(role_set_key_or_id=made.id, dest_role_set_key="role_set:none")
    with refused(422, "organization_role_set_reassignment_mappings_invalid", "reassignment_mappings"):
        clerk.role_sets.replace(
            role_set_key_or_id=made.id, dest_role_set_key="role_set:default", reassignment_mappings={"org:owner": "org:admin"}
        )
    assert clerk.role_sets.replace(role_set_key_or_id=made.id, dest_role_set_key="role_set:default").deleted


def test_what_another_instance_has_is_not_found():
    clerk = connect_to_new_instance()
    permission = clerk.organization_permissions.create(name="Read", key="org:pages:read")
    role = clerk.organization_roles.create(name="Editor", key="org:editor")
    role_set = clerk.role_sets.create(
        name="Others", roles=["org:admin"], default_role_key="org:admin", creator_role_key="org:admin"
    )
    of_role = {"organization_role_id": role.id}
    of_set = {"role_set_key_or_id": role_set.id}
    for call in (
        lambda: other_clerk.organization_permissions.get(permission_id=permission.id),
        lambda: other_clerk.organization_permissions.update(permission_id=permission.id, name="Taken"),
        lambda: other_clerk.organization_permissions.delete(permission_id=permission.id),
        lambda: other_clerk.organization_roles.get(**of_role),
        lambda: other_clerk.organization_roles.update(**of_role, name="Taken"),
        lambda: other_clerk.organization_roles.delete(**of_role),
        lambda: other_clerk.organization_roles.assign_permission(**of_role, permission_id=permission.id),
        lambda: other_clerk.organization_roles.remove_permission(**of_role, permission_id=permission.id),
        lambda: other_clerk.role_sets.get(**of_set),
        lambda: other_clerk.role_sets.get(role_set_key_or_id=role_set.key),
        lambda: other_clerk.role_sets.update(**of_set, name="Taken"),
        lambda: other_clerk.role_sets.add_roles(**of_set, role_keys=["org:member"]),
        lambda: other_clerk.role_sets.replace_role(**of_set, role_key="org:admin", to_role_key="org:member"),
        lambda: other_clerk.role_sets.replace(**of_set, dest_role_set_key="role_set:default"),
    ):
        with refused(404, "resource_not_found"):
            call()
    assert clerk.organization_permissions.get(permission_id=permission.id) == permission
    assert clerk.organization_roles.get(**of_role) == role
    assert clerk.role_sets.get(**of_set) == role_set


def test_a_link_token_is_refused_for_an_organization_that_is_not_there():
    clerk = connect_to_new_instance()
    organization = clerk.organizations.create(request={"name": "Acme"})
    create = clerk.admin_portal_link_tokens.create_admin_portal_link_token
    kind = models.CreateAdminPortalLinkTokenAdminPortalLinkTokensResponseBody
    with refused(400, "bad_request", "organization_id", kind=kind):
        create(organization_id=unknown_id("org"))
    with refused(400, "bad_request", "organization_id", kind=kind):
        other_clerk.admin_portal_link_tokens.create_admin_portal_link_token(organization_id=organization.id)
    with refused(400, "bad_request", "seconds_until_expiration", kind=kind):
        create(organization_id=organization.id, seconds_until_expiration=86_401)
    made = create(organization_id=organization.id, seconds_until_expiration=60)
    assert made.expiration == made.created_at + 60_000
    kind = models.RevokeAdminPortalLinkTokenAdminPortalLinkTokensResponse404ResponseBody
    with refused(404, "resource_not_found", kind=kind):
        other_clerk.admin_portal_link_tokens.revoke_admin_portal_link_token(admin_portal_link_token_id=made.id)
