//! Cookies: read from requests, written for answers. `docs/COOKIES.md` lists all of them; a test compares what
//! is written here with that table.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_jose::digest::sha1;
use latchkey_kernel::hosts;
use latchkey_kernel::limits::CLIENT_TOKEN_MS;

use super::site::Site;

/// The client's proof.
pub const CLIENT: &str = "__client";
/// When sessions of the client came or went; zero when nobody is signed in.
pub const CLIENT_UAT: &str = "__client_uat";
/// The last session token.
pub const SESSION: &str = "__session";
/// The token of a developer's browser.
pub const DEV_BROWSER: &str = "__clerk_db_jwt";
/// Lets a backend renew a session token.
pub const REFRESH: &str = "__refresh";
/// What a handshake leaves for the app's backend, as a signed token.
pub const HANDSHAKE: &str = "__clerk_handshake";
/// The same, as something to fetch.
pub const HANDSHAKE_NONCE: &str = "__clerk_handshake_nonce";
/// What a satellite knows a browser by that it sent to the primary domain.
pub const SYNC: &str = "__clerk_sync";

const LONGEST_SECONDS: i64 = CLIENT_TOKEN_MS / 1000;
/// How long a browser may take to the primary domain and back.
const SYNC_SECONDS: i64 = 10 * 60;
/// How long the last session token stays; what it says is over long before.
const YEAR_SECONDS: i64 = 365 * 24 * 3600;
/// How long a browser may take from the Frontend API to the app it is sent back to. The app takes the cookie away;
/// where it cannot, other apps on the domain see it for no longer than this.
const HANDSHAKE_SECONDS: i64 = 10;
/// What browsers keep of a cookie, name and attributes included.
const LONGEST_COOKIE: usize = 4096;

/// The value of a cookie of a request.
pub fn read<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    read_all(headers, name).next()
}

/// All values of a cookie. Browsers show one for each domain and path it was set for, and do not say which is which.
pub fn read_all<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(key, value)| *key == name && !value.is_empty()).map(|(_, value)| value)
}

/// What tells the cookies of one instance from those of another on the same host.
pub fn suffix(publishable_key: &str) -> String {
    URL_SAFE_NO_PAD.encode(sha1(publishable_key.as_bytes()))[..8].to_owned()
}

/// Which hosts get a cookie, and with which requests.
pub struct CookieScope<'a> {
    /// The name of the host that sets it.
    host: &'a str,
    /// The domain whose hosts get it; none when no other host does.
    domain: Option<&'a str>,
    is_secure: bool,
    same_site: &'static str,
}

impl<'a> CookieScope<'a> {
    /// The host that sets it, and no other. `url` is an address there.
    pub fn host_of(url: &str) -> CookieScope<'_> {
        let host = hosts::name(hosts::authority(url));
        CookieScope { host, domain: None, is_secure: url.starts_with("https://"), same_site: "Lax" }
    }

    /// The registrable domain of the host that sets it. The scripts in pages find that domain by trying, and set the
    /// same cookies for it; another domain, or none, would leave two cookies of one name. Only a satellite that has
    /// its registrable domain in common with another domain of the instance keeps to its own part of it: what is
    /// known there of who is signed in need not be true of the other.
    pub fn domain_of(site: &'a Site, url: &'a str) -> CookieScope<'a> {
        let scope = CookieScope::host_of(url);
        let registrable = hosts::registrable(scope.host);
        let own = site.satellite.as_ref().map(|satellite| &*satellite.domain.name).filter(|name| {
            let satellites = site.settings.satellites.iter().map(|satellite| &*satellite.name);
            let mut others = satellites.filter(|other| other != name).chain([&*site.frontend_api]);
            hosts::is_within(scope.host, name) && others.any(|other| hosts::registrable(other) == registrable)
        });
        CookieScope { domain: own.or(registrable), ..scope }
    }

    /// The host of the Frontend API. In production the cookie names it, as long as it is a host of its own: with an
    /// application at the same name, or in a proxy, the hosts below it are none of ours. Where pages of apps are
    /// another site and have nothing else to show, the cookie goes along with what they ask; `gate` looks at their
    /// origin.
    fn frontend(site: &'a Site) -> CookieScope<'a> {
        let name = hosts::name(site.host());
        let is_apart = hosts::registrable(name).is_some_and(|domain| domain != name);
        let is_direct = hosts::authority(&site.base_url) == site.host() && !site.is_proxied;
        let is_named = is_apart && is_direct && !site.is_development();
        let same_site = if site.is_apart_from_apps() { "None" } else { "Lax" };
        CookieScope { domain: is_named.then_some(name), same_site, ..CookieScope::host_of(&site.base_url) }
    }

    /// Whether the host at `url` gets the cookie.
    pub fn reaches(&self, url: &str) -> bool {
        let there = CookieScope::host_of(url);
        let is_in_domain = self.domain.is_some_and(|domain| hosts::is_within(there.host, domain));
        (is_in_domain || there.host == self.host) && (there.is_secure || !self.is_secure)
    }

    /// A cookie that scripts can read.
    fn open(&self, name: &str, value: &str, seconds: i64) -> String {
        let domain = self.domain.map(|domain| format!("; Domain={domain}")).unwrap_or_default();
        let secure = if self.is_secure { "; Secure" } else { "" };
        format!("{name}={value}; Path=/{domain}; Max-Age={seconds}; SameSite={}{secure}", self.same_site)
    }

    /// A cookie out of reach of scripts.
    fn closed(&self, name: &str, value: &str, seconds: i64) -> String {
        format!("{}; HttpOnly", self.open(name, value, seconds))
    }
}

