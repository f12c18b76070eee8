//! The SQL of instances and their keys.

use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, Row, Table, Tx, Value};

use super::model::{Instance, SecretKeyState, SigningKeyState, StoredKey};
use crate::document;
use crate::domains::store as domains;
use crate::environment::Environment;
use crate::limits::CLIENT_TOKEN_MS;
use crate::settings::{Attribute, Settings};

/// Who holds a secret key.
pub struct Holder {
    pub id: InstanceId,
    pub environment: Environment,
    /// Which settings are in force.
    pub settings_revision: i64,
    /// The secret key that the request shows, or that made its link token.
    pub key: Option<SecretKeyId>,
}

/// An instance as a request of a browser finds it.
pub struct FoundInstance {
    /// Its id, environment and settings revision.
    pub holder: Holder,
    /// The host of its Frontend API.
    pub frontend_api: String,
}

static INSTANCES: Table = Table::new("instances", &["id"]).fixed(&[
    "environment",
    "settings_revision",
    "frontend_api",
    "settings",
    "created_at",
]);
static SIGNING_KEYS: Table = Table::new("signing_keys", &["instance_id", "kid"]).fixed(&[
    "public_jwk",
    "private_sealed",
    "active_from",
    "not_after",
    "created_at",
]);
static SECRET_KEYS: Table =
    Table::new("secret_keys", &["digest"]).fixed(&["id", "instance_id", "hint", "created_at"]);
static REPLACED_KEYS: Table = Table::new("replaced_keys", &["instance_id", "id"]).fixed(&["revoked_at"]);
const SELECT_FOUND: &str = "SELECT id, environment, settings_revision, frontend_api FROM instances";

/// The instance a key digest belongs to.
pub async fn find_by_key(tx: &mut Tx, digest: &[u8]) -> Result<Option<Holder>> {
    let sql = "SELECT i.id, i.environment, i.settings_revision, k.id FROM secret_keys k \
               JOIN instances i ON i.id = k.instance_id WHERE k.digest = $1";
    Ok(tx.maybe(&[sql], &[digest.into()], read_key_holder).await?)
}

/// An instance as the holder of a pass finds it.
pub async fn find_holder(tx: &mut Tx, id: &InstanceId) -> Result<Option<Holder>> {
    let sql = "SELECT id, environment, settings_revision FROM instances WHERE id = $1";
    Ok(tx.maybe(&[sql], &[id.into()], read_holder).await?)
}

/// The instance whose Frontend API has this host, which is in lower case, on any of its domains.
pub async fn find_by_frontend_api(tx: &mut Tx, host: &str) -> Result<Option<FoundInstance>> {
    let condition =
        " WHERE frontend_api = $1 OR id = (SELECT instance_id FROM satellite_hosts WHERE host = $1)";
    Ok(tx.maybe(&[SELECT_FOUND, condition], &[host.into()], read_found).await?)
}

