//! Satellite domains: further domains of an application, whose pages share the sessions of its own domain.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use latchkey_base::kinds::DomainId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{Faults, is_url};
use crate::hosts;
use crate::origins::is_base_url;

/// They are compared one by one with the origin of requests.
const SATELLITES: usize = 50;

/// A further domain of an application. Nobody signs in there: whoever is signed in on the primary domain is
/// signed in on it too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Satellite {
    /// Its id on the Backend API, if it does not follow from the name. Leave it out: it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<DomainId>,
    /// The domain of its pages, such as `shop.example.org`; on development instances with a port, if it has
    /// one.
    pub name: String,
    /// The host at which its pages reach the Frontend API, when that is not `clerk.` before the name.
    #[serde(default)]
    pub frontend_api: Option<String>,
    /// Where its pages reach the Frontend API through a proxy of their own, such as
    /// `https://shop.example.org/__clerk`.
    #[serde(default)]
    pub proxy_url: Option<String>,
}

impl Satellite {
    /// The host at which it has the Frontend API.
    pub fn host(&self) -> String {
        self.frontend_api.clone().unwrap_or_else(|| format!("clerk.{}", self.name))
    }
}

pub(super) fn check(satellites: &[Satellite], faults: &mut Faults) {
    if satellites.len() > SATELLITES {
        faults.add("satellites", format!("There may be at most {SATELLITES}."));
    }
    let (mut names, mut hosts) = (BTreeSet::new(), BTreeSet::new());
    for satellite in satellites {
        let name = &satellite.name;
        if let Some(why) = wrong_name(name) {
            faults.add("satellites", format!("`{name}` cannot be used: {why}."));
        } else if let Some(why) = wrong(&satellite.host()) {
            faults.add("satellites", format!("`{}` cannot be used: {why}.", satellite.host()));
        }
        if !names.insert(name) || !hosts.insert(satellite.host()) {
            faults.add("satellites", format!("`{name}` or its Frontend API is there twice."));
        }
        if satellite.proxy_url.as_deref().is_some_and(|url| !is_proxy(url, name)) {
            let text =
                format!("The proxy_url of `{name}` must be a URL on that domain, with no slash at the end.");
            faults.add("satellites", text);
        }
    }
}

pub(super) fn check_proxy(proxy_url: Option<&str>, faults: &mut Faults) {
    if proxy_url.is_some_and(|url| !url.starts_with("https://") || !is_base_url(url)) {
        faults.add(
            "proxy_url",
            "It must be a URL over https such as https://example.com/__clerk, with no slash at the end.",
        );
    }
}

/// Everything below a domain is taken for its own, so it must not be one that others have a part of.
fn wrong_name(name: &str) -> Option<&'static str> {
    let is_here = hosts::name(name) == "localhost";
    let is_address = hosts::name(name).parse::<Ipv4Addr>().is_ok();
    if !name.contains('.') && !is_here {
        return Some("it has no dot");
    }
    match hosts::registrable(name).is_some() || is_here || is_address {
        true => wrong(&format!("clerk.{name}")),
        false => Some("everybody can have a name below it"),
    }
}

fn wrong(text: &str) -> Option<&'static str> {
    match hosts::checked(text) {
        Ok(host) if host == *text => None,
        Ok(_) => Some("it has capital letters"),
        Err(why) => Some(why),
    }
}

fn is_proxy(url: &str, name: &str) -> bool {
    let rest = url.split_once("://").map(|(_, rest)| rest).unwrap_or_default();
    let host = rest.split('/').next().unwrap_or_default();
    is_url(url) && host == name && !rest.contains(['?', '#']) && !url.ends_with('/')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::settings::Settings;

    fn said(satellites: serde_json::Value) -> Vec<String> {
        let settings: Settings = serde_json::from_value(json!({ "satellites": satellites })).unwrap();
        settings.problems().into_iter().map(|fault| format!("{}: {}", fault.path, fault.text)).collect()
    }

    #[test]
    fn hosts_are_good_ones_and_there_once() {
        let good = json!([
            {"name": "shop.example.org"},
            {"name": "blog.example.org", "proxy_url": "https://blog.example.org/__clerk"},
            {"name": "localhost:4000"},
            {"name": "sat.localhost:3000", "frontend_api": "fapi.sat.localhost:3401"},
        ]);
        assert_eq!(said(good), [""; 0]);
        for bad in [
            json!([{"name": "shop"}]),
            json!([{"name": "Shop.example.org"}]),
            json!([{"name": "https://shop.example.org"}]),
            json!([{"name": "shop.example.org:0"}]),
            json!([{"name": "*.example.org"}]),
            json!([{"name": "vercel.app"}]),
            json!([{"name": "co.uk"}]),
            json!([{"name": "a.org"}, {"name": "a.org", "frontend_api": "b.org"}]),
            json!([{"name": "a.org"}, {"name": "b.org", "frontend_api": "clerk.a.org"}]),
            json!([{"name": "a.org", "proxy_url": "https://b.org/__clerk"}]),
            json!([{"name": "a.org", "proxy_url": "https://a.org/__clerk/"}]),
        ] {
            assert!(!said(bad.clone()).is_empty(), "{bad}");
        }
        let many: Vec<_> = (0..51).map(|number| json!({"name": format!("s{number}.org")})).collect();
        assert_eq!(said(json!(many)), ["satellites: There may be at most 50."]);
    }
}
