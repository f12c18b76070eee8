//! `latchkey serve`: the server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use latchkey_app::Parts;
use latchkey_app::bell::Bell;
use latchkey_app::jobs;
use latchkey_app::jobs::deliver::EVENTS_AT_ONCE;
use latchkey_app::limits::{RateLimits, WEBHOOK_TIMEOUT};
use latchkey_app::resources::inbox::rules as inbox_rules;
use latchkey_app::resources::instances::keys::publishable_key;
use latchkey_app::resources::instances::model::Instance;
use latchkey_base::kinds::InstanceId;
use latchkey_base::rng::SystemRng;
use latchkey_base::time::{Clock, SystemClock};
use latchkey_db::Location;
use latchkey_jose::seal::MasterKey;
use tokio::net::TcpListener;

use crate::config::Config;
use crate::failure::Failure;
use crate::http::Side;
use crate::provision::{self, Storage};
use crate::{files, http, show, tls};

/// Hashing that is still under way when everything else has ended may not hold the process up.
const LAST_WORK: Duration = Duration::from_secs(1);
const NOT_KEPT: &str = "(shown when it was made; run \"latchkey keys\" for a further one)";

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
    // Before anything is made: a port that is taken should leave no trace.
    let backend = bind(config.listen, "listen").await?;
    let frontend = bind(config.frontend_listen, "frontend-listen").await?;
    let address = backend.local_addr().unwrap_or(config.listen);
    let frontend_address = frontend.local_addr().unwrap_or(config.frontend_listen);
    let stop = http::stop_signal()?;
    let _claim = match &config.database {
        Location::Sqlite(path) => Some(files::claim(path)?),
        Location::Postgres(_) => None,
    };
    let mut storage = Storage::open(&config).await?;
    storage.make_first(&config).await?;
    storage.follow_listener(&config).await?;
    let master = storage.master_key(&config).await?;
    let urls = Urls { api: config.api_url(address), frontend: config.frontend_url(frontend_address) };
    show::result(&announcement(&config, &storage, &master, &urls).await?);
    let development = storage.development().map(|instance| instance.frontend_api.clone());
    let parts = jobs::Parts {
        db: storage.db,
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
        master: Arc::new(master),
        bell: Bell::default(),
        outbound: super::outbound()?,
        counts: Arc::default(),
        answer_timeout: WEBHOOK_TIMEOUT,
        events_at_once: EVENTS_AT_ONCE,
    };
    let jobs = jobs::start(&parts)?;
    let database = parts.db.clone();
    let jobs::Parts { db, clock, rng, master, bell, outbound, counts, .. } = parts;
    let routers = latchkey_app::routers(Parts {
        db,
        clock,
        rng,
        master,
        bell,
        outbound,
        counts,
        rate_limits: config.rate_limits,
        trusted_proxies: config.trusted_proxies,
        api_url: urls.api,
        frontend_url: urls.frontend,
        frontend_api: development.unwrap_or_default(),
        scripts_dir: config.scripts_dir,
        slow_slots: config.hash_threads,
    });
    tls.follow_files();
    let backend =
        Side { listener: backend, router: routers.backend, tls: tls.backend.map(|tls| tls.acceptor) };
    let frontend =
        Side { listener: frontend, router: routers.frontend, tls: tls.frontend.map(|tls| tls.acceptor) };
    http::serve(backend, frontend, stop).await;
    jobs.stop().await;
    if let Err(error) = database.fold().await {
        tracing::warn!(?error, "the log of the database stays beside it; nothing is lost");
    }
    Ok(())
}

/// Where the two APIs are reached.
struct Urls {
    api: String,
    frontend: String,
}

async fn bind(address: SocketAddr, flag: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        let variable = format!("LATCHKEY_{}", flag.replace('-', "_").to_uppercase());
        Failure::new(
            format!("Nothing can listen on {address}: {error}."),
            format!(
                "Stop what listens there, or choose another address with --{flag} or {variable} \
                 (port 0 takes a free one; ports below 1024 need a privilege)."
            ),
        )
    })
}

/// What an app needs to reach this server, in a form to copy from.
async fn announcement(
    config: &Config,
    storage: &Storage,
    master: &MasterKey,
    urls: &Urls,
) -> Result<String, Failure> {
    let development = match storage.development() {
        Some(instance) => {
            let kept = kept_key(config, storage, &instance.id, master).await?;
            let pass = inbox_rules::pass(master, &instance.id, SystemClock.now())?;
            Some(Development::new(instance, kept, &pass, urls))
        }
        None => None,
    };
    let data = match &config.database {
        Location::Sqlite(path) => path.display().to_string(),
        Location::Postgres(url) => format!("{}, {}", without_password(url), config.data_dir.display()),
    };
    let reference = format!("{}/reference", urls.api);
    let mut rows = vec![("api url", urls.api.as_str()), ("frontend url", urls.frontend.as_str())];
    match &development {
        Some(development) => rows.extend(development.rows()),
        None => rows.push(("instances", "production only; `latchkey instances list` shows them")),
    }
    rows.extend([("data", &*data), ("api reference", &reference)]);
    if config.rate_limits == RateLimits::Off {
        rows.push(("rate limits", "off: for tests and single-tenant hosts only"));
    }
    let version = env!("CARGO_PKG_VERSION");
    Ok(format!("\nLatchkey {version} is listening.\n\n{}\n", show::aligned(&rows)))
}

/// What an app and a person need to use the first development instance.
struct Development {
    secret_key: String,
    publishable_key: String,
    name: String,
    sign_in: String,
    inbox: String,
}

impl Development {
    fn new(instance: &Instance, secret_key: Option<String>, pass: &str, urls: &Urls) -> Development {
        Development {
            secret_key: secret_key.unwrap_or_else(|| NOT_KEPT.to_owned()),
            publishable_key: publishable_key(instance.environment, &instance.frontend_api),
            name: format!("{} ({})", instance.id, instance.environment.name()),
            sign_in: format!("{}/sign-in", urls.frontend),
            inbox: format!("{}/dev/inbox#{pass}", urls.api),
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

/// The kept key, if it still opens the door.
async fn kept_key(
    config: &Config,
    storage: &Storage,
    id: &InstanceId,
    master: &MasterKey,
) -> Result<Option<String>, Failure> {
    let Some(key) = files::find_development_key(&config.data_dir, id, master) else { return Ok(None) };
    let works = provision::has_key(&storage.db, id, &key).await?;
    Ok(works.then(|| key.expose().to_owned()))
}

/// A connection URL without its password and its options, which may hold one too.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    // The driver takes everything up to the first @ for user and password.
    let (user, place) = rest.split_once('@').map_or(("", rest), |(user, place)| (user, place));
    let user = user.split([':', '/', '?']).next().unwrap_or_default();
    let place = place.split('?').next().unwrap_or_default();
    match user {
        "" => format!("{scheme}://{place}"),
        user => format!("{scheme}://{user}@{place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_shown_without_its_password() {
        for (url, shown) in [
            ("postgres://host/db", "postgres://host/db"),
            ("postgres://me@host:5432/db", "postgres://me@host:5432/db"),
            ("postgresql://me:hunter2@host/db?sslmode=require", "postgresql://me@host/db"),
            ("postgres://me:hun/ter?2@host/db", "postgres://me@host/db"),
            ("postgres:///db?host=/run&password=hunter2", "postgres:///db"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
