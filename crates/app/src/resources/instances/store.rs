//! The SQL of instances and their keys.

use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_base::{Error, Id, Result, Time};
use latchkey_db::{DbError, Row, Tx};

use super::model::{Environment, Instance, StoredKey};

/// Who holds a secret key.
pub struct Holder {
    /// The instance.
    pub id: InstanceId,
    /// Its environment.
    pub environment: Environment,
    /// Which settings are in force.
    pub settings_revision: i64,
}

const SELECT: &str = "SELECT id, environment, settings_revision, settings, created_at FROM instances";

/// The instance a key digest belongs to.
pub async fn find_by_key(tx: &mut Tx, digest: &[u8]) -> Result<Option<Holder>> {
    let sql = "SELECT id, environment, settings_revision FROM instances \
               WHERE id = (SELECT instance_id FROM secret_keys WHERE digest = $1)";
    Ok(tx.maybe(&[sql], &[digest.into()], read_holder).await?)
}

/// One instance.
pub async fn find(tx: &mut Tx, id: &InstanceId) -> Result<Option<Instance>> {
    Ok(tx.maybe(&[SELECT, " WHERE id = $1"], &[id.into()], read).await?)
}

/// All instances, oldest first.
pub async fn list(tx: &mut Tx) -> Result<Vec<Instance>> {
    Ok(tx.all(&[SELECT, " ORDER BY created_at, id"], &[], read).await?)
}

/// Adds an instance with its signing key.
pub async fn insert(tx: &mut Tx, instance: &Instance, key: &StoredKey) -> Result<()> {
    let settings = serde_json::to_string(&instance.settings).map_err(Error::internal)?;
    tx.run(
        &["INSERT INTO instances (id, environment, settings, settings_revision, created_at) VALUES ($1, $2, $3, $4, $5)"],
        &[
            (&instance.id).into(),
            instance.environment.name().into(),
            settings.into(),
            instance.settings_revision.into(),
            instance.created_at.into(),
        ],
    )
    .await?;
    tx.run(
        &["INSERT INTO signing_keys (instance_id, kid, public_jwk, private_sealed, created_at) VALUES ($1, $2, $3, $4, $5)"],
        &[
            (&instance.id).into(),
            key.kid.as_str().into(),
            key.public_jwk.as_str().into(),
            key.private_sealed.as_slice().into(),
            instance.created_at.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Adds a secret key by its digest.
pub async fn insert_key(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &SecretKeyId,
    digest: &[u8],
    hint: &str,
    now: Time,
) -> Result<()> {
    tx.run(
        &["INSERT INTO secret_keys (digest, id, instance_id, hint, created_at) VALUES ($1, $2, $3, $4, $5)"],
        &[digest.into(), id.into(), instance.into(), hint.into(), now.into()],
    )
    .await?;
    Ok(())
}

/// Deletes all secret keys of an instance: nobody gets in any more.
pub async fn delete_keys(tx: &mut Tx, id: &InstanceId) -> Result<()> {
    tx.run(&["DELETE FROM secret_keys WHERE instance_id = $1"], &[id.into()]).await?;
    Ok(())
}

/// Deletes an instance and everything left in it.
pub async fn delete(tx: &mut Tx, id: &InstanceId) -> Result<()> {
    tx.run(&["DELETE FROM instances WHERE id = $1"], &[id.into()]).await?;
    Ok(())
}

/// The sealed private half of a signing key.
pub async fn private_key(tx: &mut Tx, instance: &InstanceId, kid: &str) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT private_sealed FROM signing_keys WHERE instance_id = $1 AND kid = $2";
    Ok(tx.maybe(&[sql], &[instance.into(), kid.into()], |row| row.bytes(0)).await?)
}

/// The public halves of an instance's signing keys, newest first, as JSON.
pub async fn public_keys(tx: &mut Tx, instance: &InstanceId) -> Result<Vec<String>> {
    let sql = "SELECT public_jwk FROM signing_keys WHERE instance_id = $1 ORDER BY created_at DESC, kid";
    Ok(tx.all(&[sql], &[instance.into()], |row| row.text(0)).await?)
}

/// Reads a holder from `id, environment, settings_revision`.
pub fn read_holder(row: &Row<'_>) -> Result<Holder, DbError> {
    Ok(Holder {
        id: read_id(row.str(0)?)?,
        environment: read_environment(row.str(1)?)?,
        settings_revision: row.int(2)?,
    })
}

fn read(row: &Row<'_>) -> Result<Instance, DbError> {
    Ok(Instance {
        id: read_id(row.str(0)?)?,
        environment: read_environment(row.str(1)?)?,
        settings_revision: row.int(2)?,
        settings: serde_json::from_str(row.str(3)?).map_err(|error| DbError::Failed(error.into()))?,
        created_at: row.time(4)?,
    })
}

fn read_id(text: &str) -> Result<InstanceId, DbError> {
    Id::parse(text).ok_or_else(|| DbError::Failed(format!("{text} is not an instance id").into()))
}

fn read_environment(text: &str) -> Result<Environment, DbError> {
    Environment::parse(text).ok_or_else(|| DbError::Failed(format!("{text} is not an environment").into()))
}
