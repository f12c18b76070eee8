//! The listeners of `latchkey serve`, opened before anything is made: a port that is taken leaves no trace.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::config::Config;
use crate::failure::Failure;
use crate::http;

/// How many ports are tried for one that is free.
const TRIES: u16 = 20;

/// What the server listens on.
pub(super) struct Listeners {
    pub(super) backend: TcpListener,
    pub(super) frontend: TcpListener,
    pub(super) metrics: Option<TcpListener>,
}

impl Listeners {
    /// Opens all of them, or says of each that cannot be opened why.
    pub(super) fn open(config: &Config) -> Result<Listeners, Failure> {
        let mut refused = Vec::new();
        let mut open = |address: SocketAddr, flag: &'static str| {
            http::listen(address).map_err(|error| refused.push(Refused { address, flag, error })).ok()
        };
        let backend = open(config.listen, "listen");
        let frontend = open(config.frontend_listen, "frontend-listen");
        let metrics = config.metrics_listen.and_then(|address| open(address, "metrics-listen"));
        match (backend, frontend) {
            (Some(backend), Some(frontend)) if refused.is_empty() => {
                Ok(Listeners { backend, frontend, metrics })
            }
            _ => Err(failure(config, &refused)),
        }
    }
}

/// An address that nothing can listen on.
struct Refused {
    address: SocketAddr,
    flag: &'static str,
    error: io::Error,
}

impl Refused {
    fn variable(&self) -> String {
        format!("LATCHKEY_{}", self.flag.replace('-', "_").to_uppercase())
    }
}

fn failure(config: &Config, refused: &[Refused]) -> Failure {
    let what: Vec<String> = refused
        .iter()
        .map(|Refused { address, error, .. }| format!("Nothing can listen on {address}: {error}."))
        .collect();
    let (busy, others): (Vec<&Refused>, Vec<&Refused>) =
        refused.iter().partition(|one| one.error.kind() == ErrorKind::AddrInUse);
    let mut advice: Vec<String> = others.into_iter().map(advice).collect();
    if !busy.is_empty() {
        advice.push(elsewhere(config, &busy));
    }
    Failure::new(what.join("\n"), advice.join("\n"))
}

/// What to do about an address on which nobody listens either.
fn advice(refused: &Refused) -> String {
    let Refused { address, flag, error } = refused;
    let choose = format!("with --{flag} or {}", refused.variable());
    match error.kind() {
        ErrorKind::AddrNotAvailable => format!(
            "This machine does not have the address {}. Choose one that it has {choose}: 127.0.0.1 is reached from this \
             machine only, 0.0.0.0 stands for all its addresses.",
            address.ip()
        ),
        ErrorKind::PermissionDenied => format!(
            "Ports below 1024 need a privilege (docs/PRODUCTION.md, Port 443). Choose another {choose}, or give it to the \
             server."
        ),
        _ => format!("Choose another address {choose}."),
    }
}

/// Lines that start the server where nobody listens.
fn elsewhere(config: &Config, busy: &[&Refused]) -> String {
    let mut taken = vec![config.listen, config.frontend_listen];
    taken.extend(config.metrics_listen);
    let (mut variables, mut flags) = (String::new(), String::new());
    for one in busy {
        let address = free(one.address, &taken);
        taken.push(address);
        variables.push_str(&format!("{}={address} ", one.variable()));
        flags.push_str(&format!(" --{} {address}", one.flag));
    }
    format!(
        "Stop what listens there, or choose other ports, in one of these ways (port 0 takes a free one):\n  \
         {variables}make run\n  latchkey serve{flags}\n\
         Give other commands, such as `latchkey env`, the same, or write it into latchkey.toml for all."
    )
}

/// An address beside a busy one, on which something can listen now.
fn free(busy: SocketAddr, taken: &[SocketAddr]) -> SocketAddr {
    let beside = |step: u16| Some(SocketAddr::new(busy.ip(), busy.port().checked_add(step * 10)?));
    let is_free =
        |address: &SocketAddr| !taken.contains(address) && std::net::TcpListener::bind(address).is_ok();
    (1..=TRIES).filter_map(beside).find(is_free).unwrap_or(SocketAddr::new(busy.ip(), 0))
}
