//! What a development instance does that would be unsafe in production.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a development instance allows although it is off by default. Production instances refuse it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DevelopmentSettings {
    /// Pages of every origin are trusted like the application's own, so any page on the internet that somebody opens can
    /// act as whoever is signed in. Without it only pages of this machine, of private networks, of the application's own
    /// domains and of `allowed_origins` are. It counts in two places: browsers are sent back to such a page with a token
    /// (a handshake), and such a page may call the Frontend API over HTTPS on this machine (`latchkey trust`).
    pub any_origin: bool,
    /// The oldest development instance answers requests whose `Host` belongs to no instance even when there is a
    /// production instance. Without it such requests are refused then.
    pub unknown_hosts: bool,
}
