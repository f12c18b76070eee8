//! Settings of tickets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::Faults;

/// Longest validity of a sign-in token or an actor token, as published.
const TICKET_SECONDS_MAX: i64 = 315_360_000;

/// How long tickets may be good for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TicketSettings {
    /// Longest validity of sign-in tokens and actor tokens. A request for a longer one is rejected. Without
    /// `expires_in_seconds`, a token is good for its default time or for this time, whichever is shorter.
    pub max_lifetime_seconds: i64,
}

impl Default for TicketSettings {
    fn default() -> TicketSettings {
        TicketSettings { max_lifetime_seconds: TICKET_SECONDS_MAX }
    }
}

impl TicketSettings {
    pub(super) fn check(&self, faults: &mut Faults) {
        faults.range("tickets.max_lifetime_seconds", self.max_lifetime_seconds, 1..=TICKET_SECONDS_MAX);
    }
}
