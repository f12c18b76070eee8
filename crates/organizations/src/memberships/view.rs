//! How a membership looks on the wire, in the newest version.

use latchkey_base::Time;
use latchkey_base::kinds::OrganizationMembershipId;
use latchkey_kernel::object;
use latchkey_people::users::model::User;
use latchkey_people::users::view::{self as users, PublicUserView, ViewContext};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::model::{Membership, MembershipParts};
use crate::access::model::Access;
use crate::orgs::model::Organization;
use crate::orgs::view::{
    self as organizations, FrontendOrganizationView, OrganizationExtras, OrganizationView,
};

/// A membership as backends see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationMembership")]
pub struct MembershipView<'a> {
    object: MembershipObject,
    id: &'a OrganizationMembershipId,
    role: &'a str,
    role_name: &'a str,
    permissions: Vec<&'a str>,
    #[schemars(with = "Map<String, Value>")]
    public_metadata: &'a RawValue,
    #[schemars(with = "Map<String, Value>")]
    private_metadata: &'a RawValue,
    organization: OrganizationView<'a>,
    public_user_data: PublicUserView<'a>,
    created_at: Time,
    updated_at: Time,
}

object!(MembershipObject, "organization_membership");

pub fn of_parts<'a>(
    parts: &'a MembershipParts,
    access: &'a Access,
    context: ViewContext<'_>,
) -> MembershipView<'a> {
    membership(&parts.membership, (&parts.organization, &parts.user), access, context)
}

pub fn membership<'a>(
    membership: &'a Membership,
    (organization, user): (&'a Organization, &'a User),
    access: &'a Access,
    context: ViewContext<'_>,
) -> MembershipView<'a> {
    let role = access.role(&membership.role);
    MembershipView {
        object: MembershipObject::It,
        id: &membership.id,
        role: role.map_or("", |role| role.key.as_str()),
        role_name: role.map_or("", |role| role.name.as_str()),
        permissions: role.map(|role| access.permission_keys(role)).unwrap_or_default(),
        public_metadata: &membership.metadata.public_metadata,
        private_metadata: &membership.metadata.private_metadata,
        organization: organizations::organization(
            organization,
            access,
            OrganizationExtras::default(),
            context.api_url,
        ),
        public_user_data: users::public(user, context),
        created_at: membership.created_at,
        updated_at: membership.updated_at,
    }
}

/// A membership as members of the organization see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FrontendOrganizationMembership")]
pub struct FrontendMembershipView<'a> {
    object: MembershipObject,
    id: &'a OrganizationMembershipId,
    role: &'a str,
    role_name: &'a str,
    permissions: Vec<&'a str>,
    #[schemars(with = "Map<String, Value>")]
    public_metadata: &'a RawValue,
    organization: FrontendOrganizationView<'a>,
    public_user_data: PublicUserView<'a>,
    created_at: Time,
    updated_at: Time,
}

/// Shows a membership to members. `pending_invitations` is how many wait for an answer in its organization.
pub fn frontend<'a>(
    membership: &'a Membership,
    (organization, user): (&'a Organization, &'a User),
    pending_invitations: i64,
    access: &'a Access,
    context: ViewContext<'_>,
) -> FrontendMembershipView<'a> {
    let role = access.role(&membership.role);
    FrontendMembershipView {
        object: MembershipObject::It,
        id: &membership.id,
        role: role.map_or("", |role| role.key.as_str()),
        role_name: role.map_or("", |role| role.name.as_str()),
        permissions: role.map(|role| access.permission_keys(role)).unwrap_or_default(),
        public_metadata: &membership.metadata.public_metadata,
        organization: organizations::frontend(organization, pending_invitations, context.api_url),
        public_user_data: users::public(user, context),
        created_at: membership.created_at,
        updated_at: membership.updated_at,
    }
}