/// The client's proof, which no script may read.
pub fn client(site: &Site, token: &str) -> String {
    CookieScope::frontend(site).closed(CLIENT, token, LONGEST_SECONDS)
}

/// Takes the client's proof away.
pub fn no_client(site: &Site) -> String {
    CookieScope::frontend(site).closed(CLIENT, "", 0)
}

/// What the browser is known by when it comes back from the primary domain.
pub fn sync(site: &Site, state: &str) -> String {
    CookieScope::host_of(&site.base_url).closed(SYNC, state, SYNC_SECONDS)
}

/// When the client changed. Production instances set it with every answer, for all hosts of the application;
/// development instances leave it to the script in the page, and to handshakes.
pub fn client_uat(scope: &CookieScope<'_>, names: &[String], seconds: i64) -> Vec<String> {
    names.iter().map(|name| scope.open(name, &seconds.to_string(), LONGEST_SECONDS)).collect()
}

/// The names of a cookie: alone, and with the suffix of the instance.
pub fn names(name: &str, publishable_key: &str, is_suffixed: bool) -> Vec<String> {
    match is_suffixed {
        true => vec![name.to_owned(), suffixed(name, publishable_key)],
        false => vec![name.to_owned()],
    }
}

/// A name with the suffix of the instance.
pub fn suffixed(name: &str, publishable_key: &str) -> String {
    format!("{name}_{}", suffix(publishable_key))
}

/// A cookie for the host of an app, as its backend hands it on; without a value it takes the cookie away.
pub fn for_app(name: &str, value: &str, url: &str) -> String {
    CookieScope::host_of(url).open(name, value, year_unless_empty(value))
}

/// The same, out of reach of scripts.
pub fn for_backend(name: &str, value: &str, url: &str) -> String {
    CookieScope::host_of(url).closed(name, value, year_unless_empty(value))
}

/// What a handshake leaves, on its way to the app's backend; `None` if it is too long for a cookie.
pub fn handshake(scope: &CookieScope<'_>, name: &str, value: &str) -> Option<String> {
    let line = scope.closed(name, value, HANDSHAKE_SECONDS);
    (line.len() <= LONGEST_COOKIE).then_some(line)
}

/// Takes away what handshakes leave, in either form.
pub fn no_handshake(scope: &CookieScope<'_>) -> [String; 2] {
    [HANDSHAKE_NONCE, HANDSHAKE].map(|name| scope.closed(name, "", 0))
}

fn year_unless_empty(value: &str) -> i64 {
    if value.is_empty() { 0 } else { YEAR_SECONDS }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_found_by_their_whole_name() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, "a=1; __client_uat=5;__client=x.y.z".parse().unwrap());
        headers.append(COOKIE, "__session=".parse().unwrap());
        assert_eq!(read(&headers, CLIENT), Some("x.y.z"));
        assert_eq!(read(&headers, CLIENT_UAT), Some("5"));
        assert_eq!(read(&headers, SESSION), None);
    }

    #[test]
    fn the_suffix_is_the_one_the_scripts_compute() {
        // The beginning of the base64url of the SHA-1 of the key, as `printf | sha1sum` gives it.
        assert_eq!(suffix("pk_test_MTI3LjAuMC4xOjM0MDEk"), "YSIShY2U");
    }
}
