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
