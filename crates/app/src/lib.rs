//! The product: every resource, and the router that serves them.
//!
//! A resource is a folder under `resources/` with files of fixed names; `resources.rs` lists them.
//! This crate is where `web` (HTTP) and `db` (SQL) meet; neither knows the other.

pub mod auth;
pub mod bell;
pub mod cx;
pub mod document;
pub mod events;
pub mod flows;
pub mod frontend;
pub mod jobs;
pub mod keyring;
pub mod limits;
pub mod migrations;
pub mod outbox;
pub mod pass;
mod reference;
pub mod resources;
mod router;
pub mod settings;
pub mod slow;
pub mod transports;
pub mod waiter;
mod words;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::FromRef;
use latchkey_base::rng::Rng;
use latchkey_base::time::Clock;
use latchkey_db::Db;
use latchkey_jose::seal::MasterKey;
use latchkey_outbound::client::Client;
use latchkey_web::api::Operation;
use latchkey_web::shape::Shapes;
use latchkey_web::throttle::Throttle;
use tokio::sync::Semaphore;

pub use router::{Routers, document, frontend_document, routers};

use crate::bell::Bell;
use crate::jobs::Counts;
use crate::keyring::Keyring;
use crate::limits::RateLimits;
use crate::settings::SettingsCache;
use crate::slow::SlowPool;

/// What the server is made of. Handed to `router`.
pub struct Parts {
    /// The database, migrated.
    pub db: Db,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
    /// Seals secrets at rest.
    pub master: Arc<MasterKey>,
    /// How strictly requests are counted.
    pub rate_limits: RateLimits,
    /// Proxies whose word on the client's address counts.
    pub trusted_proxies: Vec<IpAddr>,
    /// Where callers reach this API, without a slash at the end.
    pub api_url: String,
    /// Where browsers reach the Frontend API of the first development instance.
    pub frontend_url: String,
    /// The host the publishable key of that instance names.
    pub frontend_api: String,
    /// Unpacked packages with the scripts for browsers.
    pub scripts_dir: Option<PathBuf>,
    /// Slow jobs that may run at once.
    pub slow_slots: usize,
    /// Rings when there are new events.
    pub bell: Bell,
    /// Sends requests to addresses other people chose.
    pub outbound: Client,
    /// What became of events and messages, for the metrics.
    pub counts: Arc<Counts>,
}

/// The running server, shared by all requests.
pub struct App {
    /// The database.
    pub db: Db,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
    /// Seals secrets at rest.
    pub master: Arc<MasterKey>,
    /// Where callers reach this API.
    pub api_url: Arc<str>,
    /// Unpacked packages with the scripts for browsers.
    pub scripts_dir: Option<PathBuf>,
    /// Slow work on passwords and uploads.
    pub slow: SlowPool,
    /// Pictures being resized: anybody may ask for them, so they never compete with passwords.
    pub pictures: SlowPool,
    /// Rings when there are new events.
    pub bell: Bell,
    /// Sends requests to addresses other people chose.
    pub outbound: Client,
    /// What became of events and messages, for the metrics.
    pub counts: Arc<Counts>,
    /// Places for callers who wait for messages.
    pub inbox_places: Semaphore,
    /// Places for those who wait for events.
    pub feed_places: Semaphore,
    operations: Arc<Vec<Operation>>,
    frontend_operations: Arc<Vec<Operation>>,
    frontend_url: String,
    frontend_api: String,
    keyring: Keyring,
    rate_limits: RateLimits,
    settings: SettingsCache,
    shapes: Arc<Shapes>,
    throttle: Throttle,
    trusted_proxies: Vec<IpAddr>,
}

/// The state axum hands to extractors.
#[derive(Clone)]
pub struct AppState(pub Arc<App>);

impl FromRef<AppState> for Arc<Shapes> {
    fn from_ref(AppState(app): &AppState) -> Arc<Shapes> {
        app.shapes.clone()
    }
}

impl App {
    /// Where browsers reach the Frontend API whose host a publishable key names.
    pub(crate) fn public_url(&self, frontend_api: &str) -> String {
        match frontend_api == self.frontend_api {
            true => self.frontend_url.clone(),
            false => frontend::site::url_of(frontend_api),
        }
    }
}