/// How the instance of a browser's request is found.
pub enum InstanceBy<'a> {
    /// By the host of its Frontend API, in lower case.
    Host(&'a str),
    /// By the host a satellite domain has the Frontend API at, in lower case.
    Satellite(&'a str),
    /// By the digest of a secret key.
    Key(&'a [u8]),
    /// The oldest development instance: whom requests are for that name nobody.
    Default,
}

impl InstanceBy<'_> {
    /// The condition on `instances i`, and its first parameter.
    pub fn condition(&self) -> (&'static str, Value) {
        match self {
            InstanceBy::Host(host) => (" WHERE i.frontend_api = $1", (*host).into()),
            InstanceBy::Satellite(host) => {
                (" WHERE i.id = (SELECT instance_id FROM satellite_hosts WHERE host = $1)", (*host).into())
            }
            InstanceBy::Key(digest) => {
                (" WHERE i.id = (SELECT instance_id FROM secret_keys WHERE digest = $1)", (*digest).into())
            }
            InstanceBy::Default => (
                " WHERE i.id = (SELECT id FROM instances WHERE environment = $1 ORDER BY created_at, id LIMIT 1)",
                Environment::Development.name().into(),
            ),
        }
    }
}

/// Selects a [`FoundInstance`] of `instances i`, and the id of the key it signs with at the time in the second
/// parameter: nearly every answer to a browser is signed.
pub const INSTANCE_WITH_SIGNING_KEY: &str = "SELECT i.id, i.environment, i.settings_revision, i.frontend_api, \
     (SELECT k.kid FROM signing_keys k WHERE k.instance_id = i.id AND k.active_from <= $2 \
     ORDER BY k.created_at DESC, k.kid LIMIT 1)";

/// The instance of a browser's request, with the id of the key it signs with now.
pub async fn find_with_signing_key(
    tx: &mut Tx,
    by: &InstanceBy<'_>,
    now: Time,
) -> Result<Option<(FoundInstance, Option<String>)>> {
    let (condition, value) = by.condition();
    let parts = [INSTANCE_WITH_SIGNING_KEY, " FROM instances i", condition];
    Ok(tx.maybe(&parts, &[value, now.into()], read_with_signing_key).await?)
}

/// Whether there is an instance of this environment.
pub async fn has_any(tx: &mut Tx, environment: Environment) -> Result<bool> {
    let sql = "SELECT 1 FROM instances WHERE environment = $1 LIMIT 1";
    Ok(tx.maybe(&[sql], &[environment.name().into()], |_| Ok(())).await?.is_some())
}

/// The host of an instance's Frontend API.
pub async fn frontend_api(tx: &mut Tx, id: &InstanceId) -> Result<Option<String>> {
    let sql = "SELECT frontend_api FROM instances WHERE id = $1";
    Ok(tx.maybe(&[sql], &[id.into()], |row| row.text(0)).await?)
}

pub async fn find(tx: &mut Tx, id: &InstanceId) -> Result<Option<Instance>> {
    INSTANCES.find(tx, &[id.into()], read).await
}

/// One instance, to be changed.
pub async fn lock(tx: &mut Tx, id: &InstanceId) -> Result<Option<Instance>> {
    INSTANCES.lock(tx, &[id.into()], read).await
}

/// All instances, oldest first.
pub async fn list(tx: &mut Tx) -> Result<Vec<Instance>> {
    Ok(tx.all(&[INSTANCES.select(), " ORDER BY created_at, id"], &[], read).await?)
}

pub async fn insert(tx: &mut Tx, instance: &Instance, key: &StoredKey) -> Result<()> {
    let row = [
        (&instance.id).into(),
        instance.environment.name().into(),
        instance.settings_revision.into(),
        instance.frontend_api.as_str().into(),
        document::write(&instance.settings)?.into(),
        instance.created_at.into(),
    ];
    INSTANCES.insert(tx, &row).await?;
    domains::save(tx, &instance.id, &instance.settings.satellites).await?;
    insert_signing_key(tx, &instance.id, key, instance.created_at, instance.created_at).await
}

/// Keeps another host of the Frontend API.
pub async fn save_frontend_api(tx: &mut Tx, id: &InstanceId, host: &str) -> Result<()> {
    tx.run(&["UPDATE instances SET frontend_api = $2 WHERE id = $1"], &[id.into(), host.into()]).await?;
    Ok(())
}

/// Keeps other settings. Whoever reads the instance's revision next reads them.
pub async fn save_settings(tx: &mut Tx, id: &InstanceId, settings: &Settings) -> Result<()> {
    let sql = "UPDATE instances SET settings = $2, settings_revision = settings_revision + 1 WHERE id = $1";
    tx.run(&[sql], &[id.into(), document::write(settings)?.into()]).await?;
    domains::save(tx, id, &settings.satellites).await
}

/// Adds a signing key that signs from `active_from` on.
pub async fn insert_signing_key(
    tx: &mut Tx,
    instance: &InstanceId,
    key: &StoredKey,
    active_from: Time,
    now: Time,
) -> Result<()> {
    let row = [
        instance.into(),
        key.kid.as_str().into(),
        key.public_jwk.as_str().into(),
        key.private_sealed.as_slice().into(),
        active_from.into(),
        Value::Int(None),
        now.into(),
    ];
    SIGNING_KEYS.insert(tx, &row).await
}

/// Lets all signing keys end at `not_after`, unless they end sooner. Of those that ended the public half stays as
/// long as clients may hold tokens signed by them.
pub async fn retire_signing_keys(
    tx: &mut Tx,
    instance: &InstanceId,
    not_after: Time,
    now: Time,
) -> Result<()> {
    let forgotten = "DELETE FROM signing_keys WHERE instance_id = $1 AND not_after <= $2";
    tx.run(&[forgotten], &[instance.into(), now.plus_ms(-CLIENT_TOKEN_MS).into()]).await?;
    let ended = "UPDATE signing_keys SET private_sealed = $3 WHERE instance_id = $1 AND not_after <= $2";
    tx.run(&[ended], &[instance.into(), now.into(), [].as_slice().into()]).await?;
    let others = "UPDATE signing_keys SET not_after = $2 \
                  WHERE instance_id = $1 AND (not_after IS NULL OR not_after > $2)";
    tx.run(&[others], &[instance.into(), not_after.into()]).await?;
    Ok(())
}

/// The signing keys of an instance that have not ended for good, newest first.
pub async fn signing_keys(tx: &mut Tx, instance: &InstanceId) -> Result<Vec<SigningKeyState>> {
    let sql = "SELECT kid, created_at, active_from, not_after FROM signing_keys WHERE instance_id = $1 \
               AND length(private_sealed) > 0 ORDER BY created_at DESC, kid";
    let read = |row: &Row<'_>| {
        Ok(SigningKeyState {
            kid: row.text(0)?,
            created_at: row.time(1)?,
            active_from: row.time(2)?,
            not_after: row.maybe_time(3)?,
        })
    };
    Ok(tx.all(&[sql], &[instance.into()], read).await?)
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
    SECRET_KEYS.insert(tx, &[digest.into(), id.into(), instance.into(), hint.into(), now.into()]).await
}

