//! What the operations on actor tokens take.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Body of `CreateActorToken`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateActorToken {
    /// Whom to act as.
    pub user_id: String,
    /// Who acts; needs a `sub`. All of it goes into every token of the session.
    pub actor: Map<String, Value>,
    /// How long the token is good for.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 1, max = 315_360_000), default = "token_seconds")]
    pub expires_in_seconds: Option<i64>,
    /// How long the session may last.
    #[serde(default = "session_seconds")]
    #[schemars(range(min = 1, max = 315_360_000))]
    pub session_max_duration_in_seconds: i64,
    /// The organization to work for, of which the user must be a member.
    #[serde(default)]
    pub org_id: Option<String>,
}

fn token_seconds() -> i64 {
    latchkey_kernel::limits::ACTOR_TOKEN_SECONDS
}

fn session_seconds() -> i64 {
    latchkey_kernel::limits::ACTOR_SESSION_MS / 1000
}
