//! What a development instance does that would be unsafe in production.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a development instance allows although it is off by default. Production instances refuse it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DevelopmentSettings {
    /// Handshakes send browsers with their tokens to every origin, and pages of every origin may use the Frontend API
    /// over HTTPS on this machine. Without it both are for this machine, private networks, the application's own
    /// domains and `allowed_origins`.
    pub any_origin: bool,
    /// The oldest development instance answers requests whose `Host` belongs to no instance even when there is a
    /// production instance. Without it such requests are refused then.
    pub unknown_hosts: bool,
}
