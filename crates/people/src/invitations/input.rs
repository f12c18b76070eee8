//! What the operations on invitations take.

use latchkey_base::page::{Paging, newest_first};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Body of `CreateInvitation`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateApplicationInvitation {
    /// Who is invited.
    pub email_address: String,
    /// Becomes that of the user who signs up.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    pub public_metadata: Option<Map<String, Value>>,
    /// Where the link in the e-mail leads; an absolute URL over HTTP, or of the scheme of a native app.
    #[serde(default)]
    #[schemars(with = "String")]
    pub redirect_url: Option<String>,
    /// Whether an e-mail is sent; it is by default.
    #[serde(default)]
    pub notify: Option<bool>,
    /// Whether it may stand beside a pending invitation of the same address, and, unless invited in bulk, whether
    /// somebody may have the address already.
    #[serde(default)]
    pub ignore_existing: Option<bool>,
    /// How many days it is good for; 30 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 365))]
    pub expires_in_days: Option<i64>,
    /// Which template the e-mail is made from; `invitation` by default.
    #[serde(default)]
    #[schemars(with = "InvitationTemplate")]
    pub template_slug: Option<InvitationTemplate>,
}

/// An item of the body of `CreateBulkInvitations`: the same, but more of it may be null, as published.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateBulkApplicationInvitation {
    /// Who is invited.
    pub email_address: String,
    /// Becomes that of the user who signs up.
    #[serde(default)]
    pub public_metadata: Option<Map<String, Value>>,
    /// Where the link in the e-mail leads; an absolute URL over HTTP, or of the scheme of a native app.
    #[serde(default)]
    pub redirect_url: Option<String>,
    /// Whether an e-mail is sent; it is by default.
    #[serde(default)]
    pub notify: Option<bool>,
    /// Whether it may stand beside a pending invitation of the same address, and, unless invited in bulk, whether
    /// somebody may have the address already.
    #[serde(default)]
    pub ignore_existing: Option<bool>,
    /// How many days it is good for; 30 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 365))]
    pub expires_in_days: Option<i64>,
    /// Which template the e-mail is made from; `invitation` by default.
    #[serde(default)]
    #[schemars(with = "InvitationTemplate")]
    pub template_slug: Option<InvitationTemplate>,
}

impl From<CreateBulkApplicationInvitation> for CreateApplicationInvitation {
    fn from(item: CreateBulkApplicationInvitation) -> CreateApplicationInvitation {
        CreateApplicationInvitation {
            email_address: item.email_address,
            public_metadata: item.public_metadata,
            redirect_url: item.redirect_url,
            notify: item.notify,
            ignore_existing: item.ignore_existing,
            expires_in_days: item.expires_in_days,
            template_slug: item.template_slug,
        }
    }
}

/// The templates that invite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum InvitationTemplate {
    Invitation,
    WaitlistInvitation,
}

impl InvitationTemplate {
    pub const ALL: [InvitationTemplate; 2] =
        [InvitationTemplate::Invitation, InvitationTemplate::WaitlistInvitation];

    /// The slug of the template.
    pub fn slug(self) -> &'static str {
        match self {
            InvitationTemplate::Invitation => "invitation",
            InvitationTemplate::WaitlistInvitation => "waitlist_invitation",
        }
    }
}

/// What became of an invitation, as the list is filtered by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ApplicationInvitationFilter {
    Pending,
    Accepted,
    Revoked,
    Expired,
}

impl ApplicationInvitationFilter {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            ApplicationInvitationFilter::Pending => "pending",
            ApplicationInvitationFilter::Accepted => "accepted",
            ApplicationInvitationFilter::Revoked => "revoked",
            ApplicationInvitationFilter::Expired => "expired",
        }
    }
}

/// Query of `ListInvitations`.
#[derive(Deserialize, JsonSchema)]
pub struct ListApplicationInvitations {
    /// With this status; without it, all but the revoked ones.
    pub status: Option<ApplicationInvitationFilter>,
    /// Part of the address or of the id.
    pub query: Option<String>,
    /// `created_at`, `email_address` or `expires_at`, with `-` for descending.
    #[serde(default = "newest_first")]
    pub order_by: String,
    /// Answer `{data, total_count}` rather than a bare list.
    #[serde(default)]
    pub paginated: bool,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
}
