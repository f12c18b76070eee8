//! Where the components may send people who are done, given as origins in which `*` stands for any text.

use latchkey_kernel::domains::rules as domains;
use latchkey_kernel::hosts;

/// The origins of an application in production: its own domain and what the settings name.
pub fn origins_in_production(frontend_api: &str, allowed: &[String]) -> Vec<String> {
    let own = domains::origins(domains::primary(frontend_api));
    own.into_iter().chain(allowed.iter().cloned()).collect()
}

/// The origins of an application in development: every port of this machine, under each of its names and the
/// one browsers know the server by, and what the settings name. Links to anywhere else stay links of others.
pub fn origins_in_development(base_url: &str, allowed: &[String]) -> Vec<String> {
    let machine = ["localhost", "*.localhost", "127.0.0.1", "[::1]", hosts::name(hosts::authority(base_url))];
    let own = machine.into_iter().flat_map(|host| {
        ["http", "https"]
            .into_iter()
            .flat_map(move |scheme| [format!("{scheme}://{host}"), format!("{scheme}://{host}:*")])
    });
    own.chain(allowed.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_in_production_has_its_domain() {
        let allowed = ["https://other.example".to_owned()];
        let origins = origins_in_production("clerk.app.example.com", &allowed);
        let own = [
            "https://example.com",
            "https://example.com:*",
            "https://*.example.com",
            "https://*.example.com:*",
        ];
        assert_eq!(origins, [&own[..], &["https://other.example"]].concat());
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
}
