//! What the user operations take.

use latchkey_base::page::Paging;
use latchkey_base::patch::Patch;
use latchkey_base::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Body of `CreateUser`.
#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
pub struct CreateUser {
    /// The id of the user in another system; unique in the instance.
    pub external_id: Option<String>,
    /// First name.
    pub first_name: Option<String>,
    /// Last name.
    pub last_name: Option<String>,
    /// BCP 47 language tag, such as `en-US`.
    pub locale: Option<String>,
    /// Name in the IANA time zone database, such as `Europe/Berlin`.
    pub timezone: Option<String>,
    /// E-mail addresses; the first becomes the primary one.
    pub email_address: Vec<String>,
    /// For each address: `verified` (the default) or `reserved`.
    pub email_address_identification_status: Vec<CreatedStatus>,
    /// Phone numbers in E.164 format; the first becomes the primary one.
    pub phone_number: Vec<String>,
    /// For each number: `verified` (the default) or `reserved`.
    pub phone_number_identification_status: Vec<CreatedStatus>,
    /// Wallets; the first becomes the primary one.
    pub web3_wallet: Vec<String>,
    /// Username; unique in the instance.
    pub username: Option<String>,
    /// Password in plain text.
    pub password: Option<Secret>,
    /// Digest of a password, made with `password_hasher`.
    pub password_digest: Option<Secret>,
    /// How `password_digest` was made.
    pub password_hasher: Option<String>,
    /// Accept any password.
    pub skip_password_checks: Option<bool>,
    /// Accept a user without a password where one is required.
    pub skip_password_requirement: Option<bool>,
    /// Base32 secret of an authenticator app (SHA-1, 6 digits, 30 seconds).
    pub totp_secret: Option<Secret>,
    /// Backup codes, plain or as bcrypt digests.
    pub backup_codes: Vec<Secret>,
    /// Readable by frontends and backends, writable by backends.
    pub public_metadata: Map<String, Value>,
    /// Readable and writable by backends only.
    pub private_metadata: Map<String, Value>,
    /// Readable and writable by everyone.
    pub unsafe_metadata: Map<String, Value>,
    /// Whether users may delete themselves.
    pub delete_self_enabled: Option<bool>,
    /// When the user accepted the terms, in RFC 3339 format.
    pub legal_accepted_at: Option<String>,
    /// Accept a user who has not accepted the terms.
    pub skip_legal_checks: Option<bool>,
    /// Accept a user without attributes the instance requires.
    pub skip_user_requirement: Option<bool>,
    /// Create the user although the restrictions of the instance reject an identifier: the allow-list, the block-list,
    /// and the settings against disposable addresses and subaddresses.
    pub skip_restriction_checks: Option<bool>,
    /// Whether the user may create organizations.
    pub create_organization_enabled: Option<bool>,
    /// How many organizations the user may create; 0 is no limit.
    #[schemars(range(min = 0))]
    pub create_organizations_limit: Option<i64>,
    /// When the user signed up, in RFC 3339 format.
    pub created_at: Option<String>,
    /// Skip device trust checks at sign-in.
    pub bypass_client_trust: Option<bool>,
    /// Create the user banned.
    pub banned: Option<bool>,
    /// Create the user locked.
    pub locked: Option<bool>,
}

/// The status an address or number can be created with.
#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum CreatedStatus {
    /// Proven.
    Verified,
    /// Unproven, but nobody else may claim it.
    Reserved,
}

/// Body of `UpdateUser`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateUser {
    /// The id of the user in another system; unique in the instance.
    pub external_id: Patch<String>,
    /// First name.
    pub first_name: Patch<String>,
    /// Last name.
    pub last_name: Patch<String>,
    /// BCP 47 language tag, such as `en-US`.
    pub locale: Patch<String>,
    /// Name in the IANA time zone database, such as `Europe/Berlin`.
    pub timezone: Patch<String>,
    /// A verified address of the user.
    pub primary_email_address_id: Patch<String>,
    /// Tell the previous primary address about the change.
    pub notify_primary_email_address_changed: Option<bool>,
    /// A verified number of the user.
    pub primary_phone_number_id: Patch<String>,
    /// A verified wallet of the user.
    pub primary_web3_wallet_id: Patch<String>,
    /// Username; null or empty removes it.
    pub username: Patch<String>,
    /// An uploaded image.
    pub profile_image_id: Patch<String>,
    /// Password in plain text.
    pub password: Option<Secret>,
    /// Digest of a password, made with `password_hasher`.
    #[schemars(with = "Secret")]
    pub password_digest: Option<Secret>,
    /// How `password_digest` was made.
    #[schemars(with = "String")]
    pub password_hasher: Option<String>,
    /// Accept any password; only together with `password`.
    pub skip_password_checks: Option<bool>,
    /// End the user's other sessions; only together with `password`.
    pub sign_out_of_other_sessions: Option<bool>,
    /// Base32 secret of an authenticator app; null removes it.
    pub totp_secret: Patch<Secret>,
    /// Backup codes, plain or as bcrypt digests; they replace the existing ones.
    #[schemars(with = "Vec<Secret>")]
    pub backup_codes: Option<Vec<Secret>>,
    /// Whether users may delete themselves; null: as the instance says.
    pub delete_self_enabled: Patch<bool>,
    /// Whether the user may create organizations; null: as the instance says.
    pub create_organization_enabled: Patch<bool>,
    /// When the user accepted the terms, in RFC 3339 format.
    pub legal_accepted_at: Patch<String>,
    /// Accept a user who has not accepted the terms.
    pub skip_legal_checks: Option<bool>,
    /// How many organizations the user may create; 0 is no limit.
    #[schemars(range(min = 0))]
    pub create_organizations_limit: Patch<i64>,
    /// When the user signed up, in RFC 3339 format.
    pub created_at: Option<String>,
    /// Skip device trust checks at sign-in.
    pub bypass_client_trust: Option<bool>,
}

