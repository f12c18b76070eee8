//! How domains and tries of proxies look to backends.

use latchkey_base::Time;
use latchkey_base::kinds::{DomainId, ProxyCheckId};
use latchkey_kernel::App;
use latchkey_kernel::domains::{ids, rules};
use latchkey_kernel::hosts::{self, url_of};
use latchkey_kernel::instances::model::Instance;
use latchkey_kernel::object;
use latchkey_kernel::origins::canonical;
use latchkey_kernel::settings::Satellite;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Domain")]
pub struct InstanceDomainView {
    object: DomainObject,
    id: DomainId,
    name: String,
    is_satellite: bool,
    frontend_api_url: String,
    /// Where the hosted pages are; null for satellites, which use those of the primary domain.
    accounts_portal_url: Option<String>,
    proxy_url: Option<String>,
    /// Where the application of a development instance is (`display.home_url`), or an empty text.
    development_origin: String,
    /// What the DNS must say so that everything leads where the Frontend API of the primary domain does; null on
    /// development instances.
    cname_targets: Option<Vec<CnameTargetView>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CNameTarget")]
pub struct CnameTargetView {
    host: String,
    value: String,
    /// Whether the domain does not work without it.
    required: bool,
}

object!(DomainObject, "domain");

/// All domains of an instance, newest first.
pub fn domains(app: &App, instance: &Instance) -> Vec<InstanceDomainView> {
    let satellites = instance.settings.satellites.iter().rev().map(|it| satellite(app, instance, it));
    satellites.chain([primary(app, instance)]).collect()
}

/// One of them, if the instance has it.
pub fn domain(app: &App, instance: &Instance, id: &DomainId) -> Option<InstanceDomainView> {
    domains(app, instance).into_iter().find(|domain| domain.id == *id)
}

fn primary(app: &App, instance: &Instance) -> InstanceDomainView {
    let (host, name) = (hosts::name(&instance.frontend_api), rules::name(&instance.frontend_api));
    // SDKs look for hosted pages there only if the Frontend API has the usual name.
    let accounts = (host != name).then(|| CnameTargetView {
        host: format!("accounts.{name}"),
        value: host.to_owned(),
        required: false,
    });
    let home = instance.settings.display.home_url.as_deref().filter(|_| instance.is_development());
    InstanceDomainView {
        object: DomainObject::It,
        id: ids::primary(&instance.id),
        name: name.to_owned(),
        is_satellite: false,
        frontend_api_url: app.public_url(&instance.frontend_api),
        accounts_portal_url: Some(app.primary_url(&instance.frontend_api, &instance.settings)),
        proxy_url: instance.settings.proxy_url.clone(),
        development_origin: home.and_then(canonical).unwrap_or_default(),
        cname_targets: in_production(instance, accounts),
    }
}

fn satellite(app: &App, instance: &Instance, satellite: &Satellite) -> InstanceDomainView {
    let host = satellite.host();
    // Publishable keys lead pages of development instances to the primary domain, also those of satellites.
    let is_shared = instance.is_development() && satellite.frontend_api.is_none();
    let direct = satellite.proxy_url.is_none().then(|| CnameTargetView {
        host: host.clone(),
        value: hosts::name(&instance.frontend_api).to_owned(),
        required: true,
    });
    InstanceDomainView {
        object: DomainObject::It,
        id: ids::satellite(&instance.id, satellite),
        name: satellite.name.clone(),
        is_satellite: true,
        frontend_api_url: if is_shared { app.public_url(&instance.frontend_api) } else { url_of(&host) },
        accounts_portal_url: None,
        proxy_url: satellite.proxy_url.clone(),
        development_origin: String::new(),
        cname_targets: in_production(instance, direct),
    }
}

fn in_production(instance: &Instance, target: Option<CnameTargetView>) -> Option<Vec<CnameTargetView>> {
    (!instance.is_development()).then(|| target.into_iter().collect())
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ProxyCheck")]
pub struct ProxyCheckView<'a> {
    object: ProxyCheckObject,
    id: ProxyCheckId,
    domain_id: &'a DomainId,
    last_run_at: Option<Time>,
    proxy_url: &'a str,
    successful: bool,
    created_at: Time,
    updated_at: Time,
}

object!(ProxyCheckObject, "proxy_check");

/// A try that went well. Others are errors.
pub fn proxy_check<'a>(
    id: ProxyCheckId,
    domain_id: &'a DomainId,
    proxy_url: &'a str,
    now: Time,
) -> ProxyCheckView<'a> {
    ProxyCheckView {
        object: ProxyCheckObject::It,
        id,
        domain_id,
        last_run_at: Some(now),
        proxy_url,
        successful: true,
        created_at: now,
        updated_at: now,
    }
}
