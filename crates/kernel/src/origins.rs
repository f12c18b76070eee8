//! Origins of pages, read as browsers read them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::hosts::is_within;

/// Domains that the public DNS never leads to a machine of somebody else: RFC 6761 (`localhost`, `test`), RFC 6762
/// (`local`), RFC 8375 (`home.arpa`), and `internal`, which ICANN reserved in 2024.
const LOCAL_DOMAINS: [&str; 5] = ["localhost", "test", "local", "home.arpa", "internal"];

/// The origin of an absolute URL over HTTP as browsers write it: in small letters, without the usual port.
pub fn canonical(url: &str) -> Option<String> {
    Some(Url::parse(origin(url)?).ok()?.origin().ascii_serialization())
}

/// Whether a URL leads to this machine or into a private network, so that only somebody who is there can answer.
pub fn is_local(url: &str) -> bool {
    let read = origin(url).and_then(|origin| Url::parse(origin).ok());
    match read.as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => is_local_name(name.strip_suffix('.').unwrap_or(name)),
        Some(Host::Ipv4(address)) => is_local_v4(address),
        Some(Host::Ipv6(address)) => is_local_v6(address),
        None => false,
    }
}

/// Names without a dot are found by the local network alone, unless they are a top-level domain: a few have a host.
fn is_local_name(name: &str) -> bool {
    let is_public = || psl::suffix(name.as_bytes()).is_some_and(|suffix| suffix.is_known());
    (!name.contains('.') && !is_public()) || LOCAL_DOMAINS.iter().any(|domain| is_within(name, domain))
}

/// Returns whether an address belongs to this machine or to a private network.
pub fn is_local_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_local_v4(address),
        IpAddr::V6(address) => is_local_v6(address),
    }
}

/// `0.0.0.0` is this machine to browsers that take it at all.
fn is_local_v4(address: Ipv4Addr) -> bool {
    address.is_loopback() || address.is_private() || address.is_link_local() || address.is_unspecified()
}

fn is_local_v6(address: Ipv6Addr) -> bool {
    address.is_loopback()
        || address.is_unspecified()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || address.to_ipv4_mapped().is_some_and(is_local_v4)
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
        && !host.starts_with('.')
        && !host.contains("..")
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte));
    let origin = &url[..scheme.len() + end];
    (is_plain && is_host && is_what_it_says(origin, host)).then_some(origin)
}

/// Whether paths can be put behind a URL as it is: a plain origin, with a path if it needs one.
pub fn is_base_url(url: &str) -> bool {
    let is_plain = |path: &str| {
        path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte))
            && !path.ends_with('/')
    };
    origin(url).is_some_and(|origin| is_plain(&url[origin.len()..]))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_what_every_reader_takes_it_for() {
        assert_eq!(origin("http://localhost:3000/a?b#c"), Some("http://localhost:3000"));
        assert_eq!(origin("https://example.com"), Some("https://example.com"));
        for trick in [
            "javascript:alert(1)",
            "https://.example.com/",
            "https://..example.com/",
            "https://a..example.com/",
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
    fn a_base_url_is_an_origin_with_a_plain_path() {
        for good in
            ["https://example.com", "https://example.com:8443/a/__clerk", "http://localhost:3000/__clerk"]
        {
            assert!(is_base_url(good), "{good}");
        }
        for bad in [
            "https://example.com/",
            "https://example.com/a?b",
            "https://example.com/a#b",
            "https://example.com/%2e",
            "https://example.com/a b",
            "https://u@example.com/a",
            "example.com",
            "/__clerk",
            "",
        ] {
            assert!(!is_base_url(bad), "{bad}");
        }
    }

    #[test]
    fn local_is_what_no_stranger_can_answer() {
        for local in [
            "http://localhost:3000/page",
            "https://app.localhost",
            "http://LOCALHOST.:3000",
            "http://127.8.9.1:3000",
            "http://0.0.0.0:3000",
            "http://10.1.2.3",
            "http://172.16.0.1",
            "http://172.31.255.255",
            "http://192.168.1.5:5173",
            "http://169.254.3.4",
            "http://[::1]:3000",
            "http://[fd12:3456::1]",
            "http://[fe80::1]:3000",
            "http://[::ffff:c0a8:105]/",
            "https://app.test",
            "http://laptop.local:3000",
            "http://printer.home.arpa",
            "http://app.internal",
            "http://devbox:3000",
        ] {
            assert!(is_local(local), "{local}");
        }
        for strange in [
            "https://example.com",
            "https://localhost.example.com",
            "http://ai",
            "https://notlocalhost.com",
            "https://evil-test.com",
            "https://mytest.dev",
            "http://172.32.0.1",
            "http://172.15.0.1",
            "http://11.0.0.1",
            "http://192.169.0.1",
            "http://100.64.0.1",
            "http://8.8.8.8",
            "http://[2001:db8::1]",
            "http://[::ffff:808:808]/",
            "http://127.0.0.1.nip.io",
            "http://10.0.0.1@evil.com/",
            "chrome-extension://abc",
            "localhost",
            "",
        ] {
            assert!(!is_local(strange), "{strange}");
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
}
