//! The domain that passkeys belong to (their relying party id), as far as a request tells it.

use axum::http::HeaderMap;
use axum::http::header::ORIGIN;
use latchkey_kernel::domains::rules as domains;
use latchkey_kernel::environment::Environment;
use latchkey_kernel::hosts;
use latchkey_kernel::settings::{RelyingPartyId, Settings};

/// Where a proxy of a native app may tell the host of the page.
const ORIGINAL_HOST: &str = "x-original-host";
/// What browsers send with every request, and apps never.
const FETCH_SITE: &str = "sec-fetch-site";

/// The domain whose passkeys can be used by the page or app that sends a request. Browsers compare it with the host of
/// the page themselves, so a request that lies about its origin gains nothing.
///
/// Native apps have no page. They may use the passkeys of a host that names them (`/.well-known/assetlinks.json`,
/// `apple-app-site-association`), and that is the Frontend API.
pub fn relying_party(
    environment: Environment,
    settings: &Settings,
    frontend_api: &str,
    base_url: &str,
    headers: &HeaderMap,
) -> String {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let own = hosts::name(frontend_api);
    let is_browser = header(FETCH_SITE).is_some();
    let page = header(ORIGIN.as_str()).and_then(host_of);
    let chosen = match (settings.passkey_settings.rp_id, environment) {
        (RelyingPartyId::AuthHost, _) => own,
        (RelyingPartyId::RegistrableDomain, Environment::Production) => match page.is_some() || is_browser {
            true => domains::primary(frontend_api),
            false => own,
        },
        (RelyingPartyId::RegistrableDomain, Environment::Development) => {
            let told = || header(ORIGINAL_HOST).map(hosts::name).filter(|host| is_host(host));
            let same = || is_browser.then(|| hosts::name(hosts::authority(base_url)));
            page.or_else(told).or_else(same).unwrap_or(own)
        }
    };
    chosen.to_ascii_lowercase()
}

/// The host of an origin on the web.
fn host_of(origin: &str) -> Option<&str> {
    let rest = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"))?;
    Some(hosts::name(rest)).filter(|host| is_host(host))
}

fn is_host(host: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    !host.is_empty() && host.len() <= 253 && host.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn party(
        environment: Environment,
        rp_id: RelyingPartyId,
        headers: &[(&'static str, &'static str)],
    ) -> String {
        let mut settings = Settings::default();
        settings.passkey_settings.rp_id = rp_id;
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let headers = headers.iter().map(pair).collect();
        let (host, url) = ("clerk.example.co.uk:8443", "https://example.co.uk/__clerk");
        relying_party(environment, &settings, host, url, &headers)
    }

    #[test]
    fn production_has_one_domain_for_all_pages_and_a_host_for_apps() {
        let at = |headers| party(Environment::Production, RelyingPartyId::RegistrableDomain, headers);
        assert_eq!(at(&[("origin", "https://app.example.co.uk")]), "example.co.uk");
        assert_eq!(at(&[("origin", "https://evil.test")]), "example.co.uk");
        assert_eq!(at(&[("sec-fetch-site", "same-origin")]), "example.co.uk");
        assert_eq!(at(&[("x-original-host", "evil.test")]), "clerk.example.co.uk");
        assert_eq!(at(&[]), "clerk.example.co.uk");
    }

    #[test]
    fn development_follows_the_page() {
        let at = |headers| party(Environment::Development, RelyingPartyId::RegistrableDomain, headers);
        assert_eq!(at(&[("origin", "http://localhost:3000")]), "localhost");
        assert_eq!(at(&[("origin", "https://Preview.example.dev")]), "preview.example.dev");
        assert_eq!(at(&[("x-original-host", "localhost:3000")]), "localhost");
        assert_eq!(at(&[("sec-fetch-site", "same-origin")]), "example.co.uk");
        for odd in ["null", "http://", "http://a b", "http://\u{7f}", "chrome-extension://abc"] {
            let mut headers = HeaderMap::new();
            if let Ok(value) = HeaderValue::from_str(odd) {
                headers.insert(ORIGIN, value);
            }
            let settings = Settings::default();
            let party =
                relying_party(Environment::Development, &settings, "a.test", "http://a.test", &headers);
            assert_eq!(party, "a.test", "{odd}");
        }
    }

    #[test]
    fn the_host_of_the_frontend_api_is_for_everybody_if_the_settings_say_so() {
        for environment in [Environment::Production, Environment::Development] {
            let at = |headers| party(environment, RelyingPartyId::AuthHost, headers);
            assert_eq!(at(&[("origin", "https://app.example.co.uk")]), "clerk.example.co.uk");
            assert_eq!(at(&[]), "clerk.example.co.uk");
        }
    }
}
