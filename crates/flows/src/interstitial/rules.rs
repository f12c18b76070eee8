//! Which script the page loads, what it tells it, and when asking again has no end.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use latchkey_base::{Code, Error, Result};
use latchkey_door::redirects::is_ours;
use latchkey_door::site::Site;
use latchkey_kernel::hosts::checked;
use latchkey_kernel::origins::origin;
use schemars::JsonSchema;
use serde::Deserialize;

/// How often a browser may come back within the life of the cookie that counts.
const VISITS: u32 = 3;
/// Tells how often a browser was here a moment ago.
pub const COOKIE: &str = "__interstitial_visits";

/// Query of `GetPublicInterstitial`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InterstitialQuery {
    /// The host of the Frontend API.
    pub frontend_api: Option<String>,
    /// The older name of `frontend_api`.
    #[serde(rename = "frontendApi")]
    pub frontend_api_before: Option<String>,
    /// The key browsers carry; it names the host too.
    pub publishable_key: Option<String>,
    /// Where the app forwards the Frontend API from.
    pub proxy_url: Option<String>,
    /// The domain of an app that shares its sessions with another.
    pub domain: Option<String>,
    /// Where people sign in.
    pub sign_in_url: Option<String>,
    /// Whether the script comes from `domain`.
    pub use_domain_for_script: bool,
}

/// What the page consists of.
#[derive(Debug, PartialEq)]
pub struct Interstitial {
    /// Where the script comes from: of this server, or of the application.
    pub script_base: String,
    /// The key browsers carry.
    pub publishable_key: String,
    /// Where the app forwards the Frontend API from.
    pub proxy_url: Option<String>,
    /// The domain of an app that shares its sessions with another.
    pub domain: Option<String>,
    /// Where people sign in.
    pub sign_in_url: Option<String>,
}

/// The host of the Frontend API that is asked for. Whether there is one is for the table to say.
pub fn asked_host(query: &InterstitialQuery) -> Result<String> {
    let named = query.frontend_api.as_ref().or(query.frontend_api_before.as_ref());
    match (present(query.publishable_key.as_ref()), present(named)) {
        (Some(key), _) => decoded(key).ok_or_else(malformed),
        (None, Some(name)) => Ok(name.to_owned()),
        (None, None) => Err(Error::param(Code::MissingQueryParameter, "publishable_key")
            .saying("Give `publishable_key` or `frontend_api`.")),
    }
}

/// No instance here has that key or host.
pub fn malformed() -> Error {
    Error::new(Code::MalformedPublishableKey)
}

/// Checks the rest. What the page runs comes from this server or from the application itself: an address
/// that anybody can put into a link must not choose the script.
pub fn page(site: &Site, query: InterstitialQuery) -> Result<Interstitial> {
    let own_key = site.publishable_key();
    if present(query.publishable_key.as_ref()).is_some_and(|key| key.trim_end_matches('=') != own_key) {
        return Err(malformed());
    }
    let proxy_url = checked_url(site, "proxy_url", query.proxy_url)?;
    let sign_in_url = checked_url(site, "sign_in_url", query.sign_in_url)?;
    let domain = query.domain.filter(|domain| !domain.is_empty());
    if domain.as_ref().is_some_and(|domain| checked(domain).is_err()) {
        return Err(refused("domain"));
    }
    let by_domain = domain.as_ref().map(|domain| format!("https://clerk.{domain}"));
    let proxy_base = proxy_url.as_ref().map(|url| url.trim_end_matches('/').to_owned());
    let wanted = match query.use_domain_for_script {
        true => by_domain,
        false => proxy_base,
    };
    let trusted = wanted.filter(|url| is_ours(site, url));
    let script_base = trusted.unwrap_or_else(|| site.base_url.clone());
    Ok(Interstitial { script_base, publishable_key: own_key, proxy_url, domain, sign_in_url })
}

/// How often a browser was here with this visit; an error when it goes round in circles.
pub fn count_visit(cookie: Option<&str>) -> Result<u32> {
    let visits = cookie.and_then(|count| count.parse::<u32>().ok()).unwrap_or_default().saturating_add(1);
    match visits > VISITS {
        true => Err(Error::new(Code::InfiniteRedirectLoop)),
        false => Ok(visits),
    }
}

fn present(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}

