//! TLS for the listeners: certificates from files, chosen by the name a client asks for, and read again when
//! the files change. What is spoken inside is the business of `http`.

mod certificate;
mod reload;
mod shown;
#[cfg(test)]
pub(crate) mod testing;

use std::sync::Arc;

use latchkey_base::Time;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::{Ticketer, default_provider};
use tokio_rustls::TlsAcceptor;

use crate::config::{Config, Part, Problem, TlsFiles};
use reload::Watch;
use shown::Shown;

/// What a client may choose to speak, the better first. Both listeners offer HTTP/2: the code and its bounds
/// are the same, and backends in languages whose clients speak it by themselves gain as browsers do.
const PROTOCOLS: [&[u8]; 2] = [HTTP2, b"http/1.1"];
/// The name of HTTP/2 in a handshake.
pub(crate) const HTTP2: &[u8] = b"h2";

/// A listener's TLS.
pub(crate) struct Tls {
    /// Turns connections into encrypted ones.
    pub(crate) acceptor: TlsAcceptor,
    watch: Watch,
}

/// The TLS of both listeners, as far as they have certificates.
pub(crate) struct Listeners {
    pub(crate) backend: Option<Tls>,
    pub(crate) frontend: Option<Tls>,
}

/// Reads all certificates. Every problem with them is found before any is reported.
pub(crate) fn open(config: &Config, now: Time) -> Result<Listeners, Vec<Problem>> {
    let open =
        |name, files: &Option<TlsFiles>| files.as_ref().map(|files| Tls::open(name, files, now)).transpose();
    match (open("Backend API", &config.tls), open("Frontend API", &config.frontend_tls)) {
        (Ok(backend), Ok(frontend)) => Ok(Listeners { backend, frontend }),
        (Err(problems), Ok(_)) | (Ok(_), Err(problems)) => Err(problems),
        (Err(problems), Err(others)) => Err([problems, others].concat()),
    }
}

impl Listeners {
    /// Reads files again that change from now on, as long as the runtime lives.
    pub(crate) fn follow_files(&self) {
        let listeners = [self.backend.as_ref(), self.frontend.as_ref()];
        let watches: Vec<Watch> = listeners.into_iter().flatten().map(|tls| tls.watch.clone()).collect();
        if !watches.is_empty() {
            tokio::spawn(reload::follow(watches));
        }
    }
}

impl Tls {
    fn open(name: &'static str, files: &TlsFiles, now: Time) -> Result<Tls, Vec<Problem>> {
        let (watch, shown) = Watch::begin(name, files, now)?;
        let config = server_config(shown).map_err(|error| {
            let what = format!("TLS cannot be set up: {error}.");
            vec![files.problem(Part::Certificate, what, "Leave it empty to speak plain HTTP.".to_owned())]
        })?;
        Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(config)), watch })
    }
}

/// TLS 1.2 and 1.3. Returning clients skip most of the handshake by a ticket, which only this process can read;
/// its key changes every six hours. There is no early data, which others could send again.
fn server_config(shown: Arc<Shown>) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_cert_resolver(shown);
    config.ticketer = Ticketer::new()?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(config)
}
