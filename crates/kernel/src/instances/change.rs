//! Changing the settings of an instance: one way for the command line and for the API.

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Error, Result};
use latchkey_db::Tx;
use serde_json::Value;

use super::model::Instance;
use super::store;
use crate::domains::{ids, rules, store as hosts};
use crate::settings::{Satellite, Settings, SettingsFault, edit};

/// An instance as it was, and its settings as they are now.
pub struct ChangedSettings {
    pub before: Instance,
    pub after: Settings,
}

/// Makes changes, all or none. What is wrong with them is told, and nothing is changed then.
pub async fn settings(
    tx: &mut Tx,
    id: &InstanceId,
    changes: &[(String, Value)],
) -> Result<Result<ChangedSettings, Vec<SettingsFault>>> {
    with_host(tx, id, None, changes).await
}

/// The same, and moves the Frontend API of the instance to another host.
pub async fn with_host(
    tx: &mut Tx,
    id: &InstanceId,
    host: Option<&str>,
    changes: &[(String, Value)],
) -> Result<Result<ChangedSettings, Vec<SettingsFault>>> {
    let before = store::lock(tx, id).await?.ok_or_else(|| Error::not_found("instance", id))?;
    let mut after = match edit::changed(&before.settings, changes) {
        Ok(after) => after,
        Err(faults) => return Ok(Err(faults)),
    };
    after.satellites = ids::kept(id, &before.settings.satellites, after.satellites);
    let host = host.filter(|host| *host != before.frontend_api);
    if host.is_some() || satellite_hosts(&after.satellites) != satellite_hosts(&before.settings.satellites) {
        hosts::lock_hosts(tx).await?;
    }
    let mut faults = domain_faults(tx, &before, host, &after).await?;
    let environment = before.environment;
    faults.extend(edit::new_faults(&before.settings, &after, |it| it.problems_on(environment)));
    if !faults.is_empty() {
        return Ok(Err(faults));
    }
    if after != before.settings {
        store::save_settings(tx, id, &after).await?;
    }
    if let Some(host) = host {
        store::save_frontend_api(tx, id, host).await?;
    }
    Ok(Ok(ChangedSettings { before, after }))
}

fn satellite_hosts(satellites: &[Satellite]) -> Vec<String> {
    satellites.iter().map(Satellite::host).collect()
}

/// What is wrong with the domains of an instance that its settings alone do not tell.
async fn domain_faults(
    tx: &mut Tx,
    before: &Instance,
    host: Option<&str>,
    next: &Settings,
) -> Result<Vec<SettingsFault>> {
    let frontend_api = host.unwrap_or(&before.frontend_api);
    let mut faults = rules::problems(before, frontend_api, next);
    let had = satellite_hosts(&before.settings.satellites);
    let claimed = satellite_hosts(&next.satellites).into_iter().filter(|host| !had.contains(host));
    for claimed in claimed.chain(host.map(str::to_owned)) {
        if hosts::holder(tx, &before.id, &claimed).await?.is_some() {
            let text = format!("{claimed} is the Frontend API of another domain or instance.");
            faults.push(SettingsFault { path: "satellites".to_owned(), text });
        }
    }
    Ok(faults)
}
