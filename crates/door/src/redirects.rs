//! Where browsers may be sent. An address that anybody can put into a link must not become one that this
//! server vouches for.

use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::domains::rules::{owns, primary};
use latchkey_kernel::limits::REDIRECT_URL_CHARS;
use latchkey_kernel::origins::{canonical, is_local, origin};
use latchkey_presence::redirect_urls::store as redirect_urls;
use latchkey_web::query::decode;

use super::gate::is_own;
use super::site::Site;

/// A URL that browsers may be sent to.
#[derive(Clone, Debug, PartialEq)]
pub struct Destination(String);

impl Destination {
    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The URL with a parameter added to its query, before the fragment.
    pub fn with(&self, name: &str, value: &str) -> Destination {
        let (url, fragment) =
            self.0.split_once('#').map_or((&*self.0, None), |(url, rest)| (url, Some(rest)));
        let mark = if url.contains('?') { '&' } else { '?' };
        let fragment = fragment.map(|rest| format!("#{rest}")).unwrap_or_default();
        Destination(format!("{url}{mark}{name}={}{fragment}", escape(value)))
    }

    /// The URL with a parameter of its query replaced, or added.
    pub fn set(&self, name: &str, value: &str) -> Destination {
        self.without(&[name]).with(name, value)
    }

    /// The URL without parameters of its query, in whatever way they are escaped. One without them stays as it is.
    pub fn without(&self, names: &[&str]) -> Destination {
        let (url, fragment) = self.0.split_once('#').unwrap_or((&self.0, ""));
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let is_named = |pair: &&str| {
            let name = decode(pair.split('=').next().unwrap_or_default());
            name.is_some_and(|name| names.contains(&name.as_str()))
        };
        if !query.split('&').any(|pair| is_named(&pair)) {
            return self.clone();
        }
        let is_kept = |pair: &&str| !pair.is_empty() && !is_named(pair);
        let others: Vec<&str> = query.split('&').filter(is_kept).collect();
        let query = if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
        let fragment = if self.0.contains('#') { format!("#{fragment}") } else { String::new() };
        Destination(format!("{path}{query}{fragment}"))
    }
}

/// Checks a URL a request names: a page of the application ([`checked`]), or one of the redirect URLs that the instance
/// lists, which may have the scheme of a native app.
pub async fn allowed(cx: &Cx, site: &Site, url: Option<&str>) -> Result<Destination> {
    match checked(site, url) {
        Ok(page) => Ok(page),
        // Most are pages of the application, and the list is not read for them.
        Err(error) => listed_or(&mut cx.app.db.read().await?, site, url, error).await,
    }
}

/// The same inside a transaction.
pub async fn allowed_in(tx: &mut Tx, site: &Site, url: Option<&str>) -> Result<Destination> {
    match checked(site, url) {
        Ok(page) => Ok(page),
        Err(error) => listed_or(tx, site, url, error).await,
    }
}

/// A URL the instance lists, in exactly this form; the refusal otherwise.
async fn listed_or(tx: &mut Tx, site: &Site, url: Option<&str>, refusal: Error) -> Result<Destination> {
    // A text with NUL is refused by PostgreSQL, and what is longer than any entry is on no list.
    let plain =
        url.filter(|url| url.len() <= REDIRECT_URL_CHARS && url.bytes().all(|byte| byte.is_ascii_graphic()));
    match plain {
        Some(url) if redirect_urls::is_listed(tx, &site.instance, url).await? => {
            Ok(Destination(url.to_owned()))
        }
        _ => Err(refusal),
    }
}

/// Checks that a URL is a page of the application: absolute, over HTTP, without a user name or other tricks, and on
/// production instances on one of the application's own origins.
pub fn checked(site: &Site, url: Option<&str>) -> Result<Destination> {
    let url = url.ok_or_else(|| Error::param(Code::InvalidRedirectUrl, "redirect_url"))?;
    origin(url).ok_or_else(|| Error::param(Code::InvalidRedirectUrl, "redirect_url"))?;
    match site.is_development() || is_ours(site, url) {
        true => Ok(Destination(url.to_owned())),
        false => Err(Error::param(Code::RedirectUrlMismatch, "redirect_url")),
    }
}