/// The secret keys of an instance, oldest first.
pub async fn secret_keys(tx: &mut Tx, instance: &InstanceId) -> Result<Vec<SecretKeyState>> {
    let sql =
        "SELECT id, hint, created_at, digest FROM secret_keys WHERE instance_id = $1 ORDER BY created_at, id";
    let read = |row: &Row<'_>| {
        Ok(SecretKeyState {
            id: row.id(0)?,
            hint: row.text(1)?,
            created_at: row.time(2)?,
            digest: row.bytes(3)?,
        })
    };
    Ok(tx.all(&[sql], &[instance.into()], read).await?)
}

/// Deletes a secret key of an instance: whoever shows it is refused from the next request on, by every node, because
/// keys are looked up every time.
pub async fn delete_key(tx: &mut Tx, instance: &InstanceId, id: &SecretKeyId) -> Result<()> {
    let sql = "DELETE FROM secret_keys WHERE instance_id = $1 AND id = $2";
    tx.run(&[sql], &[instance.into(), id.into()]).await?;
    Ok(())
}

/// Notes that the tickets and link tokens of a revoked key stay good.
pub async fn insert_replaced_key(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &SecretKeyId,
    now: Time,
) -> Result<()> {
    REPLACED_KEYS.insert_new(tx, &[instance.into(), id.into(), now.into()]).await?;
    Ok(())
}

/// Returns whether tickets and link tokens of a key are good: the key exists, or it was revoked without them. They are
/// checked when they are used, because a request that was in progress can make one after its key was revoked.
pub async fn has_good_tickets(tx: &mut Tx, instance: &InstanceId, key: &SecretKeyId) -> Result<bool> {
    let sql = "SELECT 1 FROM secret_keys WHERE instance_id = $1 AND id = $2 \
               UNION ALL SELECT 1 FROM replaced_keys WHERE instance_id = $1 AND id = $2 LIMIT 1";
    Ok(tx.exists(&[sql], &[instance.into(), key.into()]).await?)
}

/// Deletes up to `limit` rows of an instance that is going away from a table whose rows these columns tell apart. Says
/// whether there were any.
pub async fn delete_some(
    tx: &mut Tx,
    id: &InstanceId,
    table: &str,
    columns: &str,
    limit: i64,
) -> Result<bool> {
    let parts = [
        "DELETE FROM ",
        table,
        " WHERE instance_id = $1 AND (",
        columns,
        ") IN (SELECT ",
        columns,
        " FROM ",
        table,
        " WHERE instance_id = $1 ORDER BY ",
        columns,
        " LIMIT $2)",
    ];
    Ok(tx.run(&parts, &[id.into(), limit.into()]).await? > 0)
}

/// Deletes all secret keys of an instance: nobody gets in any more.
pub async fn delete_keys(tx: &mut Tx, id: &InstanceId) -> Result<()> {
    tx.run(&["DELETE FROM secret_keys WHERE instance_id = $1"], &[id.into()]).await?;
    Ok(())
}