/// The host in a publishable key.
fn decoded(key: &str) -> Option<String> {
    let encoded = key.strip_prefix("pk_test_").or_else(|| key.strip_prefix("pk_live_"))?;
    let bytes = STANDARD_NO_PAD.decode(encoded.trim_end_matches('=')).ok()?;
    Some(String::from_utf8(bytes).ok()?.strip_suffix('$')?.to_owned()).filter(|host| !host.contains('\0'))
}

/// A URL on the web, and on production instances one of the application's own.
fn checked_url(site: &Site, param: &str, url: Option<String>) -> Result<Option<String>> {
    let Some(url) = url.filter(|url| !url.is_empty()) else { return Ok(None) };
    let is_allowed = origin(&url).is_some() && (site.is_development() || is_ours(site, &url));
    match is_allowed {
        true => Ok(Some(url)),
        false => Err(refused(param)),
    }
}

fn refused(param: &str) -> Error {
    Error::param(Code::BadRequest, param)
        .saying(format!("`{param}` must be an address on the web that belongs to the application."))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use latchkey_base::Time;
    use latchkey_base::kinds::InstanceId;
    use latchkey_base::rng::SeededRng;
    use latchkey_kernel::environment::Environment;
    use latchkey_kernel::instances::keys::publishable_key;
    use latchkey_kernel::settings::Settings;

    use super::*;

    fn site(environment: Environment) -> Site {
        Site {
            instance: InstanceId::new(Time::from_ms(0), &SeededRng::new(1)),
            environment,
            settings: Arc::new(Settings::default()),
            frontend_api: "clerk.example.com".into(),
            base_url: "https://clerk.example.com".into(),
            issuer: "https://clerk.example.com".into(),
            is_proxied: false,
            satellite: None,
            relying_party: "example.com".into(),
            signing_key: None,
        }
    }

    fn query(edit: impl FnOnce(&mut InterstitialQuery)) -> InterstitialQuery {
        let mut query = InterstitialQuery {
            frontend_api: Some("clerk.example.com".into()),
            ..InterstitialQuery::default()
        };
        edit(&mut query);
        query
    }

    fn base(environment: Environment, edit: impl FnOnce(&mut InterstitialQuery)) -> Result<String, Code> {
        let page = page(&site(environment), query(edit));
        page.map(|page| page.script_base).map_err(|error| error.code())
    }

    #[test]
    fn the_host_is_named_or_in_the_key() {
        let host = |edit: fn(&mut InterstitialQuery)| asked_host(&query(edit)).map_err(|error| error.code());
        assert_eq!(host(|_| ()), Ok("clerk.example.com".into()));
        assert_eq!(host(|query| query.frontend_api = None), Err(Code::MissingQueryParameter));
        assert_eq!(
            host(|query| query.publishable_key = Some(publishable_key(Environment::Production, "a.b"))),
            Ok("a.b".into())
        );
        assert_eq!(
            host(|query| query.publishable_key = Some("pk_live_\"><script>".into())),
            Err(Code::MalformedPublishableKey)
        );
    }

    #[test]
    fn scripts_come_from_here_or_from_the_application() {
        let (production, development) = (Environment::Production, Environment::Development);
        let own = Ok("https://clerk.example.com".to_owned());
        assert_eq!(base(production, |_| ()), own);
        let proxied =
            |url: &'static str| move |query: &mut InterstitialQuery| query.proxy_url = Some(url.into());
        assert_eq!(
            base(production, proxied("https://app.example.com/__clerk/")),
            Ok("https://app.example.com/__clerk".into())
        );
        for evil in
            ["https://evil.com/x", "javascript:alert(1)", "//evil.com", "https://example.com@evil.com"]
        {
            assert_eq!(base(production, proxied(evil)), Err(Code::BadRequest));
        }
        assert_eq!(base(development, proxied("https://evil.com/x")), own);
        let by_domain = |name: &'static str| {
            move |query: &mut InterstitialQuery| {
                query.domain = Some(name.into());
                query.use_domain_for_script = true;
            }
        };
        assert_eq!(base(production, by_domain("evil.com")), own);
        assert_eq!(base(production, by_domain("a.example.com")), Ok("https://clerk.a.example.com".into()));
        assert_eq!(base(production, by_domain("a.com/x\"")), Err(Code::BadRequest));
    }

    #[test]
    fn circles_end() {
        assert_eq!(count_visit(None).ok(), Some(1));
        assert_eq!(count_visit(Some("2")).ok(), Some(3));
        assert_eq!(count_visit(Some("3")).map_err(|error| error.code()), Err(Code::InfiniteRedirectLoop));
        assert_eq!(count_visit(Some("many")).ok(), Some(1));
    }
}
