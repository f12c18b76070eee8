//! `latchkey instances`: list, create and delete.

use clap::ArgMatches;
use latchkey_kernel::environment::Environment;
use latchkey_kernel::hosts;
use latchkey_kernel::instances::keys::publishable_key;
use latchkey_kernel::instances::model::Instance;
use latchkey_kernel::settings::EmailTransport;
use serde_json::{Value, json};

use super::{described_instances, keys};
use crate::config::Config;
use crate::failure::Failure;
use crate::keys::InstanceKeys;
use crate::provision::{self, Host, Storage};
use crate::show::{self, rfc3339};
use crate::{files, reach};

/// Lists all instances.
pub(crate) async fn list(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let storage = Storage::existing(config).await?;
    if line.get_flag("json") {
        let list: Vec<Value> =
            storage.instances.iter().map(|instance| as_json(config, &storage, instance)).collect();
        show::json(&list);
        return Ok(());
    }
    if storage.instances.is_empty() {
        show::note("there is no instance yet; `latchkey serve` and `latchkey instances create` make one");
        return Ok(());
    }
    let row = |instance: &Instance| {
        let host = reach::key_host(config, &storage, instance);
        vec![
            instance.id.to_string(),
            instance.environment.name().to_owned(),
            host.clone(),
            publishable_key(instance.environment, &host),
            rfc3339(instance.created_at),
        ]
    };
    let rows: Vec<Vec<String>> = storage.instances.iter().map(row).collect();
    show::result(&show::table(&["ID", "ENVIRONMENT", "FRONTEND API", "PUBLISHABLE KEY", "CREATED"], &rows));
    Ok(())
}

/// Creates an instance, or those that a file describes.
pub(crate) async fn create(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    if let Some(path) = line.get_one::<String>("from") {
        return described_instances::create(config, line, path).await;
    }
    let wanted = line.get_one::<String>("environment").and_then(|name| Environment::parse(name));
    let environment = wanted.unwrap_or(Environment::Development);
    let mut storage = keys::open_anywhere(config).await?;
    let master = storage.master_key(config).await?;
    let host = host(config, &storage, environment, line.get_one::<String>("frontend-api"))?;
    let made = provision::create(&storage.db, environment, host, &master).await?;
    if environment == Environment::Development && storage.development().is_none() {
        provision::keep_key(config, &made, &master);
    }
    show::note(match environment {
        Environment::Development => "a development instance was created",
        Environment::Production => {
            "a production instance was created; keep its secret key, it is not shown again"
        }
    });
    storage.reload().await?;
    if let Some(text) = find(&storage, made.id.as_str()).ok().and_then(mute) {
        show::note(&text);
    }
    keys::doubt_address(config);
    InstanceKeys::new(config, &storage, &made).print(line.get_flag("json"));
    Ok(())
}

/// What to say of a production instance that has no transport for e-mails: nobody gets a code from it.
pub(super) fn mute(instance: &Instance) -> Option<String> {
    let is_mute = instance.settings.messages.email.transport == EmailTransport::None;
    (is_mute && !instance.is_development()).then(|| {
        format!("{} (production) sends no e-mail yet: set messages.email (docs/MESSAGES.md)", instance.id)
    })
}

/// Where the new instance has its Frontend API: as the line or the file says, or on this machine.
pub(super) fn host(
    config: &Config,
    storage: &Storage,
    environment: Environment,
    given: Option<&String>,
) -> Result<Host, Failure> {
    if let Some(text) = given {
        if reach::local_host(storage, config.frontend_port()).as_ref() == Some(text) {
            return Err(Failure::usage(
                format!("{text} is the host that the first development instance has with `latchkey trust`."),
                "Choose another host with --frontend-api: it tells browsers' requests for one instance from those for \
                 another.",
            ));
        }
        return hosts::checked(text).map(Host::Given).map_err(|reason| {
            Failure::usage(
                format!("{text:?} cannot be the host of a Frontend API: {reason}."),
                "Write the host alone, with a port if it needs one: --frontend-api clerk.example.com",
            )
        });
    }
    match environment {
        Environment::Production => Err(Failure::usage(
            "A production instance needs a host of its own, at which browsers reach its Frontend API.",
            "Say which one: --frontend-api clerk.example.com",
        )),
        Environment::Development if storage.development().is_none() => Ok(Host::Given(config.frontend_api())),
        Environment::Development => Ok(Host::Local(config.frontend_port())),
    }
}

/// Deletes an instance, once that is confirmed.
pub(crate) async fn delete(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let storage = Storage::existing(config).await?;
    let wanted = line.get_one::<String>("id").map(String::as_str).unwrap_or_default();
    let instance = find(&storage, wanted)?;
    let (id, environment) = (instance.id.clone(), instance.environment.name());
    if !line.get_flag("yes") {
        return Err(Failure::usage(
            format!(
                "This deletes the {environment} instance {id} with its users, keys and settings, for ever."
            ),
            format!("If that is what you want: latchkey instances delete {id} --yes"),
        ));
    }
    // Without the master key nobody can tell whose key is kept; it is of no use then anyway.
    let kept = match storage.master_key(config).await {
        Ok(master) => files::find_development_key(&config.data_dir, &id, &master).is_some(),
        Err(_) => false,
    };
    provision::delete(&storage.db, &id).await?;
    if kept && let Err(error) = files::forget_development_key(&config.data_dir) {
        tracing::warn!("the file development.key of the deleted instance cannot be removed: {error}");
    }
    show::result(&format!("The {environment} instance {id} was deleted."));
    Ok(())
}

/// The instance with this id, or the oldest development instance.
pub(crate) fn select<'a>(storage: &'a Storage, wanted: Option<&str>) -> Result<&'a Instance, Failure> {
    match wanted {
        None => storage.development().ok_or_else(|| {
            let hint = match storage.instances.first() {
                Some(instance) => format!(
                    "Name one, for example --instance {} ({}); `latchkey instances list` shows all.",
                    instance.id,
                    instance.environment.name()
                ),
                None => "Create one: latchkey instances create --environment development".to_owned(),
            };
            Failure::usage("There is no development instance.", hint)
        }),
        Some(id) => find(storage, id),
    }
}

fn find<'a>(storage: &'a Storage, id: &str) -> Result<&'a Instance, Failure> {
    storage.instances.iter().find(|instance| instance.id.as_str() == id).ok_or_else(|| {
        Failure::usage(
            format!("There is no instance {id:?}."),
            "`latchkey instances list` shows all there are.",
        )
    })
}

fn as_json(config: &Config, storage: &Storage, instance: &Instance) -> Value {
    let host = reach::key_host(config, storage, instance);
    json!({
        "id": instance.id,
        "instance_id": instance.id,
        "environment": instance.environment.name(),
        "frontend_api": host,
        "publishable_key": publishable_key(instance.environment, &host),
        "created_at": instance.created_at,
    })
}
