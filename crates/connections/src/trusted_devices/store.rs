//! The SQL of the keys of trusted devices, and of what they sign to be enrolled.

use latchkey_base::kinds::{ClientId, InstanceId, TrustedDeviceChallengeId, TrustedDeviceId, UserId};
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, Row, Table, Tx};

use super::model::{DeviceClaim, EnrollmentChallenge, TrustedDeviceKey};

static KEYS: Table =
    Table::new("trusted_devices", &["instance_id", "id"]).fixed(&["user_id", "public_key", "created_at"]);

static CHALLENGES: Table = Table::new("trusted_device_challenges", &["instance_id", "id"]).fixed(&[
    "user_id",
    "client_id",
    "platform",
    "app_identifier",
    "name",
    "public_key",
    "client_data",
    "expire_at",
]);

pub async fn find(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &TrustedDeviceId,
) -> Result<Option<TrustedDeviceKey>> {
    KEYS.find(tx, &[instance.into(), id.into()], read).await
}

/// The keys of a user, also of devices that were revoked.
pub async fn list(tx: &mut Tx, instance: &InstanceId, user: &UserId) -> Result<Vec<TrustedDeviceKey>> {
    let parts = [KEYS.of_instance(), " AND user_id = $2 ORDER BY created_at, id"];
    Ok(tx.all(&parts, &[instance.into(), user.into()], read).await?)
}

pub async fn insert(tx: &mut Tx, key: &TrustedDeviceKey) -> Result<()> {
    let row = [
        (&key.instance).into(),
        (&key.id).into(),
        (&key.user).into(),
        key.public_key.as_str().into(),
        key.created_at.into(),
    ];
    KEYS.insert(tx, &row).await
}

/// Deletes the key of a device. Says whether there was one.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &TrustedDeviceId) -> Result<bool> {
    KEYS.delete(tx, &[instance.into(), id.into()]).await
}

/// Adds a challenge in the place of others that the user asked for in the same app. Those of the instance whose time is
/// over go with them, so that few are ever kept.
pub async fn begin(tx: &mut Tx, challenge: &EnrollmentChallenge, now: Time) -> Result<()> {
    let instance = &challenge.instance;
    let sql = "DELETE FROM trusted_device_challenges WHERE instance_id = $1 AND expire_at <= $2";
    tx.run(&[sql], &[instance.into(), now.into()]).await?;
    let sql =
        "DELETE FROM trusted_device_challenges WHERE instance_id = $1 AND user_id = $2 AND client_id = $3";
    tx.run(&[sql], &[instance.into(), (&challenge.user).into(), (&challenge.client).into()]).await?;
    let device = &challenge.device;
    let row = [
        instance.into(),
        (&challenge.id).into(),
        (&challenge.user).into(),
        (&challenge.client).into(),
        device.platform.as_str().into(),
        device.app_identifier.as_str().into(),
        device.name.as_deref().into(),
        device.public_key.as_str().into(),
        challenge.client_data.as_str().into(),
        challenge.expire_at.into(),
    ];
    CHALLENGES.insert(tx, &row).await
}

/// The challenge that a user asked for in an app. It is gone with this: whatever comes of it, it was good once.
pub async fn take(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &TrustedDeviceChallengeId,
    user: &UserId,
    client: &ClientId,
) -> Result<Option<EnrollmentChallenge>> {
    let found = CHALLENGES.lock(tx, &[instance.into(), id.into()], read_challenge).await?;
    let own = found.filter(|found| found.user == *user && found.client == *client);
    if own.is_some() {
        CHALLENGES.delete(tx, &[instance.into(), id.into()]).await?;
    }
    Ok(own)
}

fn read(row: &Row<'_>) -> Result<TrustedDeviceKey, DbError> {
    Ok(TrustedDeviceKey {
        instance: row.id(0)?,
        id: row.id(1)?,
        user: row.id(2)?,
        public_key: row.text(3)?,
        created_at: row.time(4)?,
    })
}

fn read_challenge(row: &Row<'_>) -> Result<EnrollmentChallenge, DbError> {
    Ok(EnrollmentChallenge {
        instance: row.id(0)?,
        id: row.id(1)?,
        user: row.id(2)?,
        client: row.id(3)?,
        device: DeviceClaim {
            platform: row.text(4)?,
            app_identifier: row.text(5)?,
            name: row.maybe_text(6)?,
            public_key: row.text(7)?,
        },
        client_data: row.text(8)?,
        expire_at: row.time(9)?,
    })
}
