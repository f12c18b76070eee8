//! Who asks, as far as that is known before the database is read: its connections and its writer are shared out by callers
//! (`latchkey_db::for_caller`). A caller is an instance and the face it is asked at, never a text of the request: whoever
//! can spell a host or a key in many ways would be many. What belongs to no instance yet is one caller together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::HeaderMap;
use axum::http::header::HOST;
use latchkey_base::kinds::InstanceId;
use latchkey_jose::digest::sha256;

use crate::auth::credential;
use crate::hosts;

/// Where a proxy on the application's side shows whose proxy it is.
pub const PROXY_KEY: &str = "clerk-secret-key";

/// As many hosts and keys are kept in mind.
const KEPT: usize = 10_000;

/// The caller of what the server itself does for an instance.
pub fn of_server(instance: &InstanceId) -> Arc<str> {
    format!("server {instance}").into()
}

/// What a request shows of the instance it is for. Keys are kept as digests only.
type ShownName = [u8; 32];

/// The callers of requests that were let in before.
#[derive(Default)]
pub struct Callers {
    known: Mutex<HashMap<ShownName, Arc<str>>>,
    /// All those that belong to no instance yet.
    unknown: Arc<str>,
}

impl Callers {
    /// The caller of a request to the Backend API, by its key.
    pub fn of_backend(&self, headers: &HeaderMap) -> Arc<str> {
        self.first_of(shown_key(headers).as_slice())
    }

    /// The caller of a browser: by the key that a proxy of the application shows, or by the host.
    pub fn of_browser(&self, headers: &HeaderMap) -> Arc<str> {
        match shown_proxy(headers) {
            Some(proxy) => self.first_of(&[proxy]),
            None => self.first_of(&shown_hosts(headers)),
        }
    }

    /// Keeps in mind the instance of a key that was looked up.
    pub fn learn_backend(&self, headers: &HeaderMap, instance: &InstanceId) {
        if let Some(shown) = shown_key(headers) {
            self.learn(shown, "backend ", instance);
        }
    }

    /// Keeps in mind the instance that has the host of a request, or whose proxy it comes from. `is_named` says that it has
    /// this very host, with the port; otherwise ports make no difference.
    pub fn learn_browser(&self, headers: &HeaderMap, instance: &InstanceId, is_named: bool) {
        let hosts = || match is_named {
            true => shown_hosts(headers).first().copied(),
            false => shown_hosts(headers).last().copied(),
        };
        if let Some(shown) = shown_proxy(headers).or_else(hosts) {
            self.learn(shown, "frontend ", instance);
        }
    }

    /// Forgets a key that is none any more, of a backend or a proxy: who still shows it has nothing of the instance.
    pub fn forget(&self, headers: &HeaderMap) {
        for shown in [shown_key(headers), shown_proxy(headers)].into_iter().flatten() {
            self.known().remove(&shown);
        }
    }

    fn first_of(&self, shown: &[ShownName]) -> Arc<str> {
        let known = self.known();
        shown.iter().find_map(|shown| known.get(shown)).unwrap_or(&self.unknown).clone()
    }

    fn learn(&self, shown: ShownName, face: &str, instance: &InstanceId) {
        let mut known = self.known();
        let is_same = |caller: &Arc<str>| caller.strip_prefix(face) == Some(instance.as_str());
        if known.get(&shown).is_some_and(is_same) {
            return;
        }
        if known.len() >= KEPT
            && let Some(any) = known.keys().next().copied()
        {
            known.remove(&any);
        }
        known.insert(shown, format!("{face}{instance}").into());
    }

    fn known(&self) -> MutexGuard<'_, HashMap<ShownName, Arc<str>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shown_key(headers: &HeaderMap) -> Option<ShownName> {
    credential(headers).ok().map(|key| shown("backend", key))
}

fn shown_proxy(headers: &HeaderMap) -> Option<ShownName> {
    header(headers, PROXY_KEY).map(|key| shown("proxy", key))
}

