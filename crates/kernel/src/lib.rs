//! What every group of the product stands on: the state of the running server, the context of a request, who may
//! call, settings, limits, the outbox, the instances with their domains and keys, and the shapes all answers share.
//!
//! This crate is where `web` (HTTP) and `db` (SQL) meet; neither knows the other. It knows no user, no session and
//! no message: whatever a group adds to the server, it hands over as a `Group`.

pub mod aging;
pub mod auth;
pub mod background;
pub mod bell;
pub mod callers;
pub mod cx;
pub mod derived;
pub mod device;
pub mod digest_times;
pub mod document;
pub mod domains;
pub mod environment;
pub mod events;
pub mod group;
pub mod hosts;
pub mod instances;
pub mod jobs;
pub mod key_tickets;
pub mod keyring;
pub mod limits;
pub mod migrations;
pub mod origins;
pub mod outbox;
pub mod page;
pub mod pass;
pub mod reads;
pub mod recent_answers;
pub mod recent_tokens;
pub mod registry;
pub mod settings;
pub mod signing;
pub mod signing_secrets;
pub mod slow;
pub mod steps;
pub mod strategy;
pub mod waiter;
pub mod wire;
mod words;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use axum::extract::FromRef;
use latchkey_base::rng::Rng;
use latchkey_base::secret::Secret;
use latchkey_base::time::Clock;
use latchkey_db::Db;
use latchkey_jose::seal::MasterKey;
use latchkey_outbound::client::Client;
use latchkey_web::api::Operation;
use latchkey_web::shape::Shapes;
use latchkey_web::throttle::Throttle;
use latchkey_web::version::Change;

use crate::bell::Bell;
use crate::callers::Callers;
use crate::digest_times::DigestTimes;
use crate::keyring::{CustomKeys, Keyring};
use crate::limits::{FEED_WAITERS, INBOX_WAITERS, RateLimits};
use crate::recent_answers::RecentAnswers;
use crate::recent_tokens::RecentTokens;
use crate::registry::Registry;
use crate::settings::{Settings, SettingsCache};
use crate::slow::SlowPool;
use crate::waiter::Places;

/// What the server is made of.
pub struct AppParts {
    /// The database, migrated.
    pub db: Db,
    pub clock: Arc<dyn Clock>,
    pub rng: Arc<dyn Rng>,
    /// Seals secrets at rest.
    pub master: Arc<MasterKey>,
    /// How strictly requests are counted.
    pub rate_limits: RateLimits,
    /// Proxies whose word on the client's address counts.
    pub trusted_proxies: Vec<IpAddr>,
    /// Who may read the metrics, and where.
    pub metrics: MetricsAccess,
    /// Where callers reach this API, without a slash at the end.
    pub api_url: String,
    /// Where browsers reach the Frontend API of the first development instance.
    pub frontend_url: String,
    /// The host the publishable key of that instance names.
    pub frontend_api: String,
    /// Another host of the same instance, below `.localhost`: the one its publishable key names where the local
    /// certificate authority is trusted (`latchkey trust`).
    pub local_host: Option<String>,
    /// Unpacked packages with the scripts for browsers.
    pub scripts_dir: Option<PathBuf>,
    /// Passwords that may be hashed at once.
    pub slow_slots: usize,
    /// Rings when there are new events.
    pub bell: Bell,
    /// Sends requests to addresses other people chose.
    pub outbound: Client,
    /// Tries addresses that backends only want to know something about.
    pub checks: Client,
}

/// Who may read the metrics, and where.
#[derive(Default)]
pub struct MetricsAccess {
    /// What has to be shown for them; nothing when everybody may read them.
    pub token: Option<Secret>,
    /// Whether they have a listener of their own and are not part of the Backend API.
    pub is_apart: bool,
}

/// What the groups of the product add to the server.
pub struct Product {
    /// The operations of the Backend API, by their index.
    pub operations: Arc<Vec<Operation>>,
    /// The operations of the Frontend API, by their index.
    pub frontend_operations: Arc<Vec<Operation>>,
    /// How answers change for older versions, newest first.
    pub changes: Vec<Change>,
    /// What upper groups registered for lower ones to find.
    pub registry: Arc<Registry>,
    /// The OpenAPI document of the Backend API, once somebody has asked for it.
    pub document: OnceLock<String>,
}

