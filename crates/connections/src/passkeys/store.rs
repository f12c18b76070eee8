//! The SQL of passkeys and their registrations.

use latchkey_base::kinds::{ClientId, IdentificationId, InstanceId, UserId};
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, Row, Table, Tx, Value};

use super::model::{PasskeyRegistration, StoredPasskey};

static PASSKEYS: Table = Table::new("passkeys", &["instance_id", "credential_id"])
    .saved(&["counter", "backup_eligible", "backed_up", "updated_at"])
    .fixed(&["id", "user_id", "rp_id", "credential", "created_at"]);

static REGISTRATIONS: Table = Table::new("passkey_registrations", &["instance_id", "id"])
    .saved(&["attempts"])
    .fixed(&["user_id", "client_id", "rp_id", "name", "options", "created_at", "expire_at"]);

/// The passkey that an authenticator calls so.
pub async fn find(tx: &mut Tx, instance: &InstanceId, credential_id: &[u8]) -> Result<Option<StoredPasskey>> {
    PASSKEYS.find(tx, &[instance.into(), credential_id.into()], read).await
}

/// The same, to change it.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, credential_id: &[u8]) -> Result<Option<StoredPasskey>> {
    PASSKEYS.lock(tx, &[instance.into(), credential_id.into()], read).await
}

/// The passkeys of a user that belong to a domain, oldest first.
pub async fn list(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    rp_id: &str,
) -> Result<Vec<StoredPasskey>> {
    let parts = [PASSKEYS.of_instance(), " AND user_id = $2 AND rp_id = $3 ORDER BY created_at, id"];
    Ok(tx.all(&parts, &[instance.into(), user.into(), rp_id.into()], read).await?)
}

/// Adds a passkey. Says whether it did: the authenticator may have given its id before.
pub async fn insert(tx: &mut Tx, passkey: &StoredPasskey) -> Result<bool> {
    PASSKEYS.insert_new(tx, &row(passkey)).await
}

pub async fn save(tx: &mut Tx, passkey: &StoredPasskey) -> Result<()> {
    PASSKEYS.save(tx, &row(passkey)).await
}

/// Deletes the passkey that a user has by this identification.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, user: &UserId, id: &IdentificationId) -> Result<()> {
    let sql = "DELETE FROM passkeys WHERE instance_id = $1 AND user_id = $2 AND id = $3";
    tx.run(&[sql], &[instance.into(), user.into(), id.into()]).await?;
    Ok(())
}

/// The registration that a user began in a browser.
pub async fn find_registration(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &IdentificationId,
    user: &UserId,
    client: &ClientId,
) -> Result<Option<PasskeyRegistration>> {
    let found = REGISTRATIONS.find(tx, &[instance.into(), id.into()], read_registration).await?;
    Ok(found.filter(|found| found.user == *user && found.client == *client))
}

/// Whether a user has a registration under way by this identification, in whatever browser.
pub async fn is_under_way(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &IdentificationId,
    user: &UserId,
) -> Result<bool> {
    let found = REGISTRATIONS.find(tx, &[instance.into(), id.into()], read_registration).await?;
    Ok(found.is_some_and(|found| found.user == *user))
}

/// The same, to change it.
pub async fn lock_registration(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &IdentificationId,
) -> Result<Option<PasskeyRegistration>> {
    REGISTRATIONS.lock(tx, &[instance.into(), id.into()], read_registration).await
}

/// Adds a registration in the place of others that the user began in the same browser. Those of the instance whose time
/// is over go with them, so that few are ever kept.
pub async fn begin_registration(tx: &mut Tx, registration: &PasskeyRegistration) -> Result<()> {
    let (instance, now) = (&registration.instance, registration.created_at);
    delete_expired(tx, instance, now).await?;
    let sql = "DELETE FROM passkey_registrations WHERE instance_id = $1 AND user_id = $2 AND client_id = $3";
    let owner = [instance.into(), (&registration.user).into(), (&registration.client).into()];
    tx.run(&[sql], &owner).await?;
    REGISTRATIONS.insert(tx, &registration_row(registration)).await
}

async fn delete_expired(tx: &mut Tx, instance: &InstanceId, now: Time) -> Result<()> {
    let sql = "DELETE FROM passkey_registrations WHERE instance_id = $1 AND expire_at <= $2";
    tx.run(&[sql], &[instance.into(), now.into()]).await?;
    Ok(())
}

pub async fn save_registration(tx: &mut Tx, registration: &PasskeyRegistration) -> Result<()> {
    REGISTRATIONS.save(tx, &registration_row(registration)).await
}

/// Deletes a registration. Says whether there was one.
pub async fn delete_registration(tx: &mut Tx, instance: &InstanceId, id: &IdentificationId) -> Result<bool> {
    REGISTRATIONS.delete(tx, &[instance.into(), id.into()]).await
}

fn row(passkey: &StoredPasskey) -> [Value; 11] {
    [
        (&passkey.instance).into(),
        passkey.credential_id.as_slice().into(),
        passkey.counter.into(),
        passkey.backup_eligible.into(),
        passkey.backed_up.into(),
        passkey.updated_at.into(),
        (&passkey.id).into(),
        (&passkey.user).into(),
        passkey.rp_id.as_str().into(),
        passkey.credential.as_str().into(),
        passkey.created_at.into(),
    ]
}

fn read(row: &Row<'_>) -> Result<StoredPasskey, DbError> {
    Ok(StoredPasskey {
        instance: row.id(0)?,
        credential_id: row.bytes(1)?,
        counter: row.int(2)?,
        backup_eligible: row.bool(3)?,
        backed_up: row.bool(4)?,
        updated_at: row.time(5)?,
        id: row.id(6)?,
        user: row.id(7)?,
        rp_id: row.text(8)?,
        credential: row.text(9)?,
        created_at: row.time(10)?,
    })
}

fn registration_row(registration: &PasskeyRegistration) -> [Value; 10] {
    [
        (&registration.instance).into(),
        (&registration.id).into(),
        registration.attempts.into(),
        (&registration.user).into(),
        (&registration.client).into(),
        registration.rp_id.as_str().into(),
        registration.name.as_str().into(),
        registration.options.as_str().into(),
        registration.created_at.into(),
        registration.expire_at.into(),
    ]
}

fn read_registration(row: &Row<'_>) -> Result<PasskeyRegistration, DbError> {
    Ok(PasskeyRegistration {
        instance: row.id(0)?,
        id: row.id(1)?,
        attempts: row.int(2)?,
        user: row.id(3)?,
        client: row.id(4)?,
        rp_id: row.text(5)?,
        name: row.text(6)?,
        options: row.text(7)?,
        created_at: row.time(8)?,
        expire_at: row.time(9)?,
    })
}
