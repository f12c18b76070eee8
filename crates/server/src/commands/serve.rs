//! `latchkey serve`: the server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware::from_fn;
use latchkey_app::GROUPS;
use latchkey_app::jobs::{self, JobCounts};
use latchkey_base::kinds::InstanceId;
use latchkey_base::rng::SystemRng;
use latchkey_base::time::{Clock, SystemClock};
use latchkey_db::Location;
use latchkey_events::courier::EVENTS_AT_ONCE;
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::bell::Bell;
use latchkey_kernel::hosts::url_of;
use latchkey_kernel::instances::model::Instance;
use latchkey_kernel::limits::{RateLimits, WEBHOOK_TIMEOUT};
use latchkey_kernel::{AppParts, MetricsAccess};
use latchkey_messaging::inbox::rules as inbox_rules;

use super::instances;
use super::listeners::Listeners;
use crate::config::Config;
use crate::failure::Failure;
use crate::frameworks::{FRAMEWORKS, Target};
use crate::http::{self, Side};
use crate::provision::{self, Storage};
use crate::reach::{self, Listener, Reach};
use crate::{files, no_instance, show, tls};

/// Hashing that is still under way when everything else has ended may not hold the process up.
const LAST_WORK: Duration = Duration::from_secs(1);
/// Those who collect metrics are few, and ask seldom.
const METRICS_CONNECTIONS: usize = 100;
/// Of how many production instances the address is shown, where there are no others.
const INSTANCES_SHOWN: usize = 5;
const NOT_KEPT: &str = "(shown when it was made; run \"latchkey keys create\" for a further one)";

/// Serves until a signal ends it.
pub(crate) fn run(config: Config) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().thread_name("latchkey").enable_all().build();
    let runtime = runtime.map_err(super::no_runtime)?;
    let outcome = runtime.block_on(serve(config));
    runtime.shutdown_timeout(LAST_WORK);
    outcome
}

async fn serve(config: Config) -> Result<(), Failure> {
    let tls = tls::open(&config, SystemClock.now())?;
    let Listeners { backend, frontend, metrics } = Listeners::open(&config)?;
    let address = backend.local_addr().unwrap_or(config.listen);
    let frontend_address = frontend.local_addr().unwrap_or(config.frontend_listen);
    let stop = http::stop_signal()?;
    let _claim = match &config.database {
        Location::Sqlite(path) => Some(files::claim(path)?),
        Location::Postgres(_) => None,
    };
    let mut storage = Storage::open(&config).await?;
    storage.make_first(&config).await?;
    // Before the instance is moved: a server without the right key ends here.
    let master = storage.master_key(&config).await?;
    storage.follow_listener(&config).await?;
    let urls = Urls { api: config.api_url(address), frontend: config.frontend_url(frontend_address) };
    let listener = Listener { url: urls.frontend.clone(), port: Some(frontend_address.port()) };
    for text in storage.instances.iter().filter_map(instances::mute) {
        tracing::warn!("{text}");
    }
    show::result(&announcement(&config, &storage, &master, &urls, &listener).await?);
    let local_host = reach::local_host(&storage, listener.port);
    let development = storage.development().map(|instance| instance.frontend_api.clone());
    let parts = latchkey_kernel::jobs::JobParts {
        db: storage.db,
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
        master: Arc::new(master),
        bell: Bell::default(),
        outbound: super::outbound()?,
        answer_timeout: WEBHOOK_TIMEOUT,
        events_at_once: EVENTS_AT_ONCE,
    };
    let counts = JobCounts::default();
    let jobs = jobs::start(&parts, &counts, GROUPS)?;
    let database = parts.db.clone();
    let latchkey_kernel::jobs::JobParts { db, clock, rng, master, bell, outbound, .. } = parts;
    let parts = AppParts {
        db,
        clock,
        rng,
        master,
        bell,
        outbound,
        checks: super::outbound()?,
        rate_limits: config.rate_limits,
        trusted_proxies: config.trusted_proxies.clone(),
        metrics: MetricsAccess { token: config.metrics_token, is_apart: metrics.is_some() },
        api_url: urls.api,
        frontend_url: urls.frontend,
        frontend_api: development.unwrap_or_default(),
        local_host,
        scripts_dir: config.scripts_dir.or_else(installed_scripts),
        slow_slots: config.hash_threads,
    };
    let routers = latchkey_app::routers(parts, &counts, GROUPS);
    tls.follow_files();
    let mut sides = vec![
        Side::new("Backend API", backend, routers.backend, tls.backend),
        Side::new("Frontend API", frontend, routers.frontend.layer(from_fn(no_instance::show)), tls.frontend),
    ];
    sides.extend(metrics.map(|listener| Side {
        few: Some(METRICS_CONNECTIONS),
        ..Side::new("listener of the metrics", listener, routers.metrics, None)
    }));
    http::serve(sides, &config.trusted_proxies, stop).await;
    jobs.stop().await;
    if let Err(error) = database.check_place() {
        tracing::error!(?error, "the database is gone, with what it held (docs/BACKUP.md)");
    } else if let Err(error) = database.fold().await {
        tracing::warn!(?error, "the log of the database stays beside it; nothing is lost");
    }
    Ok(())
}

