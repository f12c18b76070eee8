//! Who asks, as far as that is known before the database is read: its connections are shared out by callers
//! (`latchkey_db::for_caller`). A caller is an instance and the face it is asked at, never a text of the request: whoever
//! can spell a host or a key in many ways would be many. What belongs to no instance yet is one caller together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};
use latchkey_base::kinds::InstanceId;
use latchkey_jose::digest::sha256;

use crate::auth::credential;
use crate::hosts;

/// Where a proxy on the application's side shows whose proxy it is.
pub const PROXY_KEY: &str = "clerk-secret-key";

/// As many hosts and keys are kept in mind. When there are more, all are learnt again.
const KEPT: usize = 10_000;

/// What a request shows of the instance it is for. Keys are kept as digests only.
pub struct ShownName([u8; 32]);

impl ShownName {
    /// Of a backend: its key.
    pub fn of_backend(headers: &HeaderMap) -> Option<ShownName> {
        credential(headers).ok().map(|key| ShownName::of("backend", key))
    }

    /// Of a browser: the key of the application's proxy, or the host without what makes no difference.
    pub fn of_browser(headers: &HeaderMap, uri: &Uri) -> ShownName {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(key) = header(PROXY_KEY) {
            return ShownName::of("proxy", key);
        }
        let host = uri.authority().map(Authority::as_str).or_else(|| header(HOST.as_str()));
        let host = host.unwrap_or_default().to_ascii_lowercase();
        ShownName::of("host", hosts::names(&host).last().unwrap_or(&""))
    }

    fn of(kind: &str, text: &str) -> ShownName {
        ShownName(sha256(format!("{kind} {text}").as_bytes()))
    }
}

/// The callers of requests that were let in before.
pub struct Callers {
    known: Mutex<HashMap<[u8; 32], Arc<str>>>,
    unknown: Arc<str>,
}

impl Default for Callers {
    fn default() -> Callers {
        Callers { known: Mutex::default(), unknown: "unknown".into() }
    }
}

impl Callers {
    /// The caller of a request.
    pub fn of(&self, shown: Option<&ShownName>) -> Arc<str> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let caller = shown.and_then(|ShownName(digest)| known.get(digest));
        caller.unwrap_or(&self.unknown).clone()
    }

    /// Keeps in mind the instance for which a request was let in.
    pub fn learn(&self, shown: &ShownName, face: &str, instance: &InstanceId) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |caller: &Arc<str>| caller.strip_prefix(face) == Some(instance.as_str());
        if known.get(&shown.0).is_some_and(is_same) {
            return;
        }
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(shown.0, format!("{face}{instance}").into());
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use axum::http::header::AUTHORIZATION;
    use latchkey_base::Time;
    use latchkey_base::rng::SeededRng;

    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn one_instance_is_one_caller_however_its_host_and_key_are_spelled() {
        let (callers, uri) = (Callers::default(), Uri::from_static("/v1/client"));
        let beta = InstanceId::new(Time::from_ms(1), &SeededRng::new(1));
        let browser = |host: &str| ShownName::of_browser(&headers("host", host), &uri);
        let backend = |key: &str| ShownName::of_backend(&headers(AUTHORIZATION.as_str(), key)).unwrap();
        callers.learn(&browser("clerk.beta.test"), "frontend ", &beta);
        callers.learn(&backend("Bearer sk_live_b"), "backend ", &beta);
        for host in
            ["clerk.beta.test:1", "clerk.beta.test:99999999", "CLERK.beta.test.", "clerk.beta.test.:443"]
        {
            assert_eq!(*callers.of(Some(&browser(host))), format!("frontend {beta}"), "{host}");
        }
        for key in ["Bearer sk_live_b", "bearer    sk_live_b", "BEARER sk_live_b "] {
            assert_eq!(*callers.of(Some(&backend(key))), format!("backend {beta}"), "{key}");
        }
        let made_up = ["h1.example.com", "h2.example.com", "clerk.beta.test.evil.example"].map(browser);
        assert!(made_up.iter().all(|shown| *callers.of(Some(shown)) == *callers.of(None)));
        assert_eq!(callers.of(Some(&backend("Bearer sk_live_c"))), callers.of(None));
    }

    #[test]
    fn who_shows_the_key_of_a_proxy_does_not_speak_for_the_host() {
        let (callers, uri) = (Callers::default(), Uri::from_static("/v1/client"));
        let alpha = InstanceId::new(Time::from_ms(1), &SeededRng::new(2));
        let mut proxied = headers("host", "clerk.beta.test");
        proxied.insert(PROXY_KEY, HeaderValue::from_static("sk_live_a"));
        callers.learn(&ShownName::of_browser(&proxied, &uri), "frontend ", &alpha);
        assert_eq!(*callers.of(Some(&ShownName::of_browser(&proxied, &uri))), format!("frontend {alpha}"));
        let host = ShownName::of_browser(&headers("host", "clerk.beta.test"), &uri);
        assert_eq!(callers.of(Some(&host)), callers.of(None));
    }

    #[test]
    fn what_is_kept_in_mind_is_bounded() {
        let (callers, uri) = (Callers::default(), Uri::from_static("/"));
        let instance = InstanceId::new(Time::from_ms(1), &SeededRng::new(3));
        for number in 0..KEPT + 5 {
            let shown = ShownName::of_browser(&headers("host", &format!("h{number}.test")), &uri);
            callers.learn(&shown, "frontend ", &instance);
        }
        assert_eq!(callers.known.lock().unwrap().len(), 5);
    }
}
