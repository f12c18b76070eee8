//! What work outside of requests is made of.

use std::sync::Arc;
use std::time::Duration;

use latchkey_base::rng::Rng;
use latchkey_base::time::Clock;
use latchkey_db::Db;
use latchkey_jose::seal::MasterKey;
use latchkey_outbound::client::Client;

use crate::bell::Bell;

/// What jobs are made of.
#[derive(Clone)]
pub struct JobParts {
    pub db: Db,
    pub clock: Arc<dyn Clock>,
    /// Randomness, for ids and pauses.
    pub rng: Arc<dyn Rng>,
    /// Opens what is sealed at rest.
    pub master: Arc<MasterKey>,
    /// Rings when there is something new.
    pub bell: Bell,
    /// Sends requests to addresses other people chose.
    pub outbound: Client,
    /// How long an endpoint may take to answer.
    pub answer_timeout: Duration,
    /// Events sent to an endpoint in one go.
    pub events_at_once: i64,
}
