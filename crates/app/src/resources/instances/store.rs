//! The SQL of instances and their keys.

use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_base::{Error, Id, Result, Time};
use latchkey_db::{DbError, Row, Tx, Value};

use super::model::{Environment, Instance, SigningKeyState, StoredKey};
use crate::limits::CLIENT_TOKEN_MS;
use crate::resources::domains::store as domains;
use crate::settings::{Attribute, Settings};

/// Who holds a secret key.
pub struct Holder {
    /// The instance.
    pub id: InstanceId,
    /// Its environment.
    pub environment: Environment,
    /// Which settings are in force.
    pub settings_revision: i64,
}

/// An instance as browsers find it.
pub struct Place {
    /// Who it is.
    pub holder: Holder,
    /// The host of its Frontend API.
    pub frontend_api: String,
}

const SELECT: &str =
    "SELECT id, environment, settings_revision, settings, created_at, frontend_api FROM instances";
const SELECT_PLACE: &str = "SELECT id, environment, settings_revision, frontend_api FROM instances";

/// The instance a key digest belongs to.
pub async fn find_by_key(tx: &mut Tx, digest: &[u8]) -> Result<Option<Holder>> {
    let sql = "SELECT id, environment, settings_revision FROM instances \
               WHERE id = (SELECT instance_id FROM secret_keys WHERE digest = $1)";
    Ok(tx.maybe(&[sql], &[digest.into()], read_holder).await?)
}

/// An instance as the holder of a pass finds it.
pub async fn find_holder(tx: &mut Tx, id: &InstanceId) -> Result<Option<Holder>> {
    let sql = "SELECT id, environment, settings_revision FROM instances WHERE id = $1";
    Ok(tx.maybe(&[sql], &[id.into()], read_holder).await?)
}

/// The instance whose Frontend API has this host, which is in lower case, on any of its domains.
pub async fn find_by_frontend_api(tx: &mut Tx, host: &str) -> Result<Option<Place>> {
    let condition =
        " WHERE frontend_api = $1 OR id = (SELECT instance_id FROM satellite_hosts WHERE host = $1)";
    Ok(tx.maybe(&[SELECT_PLACE, condition], &[host.into()], read_place).await?)
}

