//! Changing the settings of an instance: one way for the command line and for the API.

use latchkey_base::kinds::DomainId;
use latchkey_base::{Error, Result};
use latchkey_db::Tx;
use serde_json::Value;

use super::model::Instance;
use super::store;
use crate::domains::{ids, rules, store as hosts};
use crate::events::Event;
use crate::outbox::{ChangeOrigin, emit_change};
use crate::settings::{Satellite, Settings, SettingsFault, edit};

/// An instance as it was, and its settings as they are now.
pub struct ChangedSettings {
    pub before: Instance,
    pub after: Settings,
}

/// Makes changes, all or none. What is wrong with them is told, and nothing is changed then.
pub async fn settings(
    tx: &mut Tx,
    origin: &ChangeOrigin,
    changes: &[(String, Value)],
) -> Result<Result<ChangedSettings, Vec<SettingsFault>>> {
    with_host(tx, origin, None, changes).await
}

/// The same, and moves the Frontend API of the instance to another host.
pub async fn with_host(
    tx: &mut Tx,
    origin: &ChangeOrigin,
    host: Option<&str>,
    changes: &[(String, Value)],
) -> Result<Result<ChangedSettings, Vec<SettingsFault>>> {
    let id = &origin.instance;
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
    save(tx, origin, &before, host, &after).await?;
    Ok(Ok(ChangedSettings { before, after }))
}

/// Saves settings that were checked, and the host of the Frontend API if it changes, with the events about it.
pub async fn save(
    tx: &mut Tx,
    origin: &ChangeOrigin,
    before: &Instance,
    host: Option<&str>,
    after: &Settings,
) -> Result<()> {
    if *after != before.settings {
        store::save_settings(tx, &before.id, after).await?;
        emit_settings(tx, origin, &before.settings, after)?;
        emit_satellites(tx, origin, &before.settings.satellites, &after.satellites)?;
    }
    if let Some(host) = host {
        store::save_frontend_api(tx, &before.id, host).await?;
        let domain = ids::primary(&before.id);
        emit_change(tx, origin, Event::DomainUpdated, domain.as_str(), &["frontend_api".to_owned()])?;
    }
    Ok(())
}

/// Names the settings that changed. Satellites have events of their own.
fn emit_settings(tx: &mut Tx, origin: &ChangeOrigin, before: &Settings, after: &Settings) -> Result<()> {
    let differences = edit::differences(before, after)?;
    let paths = differences.into_iter().map(|(path, _)| path).filter(|path| path != "satellites");
    let changed: Vec<String> = paths.collect();
    if changed.is_empty() {
        return Ok(());
    }
    emit_change(tx, origin, Event::SettingsUpdated, origin.instance.as_str(), &changed)
}

fn emit_satellites(
    tx: &mut Tx,
    origin: &ChangeOrigin,
    before: &[Satellite],
    after: &[Satellite],
) -> Result<()> {
    // A domain may be stored with or without the id that follows from its name.
    let with_id =
        |it: &Satellite| (ids::satellite(&origin.instance, it), Satellite { id: None, ..it.clone() });
    let before: Vec<(DomainId, Satellite)> = before.iter().map(with_id).collect();
    let after: Vec<(DomainId, Satellite)> = after.iter().map(with_id).collect();
    for (id, satellite) in &after {
        let kind = match before.iter().find(|(known, _)| known == id) {
            None => Event::DomainCreated,
            Some((_, old)) if old != satellite => Event::DomainUpdated,
            Some(_) => continue,
        };
        emit_change(tx, origin, kind, id.as_str(), &[])?;
    }
    for (id, _) in before.iter().filter(|(id, _)| after.iter().all(|(kept, _)| kept != id)) {
        emit_change(tx, origin, Event::DomainDeleted, id.as_str(), &[])?;
    }
    Ok(())
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
