//! Certificates of the local authority: one for each name of this machine that a client asks for, made when it is
//! first asked for and again before it ends.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use latchkey_base::Time;
use latchkey_base::time::{Clock, SystemClock};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::trust::{Authority, Leaf, is_local_name};

/// Names whose certificates are kept: far more than instances on one machine, and a bound for whoever asks for names
/// that nobody has.
const KEPT: usize = 64;
/// What is shown to whoever asks for none of this machine's names.
const USUAL: &str = "localhost";

/// What the listener shows.
pub(super) struct LocalCertificates {
    authority: Authority,
    made: Mutex<HashMap<String, Leaf>>,
}

impl LocalCertificates {
    pub(super) fn new(authority: Authority) -> LocalCertificates {
        LocalCertificates { authority, made: Mutex::default() }
    }

    /// The certificate for a name, as it is now.
    pub(super) fn get(&self, name: Option<&str>, now: Time) -> Option<Arc<CertifiedKey>> {
        let name = name.filter(|name| is_local_name(name)).unwrap_or(USUAL);
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leaf) = made.get(name).filter(|leaf| leaf.is_fresh(now)) {
            return Some(leaf.key.clone());
        }
        let leaf = match self.authority.issue(name, now) {
            Ok(leaf) => leaf,
            Err(error) => {
                tracing::error!(error, "no certificate can be made for {name}: {error}");
                return None;
            }
        };
        if made.len() >= KEPT {
            made.clear();
        }
        made.insert(name.to_owned(), leaf.clone());
        Some(leaf.key)
    }
}

impl fmt::Debug for LocalCertificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalCertificates")
    }
}

impl ResolvesServerCert for LocalCertificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.get(hello.server_name(), SystemClock.now())
    }
}

#[cfg(test)]
mod tests {
    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::crypto::aws_lc_rs::default_provider;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

    use super::*;

    const NOW: Time = Time::from_ms(1_800_000_000_000);
    const DAY_MS: i64 = 86_400_000;

    /// What a client that trusts the authority makes of a certificate at a time.
    fn verified(root: &CertificateDer<'static>, key: &CertifiedKey, name: &str, now: Time) -> bool {
        let mut roots = RootCertStore::empty();
        roots.add(root.clone()).unwrap();
        let builder =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::new(default_provider()));
        let seconds = std::time::Duration::from_millis(u64::try_from(now.ms()).unwrap());
        let outcome = builder.build().unwrap().verify_server_cert(
            &key.cert[0],
            &key.cert[1..],
            &ServerName::try_from(name.to_owned()).unwrap(),
            &[],
            UnixTime::since_unix_epoch(seconds),
        );
        outcome.is_ok()
    }

    fn made() -> (LocalCertificates, CertificateDer<'static>) {
        let dir = tempfile::tempdir().unwrap();
        Authority::make(dir.path(), NOW).unwrap();
        let root = CertificateDer::from_pem_file(crate::trust::path(dir.path())).unwrap();
        (LocalCertificates::new(Authority::find(dir.path()).unwrap().unwrap()), root)
    }

    #[test]
    fn whoever_trusts_the_authority_is_shown_a_certificate_for_the_name_they_ask_for() {
        let (shown, root) = made();
        for name in ["latchkey.localhost", "a1b2c3d4.localhost", "localhost"] {
            let key = shown.get(Some(name), NOW).unwrap();
            assert!([name, "127.0.0.1", "::1"].iter().all(|name| verified(&root, &key, name, NOW)), "{name}");
            assert!(!verified(&root, &key, "other.localhost", NOW));
        }
        let usual = shown.get(Some("example.com"), NOW).unwrap();
        assert!(verified(&root, &usual, "localhost", NOW) && !verified(&root, &usual, "example.com", NOW));
    }

    #[test]
    fn the_authority_is_good_for_names_of_this_machine_only() {
        let dir = tempfile::tempdir().unwrap();
        let authority = Authority::make(dir.path(), NOW).unwrap();
        let root = CertificateDer::from_pem_file(crate::trust::path(dir.path())).unwrap();
        for name in ["example.com", "localhost.example.com", "notlocalhost", "10.0.0.1"] {
            let stolen = authority.issue(name, NOW).unwrap();
            assert!(!verified(&root, &stolen.key, name, NOW), "{name}");
        }
    }

    #[test]
    fn a_certificate_is_made_anew_before_it_ends() {
        let (shown, root) = made();
        let first = shown.get(Some("latchkey.localhost"), NOW).unwrap();
        assert_eq!(shown.get(Some("latchkey.localhost"), NOW.plus_ms(DAY_MS)).unwrap().cert, first.cert);
        let later = NOW.plus_ms(5 * DAY_MS);
        let next = shown.get(Some("latchkey.localhost"), later).unwrap();
        assert!(next.cert != first.cert && verified(&root, &next, "latchkey.localhost", later));
        let end = NOW.plus_ms(8 * DAY_MS);
        assert!(!verified(&root, &first, "latchkey.localhost", end), "a certificate is short-lived");
        // A clock that was set back shows one that is good again.
        let back = shown.get(Some("latchkey.localhost"), NOW.plus_ms(-30 * DAY_MS)).unwrap();
        assert!(back.cert != next.cert);
    }

    #[test]
    fn names_that_nobody_has_take_a_bounded_place() {
        let (shown, _) = made();
        for number in 0..2 * KEPT {
            shown.get(Some(&format!("n{number}.localhost")), NOW).unwrap();
        }
        assert!(shown.made.lock().unwrap().len() <= KEPT);
    }
}