/// How the instance of a browser's request is found.
pub enum By<'a> {
    /// By the host of its Frontend API, in lower case.
    Host(&'a str),
    /// By the host a satellite domain has the Frontend API at, in lower case.
    Satellite(&'a str),
    /// By the digest of a secret key.
    Key(&'a [u8]),
    /// The oldest development instance: whom requests are for that name nobody.
    Default,
}

impl By<'_> {
    /// The condition on `instances i`, and its first parameter.
    pub fn condition(&self) -> (&'static str, Value) {
        match self {
            By::Host(host) => (" WHERE i.frontend_api = $1", (*host).into()),
            By::Satellite(host) => {
                (" WHERE i.id = (SELECT instance_id FROM satellite_hosts WHERE host = $1)", (*host).into())
            }
            By::Key(digest) => {
                (" WHERE i.id = (SELECT instance_id FROM secret_keys WHERE digest = $1)", (*digest).into())
            }
            By::Default => (
                " WHERE i.id = (SELECT id FROM instances WHERE environment = $1 ORDER BY created_at, id LIMIT 1)",
                Environment::Development.name().into(),
            ),
        }
    }
}

/// The place of `instances i` and the id of the key it signs with at the second parameter: nearly every
/// answer to a browser is signed.
pub const SIGNING_PLACE: &str = "SELECT i.id, i.environment, i.settings_revision, i.frontend_api, \
     (SELECT k.kid FROM signing_keys k WHERE k.instance_id = i.id AND k.active_from <= $2 \
     ORDER BY k.created_at DESC, k.kid LIMIT 1)";

/// The instance of a browser's request, with the id of the key it signs with now.
pub async fn find_signing_place(
    tx: &mut Tx,
    by: &By<'_>,
    now: Time,
) -> Result<Option<(Place, Option<String>)>> {
    let (condition, value) = by.condition();
    let parts = [SIGNING_PLACE, " FROM instances i", condition];
    Ok(tx.maybe(&parts, &[value, now.into()], read_signing_place).await?)
}

/// The host of an instance's Frontend API.
pub async fn frontend_api(tx: &mut Tx, id: &InstanceId) -> Result<Option<String>> {
    let sql = "SELECT frontend_api FROM instances WHERE id = $1";
    Ok(tx.maybe(&[sql], &[id.into()], |row| row.text(0)).await?)
}

/// One instance.
pub async fn find(tx: &mut Tx, id: &InstanceId) -> Result<Option<Instance>> {
    Ok(tx.maybe(&[SELECT, " WHERE id = $1"], &[id.into()], read).await?)
}

/// One instance, to be changed.
pub async fn lock(tx: &mut Tx, id: &InstanceId) -> Result<Option<Instance>> {
    Ok(tx.lock(&[SELECT, " WHERE id = $1"], &[id.into()], read).await?)
}

/// All instances, oldest first.
pub async fn list(tx: &mut Tx) -> Result<Vec<Instance>> {
    Ok(tx.all(&[SELECT, " ORDER BY created_at, id"], &[], read).await?)
}

/// Adds an instance with its signing key.
pub async fn insert(tx: &mut Tx, instance: &Instance, key: &StoredKey) -> Result<()> {
    let settings = serde_json::to_string(&instance.settings).map_err(Error::internal)?;
    tx.run(
        &["INSERT INTO instances (id, environment, frontend_api, settings, settings_revision, created_at) \
           VALUES ($1, $2, $3, $4, $5, $6)"],
        &[
            (&instance.id).into(),
            instance.environment.name().into(),
            instance.frontend_api.as_str().into(),
            settings.into(),
            instance.settings_revision.into(),
            instance.created_at.into(),
        ],
    )
    .await?;
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
    let text = serde_json::to_string(settings).map_err(Error::internal)?;
    let sql = "UPDATE instances SET settings = $2, settings_revision = settings_revision + 1 WHERE id = $1";
    tx.run(&[sql], &[id.into(), text.into()]).await?;
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
    tx.run(
        &["INSERT INTO signing_keys \
             (instance_id, kid, public_jwk, private_sealed, active_from, not_after, created_at) \
           VALUES ($1, $2, $3, $4, $5, NULL, $6)"],
        &[
            instance.into(),
            key.kid.as_str().into(),
            key.public_jwk.as_str().into(),
            key.private_sealed.as_slice().into(),
            active_from.into(),
            now.into(),
        ],
    )
    .await?;
    Ok(())
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

/// The key an instance signs with now: its id and its sealed private half. It is the newest of those that
/// may sign, so that a key made in a hurry wins over one that was announced for later.
pub async fn signing_key(tx: &mut Tx, instance: &InstanceId, now: Time) -> Result<Option<(String, Vec<u8>)>> {
    let sql = "SELECT kid, private_sealed FROM signing_keys WHERE instance_id = $1 AND active_from <= $2 \
               ORDER BY created_at DESC, kid LIMIT 1";
    Ok(tx.maybe(&[sql], &[instance.into(), now.into()], |row| Ok((row.text(0)?, row.bytes(1)?))).await?)
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
    Ok(Holder {
        id: read_id(row.str(0)?)?,
        environment: read_environment(row.str(1)?)?,
        settings_revision: row.int(2)?,
    })
}

/// Reads what [`SIGNING_PLACE`] selects.
pub fn read_signing_place(row: &Row<'_>) -> Result<(Place, Option<String>), DbError> {
    Ok((read_place(row)?, row.maybe_text(4)?))
}

fn read_place(row: &Row<'_>) -> Result<Place, DbError> {
    Ok(Place { holder: read_holder(row)?, frontend_api: row.text(3)? })
}

fn read(row: &Row<'_>) -> Result<Instance, DbError> {
    Ok(Instance {
        id: read_id(row.str(0)?)?,
        environment: read_environment(row.str(1)?)?,
        settings_revision: row.int(2)?,
        settings: read_settings(row.str(3)?).map_err(|error| DbError::Failed(error.into()))?,
        created_at: row.time(4)?,
        frontend_api: row.text(5)?,
    })
}

fn read_id(text: &str) -> Result<InstanceId, DbError> {
    Id::parse(text).ok_or_else(|| DbError::Failed(format!("{text} is not an instance id").into()))
}

fn read_environment(text: &str) -> Result<Environment, DbError> {
    Environment::parse(text).ok_or_else(|| DbError::Failed(format!("{text} is not an environment").into()))
}

/// Wallets were on by default once, though nobody can prove to hold one; documents from then still say so.
fn read_settings(text: &str) -> serde_json::Result<Settings> {
    let mut settings: Settings = serde_json::from_str(text)?;
    settings.attributes.web3_wallet = Attribute::default();
    Ok(settings)
}