/// Body of the metadata operations; what is left out stays as it is.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Metadata {
    /// Readable by frontends and backends, writable by backends.
    #[schemars(with = "Map<String, Value>")]
    pub public_metadata: Option<Map<String, Value>>,
    /// Readable and writable by backends only.
    #[schemars(with = "Map<String, Value>")]
    pub private_metadata: Option<Map<String, Value>>,
    /// Readable and writable by everyone.
    #[schemars(with = "Map<String, Value>")]
    pub unsafe_metadata: Option<Map<String, Value>>,
}

/// The keys of [`Metadata`], which older versions of `UpdateUser` take too.
pub const METADATA_FIELDS: [&str; 3] = ["public_metadata", "private_metadata", "unsafe_metadata"];

/// Body of `VerifyPassword`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyPassword {
    /// The password to check.
    pub password: Secret,
}

/// Body of `VerifyTOTP`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyTotp {
    /// A TOTP code or a backup code.
    pub code: Secret,
}

/// Body of the bulk operations. Open, as published.
#[derive(Deserialize, JsonSchema)]
pub struct UserIds {
    /// 1 to 50 users.
    #[schemars(length(min = 1, max = 50), extend("x-bulk" = true))]
    pub user_ids: Vec<String>,
}

/// Body of `RemoveUserPassword`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RemovePassword {
    /// End the user's sessions.
    pub sign_out_of_other_sessions: bool,
}

/// Body of `SetUserPasswordCompromised`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SetCompromised {
    /// End the user's sessions.
    pub revoke_all_sessions: Option<bool>,
}

/// Query of `GetUsersCount`, and the filters of `GetUserList`.
#[derive(Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UserFilters {
    /// With one of these e-mail addresses.
    #[schemars(length(max = 100))]
    pub email_address: Vec<String>,
    /// With one of these phone numbers.
    #[schemars(length(max = 100))]
    pub phone_number: Vec<String>,
    /// With one of these external ids; `-` before an id excludes it.
    #[schemars(length(max = 100))]
    pub external_id: Vec<String>,
    /// With one of these usernames.
    #[schemars(length(max = 100))]
    pub username: Vec<String>,
    /// With one of these wallets.
    #[schemars(length(max = 100))]
    pub web3_wallet: Vec<String>,
    /// With one of these ids; `-` before an id excludes it.
    #[schemars(length(max = 100))]
    pub user_id: Vec<String>,
    /// Members of these organizations; `-` before an id excludes its members.
    #[schemars(length(max = 100))]
    pub organization_id: Vec<String>,
    /// Part of an address, number, username, wallet, id or name.
    pub query: Option<String>,
    /// Part of an e-mail address.
    pub email_address_query: Option<String>,
    /// Part of a phone number.
    pub phone_number_query: Option<String>,
    /// Part of a username.
    pub username_query: Option<String>,
    /// Part of a name.
    pub name_query: Option<String>,
    /// Banned, or not banned.
    pub banned: Option<bool>,
    /// Last active before, in milliseconds since 1970.
    pub last_active_at_before: Option<i64>,
    /// Last active after.
    pub last_active_at_after: Option<i64>,
    /// Last active at or after; the old name of `last_active_at_after`.
    pub last_active_at_since: Option<i64>,
    /// Created before.
    pub created_at_before: Option<i64>,
    /// Created after.
    pub created_at_after: Option<i64>,
    /// Last signed in before.
    pub last_sign_in_at_before: Option<i64>,
    /// Last signed in after.
    pub last_sign_in_at_after: Option<i64>,
    /// With an account at this provider, together with `provider_user_id`.
    pub provider: Option<String>,
    /// Ids at that provider.
    #[schemars(length(max = 100))]
    pub provider_user_id: Vec<String>,
}

/// Query of `GetUserList`.
#[derive(Deserialize, JsonSchema)]
pub struct ListUsers {
    /// Which users.
    #[serde(flatten)]
    pub filters: UserFilters,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
    /// Continue after the user with this id; only with order by `created_at`.
    pub starting_after: Option<String>,
    /// `created_at`, `updated_at`, `email_address`, `web3wallet`, `first_name`, `last_name`,
    /// `phone_number`, `username`, `last_active_at` or `last_sign_in_at`, with `-` for descending.
    #[serde(default = "default_order")]
    pub order_by: String,
}

fn default_order() -> String {
    "-created_at".to_owned()
}
