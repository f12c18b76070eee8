//! Where the components may send people who are done, given as origins in which `*` stands for any text.

/// The origins of an application in production: its own domain and what the settings name.
pub fn origins_in_production(frontend_api: &str, allowed: &[String]) -> Vec<String> {
    let domain = frontend_api.strip_prefix("clerk.").unwrap_or(frontend_api);
    let own = [format!("https://{domain}"), format!("https://*.{domain}")];
    own.into_iter().chain(allowed.iter().cloned()).collect()
}

/// The origins of an application in development: every port of this machine, under each of its names and the
/// one browsers know the server by, and what the settings name. Links to anywhere else stay links of others.
pub fn origins_in_development(base_url: &str, allowed: &[String]) -> Vec<String> {
    let hosts = ["localhost", "*.localhost", "127.0.0.1", "[::1]", host(base_url)];
    let own = hosts.into_iter().filter(|host| !host.is_empty()).flat_map(|host| {
        ["http", "https"]
            .into_iter()
            .flat_map(move |scheme| [format!("{scheme}://{host}"), format!("{scheme}://{host}:*")])
    });
    own.chain(allowed.iter().cloned()).collect()
}

/// The host of a URL, without its port.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_in_production_has_its_domain() {
        let allowed = ["https://other.example".to_owned()];
        let origins = origins_in_production("clerk.example.com", &allowed);
        assert_eq!(origins, ["https://example.com", "https://*.example.com", "https://other.example"]);
    }

    #[test]
    fn an_application_in_development_has_the_ports_of_its_machine() {
        let origins = origins_in_development("http://192.168.1.5:3401", &[]);
        for origin in
            ["http://localhost:*", "http://127.0.0.1:*", "http://192.168.1.5:*", "https://192.168.1.5"]
        {
            assert!(origins.iter().any(|known| known == origin), "{origin}");
        }
        assert!(
            origins.iter().all(|known| !known.ends_with("//*") && !known.ends_with("//*:*")),
            "{origins:?}"
        );
    }

    #[test]
    fn hosts_lose_their_port_only() {
        assert_eq!(host("http://localhost:3401"), "localhost");
        assert_eq!(host("https://app.example.com/__clerk"), "app.example.com");
        assert_eq!(host("http://[::1]:3401"), "[::1]");
        assert_eq!(host("http://[::1]"), "[::1]");
        assert_eq!(host("nothing"), "");
    }
}
