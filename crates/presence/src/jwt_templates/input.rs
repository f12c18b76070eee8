//! What the operations on JWT templates take. Open, as published.

use latchkey_base::patch::Patch;
use latchkey_base::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Body of `CreateJWTTemplate`.
#[derive(Deserialize, JsonSchema)]
pub struct CreateJwtTemplate {
    /// How tokens are asked for; unique in the instance.
    pub name: String,
    /// The claims; texts may hold shortcodes such as `{{user.first_name}}`.
    pub claims: Map<String, Value>,
    /// How many seconds a token is good for; 60 unless told otherwise.
    #[serde(default)]
    #[schemars(range(min = 30, max = 315_360_000))]
    pub lifetime: Option<i64>,
    /// How many seconds before it was made a token is good already; 5 unless told otherwise.
    #[serde(default)]
    #[schemars(range(min = 0, max = 300))]
    pub allowed_clock_skew: Option<i64>,
    /// Whether tokens are signed with `signing_key` rather than with the key of the instance.
    #[serde(default)]
    pub custom_signing_key: bool,
    /// HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512 or EdDSA;
    /// required with `custom_signing_key`.
    #[serde(default)]
    pub signing_algorithm: Option<String>,
    /// The secret (HS…) or the private key in PEM; required with `custom_signing_key`, and never shown.
    #[serde(default)]
    pub signing_key: Option<Secret>,
}

/// Body of `UpdateJWTTemplate`.
#[derive(Deserialize, JsonSchema)]
pub struct UpdateJwtTemplate {
    /// How tokens are asked for; unique in the instance.
    pub name: String,
    /// The claims; texts may hold shortcodes such as `{{user.first_name}}`.
    pub claims: Map<String, Value>,
    /// How many seconds a token is good for; null is the default of 60.
    #[serde(default)]
    #[schemars(range(min = 30, max = 315_360_000))]
    pub lifetime: Patch<i64>,
    /// How many seconds before it was made a token is good already; null is the default of 5.
    #[serde(default)]
    #[schemars(range(min = 0, max = 300))]
    pub allowed_clock_skew: Patch<i64>,
    /// Whether tokens are signed with a key of their own; `false` removes it.
    #[serde(default)]
    #[schemars(with = "bool")]
    pub custom_signing_key: Option<bool>,
    /// The algorithm of `signing_key`.
    #[serde(default)]
    pub signing_algorithm: Patch<String>,
    /// A new secret or private key; the template keeps the one it has when this is left out.
    #[serde(default)]
    pub signing_key: Patch<Secret>,
}
