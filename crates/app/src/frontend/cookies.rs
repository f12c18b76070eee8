//! Cookies: read from requests, written for answers.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_jose::digest::sha1;

use super::site::Site;
use crate::limits::CLIENT_TOKEN_MS;

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

/// What a satellite knows a browser by that it sent to the primary domain.
pub const SYNC: &str = "__clerk_sync";

const LONGEST_SECONDS: i64 = CLIENT_TOKEN_MS / 1000;
/// How long a browser may take to the primary domain and back.
const SYNC_SECONDS: i64 = 10 * 60;
/// How long the last session token stays; what it says is over long before.
const YEAR_SECONDS: i64 = 365 * 24 * 3600;

/// The value of a cookie of a request.
pub fn read<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value).filter(|value| !value.is_empty())
}

/// What tells the cookies of one instance from those of another on the same host.
pub fn suffix(publishable_key: &str) -> String {
    URL_SAFE_NO_PAD.encode(sha1(publishable_key.as_bytes()))[..8].to_owned()
}

/// The client's proof, which no script may read.
pub fn client(site: &Site, token: &str) -> String {
    format!(
        "{CLIENT}={token}; Path=/; Max-Age={LONGEST_SECONDS}; HttpOnly; SameSite=Lax{}",
        secure(site.is_secure())
    )
}

/// Takes the client's proof away.
pub fn no_client(site: &Site) -> String {
    format!("{CLIENT}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax{}", secure(site.is_secure()))
}

/// What the browser is known by when it comes back from the primary domain.
pub fn sync(site: &Site, state: &str) -> String {
    format!(
        "{SYNC}={state}; Path=/; Max-Age={SYNC_SECONDS}; HttpOnly; SameSite=Lax{}",
        secure(site.is_secure())
    )
}

/// When the client changed, for the application's own domain. Development instances leave it to the
/// script in the page.
pub fn client_uat(site: &Site, seconds: i64) -> Vec<String> {
    let domain = shared_domain(site).map(|domain| format!("; Domain={domain}")).unwrap_or_default();
    let names = [CLIENT_UAT.to_owned(), format!("{CLIENT_UAT}_{}", suffix(&site.publishable_key()))];
    let attributes =
        format!("; Path=/; Max-Age={LONGEST_SECONDS}; SameSite=Lax{}{domain}", secure(site.is_secure()));
    names.map(|name| format!("{name}={seconds}{attributes}")).into()
}

/// A cookie for the application's own host, as a backend hands it on.
pub fn for_app(name: &str, value: &str, is_secure: bool) -> String {
    let age = if value.is_empty() { 0 } else { YEAR_SECONDS };
    format!("{name}={value}; Path=/; Max-Age={age}; SameSite=Lax{}", secure(is_secure))
}

/// The same, out of reach of scripts.
pub fn for_backend(name: &str, value: &str, is_secure: bool) -> String {
    format!("{}; HttpOnly", for_app(name, value, is_secure))
}

fn secure(is_secure: bool) -> &'static str {
    if is_secure { "; Secure" } else { "" }
}

/// The domain the application shares with the Frontend API: `example.com` for `clerk.example.com`.
pub fn shared_domain(site: &Site) -> Option<&str> {
    let host = site.host().strip_prefix("clerk.")?;
    (site.base_url == format!("https://{}", site.host()) && !host.contains(':')).then_some(host)
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
