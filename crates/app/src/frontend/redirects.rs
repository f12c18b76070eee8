//! Where browsers may be sent. An address that anybody can put into a link must not become one that this
//! server vouches for.

use latchkey_base::{Code, Error, Result};
use latchkey_web::query::decode;
use url::Url;

use super::gate::is_own;
use super::site::Site;
use crate::resources::domains::rules::owns;

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

/// Checks a URL a request names: absolute, over HTTP, without a user name or other tricks, and on production
/// instances one of the application's own.
pub fn checked(site: &Site, url: Option<&str>) -> Result<Destination> {
    let url = url.ok_or_else(|| Error::param(Code::InvalidRedirectUrl, "redirect_url"))?;
    origin(url).ok_or_else(|| Error::param(Code::InvalidRedirectUrl, "redirect_url"))?;
    match site.is_development() || is_ours(site, url) {
        true => Ok(Destination(url.to_owned())),
        false => Err(Error::param(Code::RedirectUrlMismatch, "redirect_url")),
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

/// The origin of an absolute URL over HTTP as browsers write it: in small letters, without the usual port.
pub fn canonical(url: &str) -> Option<String> {
    Some(Url::parse(origin(url)?).ok()?.origin().ascii_serialization())
}

/// The origin of an absolute URL over HTTP as it stands there, unless the URL has anything browsers and servers
/// read differently.
pub fn origin(url: &str) -> Option<&str> {
    let is_plain = url.len() <= 4096 && url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let scheme = ["https://", "http://"].into_iter().find(|scheme| url.starts_with(scheme))?;
    let rest = &url[scheme.len()..];
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = &rest[..end];
    let is_host = !host.is_empty()
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte));
    let origin = &url[..scheme.len() + end];
    (is_plain && is_host && is_what_it_says(origin, host)).then_some(origin)
}

/// Whether browsers, which read as the URL standard says, come to the very host and port that stand there. They
/// take `0x7f.1` for an address, and know no port 99999.
fn is_what_it_says(origin: &str, host: &str) -> bool {
    let Ok(read) = Url::parse(origin) else { return false };
    let name = read.host_str().unwrap_or_default();
    let said = host.to_ascii_lowercase();
    let with_port = read.port_or_known_default().map(|port| format!("{name}:{port}"));
    (read.port().is_none() && said == name) || Some(said) == with_port
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
    fn an_origin_is_what_every_reader_takes_it_for() {
        assert_eq!(origin("http://localhost:3000/a?b#c"), Some("http://localhost:3000"));
        assert_eq!(origin("https://example.com"), Some("https://example.com"));
        for trick in [
            "javascript:alert(1)",
            "//example.com",
            "https:example.com",
            "https://",
            "https://good.com@evil.com/",
            "https://good.com\\.evil.com/",
            "https://good.com%2eevil.com/",
            "https://good.com\n.evil.com/",
            "data:text/html,x",
            "HTTPS://example.com",
            " https://example.com",
            "/relative",
            "",
            "http://[::1",
            "http://::1]/",
            "http://[::1]x/",
            "http://:80",
            "http://a:99999/",
            "http://a:/",
            "http://a:0080/",
            "http://a:b/",
            "http://0x7f.1/",
            "http://127.1/",
            "https://good.com:443@evil.com/",
            "https://good.com\t.evil.com/",
            "https://good\u{3002}com/",
            "https://g\u{43e}\u{43e}d.com/",
            "https://good.com\u{ff0f}.evil.com/",
            "https:/\\good.com/",
            "https:///good.com/",
        ] {
            assert_eq!(origin(trick), None, "{trick}");
        }
    }

    #[test]
    fn hosts_have_no_case_and_the_usual_port_says_nothing() {
        for same in ["https://EXAMPLE.com/", "https://example.com:443", "https://Example.Com?a"] {
            assert_eq!(canonical(same).as_deref(), Some("https://example.com"), "{same}");
        }
        assert_eq!(origin("https://EXAMPLE.com/"), Some("https://EXAMPLE.com"));
        assert_eq!(canonical("http://[::1]:3000/a").as_deref(), Some("http://[::1]:3000"));
        assert_eq!(canonical("http://localhost:443/").as_deref(), Some("http://localhost:443"));
        assert_eq!(canonical("https://example.com./").as_deref(), Some("https://example.com."));
    }

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
