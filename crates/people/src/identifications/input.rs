//! What the address and number operations take.

use latchkey_base::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `CreateEmailAddress`. Open, as published.
#[derive(Deserialize, JsonSchema)]
pub struct CreateEmailAddress {
    /// Whose address it is.
    pub user_id: String,
    /// The address.
    pub email_address: String,
    /// Take it as proven.
    #[serde(default)]
    pub verified: Option<bool>,
    /// Make it the primary one. The first address is anyway.
    #[serde(default)]
    pub primary: Option<bool>,
    /// Tell the previous primary address about the change.
    #[serde(default)]
    pub notify_primary_email_address_changed: Option<bool>,
}

/// Body of `UpdateEmailAddress`. Open, as published.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdateEmailAddress {
    /// Take it as proven, or as unproven.
    pub verified: Option<bool>,
    /// Make it the primary one.
    pub primary: Option<bool>,
    /// Tell the previous primary address about the change.
    pub notify_primary_email_address_changed: Option<bool>,
}

/// Body of `ReplaceUserEmailAddress`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplaceEmailAddress {
    /// The address.
    pub email_address: String,
    /// How it is created.
    #[serde(default)]
    pub identification_status: NewContactStatus,
    /// Tell the previous primary address about the change.
    #[serde(default)]
    pub notify_primary_email_address_changed: Option<bool>,
}

/// Body of `CreatePhoneNumber`. Open, as published.
#[derive(Deserialize, JsonSchema)]
pub struct CreatePhoneNumber {
    /// Whose number it is.
    pub user_id: String,
    /// The number in E.164 format.
    pub phone_number: String,
    /// Take it as proven.
    #[serde(default)]
    pub verified: Option<bool>,
    /// Make it the primary one. The first number is anyway.
    #[serde(default)]
    pub primary: Option<bool>,
    /// Use codes sent to it as a second factor; it must be verified.
    #[serde(default)]
    pub reserved_for_second_factor: Option<bool>,
}

/// Body of `UpdatePhoneNumber`. Open, as published.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdatePhoneNumber {
    /// Take it as proven, or as unproven.
    pub verified: Option<bool>,
    /// Make it the primary one.
    pub primary: Option<bool>,
    /// Use codes sent to it as a second factor; it must be verified.
    pub reserved_for_second_factor: Option<bool>,
}

/// Body of `ReplaceUserPhoneNumber`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplacePhoneNumber {
    /// The number in E.164 format.
    pub phone_number: String,
    /// How it is created.
    #[serde(default)]
    pub identification_status: NewContactStatus,
}

/// How an address or number is created.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum NewContactStatus {
    /// Proven.
    #[default]
    Verified,
    /// Unproven, usable for signing in, and nobody else may claim it.
    Reserved,
    /// Unproven and free for others to claim.
    Unverified,
}

/// Body of the operations that check a code.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptVerification {
    /// Which verification.
    pub verification_id: String,
    /// The code the person received.
    pub code: Secret,
}
