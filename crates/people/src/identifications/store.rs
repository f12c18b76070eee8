//! The SQL of one-time codes.

use latchkey_base::kinds::{IdentificationId, InstanceId, VerificationId};
use latchkey_base::secret::Secret;
use latchkey_base::{Error, Result, Time};
use latchkey_db::{DbError, Row, Table, Tx};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::strategy::Strategy;

use super::codes::Code;

static VERIFICATIONS: Table = Table::new("verifications", &["instance_id", "id"])
    .saved(&["attempts", "verified_at"])
    .fixed(&["identification_id", "user_id", "strategy", "code_sealed", "created_at", "expire_at"]);

/// A code of one address or number, to try it.
pub async fn lock(
    tx: &mut Tx,
    instance: &InstanceId,
    identification: &IdentificationId,
    id: &VerificationId,
    master: &MasterKey,
) -> Result<Option<Code>> {
    let parts = [VERIFICATIONS.of_instance(), " AND id = $2 AND identification_id = $3"];
    let locked = tx.lock(&parts, &[instance.into(), id.into(), identification.into()], read).await?;
    let Some((mut code, sealed)) = locked else { return Ok(None) };
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
    let row = [
        instance.into(),
        (&code.id).into(),
        code.attempts.into(),
        code.verified_at.into(),
        (&code.identification).into(),
        (&code.user).into(),
        code.strategy.name().into(),
        sealed.into(),
        code.created_at.into(),
        code.expire_at.into(),
    ];
    VERIFICATIONS.insert(tx, &row).await
}

/// Saves how trying a code went.
pub async fn save(tx: &mut Tx, instance: &InstanceId, code: &Code) -> Result<()> {
    let row = [instance.into(), (&code.id).into(), code.attempts.into(), code.verified_at.into()];
    VERIFICATIONS.save(tx, &row).await
}

fn read(row: &Row<'_>) -> Result<(Code, Vec<u8>), DbError> {
    let code = Code {
        id: row.id(1)?,
        attempts: row.int(2)?,
        verified_at: row.maybe_time(3)?,
        identification: row.id(4)?,
        user: row.id(5)?,
        strategy: if row.str(6)? == Strategy::PhoneCode.name() {
            Strategy::PhoneCode
        } else {
            Strategy::EmailCode
        },
        digits: Secret::new(String::new()),
        created_at: row.time(8)?,
        expire_at: row.time(9)?,
    };
    Ok((code, row.bytes(7)?))
}
