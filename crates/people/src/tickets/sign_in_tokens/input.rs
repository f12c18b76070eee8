//! What the operations on sign-in tokens take.

use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `CreateSignInToken`. Open, as published.
#[derive(Deserialize, JsonSchema)]
pub struct CreateSignInToken {
    /// Who will sign in with it.
    pub user_id: String,
    /// How long it is good for; 30 days by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 315_360_000))]
    pub expires_in_seconds: Option<i64>,
    /// The organization to work for after signing in.
    #[serde(default)]
    pub org_id: Option<String>,
}
