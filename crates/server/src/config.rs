//! The configuration: read once at start, checked as a whole, then passed as a value.
//!
//! `config.default.toml` is the reference of all settings. A file, the environment and flags override
//! it, in this order. Every problem is found before any is reported.

mod layers;
mod parse;
mod problem;
mod settings;
#[cfg(test)]
mod tests;
mod tls;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use latchkey_base::secret::Secret;
use latchkey_db::Location;
use latchkey_kernel::limits::RateLimits;
use latchkey_web::throttle::Limit;
use tracing::Level;

pub(crate) use layers::File;
use layers::{Layers, Source};
use parse::Wrong;
pub(crate) use problem::{Problem, all_nearest, nearest, report};
use settings::names;
pub(crate) use settings::{SETTINGS, Setting};
pub(crate) use tls::{Pair, Part, TlsFiles};

/// The reference of all settings, for people.
pub(crate) const REFERENCE: &str = include_str!("config.default.toml");
const DEFAULT_FILE: &str = "./latchkey.toml";

/// Everything that can be set, checked.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) listen: SocketAddr,
    pub(crate) frontend_listen: SocketAddr,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) frontend_tls: Option<TlsFiles>,
    pub(crate) data_dir: PathBuf,
    pub(crate) database: Location,
    pub(crate) database_connections: usize,
    pub(crate) master_key: Option<Secret>,
    pub(crate) rate_limits: RateLimits,
    pub(crate) trusted_proxies: Vec<IpAddr>,
    pub(crate) metrics_listen: Option<SocketAddr>,
    pub(crate) metrics_token: Option<Secret>,
    pub(crate) hash_threads: usize,
    pub(crate) log_format: LogFormat,
    pub(crate) log_level: Level,
    pub(crate) scripts_dir: Option<PathBuf>,
    api_url: Option<String>,
    frontend_api: Option<String>,
    frontend_url: Option<String>,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

impl Config {
    /// Reads the file, the environment and the flags of this process.
    pub(crate) fn read(flags: impl Fn(&str) -> Option<String>) -> Result<Config, Vec<Problem>> {
        let (file, unreadable) = match find_file(flags("config")) {
            Ok(file) => (file, None),
            Err(problem) => (None, Some(problem)),
        };
        let loaded = Config::load(file.as_ref(), variable, flags);
        let mut problems = mistyped(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()));
        problems.extend(unreadable);
        match (problems.is_empty(), loaded) {
            (true, loaded) => loaded,
            (false, Ok(_)) => Err(problems),
            (false, Err(others)) => Err([problems, others].concat()),
        }
    }

    /// Puts the configuration together from its sources; the later ones win.
    pub(crate) fn load(
        file: Option<&File>,
        variables: impl Fn(&str) -> Option<String>,
        flags: impl Fn(&str) -> Option<String>,
    ) -> Result<Config, Vec<Problem>> {
        let mut problems = Vec::new();
        let layers = Layers::gather(file, variables, flags, &mut problems);
        let mut reader = Reader { layers, problems };
        let config = reader.config();
        match config {
            Some(config) if reader.problems.is_empty() => Ok(config),
            _ => Err(reader.problems),
        }
    }

    /// Where callers reach the Backend API when it listens at `bound`.
    pub(crate) fn api_url(&self, bound: SocketAddr) -> String {
        self.api_url.clone().unwrap_or_else(|| format!("{}://{}", scheme(&self.tls), reachable(bound)))
    }

    /// The host of the first development instance: the one its publishable key names. The SDKs refuse
    /// one without a dot.
    pub(crate) fn frontend_api(&self) -> String {
        let default = || match (reachable(self.frontend_listen).ip(), self.frontend_port()) {
            (IpAddr::V4(ip), Some(port)) => format!("{ip}:{port}"),
            (IpAddr::V4(ip), None) => ip.to_string(),
            (IpAddr::V6(_), Some(port)) => format!("latchkey.localhost:{port}"),
            (IpAddr::V6(_), None) => "latchkey.localhost".to_owned(),
        };
        self.frontend_api.clone().unwrap_or_else(default)
    }

    /// Where the first development instance, reached at `present`, is to be reached from now on, if that is
    /// elsewhere. One on a loopback address follows the listener, because nothing answers there any more.
    pub(crate) fn moved_frontend_api(&self, present: &str) -> Option<String> {
        let wanted = self.frontend_api();
        let is_default = is_default_host(present) && self.frontend_port().is_some();
        let follows = self.frontend_api.is_some() || is_default;
        (follows && wanted != present).then_some(wanted)
    }

    /// Whether the address of the Backend API is only what it listens at.
    pub(crate) fn is_direct(&self) -> bool {
        self.api_url.is_none()
    }

    /// The port of the Frontend API; nothing when every start takes another one.
    pub(crate) fn frontend_port(&self) -> Option<u16> {
        Some(self.frontend_listen.port()).filter(|port| *port != 0)
    }

    /// Where browsers reach the Frontend API when it listens at `bound`. A page at `localhost` is of the
    /// same site as this, and one at 127.0.0.1 would not be.
    pub(crate) fn frontend_url(&self, bound: SocketAddr) -> String {
        let address = reachable(bound);
        let scheme = scheme(&self.frontend_tls);
        let default = || match address.ip().is_loopback() {
            true => format!("{scheme}://localhost:{}", address.port()),
            false => format!("{scheme}://{address}"),
        };
        self.frontend_url.clone().unwrap_or_else(default)
    }
}

