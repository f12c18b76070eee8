//! Where browsers may be sent. An address that anybody can put into a link must not become one that this
//! server vouches for.

use latchkey_base::{Code, Error, Result};

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
}

/// Checks a URL a request names: absolute, over HTTP, without a user name or other tricks, and on production
/// instances one of the application's own.
pub fn checked(site: &Site, url: Option<&str>) -> Result<Destination> {
    let url = url.ok_or_else(|| Error::param(Code::InvalidRedirectUrl, "redirect_url"))?;
    let origin = origin(url).ok_or_else(|| Error::param(Code::InvalidRedirectUrl, "redirect_url"))?;
    match site.is_development() || is_own(site, origin) {
        true => Ok(Destination(url.to_owned())),
        false => Err(Error::param(Code::RedirectUrlMismatch, "redirect_url")),
    }
}

/// A URL that is our own or that the settings name.
pub fn trusted(url: String) -> Destination {
    Destination(url)
}

/// The origin of an absolute URL over HTTP, unless the URL has anything browsers and servers read
/// differently.
pub fn origin(url: &str) -> Option<&str> {
    let is_plain = url.len() <= 4096 && url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let scheme = ["https://", "http://"].into_iter().find(|scheme| url.starts_with(scheme))?;
    let rest = &url[scheme.len()..];
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = &rest[..end];
    let is_host = !host.is_empty()
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte));
    (is_plain && is_host).then(|| &url[..scheme.len() + end])
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
        ] {
            assert_eq!(origin(trick), None, "{trick}");
        }
    }

    #[test]
    fn parameters_go_before_the_fragment() {
        let plain = Destination("https://a.com/#/x".into());
        assert_eq!(plain.with("k", "a b").as_str(), "https://a.com/?k=a%20b#/x");
        assert_eq!(plain.with("a", "1").with("b", "2").as_str(), "https://a.com/?a=1&b=2#/x");
    }
}
