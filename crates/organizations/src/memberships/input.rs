//! What the operations on memberships take.

use latchkey_base::page::Paging;
use latchkey_people::users::input::UserFilters;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Body of `CreateOrganizationMembership`. Open, as published.
#[derive(Deserialize, JsonSchema)]
pub struct CreateMembership {
    /// Who becomes a member.
    pub user_id: String,
    /// The key of the role, such as `org:member`.
    pub role: String,
    /// Readable by frontends and backends, writable by backends.
    #[serde(default)]
    pub public_metadata: Option<Map<String, Value>>,
    /// Readable and writable by backends only.
    #[serde(default)]
    pub private_metadata: Option<Map<String, Value>>,
}

/// Body of `UpdateOrganizationMembership`. Open, as published.
#[derive(Deserialize, JsonSchema)]
pub struct UpdateMembership {
    /// The key of the role the member has from now on.
    pub role: String,
}

/// Query of `ListOrganizationMemberships`.
#[derive(Default, Deserialize, JsonSchema)]
pub struct ListMemberships {
    /// `created_at`, `phone_number`, `email_address`, `first_name`, `last_name` or `username`, with `-` for descending.
    pub order_by: Option<String>,
    /// With one of these ids; `-` before an id excludes it.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub user_id: Vec<String>,
    /// With one of these e-mail addresses.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub email_address: Vec<String>,
    /// With one of these phone numbers.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub phone_number: Vec<String>,
    /// With one of these usernames.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub username: Vec<String>,
    /// With one of these wallets.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub web3_wallet: Vec<String>,
    /// With one of these roles, by their keys.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub role: Vec<String>,
    /// Part of an address, number, username, wallet, id or name.
    pub query: Option<String>,
    /// Whether members ask: they find others only by what they see of them.
    #[serde(skip)]
    pub is_for_members: bool,
    /// Part of an e-mail address.
    pub email_address_query: Option<String>,
    /// Part of a phone number.
    pub phone_number_query: Option<String>,
    /// Part of a username.
    pub username_query: Option<String>,
    /// Part of a name.
    pub name_query: Option<String>,
    /// Users last active before, in milliseconds since 1970.
    pub last_active_at_before: Option<i64>,
    /// Users last active after.
    pub last_active_at_after: Option<i64>,
    /// Users created before.
    pub created_at_before: Option<i64>,
    /// Users created after.
    pub created_at_after: Option<i64>,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
}

impl ListMemberships {
    /// The filters that are about the users.
    pub fn user_filters(&self) -> UserFilters {
        UserFilters {
            user_id: self.user_id.clone(),
            email_address: self.email_address.clone(),
            phone_number: self.phone_number.clone(),
            username: self.username.clone(),
            web3_wallet: self.web3_wallet.clone(),
            query: self.query.clone(),
            email_address_query: self.email_address_query.clone(),
            phone_number_query: self.phone_number_query.clone(),
            username_query: self.username_query.clone(),
            name_query: self.name_query.clone(),
            last_active_at_before: self.last_active_at_before,
            last_active_at_after: self.last_active_at_after,
            created_at_before: self.created_at_before,
            created_at_after: self.created_at_after,
            ..UserFilters::default()
        }
    }
}

/// Query of `InstanceGetOrganizationMemberships`.
#[derive(Deserialize, JsonSchema)]
pub struct ListAllMemberships {
    /// `created_at`, `phone_number`, `email_address`, `first_name`, `last_name` or `username`, with `-` for descending.
    pub order_by: Option<String>,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
}
