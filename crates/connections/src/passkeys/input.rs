//! What the operations on passkeys take.

use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `patchPasskey`.
#[derive(Deserialize, JsonSchema)]
pub struct UpdatePasskey {
    /// What it is called.
    pub name: Option<String>,
}

/// Body of `attemptPasskeyVerification`.
#[derive(Deserialize, JsonSchema)]
pub struct AttemptPasskey {
    /// How: by the passkey itself.
    pub strategy: Option<PasskeyStrategy>,
    /// What the browser answered to the options of the registration, as JSON.
    pub public_key_credential: Option<String>,
}

/// The way to register a passkey.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PasskeyStrategy {
    Passkey,
}
