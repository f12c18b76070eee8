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

/// A host as a request names it, and the same without its port and the dot at its end: where nobody has the first, whoever
/// has the second is meant.
pub fn names(host: &str) -> Vec<&str> {
    let name = name(host);
    let name = name.strip_suffix('.').unwrap_or(name);
    if name == host { vec![host] } else { vec![host, name] }
}

/// The host of the Frontend API whose hosted pages SDKs look for at this one: `clerk.example.com` for
/// `accounts.example.com`.
pub fn portal_of(host: &str) -> Option<String> {
    host.strip_prefix("accounts.").map(|domain| format!("clerk.{domain}"))
}

/// The hosts that must be nobody else's if an instance is to have this one, since requests to it lead to them now.
pub fn leads_to(host: &str) -> Vec<String> {
    let names = names(host);
    let portals: Vec<String> = names.iter().filter_map(|name| portal_of(name)).collect();
    names.into_iter().map(str::to_owned).chain(portals).collect()
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

/// Ends of hosts of the Frontend API for which scripts in pages keep a token of the developer's browser, as the
/// published scripts have them. With a port a host is none of these.
const DEV_BROWSER_HOSTS: [&str; 9] = [
    ".lcl.dev",
    ".stg.dev",
    ".lclstage.dev",
    ".stgstage.dev",
    ".dev.lclclerk.com",
    ".stg.lclclerk.com",
    ".accounts.lclclerk.com",
    "accountsstage.dev",
    "accounts.dev",
];

/// Whether scripts in pages show a token of the developer's browser to the Frontend API at this host.
pub fn is_for_dev_browsers(host: &str) -> bool {
    DEV_BROWSER_HOSTS.iter().any(|end| host.ends_with(end))
}

/// A host as it is stored and put into publishable keys; or why it is none.
pub fn checked(text: &str) -> Result<String, &'static str> {
    let host = text.to_ascii_lowercase();
    let (name, port) = host.rsplit_once(':').unwrap_or((&host, "443"));
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c)) {
        return Err("it is not a host name or an IPv4 address, with a port if it needs one");
    }
    if name.split('.').any(|label| label.is_empty() || label.len() > 63) || name.len() > 253 {
        return Err("a part of the name is empty or too long");
    }
    if !port.parse::<u16>().is_ok_and(|port| port > 0) {
        return Err("what stands after the colon is not a port");
    }
    // The SDKs take a publishable key for damaged when its host has no dot.
    match name.contains('.') {
        true => Ok(host),
        false => Err("it has no dot, and browsers' SDKs refuse that; 127.0.0.1 and name.localhost work"),
    }
}

/// Where browsers reach the Frontend API at a host: over TLS, but for this very machine.
pub fn url_of(host: &str) -> String {
    let name = name(host);
    let is_here =
        name == "localhost" || name.ends_with(".localhost") || name.starts_with("127.") || name == "[::1]";
    format!("{}://{host}", if is_here { "http" } else { "https" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_those_that_browsers_accept() {
        let good = ["127.0.0.1:3401", "clerk.example.com", "a1.localhost:80"];
        assert_eq!(good.map(checked), good.map(|text| Ok(text.to_owned())));
        assert_eq!(checked("Clerk.Example.com"), Ok("clerk.example.com".to_owned()));
        let bad = ["", "localhost:3401", "[::1]:1", "a.b:0", "a.b:x", "a..b", "a.b$", "https://a.b", "a.b/c"];
        assert!(bad.iter().all(|text| checked(text).is_err()));
    }

    #[test]
    fn a_host_is_taken_as_it_is_and_then_without_port_and_dot() {
        assert_eq!(names("clerk.example.com"), ["clerk.example.com"]);
        for host in ["clerk.example.com:443", "clerk.example.com.", "clerk.example.com.:4712"] {
            assert_eq!(names(host), [host, "clerk.example.com"]);
        }
        assert_eq!((names("[::1]:3401"), names("[::1]")), (vec!["[::1]:3401", "[::1]"], vec!["[::1]"]));
    }

    #[test]
    fn a_host_leads_to_its_name_and_hosted_pages_to_their_frontend_api() {
        assert_eq!(leads_to("clerk.example.com"), ["clerk.example.com"]);
        assert_eq!(leads_to("a.example.com:8443"), ["a.example.com:8443", "a.example.com"]);
        assert_eq!(
            leads_to("accounts.a.org:1"),
            ["accounts.a.org:1", "accounts.a.org", "clerk.a.org:1", "clerk.a.org"]
        );
    }

    #[test]
    fn only_this_machine_is_reached_without_tls() {
        assert_eq!(url_of("127.0.0.1:3401"), "http://127.0.0.1:3401");
        assert_eq!(url_of("app.localhost:3401"), "http://app.localhost:3401");
        assert_eq!(url_of("clerk.example.com"), "https://clerk.example.com");
        assert_eq!(url_of("notlocalhost"), "https://notlocalhost");
    }

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
