//! TLS for the listeners: certificates from files, chosen by the name a client asks for, and read again when
//! the files change. What is spoken inside is the business of `http`.

mod certificate;
mod local;
mod reload;
mod shown;
#[cfg(test)]
pub(crate) mod testing;

use std::path::Path;
use std::sync::Arc;

use latchkey_base::Time;
use local::LocalCertificates;
use reload::Watch;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::{Ticketer, default_provider};
use rustls::server::ResolvesServerCert;
use tokio_rustls::TlsAcceptor;

use crate::config::{Config, Part, Problem, TlsFiles};
use crate::trust::Authority;

/// What a client may choose to speak, the better first. Both listeners offer HTTP/2: the code and its bounds
/// are the same, and backends in languages whose clients speak it by themselves gain as browsers do.
const PROTOCOLS: [&[u8]; 2] = [HTTP2, b"http/1.1"];
/// The name of HTTP/2 in a handshake.
pub(crate) const HTTP2: &[u8] = b"h2";

/// A listener's TLS.
pub(crate) struct Tls {
    /// Turns connections into encrypted ones.
    pub(crate) acceptor: TlsAcceptor,
    /// Whether the listener speaks plain HTTP as well, to those who begin with it.
    pub(crate) is_optional: bool,
    watch: Option<Watch>,
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
        (Ok(backend), Ok(frontend)) => {
            Ok(Listeners { backend, frontend: frontend.or_else(|| local(&config.data_dir)) })
        }
        (Err(problems), Ok(_)) | (Ok(_), Err(problems)) => Err(problems),
        (Err(problems), Err(others)) => Err([problems, others].concat()),
    }
}

/// The TLS of a development machine, where the local authority was made. Without it everything but HTTPS works, so
/// trouble with it is no reason not to start.
fn local(data_dir: &Path) -> Option<Tls> {
    let authority = match Authority::find(data_dir) {
        Ok(authority) => authority?,
        Err(failure) => {
            tracing::warn!("the Frontend API speaks plain HTTP only: {}", failure.message.replace('\n', " "));
            return None;
        }
    };
    match server_config(Arc::new(LocalCertificates::new(authority))) {
        Ok(config) => {
            let acceptor = TlsAcceptor::from(Arc::new(config));
            Some(Tls { acceptor, is_optional: true, watch: None })
        }
        Err(error) => {
            tracing::warn!(%error, "the Frontend API speaks plain HTTP only, because TLS cannot be set up: {error}");
            None
        }
    }
}

impl Listeners {
    /// Reads files again that change from now on, as long as the runtime lives.
    pub(crate) fn follow_files(&self) {
        let listeners = [self.backend.as_ref(), self.frontend.as_ref()];
        let watches: Vec<Watch> =
            listeners.into_iter().flatten().filter_map(|tls| tls.watch.clone()).collect();
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
        Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(config)), is_optional: false, watch: Some(watch) })
    }
}

/// TLS 1.2 and 1.3. Returning clients skip most of the handshake by a ticket, which only this process can read;
/// its key changes every six hours. There is no early data, which others could send again.
fn server_config(shown: Arc<dyn ResolvesServerCert>) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_cert_resolver(shown);
    config.ticketer = Ticketer::new()?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(config)
}