/// Deletes an instance and everything left in it.
pub async fn delete(tx: &mut Tx, id: &InstanceId) -> Result<()> {
    INSTANCES.delete(tx, &[id.into()]).await?;
    Ok(())
}

/// The key an instance signs with now: its id and its sealed private half. It is the newest of those that
/// may sign, so that a key made in a hurry wins over one that was announced for later. Where none may sign yet, because
/// the clock was set back behind the first of them, that one signs: an instance always has a key.
pub async fn signing_key(tx: &mut Tx, instance: &InstanceId, now: Time) -> Result<Option<(String, Vec<u8>)>> {
    let sql = "SELECT kid, private_sealed FROM signing_keys WHERE instance_id = $1 AND active_from <= $2 \
               ORDER BY created_at DESC, kid LIMIT 1";
    let first = "SELECT kid, private_sealed FROM signing_keys WHERE instance_id = $1 AND length(private_sealed) > 0 \
                 ORDER BY active_from, kid LIMIT 1";
    let read = |row: &Row<'_>| Ok((row.text(0)?, row.bytes(1)?));
    match tx.maybe(&[sql], &[instance.into(), now.into()], read).await? {
        Some(key) => Ok(Some(key)),
        None => Ok(tx.maybe(&[first], &[instance.into()], read).await?),
    }
}

/// The public halves of the signing keys whose tokens are good now, or will be, newest first, as JSON.
pub async fn public_keys(tx: &mut Tx, instance: &InstanceId, now: Time) -> Result<Vec<String>> {
    let sql = "SELECT public_jwk FROM signing_keys \
               WHERE instance_id = $1 AND (not_after IS NULL OR not_after > $2) ORDER BY created_at DESC, kid";
    Ok(tx.all(&[sql], &[instance.into(), now.into()], |row| row.text(0)).await?)
}

/// The public halves of all signing keys an instance has or had, as JSON.
pub async fn past_public_keys(tx: &mut Tx, instance: &InstanceId) -> Result<Vec<String>> {
    let sql = "SELECT public_jwk FROM signing_keys WHERE instance_id = $1";
    Ok(tx.all(&[sql], &[instance.into()], |row| row.text(0)).await?)
}

/// Reads a holder from `id, environment, settings_revision`.
pub fn read_holder(row: &Row<'_>) -> Result<Holder, DbError> {
    let environment = read_environment(row.str(1)?)?;
    Ok(Holder { id: row.id(0)?, environment, settings_revision: row.int(2)?, key: None })
}

/// Reads the holder of a secret key from `id, environment, settings_revision` of the instance and `id` of the key.
pub fn read_key_holder(row: &Row<'_>) -> Result<Holder, DbError> {
    Ok(Holder { key: row.maybe_id(3)?, ..read_holder(row)? })
}

/// Reads what [`INSTANCE_WITH_SIGNING_KEY`] selects.
pub fn read_with_signing_key(row: &Row<'_>) -> Result<(FoundInstance, Option<String>), DbError> {
    Ok((read_found(row)?, row.maybe_text(4)?))
}

fn read_found(row: &Row<'_>) -> Result<FoundInstance, DbError> {
    Ok(FoundInstance { holder: read_holder(row)?, frontend_api: row.text(3)? })
}

fn read(row: &Row<'_>) -> Result<Instance, DbError> {
    Ok(Instance {
        id: row.id(0)?,
        environment: read_environment(row.str(1)?)?,
        settings_revision: row.int(2)?,
        frontend_api: row.text(3)?,
        settings: read_settings(row.str(4)?).map_err(|error| DbError::Failed(error.into()))?,
        created_at: row.time(5)?,
    })
}

fn read_environment(text: &str) -> Result<Environment, DbError> {
    Environment::parse(text).ok_or_else(|| DbError::Failed(format!("{text} is not an environment").into()))
}

/// Wallets were on by default once, when nobody could prove to hold one; documents from then still say so, and name no
/// way to prove one.
fn read_settings(text: &str) -> serde_json::Result<Settings> {
    let mut settings: Settings = serde_json::from_str(text)?;
    if settings.attributes.web3_wallet.verifications.is_empty() {
        settings.attributes.web3_wallet = Attribute::default();
    }
    Ok(settings)
}
