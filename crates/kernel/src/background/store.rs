//! The SQL that all kinds of work in steps have in common.

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Result, Time};
use latchkey_db::Tx;

use super::run::{Background, RETRY_MS};

/// What has waited longest, and is to be done now. A time that is further off than any wait was written before the clock
/// was set back.
pub(super) async fn next<B: Background>(tx: &mut Tx, now: Time) -> Result<Option<(InstanceId, String)>> {
    let parts = [
        "SELECT instance_id, ",
        B::SUBJECT,
        " FROM ",
        B::TABLE,
        " WHERE due_at <= $1 OR due_at > $2 ORDER BY due_at, instance_id, ",
        B::SUBJECT,
        " LIMIT 1",
    ];
    let params = [now.into(), now.plus_ms(2 * RETRY_MS).into()];
    Ok(tx.maybe(&parts, &params, |row| Ok((row.id(0)?, row.text(1)?))).await?)
}

/// Lets work wait until then.
pub(super) async fn put_off<B: Background>(
    tx: &mut Tx,
    instance: &InstanceId,
    subject: &str,
    until: Time,
) -> Result<()> {
    let parts = ["UPDATE ", B::TABLE, " SET due_at = $3 WHERE instance_id = $1 AND ", B::SUBJECT, " = $2"];
    tx.run(&parts, &[instance.into(), subject.into(), until.into()]).await?;
    Ok(())
}
