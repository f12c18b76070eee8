//! The SQL of the hosts of satellites.

use latchkey_base::Result;
use latchkey_base::kinds::InstanceId;
use latchkey_db::Tx;

use crate::settings::Satellite;

/// Keeps the hosts of an instance's satellites, and no others of it.
pub async fn save(tx: &mut Tx, instance: &InstanceId, satellites: &[Satellite]) -> Result<()> {
    tx.run(&["DELETE FROM satellite_hosts WHERE instance_id = $1"], &[instance.into()]).await?;
    for satellite in satellites {
        let sql = "INSERT INTO satellite_hosts (instance_id, host) VALUES ($1, $2)";
        tx.run(&[sql], &[instance.into(), satellite.host().into()]).await?;
    }
    Ok(())
}

/// Whether a host tells requests for another instance, or for this one's own domain.
pub async fn is_taken(tx: &mut Tx, instance: &InstanceId, host: &str) -> Result<bool> {
    let sql = "SELECT id FROM instances WHERE frontend_api = $2 UNION ALL \
               SELECT instance_id FROM satellite_hosts WHERE instance_id <> $1 AND host = $2";
    let found = tx.all(&[sql], &[instance.into(), host.into()], |row| row.text(0)).await?;
    Ok(!found.is_empty())
}
