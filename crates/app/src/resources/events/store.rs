//! Reading events. They are written by `outbox.rs` and never change.

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Id, Result, Time};
use latchkey_db::{DbError, Row, Tx};

use super::model::{Data, StoredEvent};

const SELECT: &str = "SELECT instance_id, seq, id, kind, subject_id, data, data_sealed, client_ip, user_agent, created_at \
     FROM events";

/// The events behind a number, oldest first.
pub async fn after(tx: &mut Tx, instance: &InstanceId, seq: i64, limit: i64) -> Result<Vec<StoredEvent>> {
    let params = [instance.into(), seq.into(), limit.into()];
    Ok(tx.all(&[SELECT, " WHERE instance_id = $1 AND seq > $2 ORDER BY seq LIMIT $3"], &params, read).await?)
}

/// One event by its number.
pub async fn find(tx: &mut Tx, instance: &InstanceId, seq: i64) -> Result<Option<StoredEvent>> {
    let params = [instance.into(), seq.into()];
    Ok(tx.maybe(&[SELECT, " WHERE instance_id = $1 AND seq = $2"], &params, read).await?)
}

/// The number of the last event; 0 where nothing has happened yet.
pub async fn head(tx: &mut Tx, instance: &InstanceId) -> Result<i64> {
    let sql = "SELECT last_seq FROM event_heads WHERE instance_id = $1";
    Ok(tx.maybe(&[sql], &[instance.into()], |row| row.int(0)).await?.unwrap_or_default())
}

/// The number of the last event before a time; 0 where there is none.
pub async fn last_before(tx: &mut Tx, instance: &InstanceId, time: Time) -> Result<i64> {
    let sql = "SELECT coalesce(max(seq), 0) FROM events WHERE instance_id = $1 AND created_at < $2";
    Ok(tx.maybe(&[sql], &[instance.into(), time.into()], |row| row.int(0)).await?.unwrap_or_default())
}

/// The number of the first event since a time among those behind a number.
pub async fn first_since(
    tx: &mut Tx,
    instance: &InstanceId,
    time: Time,
    after_seq: i64,
) -> Result<Option<i64>> {
    let sql = "SELECT seq FROM events WHERE instance_id = $1 AND created_at >= $2 AND seq > $3 \
               ORDER BY seq LIMIT 1";
    Ok(tx.maybe(&[sql], &[instance.into(), time.into(), after_seq.into()], |row| row.int(0)).await?)
}

fn read(row: &Row<'_>) -> Result<StoredEvent, DbError> {
    let broken = |what: &str| DbError::Failed(format!("an event has {what}").into());
    let data = match row.maybe_bytes(6)? {
        Some(sealed) => Data::Sealed(sealed),
        None => Data::Plain(row.text(5)?),
    };
    Ok(StoredEvent {
        instance: Id::parse(row.str(0)?).ok_or_else(|| broken("no instance"))?,
        seq: row.int(1)?,
        id: Id::parse(row.str(2)?).ok_or_else(|| broken("no id"))?,
        kind: row.text(3)?,
        subject: row.text(4)?,
        data,
        client_ip: row.text(7)?,
        user_agent: row.text(8)?,
        created_at: row.time(9)?,
    })
}