/// What a listener with or without certificates speaks.
fn scheme(files: &Option<TlsFiles>) -> &'static str {
    if files.is_some() { "https" } else { "http" }
}

/// Whether a host is one that `frontend_api` makes up: on a loopback address.
fn is_default_host(host: &str) -> bool {
    let name = host.split(':').next().unwrap_or_default();
    name == "latchkey.localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// Settings on their way from texts to values.
struct Reader {
    layers: Layers,
    problems: Vec<Problem>,
}

impl Reader {
    /// All settings are read before any missing one ends this, so that all problems are found.
    fn config(&mut self) -> Option<Config> {
        let listen = self.take("listen", parse::address);
        let frontend_listen = self.take("frontend_listen", parse::address);
        let tls = self.tls_files("tls_certificate", "tls_key");
        let frontend_tls = self.tls_files("frontend_tls_certificate", "frontend_tls_key");
        let data_dir = self.take("data_dir", parse::path);
        let database = self.take("database", parse::database);
        let database_connections = self.take("database_connections", |text| parse::number(text, 1..=1000));
        let api_url = self.take("api_url", parse::url);
        let frontend_api = self.take("frontend_api", parse::host);
        let frontend_url = self.take("frontend_url", parse::url);
        let scripts_dir = self.take("scripts_dir", parse::directory);
        let master_key = self.take("master_key", parse::master_key);
        let rate_limits = self.rate_limits();
        let trusted_proxies = self.take("trusted_proxies", parse::addresses);
        let metrics_listen = self.take("metrics_listen", parse::maybe_address);
        let metrics_token = self.take("metrics_token", parse::token);
        let hash_threads = self.take("hash_threads", |text| parse::number(text, 0..=256));
        let formats = [("text", LogFormat::Text), ("json", LogFormat::Json)];
        let log_format = self.take("log_format", |text| parse::one_of(text, &formats));
        let log_level = self.take("log_level", |text| parse::one_of(text, LEVELS));
        self.must_differ("frontend_listen", frontend_listen?, ("listen", listen?));
        if let Some(metrics) = metrics_listen? {
            self.must_differ("metrics_listen", metrics, ("listen", listen?));
            self.must_differ("metrics_listen", metrics, ("frontend_listen", frontend_listen?));
        }
        let data_dir = data_dir?;
        Some(Config {
            listen: listen?,
            frontend_listen: frontend_listen?,
            tls: tls?,
            frontend_tls: frontend_tls?,
            database: database?.unwrap_or_else(|| Location::Sqlite(data_dir.join("latchkey.db"))),
            data_dir,
            database_connections: database_connections?,
            master_key: master_key?,
            rate_limits: rate_limits?,
            trusted_proxies: trusted_proxies?,
            metrics_listen: metrics_listen?,
            metrics_token: metrics_token?,
            hash_threads: Some(hash_threads?).filter(|count| *count > 0).unwrap_or_else(half_of_the_cores),
            log_format: log_format?,
            log_level: log_level?,
            api_url: api_url?,
            frontend_api: frontend_api?,
            frontend_url: frontend_url?,
            scripts_dir: scripts_dir?,
        })
    }

    fn rate_limits(&mut self) -> Option<RateLimits> {
        let requests = |text: &str| parse::number(text, 1..=u32::MAX);
        let production = self.take("rate_limits_custom.production_requests", requests);
        let development = self.take("rate_limits_custom.development_requests", requests);
        let window = self.take("rate_limits_custom.window_seconds", |text| parse::number(text, 1..=86_400));
        let choices = [("default", Counted::ByDefault), ("custom", Counted::Custom), ("off", Counted::Off)];
        match self.take("rate_limits", |text| parse::one_of(text, &choices))? {
            Counted::ByDefault => Some(RateLimits::default()),
            Counted::Off => Some(RateLimits::Off),
            Counted::Custom => {
                let window_ms = window? * 1000;
                let limit = |requests| Limit { requests, window_ms };
                Some(RateLimits::On { production: limit(production?), development: limit(development?) })
            }
        }
    }

    fn must_differ(&mut self, name: &str, address: SocketAddr, (other, taken): (&str, SocketAddr)) {
        if address == taken && address.port() != 0 {
            let (_, source) = self.layers.get(name);
            let wrong = format!("It is {address}, and so is `{other}`.");
            self.problems.push(Problem::new(name, &source, wrong, "Give it a port of its own."));
        }
    }

    fn take<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, Wrong>) -> Option<T> {
        let (text, source) = self.layers.get(name);
        // Only text of the environment that is not UTF-8 has this character.
        let outcome = match text.contains(char::REPLACEMENT_CHARACTER) {
            true => Err(Wrong::new("It is not UTF-8.", "Write it in UTF-8.")),
            false => parse(text),
        };
        outcome
            .map_err(|Wrong { what, right }| self.problems.push(Problem::new(name, &source, what, right)))
            .ok()
    }
}

