//! `latchkey instances create --from FILE`: instances as a file describes them, all or none.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::ArgMatches;
use latchkey_kernel::environment::Environment;
use latchkey_kernel::settings::SettingsFault;
use latchkey_organizations::access::described::{DescribedPermission, DescribedRole};
use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Table;

use super::settings::{explained, text_of};
use super::{instances, keys};
use crate::config::Config;
use crate::failure::Failure;
use crate::keys::InstanceKeys;
use crate::provision::{self, Host, InstancePlan, Made, PlanFault};
use crate::show;

const EXAMPLE: &str = "docs/CONFIGURATION.md has an example.";

/// An instance of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribedInstance {
    name: String,
    #[serde(default = "development")]
    environment: String,
    /// Where browsers reach its Frontend API.
    host: Option<String>,
    #[serde(default)]
    settings: Map<String, Value>,
    #[serde(default)]
    permissions: Vec<DescribedPermission>,
    #[serde(default)]
    roles: Vec<DescribedRole>,
}

fn development() -> String {
    Environment::Development.name().to_owned()
}

/// Creates all instances that a file describes, and prints their keys by name.
pub(super) async fn create(config: &Config, line: &ArgMatches, path: &str) -> Result<(), Failure> {
    let described = read(&text_of(path)?)?;
    let mut storage = keys::open_anywhere(config).await?;
    let master = Arc::new(storage.master_key(config).await?);
    let had_development = storage.development().is_some();
    let mut has_development = had_development;
    let (mut names, mut wanted) = (Vec::new(), Vec::new());
    for DescribedInstance { name, environment, host, settings, permissions, roles } in described {
        let fault = |text: &str| rejected(&[(name.as_str(), "environment", text.to_owned())]);
        let environment = Environment::parse(&environment)
            .ok_or_else(|| fault("The environment is development or production."))?;
        let host = match (&host, has_development) {
            // The first development instance of the file has the host that the configuration says.
            (None, true) if environment == Environment::Development => Host::Local(config.frontend_port()),
            _ => instances::host(config, &storage, environment, host.as_ref())
                .map_err(|failure| rejected(&[(name.as_str(), "host", failure.message)]))?,
        };
        has_development |= environment == Environment::Development;
        let settings = settings.into_iter().collect();
        names.push(name);
        wanted.push(InstancePlan { environment, host, settings, permissions, roles });
    }
    let made = match provision::create_all(&storage.db, wanted, &master).await? {
        Ok(made) => made,
        Err(faults) => return Err(rejected_all(&names, &faults)),
    };
    let first = made.iter().find(|made| made.environment == Environment::Development);
    if let Some(first) = first.filter(|_| !had_development) {
        provision::keep_key(config, first, &master);
    }
    storage.reload().await?;
    let count = made.len();
    show::note(&format!("{count} instances were created; keep the secret keys, they are not shown again"));
    keys::doubt_address(config);
    let printed = |made: &Made| InstanceKeys::new(config, &storage, made);
    let made: BTreeMap<String, InstanceKeys> = names.into_iter().zip(made.iter().map(printed)).collect();
    if line.get_flag("json") {
        show::json(&made);
        return Ok(());
    }
    let rows: Vec<Vec<String>> = made.iter().map(|(name, keys)| keys.row(name)).collect();
    show::result(&show::table(&["NAME", "SECRET KEY", "PUBLISHABLE KEY", "FRONTEND API", "INSTANCE"], &rows));
    Ok(())
}

/// Reads the file. Each instance is read by itself, so that the error names it.
fn read(text: &str) -> Result<Vec<DescribedInstance>, Failure> {
    let unusable = |text: &str| Failure::usage(format!("The file cannot be used: {text}"), EXAMPLE);
    // Errors name the line and never repeat it: it may hold a secret.
    let mut file: Table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        unusable(&format!("line {}: {}", before.matches('\n').count() + 1, error.message()))
    })?;
    let list = file.remove("instances").unwrap_or_else(|| toml::Value::Array(Vec::new()));
    if let Some(key) = file.keys().next() {
        return Err(unusable(&format!("it has a key {key:?} beside `[[instances]]`.")));
    }
    let toml::Value::Array(list) = list else {
        return Err(unusable("`instances` is not a list: write `[[instances]]` above each."));
    };
    if list.is_empty() {
        return Err(unusable("it describes no instance: write `[[instances]]` above each."));
    }
    let mut all: Vec<DescribedInstance> = Vec::with_capacity(list.len());
    for (number, value) in (1..).zip(list) {
        let unnamed = format!("number {number}");
        let name = value.get("name").and_then(toml::Value::as_str).unwrap_or(&unnamed).to_owned();
        let read: Result<DescribedInstance, _> = value.try_into();
        let instance = read.map_err(|error| rejected(&[(&name, "", without_values(error.message()))]))?;
        if instance.name.trim().is_empty() {
            return Err(rejected(&[(&unnamed, "name", "The name must not be empty.".to_owned())]));
        }
        if all.iter().any(|other| other.name == name) {
            return Err(rejected(&[(&name, "name", "Two instances have this name.".to_owned())]));
        }
        all.push(instance);
    }
    Ok(all)
}

/// The message of an error of serde without the value that it found, which may be a secret.
fn without_values(message: &str) -> String {
    match message.split_once(", expected ") {
        Some((found, expected)) if found.starts_with("invalid ") => {
            format!("A value is not of the right type: expected {expected}")
        }
        _ => message.to_owned(),
    }
}

fn rejected_all(names: &[String], faults: &[PlanFault]) -> Failure {
    let shown = |PlanFault { at, fault }: &PlanFault| {
        let name = names.get(*at).map(String::as_str).unwrap_or_default();
        let text = match fault.path.strip_prefix("settings.") {
            Some(path) => explained(&SettingsFault { path: path.to_owned(), text: fault.text.clone() }),
            None => fault.text.clone(),
        };
        (name.to_owned(), fault.path.clone(), text)
    };
    let shown: Vec<(String, String, String)> = faults.iter().map(shown).collect();
    let all: Vec<(&str, &str, String)> =
        shown.iter().map(|(name, path, text)| (name.as_str(), path.as_str(), text.clone())).collect();
    rejected(&all)
}

/// The failure of a file with mistakes: for each the name of the instance, the key and what is wrong.
fn rejected(mistakes: &[(&str, &str, String)]) -> Failure {
    let shown = |(name, key, text): &(&str, &str, String)| {
        let key = if key.is_empty() { String::new() } else { format!(": {key}") };
        format!("\n  instance {name:?}{key}\n    {}\n", text.trim_end())
    };
    let list: String = mistakes.iter().map(shown).collect();
    Failure::usage(format!("No instance was created. The file has mistakes:\n{list}"), EXAMPLE)
}
