//! What the operations on organizations take.

use latchkey_base::page::{Paging, newest_first};
use latchkey_base::patch::Patch;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Body of `CreateOrganization`. Open, as published.
#[derive(Default, Deserialize, JsonSchema)]
pub struct CreateOrganization {
    /// The name; at most 256 characters.
    pub name: String,
    /// The user who becomes its first member.
    #[serde(default)]
    pub created_by: Option<String>,
    /// Readable and writable by backends only.
    #[serde(default)]
    pub private_metadata: Option<Map<String, Value>>,
    /// Readable by frontends and backends, writable by backends.
    #[serde(default)]
    pub public_metadata: Option<Map<String, Value>>,
    /// Lower-case letters, digits and `-`; unique in the instance.
    #[serde(default)]
    pub slug: Option<String>,
    /// How many members it may have; 0 is no limit.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub max_allowed_memberships: Option<i64>,
    /// When it was created, in RFC 3339 format.
    #[serde(default)]
    pub created_at: Option<String>,
    /// The key of the role set it has; the initial one unless told otherwise.
    #[serde(default)]
    pub role_set_key: Option<String>,
}

/// Body of `UpdateOrganization`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateOrganization {
    /// The name; at most 256 characters.
    pub name: Patch<String>,
    /// Lower-case letters, digits and `-`; unique in the instance.
    pub slug: Patch<String>,
    /// How many members it may have; 0 is no limit.
    #[schemars(range(min = 0))]
    pub max_allowed_memberships: Patch<i64>,
    /// Whether members may delete it, if their role allows it.
    pub admin_delete_enabled: Patch<bool>,
    /// When it was created, in RFC 3339 format.
    pub created_at: Patch<String>,
    /// The key of the role set it has.
    pub role_set_key: Patch<String>,
}

/// Body of the metadata operations; what is left out stays as it is.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OrganizationMetadata {
    /// Readable by frontends and backends, writable by backends.
    #[schemars(with = "Map<String, Value>")]
    pub public_metadata: Option<Map<String, Value>>,
    /// Readable and writable by backends only.
    #[schemars(with = "Map<String, Value>")]
    pub private_metadata: Option<Map<String, Value>>,
}

/// The keys of [`OrganizationMetadata`], which older versions of `UpdateOrganization` take too.
pub const METADATA_FIELDS: [&str; 2] = ["public_metadata", "private_metadata"];

/// What an answer with an organization shows besides.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Including {
    /// Show how many members it has.
    pub include_members_count: bool,
    /// Show whether it lacks a member who may manage it.
    pub include_missing_member_with_elevated_permissions: bool,
}

/// Query of `ListOrganizations`.
#[derive(Deserialize, JsonSchema)]
pub struct ListOrganizations {
    /// What is shown of each.
    #[serde(flatten)]
    pub including: Including,
    /// The id, or a part of the name or the slug.
    pub query: Option<String>,
    /// With one of these users as members; `-` before an id excludes the organizations of that user.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub user_id: Vec<String>,
    /// With one of these ids; `-` before an id excludes it.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub organization_id: Vec<String>,
    /// `name`, `created_at` or `members_count`, with `-` for descending.
    #[serde(default = "newest_first")]
    pub order_by: String,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
}