/// The same for an answer that carries a token or renews a cookie. Development instances take pages of any origin
/// for the application's, but a token goes only where no stranger can read it: to this machine, into private
/// networks, to the application's own domains and to the origins that the settings name.
pub fn for_token(site: &Site, url: Option<&str>) -> Result<Destination> {
    let checked = checked(site, url)?;
    let is_open = !site.is_development() || site.settings.development.any_origin;
    match is_open || is_local(checked.as_str()) || is_ours(site, checked.as_str()) {
        true => Ok(checked),
        false => Err(Error::param(Code::RedirectUrlMismatch, "redirect_url")),
    }
}

/// Why a URL is refused that does not belong to the application, and what to do about it.
pub fn mismatch(site: &Site, url: &str) -> String {
    match site.is_development() {
        true => {
            let origin = canonical(url).unwrap_or_default();
            let set = format!("latchkey settings set --instance {}", site.instance);
            format!(
                "`redirect_url` is at {origin}. A development instance sends browsers with their tokens to this machine, \
                 to private networks and to the origins of the application only. To allow this origin, run \
                 `{set} 'allowed_origins={origin}'`; to allow every origin, run `{set} development.any_origin=true`."
            )
        }
        false => format!(
            "`redirect_url` does not belong to the application, which has the pages of https://{} and the hosts below \
             it, those of satellites, those that the setting allowed_origins names, and the redirect URLs of the \
             instance (`POST /v1/redirect_urls`). An app behind a proxy must be told that it is reached over https \
             (X-Forwarded-Proto).",
            primary(&site.frontend_api)
        ),
    }
}

/// The same, strictly: on development instances too, only a page of the application's own domains.
pub fn own(site: &Site, url: Option<&str>) -> Result<Destination> {
    let checked = checked(site, url)?;
    match is_ours(site, checked.as_str()) {
        true => Ok(checked),
        false => Err(Error::param(Code::RedirectUrlMismatch, "redirect_url")),
    }
}

/// The same for a page of one of the satellites.
pub fn to_satellite(site: &Site, url: &str) -> Result<Destination> {
    let checked = checked(site, Some(url))?;
    let origin = canonical(url).unwrap_or_default();
    match site.settings.satellites.iter().any(|satellite| owns(satellite, &origin)) {
        true => Ok(checked),
        false => Err(Error::param(Code::RedirectUrlMismatch, "redirect_url")),
    }
}

/// A URL that is our own or that the settings name.
pub fn trusted(url: String) -> Destination {
    Destination(url)
}

/// Whether a URL is a page of the application.
pub fn is_ours(site: &Site, url: &str) -> bool {
    let is_own = |origin: &str| is_own(site, origin);
    origin(url).is_some_and(is_own) || canonical(url).is_some_and(|origin| is_own(&origin))
}

/// Escapes a value for a query.
pub fn escape(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_go_before_the_fragment() {
        let plain = Destination("https://a.com/#/x".into());
        assert_eq!(plain.with("k", "a b").as_str(), "https://a.com/?k=a%20b#/x");
        assert_eq!(plain.with("a", "1").with("b", "2").as_str(), "https://a.com/?a=1&b=2#/x");
    }

    #[test]
    fn a_parameter_that_is_there_is_replaced() {
        let set = |url: &str| Destination(url.into()).set("k", "new").as_str().to_owned();
        assert_eq!(set("https://a.com"), "https://a.com?k=new");
        assert_eq!(set("https://a.com/?k=old#/x?k=1"), "https://a.com/?k=new#/x?k=1");
        assert_eq!(set("https://a.com/?a=1&k=old&b=k&k"), "https://a.com/?a=1&b=k&k=new");
        assert_eq!(set("https://a.com/?%6b=old&a=%zz&%zz"), "https://a.com/?a=%zz&%zz&k=new");
    }

    #[test]
    fn parameters_are_taken_away_and_the_rest_stays_as_it_is() {
        let left = |url: &str| Destination(url.into()).without(&["k", "l"]).as_str().to_owned();
        assert_eq!(left("https://a.com/p?k=1&a=%20&l=2&k#/x?k=1"), "https://a.com/p?a=%20#/x?k=1");
        assert_eq!(left("https://a.com/?k=1#"), "https://a.com/#");
        for same in ["https://a.com", "https://a.com/?&a=1&&b?k=1", "https://a.com/?", "https://k/k?kk=1"] {
            assert_eq!(left(same), same);
        }
    }
}