/// The host as it is named, and without what often makes no difference.
fn shown_hosts(headers: &HeaderMap) -> Vec<ShownName> {
    let host = header(headers, HOST.as_str()).unwrap_or_default().to_ascii_lowercase();
    hosts::names(&host).into_iter().map(|name| shown("host", name)).collect()
}

fn shown(kind: &str, text: &str) -> ShownName {
    sha256(format!("{kind} {text}").as_bytes())
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use latchkey_base::Time;
    use latchkey_base::rng::SeededRng;

    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_str(value).unwrap())])
    }

    fn host(host: &str) -> HeaderMap {
        headers("host", host)
    }

    fn key(key: &str) -> HeaderMap {
        headers("authorization", key)
    }

    fn instance(number: u64) -> InstanceId {
        InstanceId::new(Time::from_ms(1), &SeededRng::new(number))
    }

    #[test]
    fn one_instance_is_one_caller_however_its_host_and_key_are_spelled() {
        let (callers, beta) = (Callers::default(), instance(1));
        callers.learn_browser(&host("clerk.beta.test"), &beta, true);
        callers.learn_backend(&key("Bearer sk_live_b"), &beta);
        for spelled in
            ["clerk.beta.test:1", "clerk.beta.test:99999999", "CLERK.beta.test.", "clerk.beta.test.:443"]
        {
            assert_eq!(*callers.of_browser(&host(spelled)), format!("frontend {beta}"), "{spelled}");
        }
        for spelled in ["Bearer sk_live_b", "bearer    sk_live_b", "BEARER sk_live_b "] {
            assert_eq!(*callers.of_backend(&key(spelled)), format!("backend {beta}"), "{spelled}");
        }
        let unknown = callers.of_backend(&HeaderMap::new());
        for made_up in ["h1.example.com", "h2.example.com", "clerk.beta.test.evil.example"] {
            assert_eq!(callers.of_browser(&host(made_up)), unknown);
        }
        assert_eq!(callers.of_backend(&key("Bearer sk_live_c")), unknown);
    }

    #[test]
    fn instances_whose_hosts_differ_in_the_port_are_told_apart() {
        let callers = Callers::default();
        for (port, number) in [("3401", 1), ("3402", 2)] {
            callers.learn_browser(&host(&format!("localhost:{port}")), &instance(number), true);
        }
        callers.learn_browser(&host("localhost:9"), &instance(3), false);
        for (port, number) in [("3401", 1), ("3402", 2), ("9", 3), ("10", 3)] {
            let caller = callers.of_browser(&host(&format!("localhost:{port}")));
            assert_eq!(*caller, format!("frontend {}", instance(number)), "{port}");
        }
    }

    #[test]
    fn who_shows_the_key_of_a_proxy_does_not_speak_for_the_host() {
        let (callers, alpha) = (Callers::default(), instance(2));
        let mut proxied = host("clerk.beta.test");
        proxied.insert(PROXY_KEY, HeaderValue::from_static("sk_live_a"));
        callers.learn_browser(&proxied, &alpha, true);
        assert_eq!(*callers.of_browser(&proxied), format!("frontend {alpha}"));
        assert_eq!(callers.of_browser(&host("clerk.beta.test")), callers.of_backend(&HeaderMap::new()));
    }

    #[test]
    fn a_revoked_key_spends_nothing_of_its_instance() {
        let (callers, alpha) = (Callers::default(), instance(2));
        callers.learn_backend(&key("Bearer sk_live_a"), &alpha);
        callers.forget(&key("Bearer sk_live_a"));
        assert_eq!(callers.of_backend(&key("Bearer sk_live_a")), callers.of_backend(&HeaderMap::new()));
    }

    #[test]
    fn what_is_kept_in_mind_is_bounded_and_not_forgotten_together() {
        let callers = Callers::default();
        for number in 0..KEPT + 5 {
            callers.learn_backend(&key(&format!("Bearer sk_{number}")), &instance(3));
        }
        assert_eq!(callers.known().len(), KEPT);
    }
}
