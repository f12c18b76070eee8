//! How link tokens of admin portals look on the wire.

use latchkey_base::Time;
use latchkey_base::kinds::{AdminPortalLinkId, InstanceId, OrganizationId};
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::PortalLinkToken;

object!(PortalLinkTokenObject, "admin_portal_link_token");

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AdminPortalLinkToken")]
pub struct PortalLinkTokenView<'a> {
    object: PortalLinkTokenObject,
    id: &'a str,
    admin_portal_link_id: &'a AdminPortalLinkId,
    instance_id: &'a InstanceId,
    organization_id: Option<&'a OrganizationId>,
    it_contact_id: Option<&'a str>,
    scopes: Option<&'a [String]>,
    revoked: bool,
    revocation_reason: Option<&'a str>,
    expired: bool,
    expiration: Option<Time>,
    created_at: Time,
    updated_at: Time,
}

/// A token that was made just now, with what is shown only then.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CreatedAdminPortalLinkToken")]
pub struct CreatedPortalLinkTokenView<'a> {
    #[serde(flatten)]
    shown: PortalLinkTokenView<'a>,
    /// The token itself.
    token: &'a str,
}

pub fn token(token: &PortalLinkToken, now: Time) -> PortalLinkTokenView<'_> {
    let revocation = token.details.revocation.as_ref();
    PortalLinkTokenView {
        object: PortalLinkTokenObject::It,
        id: token.id.as_str(),
        admin_portal_link_id: &token.link,
        instance_id: &token.instance,
        organization_id: token.organization.as_ref(),
        it_contact_id: token.details.it_contact.as_deref(),
        scopes: token.details.scopes.as_deref(),
        revoked: revocation.is_some(),
        revocation_reason: revocation.and_then(|it| it.reason.as_deref()),
        expired: token.is_expired(now),
        expiration: Some(token.expire_at),
        created_at: token.created_at,
        updated_at: token.details.updated_at,
    }
}

pub fn created<'a>(it: &'a PortalLinkToken, secret: &'a str, now: Time) -> CreatedPortalLinkTokenView<'a> {
    CreatedPortalLinkTokenView { shown: token(it, now), token: secret }
}