/// The choices of `rate_limits`.
#[derive(Clone, Copy)]
enum Counted {
    ByDefault,
    Custom,
    Off,
}

const LEVELS: &[(&str, Level)] = &[
    ("error", Level::ERROR),
    ("warn", Level::WARN),
    ("info", Level::INFO),
    ("debug", Level::DEBUG),
    ("trace", Level::TRACE),
];

fn half_of_the_cores() -> usize {
    (std::thread::available_parallelism().map_or(1, NonZeroUsize::get) / 2).max(1)
}

/// An address for callers on this machine: nobody can connect to "every interface".
fn reachable(bound: SocketAddr) -> SocketAddr {
    let ip = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => std::net::Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => std::net::Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, bound.port())
}

/// The file that was named, or the usual one if it is there.
fn find_file(flag: Option<String>) -> Result<Option<File>, Problem> {
    let named = match (flag, variable("LATCHKEY_CONFIG").filter(|path| !path.is_empty())) {
        (Some(path), _) => Some((path, Source::Flag("config"))),
        (None, Some(path)) => Some((path, Source::Variable("LATCHKEY_CONFIG"))),
        (None, None) => None,
    };
    let (path, named_by) = match named {
        Some((path, source)) => (path, source.to_string()),
        None if std::path::Path::new(DEFAULT_FILE).exists() => (DEFAULT_FILE.to_owned(), "it".to_owned()),
        None => return Ok(None),
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(File { path, text })),
        Err(error) => Err(Problem::unreadable(&path, &named_by, &error)),
    }
}

/// Variables that look like one of ours and are none. What is not close to any is somebody else's.
fn mistyped(variables: impl Iterator<Item = String>) -> Vec<Problem> {
    let typed = variables.filter_map(|name| name.strip_prefix("LATCHKEY_").map(str::to_lowercase));
    let unknown = typed.filter(|name| name != "config" && !names().any(|known| known == name));
    unknown.filter_map(|name| Some(Problem::mistyped(&name, problem::mistyped(&name, names())?))).collect()
}

/// A variable of the environment.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}
