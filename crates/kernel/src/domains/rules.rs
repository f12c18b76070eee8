//! What belongs to a domain, and which domains an instance can have.

use latchkey_base::kinds::DomainId;

use super::ids;
use crate::environment::Environment;
use crate::hosts::{self, url_of};
use crate::instances::model::Instance;
use crate::settings::{Satellite, Settings, SettingsFault};

/// Where browsers reach the Frontend API of a satellite.
pub fn url(satellite: &Satellite) -> String {
    satellite.proxy_url.clone().unwrap_or_else(|| url_of(&satellite.host()))
}

/// The name of the primary domain: that of the host of the Frontend API, without the `clerk.` that SDKs put before it.
pub fn name(frontend_api: &str) -> &str {
    let host = hosts::name(frontend_api);
    host.strip_prefix("clerk.").filter(|rest| hosts::registrable(rest).is_some()).unwrap_or(host)
}

/// The host of the Frontend API of a domain.
pub fn host(name: &str) -> String {
    format!("clerk.{name}")
}

/// The primary domain of an instance, all of whose hosts are the application's: the registrable domain of its
/// Frontend API. Hosts that have none, such as addresses, stand for themselves.
pub fn primary(frontend_api: &str) -> &str {
    hosts::registrable(frontend_api).unwrap_or_else(|| hosts::name(frontend_api))
}

/// Whether an origin is on the primary domain: at whatever port, but over TLS.
pub fn is_primary(frontend_api: &str, origin: &str) -> bool {
    let name = hosts::name(origin.strip_prefix("https://").unwrap_or_default());
    match hosts::registrable(frontend_api) {
        Some(domain) => hosts::is_within(name, domain),
        None => name == hosts::name(frontend_api),
    }
}

/// The origins of a domain and those below it, at whatever port unless it names one; `*` stands for any text.
pub fn origins(domain: &str) -> Vec<String> {
    let url = url_of(domain);
    let both = [url.clone(), url.replacen("://", "://*.", 1)];
    match hosts::name(domain) == domain {
        true => both.iter().flat_map(|url| [url.clone(), format!("{url}:*")]).collect(),
        false => both.into(),
    }
}

/// Whether an origin is a satellite's: that of the domain itself, or of one below it, at whatever port unless the
/// domain names one.
pub fn owns(satellite: &Satellite, origin: &str) -> bool {
    let domain = &*satellite.name;
    let url = url_of(domain);
    let scheme = url.strip_suffix(domain).unwrap_or("https://");
    let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix(scheme)).unwrap_or_default();
    let has_port = hosts::name(domain) != domain;
    hosts::is_within(if has_port { host } else { hosts::name(host) }, domain)
}

/// The satellite whose Frontend API this is, given as a host or as a URL.
pub fn at<'a>(satellites: &'a [Satellite], frontend_api: &str) -> Option<&'a Satellite> {
    satellites.iter().find(|satellite| satellite.host() == frontend_api || url(satellite) == frontend_api)
}

/// What is wrong with the domains of this very instance, if its Frontend API is at this host.
pub fn problems(instance: &Instance, frontend_api: &str, settings: &Settings) -> Vec<SettingsFault> {
    let own = name(frontend_api);
    let is_production = instance.environment == Environment::Production;
    let say = |text: String| SettingsFault { path: "satellites".to_owned(), text };
    let mut faults = Vec::new();
    let mut known = vec![ids::primary(&instance.id)];
    for satellite in &settings.satellites {
        let name = &satellite.name;
        let id = ids::satellite(&instance.id, satellite);
        if known.contains(&id) {
            faults.push(say(format!("The id of `{name}` is that of another domain: leave it out.")));
        }
        if DomainId::parse(id.as_str()).is_none() {
            faults.push(say(format!("The id of `{name}` is none: leave it out.")));
        }
        known.push(id);
        if is_production && [name, &satellite.host()].iter().any(|host| host.contains(':')) {
            faults.push(say(format!("`{name}` has a port, which only development instances can use.")));
        }
        if name == own || satellite.host() == frontend_api {
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
    use crate::instances::rules::create;

    fn satellite(name: &str) -> Satellite {
        Satellite { id: None, name: name.to_owned(), frontend_api: None, proxy_url: None }
    }

    #[test]
    fn a_satellite_has_its_domain_and_what_is_below() {
        let shop = satellite("shop.example.org");
        for own in
            ["https://shop.example.org", "https://www.shop.example.org", "https://shop.example.org:8443"]
        {
            assert!(owns(&shop, own), "{own}");
        }
        for other in [
            "http://shop.example.org",
            "https://example.org",
            "https://evilshop.example.org",
            "https://shop.example.org.evil.com",
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
    fn the_primary_domain_is_the_registrable_one_at_every_port() {
        for (frontend_api, origin, is_own) in [
            ("clerk.example.com", "https://example.com", true),
            ("clerk.example.com", "https://app.example.com:8443", true),
            ("clerk.one.example.com", "https://two.example.com", true),
            ("auth.example.com:8443", "https://example.com", true),
            ("clerk.me.vercel.app", "https://me.vercel.app", true),
            ("clerk.me.vercel.app", "https://you.vercel.app", false),
            ("clerk.shop.co.uk", "https://other.co.uk", false),
            ("clerk.example.com", "http://example.com", false),
            ("clerk.example.com", "https://evilexample.com", false),
            ("clerk.example.com", "https://example.com.evil.com", false),
            ("clerk.example.com", "null", false),
            ("clerk.example.com", "", false),
            ("127.0.0.1:3401", "https://127.0.0.1:8443", true),
            ("127.0.0.1:3401", "https://1.127.0.0.1", false),
            ("clerk.localhost", "https://localhost", false),
        ] {
            assert_eq!(is_primary(frontend_api, origin), is_own, "{frontend_api} {origin}");
        }
    }

    #[test]
    fn ports_are_for_development_and_the_primary_domain_is_no_satellite() {
        let settings = |name: &str| Settings { satellites: vec![satellite(name)], ..Settings::default() };
        let instance = |environment| {
            create(environment, "clerk.example.com".into(), Time::from_ms(0), &SeededRng::new(1))
        };
        let (production, development) =
            (instance(Environment::Production), instance(Environment::Development));
        let problems = |instance: &Instance, settings: &Settings| {
            super::problems(instance, &instance.frontend_api, settings)
        };
        assert_eq!(problems(&production, &settings("shop.example.org")), []);
        assert_eq!(problems(&production, &settings("shop.example.org:8443")).len(), 1);
        assert_eq!(problems(&development, &settings("shop.example.org:8443")), []);
        assert_eq!(problems(&development, &settings("example.com")).len(), 1);
        let mut twice = settings("shop.example.org");
        twice.satellites[0].id = Some(ids::primary(&production.id));
        assert_eq!(problems(&production, &twice).len(), 1);
        twice.satellites[0].id = Some(serde_json::from_str("\"dmn_x\"").unwrap());
        assert_eq!(problems(&production, &twice).len(), 1);
    }

    #[test]
    fn the_name_of_a_domain_has_no_host_of_the_frontend_api_in_it() {
        for (frontend_api, expected) in [
            ("clerk.example.com", "example.com"),
            ("clerk.shop.example.co.uk:8443", "shop.example.co.uk"),
            ("auth.example.com", "auth.example.com"),
            ("clerk.com", "clerk.com"),
            ("127.0.0.1:3401", "127.0.0.1"),
        ] {
            assert_eq!(name(frontend_api), expected);
        }
    }
}