/// The running server, shared by all requests.
pub struct App {
    pub db: Db,
    pub clock: Arc<dyn Clock>,
    pub rng: Arc<dyn Rng>,
    /// Seals secrets at rest.
    pub master: Arc<MasterKey>,
    /// Where callers reach this API.
    pub api_url: Arc<str>,
    /// Unpacked packages with the scripts for browsers.
    pub scripts_dir: Option<PathBuf>,
    /// Passwords and backup codes being hashed or compared.
    pub hashing: SlowPool,
    /// How long comparing takes.
    pub digest_times: DigestTimes,
    /// Uploaded pictures being decoded.
    pub uploads: SlowPool,
    /// Stored pictures being made smaller, for anybody who asks.
    pub resizing: SlowPool,
    /// Tokens being signed with long keys that applications brought, and keys of theirs being checked and opened.
    pub signing: SlowPool,
    /// Searches and other long reads (`reads`).
    pub long_reads: Arc<SlowPool>,
    /// Answers being written about clients on which many people are signed in.
    pub crowded_clients: SlowPool,
    /// Rings when there are new events.
    pub bell: Bell,
    /// Sends requests to addresses other people chose.
    pub outbound: Client,
    /// Tries addresses that backends only want to know something about. With lookups of its own: whoever names many whose
    /// name servers are silent keeps nothing else waiting.
    pub checks: Client,
    /// Whose requests were let in.
    pub callers: Callers,
    /// Places for callers who wait for messages.
    pub inbox_places: Places,
    /// Places for those who wait for events.
    pub feed_places: Places,
    /// What the groups of the product add.
    pub product: Product,
    /// Who may read the metrics, and where.
    pub metrics: MetricsAccess,
    /// How strictly requests are counted.
    pub rate_limits: RateLimits,
    /// Counts them.
    pub throttle: Throttle,
    /// Tokens of sessions that were signed a moment ago.
    pub recent_tokens: RecentTokens,
    /// Answers that were given a moment ago.
    pub recent_answers: RecentAnswers,
    /// Keys that applications brought for their tokens, opened.
    pub custom_keys: Arc<CustomKeys>,
    frontend_url: String,
    frontend_api: String,
    local_host: Option<String>,
    keyring: Keyring,
    settings: SettingsCache,
    shapes: Arc<Shapes>,
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
    /// A server of these parts, for this product.
    pub fn new(parts: AppParts, product: Product) -> App {
        App {
            callers: Callers::default(),
            long_reads: Arc::new(SlowPool::of_places(limits::long_reads(parts.db.long_reads()))),
            db: parts.db,
            clock: parts.clock,
            rng: parts.rng,
            master: parts.master,
            api_url: parts.api_url.into(),
            scripts_dir: parts.scripts_dir,
            hashing: SlowPool::new(limits::hashing(parts.slow_slots)),
            digest_times: DigestTimes::default(),
            uploads: SlowPool::new(limits::UPLOADS_LANE),
            resizing: SlowPool::new(limits::RESIZING_LANE),
            signing: SlowPool::new(limits::SIGNING_LANE),
            crowded_clients: SlowPool::of_places(limits::CROWDED_CLIENTS_LANE),
            bell: parts.bell,
            outbound: parts.outbound,
            checks: parts.checks,
            inbox_places: Places::new(INBOX_WAITERS),
            feed_places: Places::new(FEED_WAITERS),
            product,
            metrics: parts.metrics,
            rate_limits: parts.rate_limits,
            throttle: Throttle::default(),
            recent_tokens: RecentTokens::default(),
            recent_answers: RecentAnswers::default(),
            custom_keys: Arc::new(CustomKeys::default()),
            frontend_url: parts.frontend_url,
            frontend_api: parts.frontend_api,
            local_host: parts.local_host,
            keyring: Keyring::default(),
            settings: SettingsCache::default(),
            shapes: Arc::new(Shapes::default()),
            trusted_proxies: parts.trusted_proxies,
        }
    }

    /// The host of the instance whose Frontend API is reached at the server's own URL, if this is the host of that URL.
    pub fn own_frontend_api(&self, host: &str) -> Option<&str> {
        (host == hosts::authority(&self.frontend_url)).then_some(&*self.frontend_api)
    }

    /// Where browsers reach the Frontend API whose host a publishable key names.
    pub fn public_url(&self, frontend_api: &str) -> String {
        match frontend_api == self.frontend_api {
            true => self.frontend_url.clone(),
            false => hosts::url_of(frontend_api),
        }
    }

    /// Where browsers reach the Frontend API of an instance, if nobody has asked for it yet: at its host, or through the
    /// proxy that its settings name.
    pub fn primary_url(&self, frontend_api: &str, settings: &Settings) -> String {
        settings.proxy_url.clone().unwrap_or_else(|| self.public_url(frontend_api))
    }

    /// Whether a host leads to the first development instance although no instance has it: no other can have it.
    pub fn is_reserved(&self, host: &str) -> bool {
        let is_own = |host: &String| self.own_frontend_api(host).or(self.instance_host_at(host)).is_some();
        hosts::leads_to(host).iter().any(is_own)
    }

    /// The host in the publishable key of the first development instance, if `host` is its other one.
    pub fn instance_host_at(&self, host: &str) -> Option<&str> {
        (self.local_host.as_deref() == Some(host)).then_some(&self.frontend_api)
    }

    /// The other host of the instance at `frontend_api`, if it has one.
    pub fn local_host_of(&self, frontend_api: &str) -> Option<&str> {
        self.local_host.as_deref().filter(|_| frontend_api == self.frontend_api)
    }
}
