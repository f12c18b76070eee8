//! What the operations on roles, permissions and role sets take.

use latchkey_base::page::{Paging, newest_first};
use latchkey_base::patch::Patch;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Body of `CreateOrganizationRole`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRole {
    /// What people call it.
    pub name: String,
    /// `org:` and lower-case letters, digits and `_`; unique in the instance.
    pub key: String,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
    /// The ids of what it allows.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub permissions: Option<Vec<String>>,
    /// Whether new organizations have it too.
    #[serde(default)]
    pub include_in_initial_role_set: Option<bool>,
}

/// Body of `UpdateOrganizationRole`. Open, as published; null changes nothing.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdateRole {
    /// What people call it.
    pub name: Patch<String>,
    /// `org:` and lower-case letters, digits and `_`; unique in the instance.
    pub key: Patch<String>,
    /// What it is for; an empty text takes it away.
    pub description: Patch<String>,
    /// The ids of all that it allows from now on.
    #[schemars(length(max = 100))]
    pub permissions: Patch<Vec<String>>,
}

/// Body of `CreateOrganizationPermission`. Open, as published.
#[derive(Deserialize, JsonSchema)]
pub struct CreatePermission {
    /// What people call it.
    pub name: String,
    /// `org:<feature>:<action>`, each of lower-case letters, digits and `_`; unique in the instance.
    pub key: String,
    /// What it allows.
    #[serde(default)]
    #[schemars(with = "String")]
    pub description: Option<String>,
}

/// Body of `UpdateOrganizationPermission`. Open, as published.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdatePermission {
    /// What people call it.
    #[schemars(with = "String")]
    pub name: Option<String>,
    /// `org:<feature>:<action>`, each of lower-case letters, digits and `_`; unique in the instance.
    #[schemars(with = "String")]
    pub key: Option<String>,
    /// What it allows.
    #[schemars(with = "String")]
    pub description: Option<String>,
}

/// Body of `CreateRoleSet`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRoleSet {
    /// What people call it.
    pub name: String,
    /// `role_set:` and lower-case letters, digits and `_`; unique in the instance. Made from the name if left out.
    #[serde(default)]
    #[schemars(with = "String")]
    pub key: Option<String>,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
    /// The key of the role of people for whom nobody chose one.
    pub default_role_key: String,
    /// The key of the role of whoever creates an organization.
    pub creator_role_key: String,
    /// `initial` for the set of new organizations, of which there is one.
    #[serde(default, rename = "type")]
    #[schemars(with = "RoleSetType")]
    pub kind: Option<RoleSetType>,
    /// The keys of its roles.
    #[schemars(length(min = 1, max = 10))]
    pub roles: Vec<String>,
}

/// Which organizations have a role set.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum RoleSetType {
    /// New ones.
    Initial,
    /// Those that were given it.
    Custom,
}

/// Body of `UpdateRoleSet`. Open, as published; null changes nothing.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdateRoleSet {
    /// What people call it.
    pub name: Patch<String>,
    /// `role_set:` and lower-case letters, digits and `_`; unique in the instance.
    pub key: Patch<String>,
    /// What it is for; an empty text takes it away.
    pub description: Patch<String>,
    /// `initial`, to make it the set of new organizations in place of the one that is.
    #[serde(rename = "type")]
    pub kind: Patch<InitialType>,
    /// The key of the role of people for whom nobody chose one.
    pub default_role_key: Patch<String>,
    /// The key of the role of whoever creates an organization.
    pub creator_role_key: Patch<String>,
}

/// The type a role set can be given: another one becomes custom by that.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum InitialType {
    /// The set of new organizations.
    Initial,
}

/// Body of `ReplaceRoleSet`. Open, as published.
#[derive(Deserialize, JsonSchema)]
pub struct ReplaceRoleSet {
    /// The key of the role set that organizations get.
    pub dest_role_set_key: String,
    /// For keys of roles the keys of those that take their place.
    #[serde(default)]
    pub reassignment_mappings: Map<String, Value>,
}

/// Body of `AddRolesToRoleSet`. Open, as published.
#[derive(Deserialize, JsonSchema)]
pub struct AddRoles {
    /// The keys of the roles.
    #[schemars(length(min = 1, max = 10))]
    pub role_keys: Vec<String>,
    /// The key of the role of people for whom nobody chose one, from now on.
    #[serde(default)]
    #[schemars(with = "String")]
    pub default_role_key: Option<String>,
    /// The key of the role of whoever creates an organization, from now on.
    #[serde(default)]
    #[schemars(with = "String")]
    pub creator_role_key: Option<String>,
}

/// Body of `ReplaceRoleInRoleSet`. Open, as published.
#[derive(Deserialize, JsonSchema)]
pub struct ReplaceRole {
    /// The key of the role that goes.
    pub role_key: String,
    /// The key of the role its members get.
    pub to_role_key: String,
}

/// Query of the lists.
#[derive(Deserialize, JsonSchema)]
pub struct ListAccess {
    /// The id, or a part of the name or the key.
    pub query: Option<String>,
    /// `created_at`, `name` or `key`, with `-` for descending.
    #[serde(default = "newest_first")]
    pub order_by: String,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
}
