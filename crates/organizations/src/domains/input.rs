//! What the operations on domains take.

use latchkey_base::page::{Paging, newest_first};
use latchkey_base::patch::Patch;
use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `CreateOrganizationDomain`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateDomain {
    /// The name, such as `example.com`.
    #[serde(default)]
    #[schemars(with = "String", extend("x-wanted" = true))]
    pub name: Option<String>,
    /// `manual_invitation`, which is the default, `automatic_invitation`, `automatic_suggestion` or `enterprise_sso`.
    #[serde(default)]
    #[schemars(with = "String")]
    pub enrollment_mode: Option<String>,
    /// Whether the domain is known to be the organization's, which is the default.
    #[serde(default)]
    pub verified: Option<bool>,
}

/// Body of `UpdateOrganizationDomain`. Open, as published.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdateDomain {
    /// `manual_invitation`, `automatic_invitation`, `automatic_suggestion` or `enterprise_sso`.
    pub enrollment_mode: Patch<String>,
    /// Whether the domain is known to be the organization's.
    pub verified: Patch<bool>,
}

/// Query of the lists of an organization's domains.
#[derive(Deserialize, JsonSchema)]
pub struct ListDomains {
    /// Only those that are verified, or only those that are not.
    pub verified: Option<bool>,
    /// With one of these modes; `-` before a mode excludes it. Several are separated by commas.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub enrollment_mode: Vec<String>,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
}

/// Query of `ListAllOrganizationDomains`.
#[derive(Deserialize, JsonSchema)]
pub struct ListAllDomains {
    /// Of this organization.
    pub organization_id: Option<String>,
    /// Only those that are verified, or only those that are not.
    pub verified: Option<bool>,
    /// With one of these modes; `-` before a mode excludes it. Several are separated by commas.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub enrollment_mode: Vec<String>,
    /// The id of an organization, or a part of the name.
    pub query: Option<String>,
    /// With one of these names.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub domains: Vec<String>,
    /// `name` or `created_at`, with `-` for descending.
    #[serde(default = "newest_first")]
    pub order_by: String,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
}
