//! What the operations on invitations take.

use latchkey_base::page::{Paging, newest_first};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Body of `CreateOrganizationInvitation`, and an item of that of `CreateOrganizationInvitationBulk`. Open, as
/// published.
#[derive(Deserialize, JsonSchema)]
pub struct CreateInvitation {
    /// Who is invited.
    pub email_address: String,
    /// The member who invites; needs the permission `org:sys_memberships:manage`.
    #[serde(default)]
    pub inviter_user_id: Option<String>,
    /// The key of the role, such as `org:member`.
    pub role: String,
    /// Becomes that of the membership. Readable by frontends and backends, writable by backends.
    #[serde(default)]
    pub public_metadata: Option<Map<String, Value>>,
    /// Becomes that of the membership. Readable and writable by backends only.
    #[serde(default)]
    pub private_metadata: Option<Map<String, Value>>,
    /// Where the link in the e-mail leads; an absolute URL over HTTP, or of the scheme of a native app.
    #[serde(default)]
    pub redirect_url: Option<String>,
    /// How many days it is good for; 30 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 365))]
    pub expires_in_days: Option<i64>,
    /// Whether an e-mail is sent; it is by default.
    #[serde(default)]
    pub notify: Option<bool>,
}

/// Body of `RevokeOrganizationInvitation`. Open, as published.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RevokeInvitation {
    /// The member who revokes it; needs the permission `org:sys_memberships:manage`.
    pub requesting_user_id: Option<String>,
}

/// What became of an invitation, as lists are filtered by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum InvitationFilter {
    Pending,
    Accepted,
    Revoked,
    Expired,
}

/// Query of `ListOrganizationInvitations`.
#[derive(Deserialize, JsonSchema)]
pub struct ListInvitations {
    /// With one of these statuses.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub status: Vec<InvitationFilter>,
    /// For this address.
    pub email_address: Option<String>,
    /// `created_at` or `email_address`, with `-` for descending.
    #[serde(default = "newest_first")]
    pub order_by: String,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
}

/// Query of `ListInstanceOrganizationInvitations`.
#[derive(Deserialize, JsonSchema)]
pub struct ListAllInvitations {
    /// `created_at` or `email_address`, with `-` for descending.
    #[serde(default = "newest_first")]
    pub order_by: String,
    /// With one of these statuses.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub status: Vec<InvitationFilter>,
    /// Part of the address.
    pub query: Option<String>,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
}

/// Query of `UsersGetOrganizationInvitations`.
#[derive(Deserialize, JsonSchema)]
pub struct ListUserInvitations {
    /// With one of these statuses.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub status: Vec<InvitationFilter>,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
}

impl InvitationFilter {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            InvitationFilter::Pending => "pending",
            InvitationFilter::Accepted => "accepted",
            InvitationFilter::Revoked => "revoked",
            InvitationFilter::Expired => "expired",
        }
    }
}
