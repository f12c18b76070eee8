//! How apps and browsers reach an instance: over plain HTTP on this machine, or over HTTPS at the host that its
//! publishable key names.

use latchkey_kernel::hosts::{self, url_of};
use latchkey_kernel::instances::keys::publishable_key;
use latchkey_kernel::instances::model::Instance;

use crate::config::Config;
use crate::frameworks::Target;
use crate::provision::Storage;
use crate::trust;

/// The way to an instance.
pub(crate) struct Reach {
    /// The host that its publishable key names.
    pub(crate) host: String,
    /// Where browsers find the Frontend API and the hosted pages.
    pub(crate) url: String,
    /// Whom its session tokens are from.
    pub(crate) issuer: String,
    /// Whether SDKs find the way by the key alone: over HTTPS, at the host it names.
    pub(crate) is_in_key: bool,
}

/// Where the Frontend API listens: the URL for browsers, and the port unless every start takes another one.
pub(crate) struct Listener {
    pub(crate) url: String,
    pub(crate) port: Option<u16>,
}

impl Listener {
    /// As the configuration says.
    pub(crate) fn configured(config: &Config) -> Listener {
        Listener { url: config.frontend_url(config.frontend_listen), port: config.frontend_port() }
    }
}

impl Reach {
    /// The best way to an instance: HTTPS where it is trusted.
    pub(crate) fn best(
        config: &Config,
        storage: &Storage,
        instance: &Instance,
        listener: &Listener,
    ) -> Reach {
        let is_first = storage.development().is_some_and(|first| first.id == instance.id);
        let is_local = instance.is_development() && is_local(&instance.frontend_api);
        match trust::is_used(config) && (is_first || is_local) {
            true => Reach::in_key(trust::host_of(&instance.frontend_api, listener.port)),
            false => Reach::plain(storage, instance, listener),
        }
    }

    /// The way without the local certificate authority.
    pub(crate) fn plain(storage: &Storage, instance: &Instance, listener: &Listener) -> Reach {
        let (host, issuer) = (instance.frontend_api.clone(), url_of(&instance.frontend_api));
        let is_first = storage.development().is_some_and(|first| first.id == instance.id);
        let url = if is_first { listener.url.clone() } else { issuer.clone() };
        let is_in_key = url == format!("https://{host}");
        Reach { host, url, issuer, is_in_key }
    }

    fn in_key(host: String) -> Reach {
        let url = format!("https://{host}");
        Reach { host, issuer: url.clone(), url, is_in_key: true }
    }

    /// The key browsers carry.
    pub(crate) fn publishable_key(&self, instance: &Instance) -> String {
        publishable_key(instance.environment, &self.host)
    }

    /// What an app needs to know of the instance.
    pub(crate) fn target(&self, instance: &Instance, api_url: &str, secret_key: Option<String>) -> Target {
        Target {
            instance: instance.id.to_string(),
            api_url: api_url.to_owned(),
            publishable_key: self.publishable_key(instance),
            secret_key,
            issuer: self.issuer.clone(),
            plain_url: (!self.is_in_key).then(|| self.url.clone()),
        }
    }
}

/// The other host of the first development instance, unless it has none or another instance is there.
pub(crate) fn local_host(storage: &Storage, port: Option<u16>) -> Option<String> {
    let first = storage.development()?;
    let host = trust::host_of(&first.frontend_api, port);
    let is_taken = storage.instances.iter().any(|instance| instance.frontend_api == host);
    (!is_taken).then_some(host)
}

/// The host in the publishable key of an instance: the best way to it.
pub(crate) fn key_host(config: &Config, storage: &Storage, instance: &Instance) -> String {
    Reach::best(config, storage, instance, &Listener::configured(config)).host
}

fn is_local(frontend_api: &str) -> bool {
    trust::is_local_name(hosts::name(frontend_api))
}
