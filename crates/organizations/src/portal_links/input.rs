//! What the operations on link tokens of admin portals take.

use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `createAdminPortalLinkToken`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CreatePortalLinkToken {
    /// The organization whose portal it leads to.
    #[schemars(with = "String")]
    pub organization_id: Option<String>,
    /// Whom it is for, in the application's own words.
    #[schemars(with = "String")]
    pub it_contact_id: Option<String>,
    /// What it lets them do, in the application's own words.
    #[schemars(with = "Vec<String>", length(max = 50))]
    pub scopes: Option<Vec<String>>,
    /// How long it is good for; an hour by default.
    #[schemars(with = "i64", range(min = 1, max = 86400))]
    pub seconds_until_expiration: Option<i64>,
}

/// Body of `revokeAdminPortalLinkToken`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RevokePortalLinkToken {
    /// Why, for those who look at it later.
    pub revocation_reason: Option<String>,
}
