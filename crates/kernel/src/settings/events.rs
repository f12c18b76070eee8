//! Settings of events and webhooks.

use latchkey_outbound::reach::Reach;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::Faults;
use crate::environment::Environment;

/// The schedule of attempts takes more than a day, and people are away at weekends.
const MIN_DAYS: i64 = 3;
const MAX_DAYS: i64 = 3650;

/// How long events are kept, and where they may be sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EventSettings {
    /// Days after which events are deleted.
    pub retention_days: i64,
    /// Days after which it is forgotten what became of events at endpoints.
    pub deliveries_retention_days: i64,
    /// Days after which messages to people are deleted.
    pub messages_retention_days: i64,
    /// Whether a production instance may send to private and local addresses. Whoever may add endpoints can
    /// then reach what this server can reach.
    pub allow_private_targets: bool,
}

impl Default for EventSettings {
    fn default() -> EventSettings {
        EventSettings {
            retention_days: 30,
            deliveries_retention_days: 30,
            messages_retention_days: 30,
            allow_private_targets: false,
        }
    }
}

impl EventSettings {
    /// How far requests of an instance may go.
    pub fn reach(&self, environment: Environment) -> Reach {
        match environment {
            Environment::Production if !self.allow_private_targets => Reach::Public,
            Environment::Production | Environment::Development => Reach::Any,
        }
    }

    pub(super) fn check(&self, faults: &mut Faults) {
        for (path, days) in [
            ("events.retention_days", self.retention_days),
            ("events.deliveries_retention_days", self.deliveries_retention_days),
            ("events.messages_retention_days", self.messages_retention_days),
        ] {
            faults.range(path, days, MIN_DAYS..=MAX_DAYS);
        }
    }
}
