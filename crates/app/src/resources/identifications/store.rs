//! The SQL of one-time codes.

use latchkey_base::kinds::{IdentificationId, InstanceId, VerificationId};
use latchkey_base::secret::Secret;
use latchkey_base::{Error, Id, Result, Time};
use latchkey_db::{DbError, Row, Tx};
use latchkey_jose::seal::MasterKey;

use super::codes::Code;
use crate::resources::users::model::Strategy;

const SELECT: &str = "SELECT id, identification_id, user_id, strategy, code_sealed, attempts, verified_at, created_at, expire_at \
     FROM verifications";

/// A code of one address or number, to try it.
pub async fn lock(
    tx: &mut Tx,
    instance: &InstanceId,
    identification: &IdentificationId,
    id: &VerificationId,
    master: &MasterKey,
) -> Result<Option<Code>> {
    let sealed = tx
        .lock(
            &[SELECT, " WHERE instance_id = $1 AND id = $2 AND identification_id = $3"],
            &[instance.into(), id.into(), identification.into()],
            read,
        )
        .await?;
    let Some((mut code, sealed)) = sealed else { return Ok(None) };
    let digits = master.open(code.id.as_str(), &sealed).map_err(Error::internal)?;
    code.digits = Secret::new(String::from_utf8(digits).map_err(Error::internal)?);
    Ok(Some(code))
}

/// When the newest code was sent to an address or number.
pub async fn last_sent(
    tx: &mut Tx,
    instance: &InstanceId,
    identification: &IdentificationId,
) -> Result<Option<Time>> {
    let sql = "SELECT max(created_at) FROM verifications WHERE instance_id = $1 AND identification_id = $2";
    Ok(tx.maybe(&[sql], &[instance.into(), identification.into()], |row| row.maybe_time(0)).await?.flatten())
}

/// Adds a code, and drops older ones of the same address that are of no use any more.
pub async fn insert(tx: &mut Tx, instance: &InstanceId, code: &Code, master: &MasterKey) -> Result<()> {
    let sealed = master.seal(code.id.as_str(), code.digits.expose().as_bytes()).map_err(Error::internal)?;
    tx.run(
        &["DELETE FROM verifications WHERE instance_id = $1 AND identification_id = $2 AND expire_at < $3"],
        &[instance.into(), (&code.identification).into(), code.created_at.into()],
    )
    .await?;
    tx.run(
        &["INSERT INTO verifications \
           (instance_id, id, identification_id, user_id, strategy, code_sealed, attempts, verified_at, created_at, expire_at) \
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"],
        &[
            instance.into(),
            (&code.id).into(),
            (&code.identification).into(),
            (&code.user).into(),
            code.strategy.name().into(),
            sealed.into(),
            code.attempts.into(),
            code.verified_at.into(),
            code.created_at.into(),
            code.expire_at.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Saves how trying a code went.
pub async fn save(tx: &mut Tx, instance: &InstanceId, code: &Code) -> Result<()> {
    tx.run(
        &["UPDATE verifications SET attempts = $3, verified_at = $4 WHERE instance_id = $1 AND id = $2"],
        &[instance.into(), (&code.id).into(), code.attempts.into(), code.verified_at.into()],
    )
    .await?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<(Code, Vec<u8>), DbError> {
    let code = Code {
        id: read_id(row.str(0)?)?,
        identification: read_id(row.str(1)?)?,
        user: read_id(row.str(2)?)?,
        strategy: if row.str(3)? == Strategy::PhoneCode.name() {
            Strategy::PhoneCode
        } else {
            Strategy::EmailCode
        },
        digits: Secret::new(String::new()),
        attempts: row.int(5)?,
        verified_at: row.maybe_time(6)?,
        created_at: row.time(7)?,
        expire_at: row.time(8)?,
    };
    Ok((code, row.bytes(4)?))
}

fn read_id<K: latchkey_base::id::Kind>(text: &str) -> Result<Id<K>, DbError> {
    Id::parse(text).ok_or_else(|| DbError::Failed(format!("{text} is not an id").into()))
}
