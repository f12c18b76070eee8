//! Whether backends can let a user act as another user.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of actor tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ActorTokenSettings {
    /// Backends can create actor tokens, and their tickets sign in. Sessions that actors have already go on without it.
    pub enabled: bool,
}

impl Default for ActorTokenSettings {
    fn default() -> ActorTokenSettings {
        ActorTokenSettings { enabled: true }
    }
}
