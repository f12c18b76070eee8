//! The certificates a listener shows, and which one to whom.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::pki_types::ServerName;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::certificate::Certificate;

/// The present certificates of a listener, at least one. They are replaced while handshakes go on; connections
/// that are open keep what they were shown.
#[derive(Debug)]
pub(super) struct Shown(RwLock<Vec<Arc<Certificate>>>);

impl Shown {
    pub(super) fn new(certificates: Vec<Certificate>) -> Shown {
        Shown(RwLock::new(certificates.into_iter().map(Arc::new).collect()))
    }

    /// Puts a certificate in the place of another one, and returns that.
    pub(super) fn replace(&self, place: usize, certificate: Certificate) -> Option<Arc<Certificate>> {
        let mut certificates = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let present = certificates.get_mut(place)?;
        Some(std::mem::replace(present, Arc::new(certificate)))
    }

    /// The first that is for `name`; the first of all when none is, or no name was said: most clients then
    /// refuse it and say which names it has, which tells more than a handshake that fails.
    pub(super) fn choose(&self, name: Option<&str>) -> Option<Arc<Certificate>> {
        let certificates = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let name = name.and_then(|name| ServerName::try_from(name).ok());
        let fitting = name.and_then(|name| certificates.iter().find(|certificate| certificate.is_for(&name)));
        fitting.or_else(|| certificates.first()).cloned()
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.choose(hello.server_name()).map(|certificate| certificate.key.clone())
    }
}
