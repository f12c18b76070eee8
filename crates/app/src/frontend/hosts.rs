//! Hosts as cookies and origins see them: by name, without the port.

use std::net::Ipv4Addr;

/// The host and port of a URL, or of what stands where its scheme would end.
pub fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// The name in a host that may have a port.
pub fn name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// The registrable domain of a host: the part under which all hosts are one owner's, and the widest one a cookie
/// can be set for. `shop.co.uk` for `a.b.shop.co.uk`; `me.vercel.app` for itself, because everybody can have a
/// name below `vercel.app`. Addresses, names without a dot and public suffixes have none.
pub fn registrable(host: &str) -> Option<&str> {
    let name = name(host);
    let is_address = name.starts_with('[') || name.parse::<Ipv4Addr>().is_ok();
    if is_address || name.ends_with('.') {
        return None;
    }
    // The list is in small letters.
    let length = psl::domain_str(&name.to_ascii_lowercase())?.len();
    name.get(name.len() - length..)
}

/// Whether a name is a domain or lies below it.
pub fn is_within(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrable_domains_follow_the_public_suffix_list_with_its_private_part() {
        for (host, domain) in [
            ("clerk.example.com", Some("example.com")),
            ("example.com:8443", Some("example.com")),
            ("clerk.app.shop.co.uk", Some("shop.co.uk")),
            ("a.b.example.city.kawasaki.jp", Some("city.kawasaki.jp")),
            ("clerk.me.vercel.app", Some("me.vercel.app")),
            ("clerk.me.github.io:443", Some("me.github.io")),
            ("clerk.sub-2.multiple-apps-e2e.clerk.app", Some("multiple-apps-e2e.clerk.app")),
            ("clerk.Shop.CO.UK", Some("Shop.CO.UK")),
            ("clerk.example.test", Some("example.test")),
            ("app.localhost:3000", Some("app.localhost")),
            ("clerk.xn--bcher-kva.example", Some("xn--bcher-kva.example")),
            ("vercel.app", None),
            ("co.uk", None),
            ("com", None),
            ("localhost", None),
            ("localhost:3000", None),
            ("127.0.0.1:3401", None),
            ("[::1]:3401", None),
            ("[::1]", None),
            ("example.com.", None),
            ("", None),
        ] {
            assert_eq!(registrable(host), domain, "{host}");
        }
    }

    #[test]
    fn a_domain_has_itself_and_what_is_below() {
        for (name, is_inside) in [
            ("example.com", true),
            ("a.b.example.com", true),
            ("evilexample.com", false),
            ("example.com.evil.com", false),
            ("com", false),
            ("", false),
        ] {
            assert_eq!(is_within(name, "example.com"), is_inside, "{name}");
        }
    }

    #[test]
    fn hosts_stand_between_the_scheme_and_the_path() {
        for (url, host) in [
            ("https://app.example.com:8443/__clerk", "app.example.com:8443"),
            ("https://example.com?a#b", "example.com"),
            ("http://[::1]:3000/", "[::1]:3000"),
            ("clerk.example.com", "clerk.example.com"),
        ] {
            assert_eq!(authority(url), host);
        }
        assert_eq!((name("a.com:80"), name("[::1]:80"), name("[::1]")), ("a.com", "[::1]", "[::1]"));
    }
}
