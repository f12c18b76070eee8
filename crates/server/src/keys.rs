//! The keys of an instance, as commands print them.

use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_kernel::instances::keys::publishable_key;
use serde::Serialize;

use crate::config::Config;
use crate::provision::{Made, Storage};
use crate::{reach, show};

/// The keys of an instance, as `keys` and `instances create` print them.
#[derive(Serialize)]
pub(crate) struct InstanceKeys {
    instance_id: InstanceId,
    environment: &'static str,
    secret_key: String,
    secret_key_id: SecretKeyId,
    publishable_key: String,
    api_url: String,
    frontend_api: String,
}

impl InstanceKeys {
    /// The keys of an instance of the server that `config` describes.
    pub(crate) fn new(config: &Config, storage: &Storage, made: &Made) -> InstanceKeys {
        let instance = storage.instances.iter().find(|instance| instance.id == made.id);
        let host = instance.map(|instance| reach::key_host(config, storage, instance));
        let frontend_api = host.unwrap_or_else(|| made.frontend_api.clone());
        InstanceKeys {
            instance_id: made.id.clone(),
            environment: made.environment.name(),
            secret_key: made.key.expose().to_owned(),
            secret_key_id: made.key_id.clone(),
            publishable_key: publishable_key(made.environment, &frontend_api),
            api_url: config.api_url(config.listen),
            frontend_api,
        }
    }

    /// A line of a table of several instances: name, keys, host and id.
    pub(crate) fn row(&self, name: &str) -> Vec<String> {
        let instance = format!("{} ({})", self.instance_id, self.environment);
        let keys = [&self.secret_key, &self.publishable_key, &self.frontend_api];
        let texts = [name].into_iter().chain(keys.into_iter().map(String::as_str)).chain([instance.as_str()]);
        texts.map(str::to_owned).collect()
    }

    /// Prints them for people or as one JSON object.
    pub(crate) fn print(&self, as_json: bool) {
        if as_json {
            return show::json(self);
        }
        show::result(&show::aligned(&[
            ("api url", &self.api_url),
            ("secret key", &self.secret_key),
            ("id of the key", self.secret_key_id.as_str()),
            ("publishable key", &self.publishable_key),
            ("frontend api", &self.frontend_api),
            ("instance", &format!("{} ({})", self.instance_id, self.environment)),
        ]));
    }
}