/// Returns the directory of browser scripts that was installed with the program: `/usr/share/latchkey/browser-scripts` of
/// the Debian package. `make scripts` makes one below `target`, for the programs of `target/debug` and `target/release`.
fn installed_scripts() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let directory = program.parent()?.parent()?.join("share/latchkey/browser-scripts");
    directory.is_dir().then_some(directory)
}

/// Where the two APIs are reached.
struct Urls {
    api: String,
    frontend: String,
}

/// What an app needs to reach this server, in a form to copy from.
async fn announcement(
    config: &Config,
    storage: &Storage,
    master: &MasterKey,
    urls: &Urls,
    listener: &Listener,
) -> Result<String, Failure> {
    let development = match storage.development() {
        Some(instance) => {
            let kept = kept_key(config, storage, &instance.id, master).await?;
            let pass = inbox_rules::pass(master, &instance.id, SystemClock.now())?;
            let reach = Reach::best(config, storage, instance, listener);
            Some(Development::new(instance, kept, &pass, &reach, &urls.api))
        }
        None => None,
    };
    let data = match &config.database {
        Location::Sqlite(path) => path.display().to_string(),
        Location::Postgres(url) => format!("{}, {}", show::without_password(url), config.data_dir.display()),
    };
    let reference = format!("{}/reference", urls.api);
    // Without a development instance nothing answers at the address of the listener itself.
    let frontends: Vec<String> = match &development {
        Some(development) => vec![development.frontend.clone()],
        None => {
            let some = storage.instances.iter().take(INSTANCES_SHOWN);
            some.map(|instance| url_of(&instance.frontend_api)).collect()
        }
    };
    let mut rows = vec![("api url", urls.api.as_str())];
    rows.extend(frontends.iter().map(|url| ("frontend url", url.as_str())));
    match &development {
        Some(development) => rows.extend(development.rows()),
        None => rows.push(("instances", "production only; `latchkey instances list` shows them")),
    }
    rows.extend([("data", &*data), ("api reference", &reference)]);
    if config.rate_limits == RateLimits::Off {
        rows.push(("rate limits", "off: for tests and single-tenant hosts only"));
    }
    let version = env!("CARGO_PKG_VERSION");
    let block = development.as_ref().map_or("", |development| &development.block);
    Ok(format!("\nLatchkey {version} is listening.\n\n{}\n{block}", show::aligned(&rows)))
}

/// What an app and a person need to use the first development instance.
struct Development {
    secret_key: String,
    publishable_key: String,
    name: String,
    frontend: String,
    sign_in: String,
    inbox: String,
    /// The environment of an app.
    block: String,
}

impl Development {
    fn new(
        instance: &Instance,
        secret_key: Option<String>,
        pass: &str,
        reach: &Reach,
        api_url: &str,
    ) -> Development {
        Development {
            secret_key: secret_key.clone().unwrap_or_else(|| NOT_KEPT.to_owned()),
            publishable_key: reach.publishable_key(instance),
            name: format!("{} ({})", instance.id, instance.environment.name()),
            frontend: reach.url.clone(),
            sign_in: format!("{}/sign-in", reach.url),
            inbox: format!("{api_url}/dev/inbox#{pass}"),
            block: pasted(&reach.target(instance, api_url, secret_key)),
        }
    }

    fn rows(&self) -> [(&'static str, &str); 5] {
        [
            ("secret key", &self.secret_key),
            ("publishable key", &self.publishable_key),
            ("instance", &self.name),
            ("sign-in page", &self.sign_in),
            ("inbox", &self.inbox),
        ]
    }
}

/// The block of the first framework, and how to get those of the others.
fn pasted(target: &Target) -> String {
    let block = FRAMEWORKS.first().map(|framework| framework.block(target)).unwrap_or_default();
    let others: Vec<&str> = FRAMEWORKS.iter().skip(1).map(|framework| framework.name).collect();
    format!("\n{block}\n\n  `latchkey env` prints this for other frameworks: {}.\n", others.join(", "))
}

/// The kept key, if it still opens the door.
pub(super) async fn kept_key(
    config: &Config,
    storage: &Storage,
    id: &InstanceId,
    master: &MasterKey,
) -> Result<Option<String>, Failure> {
    let Some(key) = files::find_development_key(&config.data_dir, id, master) else { return Ok(None) };
    let works = provision::has_key(&storage.db, id, &key).await?;
    Ok(works.then(|| key.expose().to_owned()))
}
