//! What belongs to a domain, and which domains an instance can have.

use crate::frontend::site::url_of;
use crate::resources::instances::model::{Environment, Instance};
use crate::settings::{Fault, Satellite, Settings};

/// Where browsers reach the Frontend API of a satellite.
pub fn url(satellite: &Satellite) -> String {
    satellite.proxy_url.clone().unwrap_or_else(|| url_of(&satellite.host()))
}

/// The origins of a satellite, in which `*` stands for any text.
pub fn origins(satellite: &Satellite) -> [String; 2] {
    let url = url_of(&satellite.name);
    [url.clone(), url.replacen("://", "://*.", 1)]
}

/// Whether an origin is a satellite's: that of the domain itself, or of one below it.
pub fn owns(satellite: &Satellite, origin: &str) -> bool {
    let url = url_of(&satellite.name);
    let scheme = url.strip_suffix(&satellite.name).unwrap_or("https://");
    let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix(scheme)).unwrap_or_default();
    host == satellite.name || host.strip_suffix(&satellite.name).is_some_and(|rest| rest.ends_with('.'))
}

/// The satellite whose Frontend API this is, given as a host or as a URL.
pub fn at<'a>(satellites: &'a [Satellite], frontend_api: &str) -> Option<&'a Satellite> {
    satellites.iter().find(|satellite| satellite.host() == frontend_api || url(satellite) == frontend_api)
}

/// What is wrong with the satellites of this very instance.
pub fn problems(instance: &Instance, settings: &Settings) -> Vec<Fault> {
    let own = instance.frontend_api.strip_prefix("clerk.").unwrap_or(&instance.frontend_api);
    let is_production = instance.environment == Environment::Production;
    let say = |text: String| Fault { path: "satellites".to_owned(), text };
    let mut faults = Vec::new();
    for satellite in &settings.satellites {
        let name = &satellite.name;
        if is_production && [name, &satellite.host()].iter().any(|host| host.contains(':')) {
            faults.push(say(format!("`{name}` has a port, which only development instances can use.")));
        }
        if name == own {
            faults.push(say(format!("`{name}` is the primary domain.")));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use latchkey_base::Time;
    use latchkey_base::rng::SeededRng;

    use super::*;
    use crate::resources::instances::rules::create;

    fn satellite(name: &str) -> Satellite {
        Satellite { name: name.to_owned(), frontend_api: None, proxy_url: None }
    }

    #[test]
    fn a_satellite_has_its_domain_and_what_is_below() {
        let shop = satellite("shop.example.org");
        for own in ["https://shop.example.org", "https://www.shop.example.org"] {
            assert!(owns(&shop, own), "{own}");
        }
        for other in [
            "http://shop.example.org",
            "https://example.org",
            "https://evilshop.example.org",
            "https://shop.example.org.evil.com",
            "https://shop.example.org:8443",
            "https://",
            "",
        ] {
            assert!(!owns(&shop, other), "{other}");
        }
        let local = satellite("sat.localhost:3000");
        assert!(owns(&local, "http://sat.localhost:3000") && !owns(&local, "http://sat.localhost:3001"));
        assert_eq!(
            (url(&shop), url(&local)),
            ("https://clerk.shop.example.org".into(), "http://clerk.sat.localhost:3000".into())
        );
    }

    #[test]
    fn ports_are_for_development_and_the_primary_domain_is_no_satellite() {
        let settings = |name: &str| Settings { satellites: vec![satellite(name)], ..Settings::default() };
        let instance = |environment| {
            create(environment, "clerk.example.com".into(), Time::from_ms(0), &SeededRng::new(1))
        };
        let (production, development) =
            (instance(Environment::Production), instance(Environment::Development));
        assert_eq!(problems(&production, &settings("shop.example.org")), []);
        assert_eq!(problems(&production, &settings("shop.example.org:8443")).len(), 1);
        assert_eq!(problems(&development, &settings("shop.example.org:8443")), []);
        assert_eq!(problems(&development, &settings("example.com")).len(), 1);
    }
}
