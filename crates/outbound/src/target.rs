//! Reads the URL of a request.

use hyper::Uri;
use url::Url;

use crate::failure::Failure;
use crate::reach::Reach;

/// The longest URL that is sent.
const URL_BYTES: usize = 2048;

/// The URL as it is sent. Parsing turns every way of writing an address (`127.1`, `0x7f000001`, `２１３０７０６４３３`)
/// into the usual one, so that what is checked is what is connected to. Over the internet nothing goes in clear.
pub(crate) fn read(text: &str, reach: Reach) -> Result<Uri, Failure> {
    if text.len() > URL_BYTES {
        return Err(Failure::Url("it is too long"));
    }
    let mut url = Url::parse(text).map_err(|_| Failure::Url("it is not complete and correct"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Failure::Url("it must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Failure::Url("it must not contain a user name or password"));
    }
    if reach == Reach::Public && url.scheme() != "https" {
        return Err(Failure::NotSecure);
    }
    url.set_fragment(None);
    url.as_str().parse().map_err(|_| Failure::Url("it is not complete and correct"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Uri, Failure> {
        super::read(text, Reach::Any)
    }

    #[test]
    fn every_notation_becomes_the_usual_one() {
        for (text, host) in [
            ("http://127.1/", "127.0.0.1"),
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f000001/", "127.0.0.1"),
            ("http://0177.0.0.1/", "127.0.0.1"),
            ("http://１２７.0.0.1/", "127.0.0.1"),
            ("http://127。0。0。1/", "127.0.0.1"),
            ("http://[::FFFF:127.0.0.1]/", "[::ffff:7f00:1]"),
            ("http://[0:0::1]/", "[::1]"),
            ("HTTP://Example.COM:80/", "example.com"),
            ("https://bücher.example/", "xn--bcher-kva.example"),
        ] {
            assert_eq!(read(text).unwrap().host(), Some(host), "{text}");
        }
    }

    #[test]
    fn a_fragment_stays_here_and_the_query_is_sent() {
        assert_eq!(read("http://a.example/ü?x=1#y").unwrap().to_string(), "http://a.example/%C3%BC?x=1");
    }

    #[test]
    fn nothing_goes_over_the_internet_in_clear() {
        assert_eq!(super::read("http://a.example/", Reach::Public), Err(Failure::NotSecure));
        assert_eq!(super::read("HTTP://a.example/", Reach::Public), Err(Failure::NotSecure));
        assert!(super::read("https://a.example/", Reach::Public).is_ok());
    }

    #[test]
    fn other_schemes_credentials_and_nonsense_are_refused() {
        for text in [
            "",
            "/path",
            "example.com",
            "ftp://a.example",
            "file:///etc/passwd",
            "gopher://a.example",
            "http://",
            "https://user@a.example",
            "https://user:word@a.example",
            "https://:word@a.example",
            "http://256.256.256.256/",
            "http://a b/",
            "http://[::1",
            "http://a.example:99999/",
        ] {
            assert!(matches!(read(text), Err(Failure::Url(_))), "{text}");
        }
        assert!(read(&format!("http://a.example/{}", "x".repeat(URL_BYTES))).is_err());
    }
}
