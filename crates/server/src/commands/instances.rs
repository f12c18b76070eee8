//! `latchkey instances`: list, create and delete.

use clap::ArgMatches;
use latchkey_app::resources::instances::model::{Environment, Instance};
use latchkey_base::Time;
use serde_json::{Value, json};

use crate::config::Config;
use crate::failure::Failure;
use crate::files;
use crate::provision::{self, Storage};
use crate::show::{self, Keys};

/// Lists all instances.
pub(crate) async fn list(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let storage = Storage::open(config).await?;
    if line.get_flag("json") {
        let list: Vec<Value> = storage.instances.iter().map(as_json).collect();
        show::json(&list);
        return Ok(());
    }
    if storage.instances.is_empty() {
        show::note("there is no instance yet; `latchkey serve` and `latchkey instances create` make one");
        return Ok(());
    }
    // An id has 31 characters.
    show::result(&format!("{:31}  {:11}  CREATED", "ID", "ENVIRONMENT"));
    for Instance { id, environment, created_at, .. } in &storage.instances {
        show::result(&format!("{:31}  {:11}  {}", id.as_str(), environment.name(), rfc3339(*created_at)));
    }
    Ok(())
}

/// Creates an instance.
pub(crate) async fn create(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let wanted = line.get_one::<String>("environment").and_then(|name| Environment::parse(name));
    let environment = wanted.unwrap_or(Environment::Development);
    let storage = Storage::open(config).await?;
    let master = storage.master_key(config).await?;
    let made = provision::create(&storage.db, environment, &master).await?;
    if environment == Environment::Development && storage.development().is_none() {
        provision::keep_key(config, &made, &master);
    }
    show::note(match environment {
        Environment::Development => "a development instance was created",
        Environment::Production => {
            "a production instance was created; keep its secret key, it is not shown again"
        }
    });
    Keys::new(config, &made.id, made.environment, &made.key).print(line.get_flag("json"));
    Ok(())
}

/// Deletes an instance, once that is confirmed.
pub(crate) async fn delete(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let storage = Storage::open(config).await?;
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

/// The instance with this id.
pub(crate) fn find<'a>(storage: &'a Storage, id: &str) -> Result<&'a Instance, Failure> {
    storage.instances.iter().find(|instance| instance.id.as_str() == id).ok_or_else(|| {
        Failure::usage(
            format!("There is no instance {id:?}."),
            "`latchkey instances list` shows all there are.",
        )
    })
}

fn as_json(instance: &Instance) -> Value {
    json!({
        "instance_id": instance.id,
        "environment": instance.environment.name(),
        "created_at": instance.created_at,
    })
}

fn rfc3339(time: Time) -> String {
    jiff::Timestamp::from_millisecond(time.ms())
        .map_or_else(|_| time.ms().to_string(), |moment| moment.to_string())
}
