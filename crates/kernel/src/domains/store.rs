//! The SQL of the hosts of satellites.

use latchkey_base::Result;
use latchkey_base::kinds::InstanceId;
use latchkey_db::{Table, Tx};

use crate::settings::Satellite;
use crate::{hosts, migrations};

static SATELLITE_HOSTS: Table = Table::new("satellite_hosts", &["instance_id", "host"]);

/// Keeps the hosts of an instance's satellites, and no others of it.
pub async fn save(tx: &mut Tx, instance: &InstanceId, satellites: &[Satellite]) -> Result<()> {
    tx.run(&["DELETE FROM satellite_hosts WHERE instance_id = $1"], &[instance.into()]).await?;
    for satellite in satellites {
        SATELLITE_HOSTS.insert(tx, &[instance.into(), satellite.host().into()]).await?;
    }
    Ok(())
}

/// Lets one transaction at a time, of whatever instance, decide who has which host: the hosts of primary domains and
/// those of satellites are in two tables, which no constraint covers. The first step of the schema is always there.
pub async fn lock_hosts(tx: &mut Tx) -> Result<()> {
    let step = "SELECT name FROM schema_migrations WHERE name = $1";
    tx.lock(&[step], &[migrations::ALL[0].name.into()], |row| row.text(0)).await?;
    Ok(())
}

/// Whether the registrable domain of a host is that of another instance: its Frontend API or that of a satellite lies there.
/// All hosts below such a domain share cookies, so the first one to be there has them all. Hosts that have no registrable
/// domain, and those of one's own machine, are each for themselves.
pub async fn is_beside_others(tx: &mut Tx, instance: &InstanceId, host: &str) -> Result<bool> {
    let is_local = |domain: &&str| {
        let end = domain.rsplit('.').next().unwrap_or_default();
        end == "localhost" || end.bytes().all(|byte| byte.is_ascii_digit())
    };
    let domain = hosts::registrable(host).filter(|domain| !is_local(domain)).map(str::to_ascii_lowercase);
    let Some(domain) = domain else { return Ok(false) };
    let pattern = format!("%{domain}%");
    let sql = "SELECT frontend_api FROM instances WHERE id <> $1 AND frontend_api LIKE $2 UNION ALL \
               SELECT host FROM satellite_hosts WHERE instance_id <> $1 AND host LIKE $2";
    let found = tx.all(&[sql], &[instance.into(), pattern.into()], |row| row.text(0)).await?;
    // What is a wildcard in the pattern finds more hosts than are meant.
    Ok(found.iter().any(|other| hosts::registrable(other) == Some(&domain)))
}

/// The other instance that requests to a host are for, if there is one.
pub async fn holder(tx: &mut Tx, instance: &InstanceId, host: &str) -> Result<Option<InstanceId>> {
    let sql = "SELECT id FROM instances WHERE id <> $1 AND frontend_api = $2 UNION ALL \
               SELECT instance_id FROM satellite_hosts WHERE instance_id <> $1 AND host = $2";
    for host in hosts::leads_to(host) {
        let found = tx.maybe(&[sql], &[instance.into(), host.into()], |row| row.id(0)).await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
