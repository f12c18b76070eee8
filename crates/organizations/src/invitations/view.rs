//! How an invitation looks on the wire, in the newest version.

use latchkey_base::Time;
use latchkey_base::kinds::{OrganizationId, OrganizationInvitationId, UserId};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::object;
use latchkey_people::tickets::rules as tickets;
use latchkey_people::users::model::User;
use latchkey_people::users::view::{self as users, ViewContext};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::model::{Invitation, InvitationParts};
use super::rules::ticket;
use crate::access::model::Access;
use crate::orgs::view::{PublicOrganizationView, public};

/// What the views of invitations are made with.
#[derive(Clone, Copy)]
pub struct InvitationContext<'a> {
    pub access: &'a Access,
    pub users: ViewContext<'a>,
    /// Opens the tickets.
    pub master: &'a MasterKey,
    /// Where people go with them.
    pub frontend_url: &'a str,
}

/// An invitation as backends see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationInvitation")]
pub struct InvitationView<'a> {
    object: InvitationObject,
    id: &'a OrganizationInvitationId,
    email_address: &'a str,
    role: &'a str,
    role_name: &'a str,
    organization_id: &'a OrganizationId,
    inviter_id: Option<&'a UserId>,
    public_inviter_data: Option<InviterView<'a>>,
    status: &'static str,
    #[schemars(with = "Map<String, Value>")]
    public_metadata: &'a RawValue,
    #[schemars(with = "Map<String, Value>")]
    private_metadata: &'a RawValue,
    /// Where the person goes to accept it, while it is pending.
    url: Option<String>,
    expires_at: Option<Time>,
    created_at: Time,
    updated_at: Time,
}

object!(InvitationObject, "organization_invitation");

/// What others may see of whoever invites.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationInvitationPublicUserData")]
struct InviterView<'a> {
    user_id: &'a UserId,
    first_name: Option<&'a str>,
    last_name: Option<&'a str>,
    image_url: String,
    has_image: bool,
    identifier: &'a str,
}

/// An invitation with the organization, where it does not follow from the path.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationInvitationWithPublicOrganizationData")]
pub struct InvitationWithOrganizationView<'a> {
    #[serde(flatten)]
    invitation: InvitationView<'a>,
    public_organization_data: PublicOrganizationView<'a>,
}

/// An invitation as members of the organization see it, and whoever is invited. Nobody is shown the ticket: it opens
/// the account of whoever has the address.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FrontendOrganizationInvitation")]
pub struct FrontendInvitationView<'a> {
    object: InvitationObject,
    id: &'a OrganizationInvitationId,
    email_address: &'a str,
    role: &'a str,
    role_name: &'a str,
    organization_id: &'a OrganizationId,
    public_organization_data: PublicOrganizationView<'a>,
    status: &'static str,
    #[schemars(with = "Map<String, Value>")]
    public_metadata: &'a RawValue,
    /// Always null here.
    url: Option<&'a str>,
    expires_at: Option<Time>,
    created_at: Time,
    updated_at: Time,
}

/// An invitation that was accepted, as its event tells it.
#[derive(Serialize)]
pub struct AcceptedInvitationView<'a> {
    #[serde(flatten)]
    invitation: InvitationView<'a>,
    user_id: &'a UserId,
    data: AcceptedInvitationData<'a>,
}

#[derive(Serialize)]
struct AcceptedInvitationData<'a> {
    public_organization_data: PublicOrganizationView<'a>,
}

pub fn invitation<'a>(parts: &'a InvitationParts, context: InvitationContext<'a>) -> InvitationView<'a> {
    let open = Some(&parts.invitation).filter(|invitation| invitation.is_open(context.users.now));
    let url = open
        .and_then(|invitation| ticket(context.master, invitation))
        .map(|ticket| tickets::url(context.frontend_url, &ticket));
    InvitationView { url, ..closed(parts, context.access, context.users) }
}

/// Returns the view of an invitation that cannot be accepted, so that it has no URL.
pub fn closed<'a>(
    parts: &'a InvitationParts,
    access: &'a Access,
    users: ViewContext<'a>,
) -> InvitationView<'a> {
    let InvitationParts { invitation, inviter, .. } = parts;
    let (role, role_name) = role(invitation, access);
    InvitationView {
        object: InvitationObject::It,
        id: &invitation.id,
        email_address: &invitation.details.email_address,
        role,
        role_name,
        organization_id: &invitation.organization,
        inviter_id: invitation.inviter.as_ref(),
        public_inviter_data: inviter.as_ref().map(|user| inviter_view(user, users)),
        status: invitation.state(users.now),
        public_metadata: &invitation.details.metadata.public_metadata,
        private_metadata: &invitation.details.metadata.private_metadata,
        url: None,
        expires_at: Some(invitation.expire_at),
        created_at: invitation.created_at,
        updated_at: invitation.details.updated_at,
    }
}

pub fn with_organization<'a>(
    parts: &'a InvitationParts,
    context: InvitationContext<'a>,
) -> InvitationWithOrganizationView<'a> {
    InvitationWithOrganizationView {
        invitation: invitation(parts, context),
        public_organization_data: public(&parts.organization, context.users.api_url),
    }
}

pub fn accepted<'a>(
    parts: &'a InvitationParts,
    user: &'a UserId,
    context: InvitationContext<'a>,
) -> AcceptedInvitationView<'a> {
    let public_organization_data = public(&parts.organization, context.users.api_url);
    AcceptedInvitationView {
        invitation: invitation(parts, context),
        user_id: user,
        data: AcceptedInvitationData { public_organization_data },
    }
}

pub fn frontend<'a>(
    parts: &'a InvitationParts,
    access: &'a Access,
    context: ViewContext<'_>,
) -> FrontendInvitationView<'a> {
    let invitation = &parts.invitation;
    let (role, role_name) = role(invitation, access);
    FrontendInvitationView {
        object: InvitationObject::It,
        id: &invitation.id,
        email_address: &invitation.details.email_address,
        role,
        role_name,
        organization_id: &invitation.organization,
        public_organization_data: public(&parts.organization, context.api_url),
        status: invitation.state(context.now),
        public_metadata: &invitation.details.metadata.public_metadata,
        url: None,
        expires_at: Some(invitation.expire_at),
        created_at: invitation.created_at,
        updated_at: invitation.details.updated_at,
    }
}

/// Key and name of the role, if there still is one.
fn role<'a>(invitation: &Invitation, access: &'a Access) -> (&'a str, &'a str) {
    access.role(&invitation.role).map_or(("", ""), |role| (role.key.as_str(), role.name.as_str()))
}

fn inviter_view<'a>(user: &'a User, context: ViewContext<'_>) -> InviterView<'a> {
    InviterView {
        user_id: &user.id,
        first_name: user.first_name.as_deref(),
        last_name: user.last_name.as_deref(),
        image_url: users::image_url(user, context.api_url),
        has_image: user.image.is_some(),
        identifier: user.identifier().unwrap_or_default(),
    }
}
