//! Reading events. They are written by `outbox.rs` and never change.

use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, Row, Tx};
use latchkey_kernel::limits::EVENTS_BYTES;
use latchkey_kernel::outbox::EVENTS;

use super::model::{Data, StoredEvent};

/// Events read in one statement.
const CHUNK: i64 = 64;

/// Events behind a number, oldest first: up to `limit`, and fewer when they are large.
pub async fn page(tx: &mut Tx, instance: &InstanceId, after: i64, limit: i64) -> Result<Vec<StoredEvent>> {
    let mut events: Vec<StoredEvent> = Vec::new();
    let (mut last, mut left, mut bytes) = (after, limit, 0);
    while left > 0 && bytes < EVENTS_BYTES {
        let asked = left.min(CHUNK);
        let params = [instance.into(), last.into(), asked.into()];
        let parts = [EVENTS.of_instance(), " AND seq > $2 ORDER BY seq LIMIT $3"];
        let chunk: Vec<StoredEvent> = tx.all(&parts, &params, read).await?;
        let Some(newest) = chunk.last() else { break };
        last = newest.seq;
        bytes += chunk.iter().map(StoredEvent::bytes).sum::<usize>();
        left = if chunk.len() as i64 == asked { left - asked } else { 0 };
        events.extend(chunk);
    }
    Ok(events)
}

/// One event by its number.
pub async fn find(tx: &mut Tx, instance: &InstanceId, seq: i64) -> Result<Option<StoredEvent>> {
    let params = [instance.into(), seq.into()];
    Ok(tx.maybe(&[EVENTS.of_instance(), " AND seq = $2"], &params, read).await?)
}

/// The number of the last event; 0 where nothing has happened yet.
pub async fn head(tx: &mut Tx, instance: &InstanceId) -> Result<i64> {
    let sql = "SELECT last_seq FROM event_heads WHERE instance_id = $1";
    Ok(tx.maybe(&[sql], &[instance.into()], |row| row.int(0)).await?.unwrap_or_default())
}

/// The number of the oldest event that is kept; 1 where there is none.
pub async fn first(tx: &mut Tx, instance: &InstanceId) -> Result<i64> {
    let sql = "SELECT coalesce(min(seq), 1) FROM events WHERE instance_id = $1";
    Ok(tx.maybe(&[sql], &[instance.into()], |row| row.int(0)).await?.unwrap_or(1))
}

/// Number and kind of the events that a secret key caused, among those behind one number and up to another.
pub async fn of_key(
    tx: &mut Tx,
    instance: &InstanceId,
    key: &SecretKeyId,
    after: i64,
    up_to: i64,
) -> Result<Vec<(i64, String)>> {
    let sql = "SELECT seq, kind FROM events \
               WHERE instance_id = $1 AND seq > $2 AND seq <= $3 AND key_id = $4 ORDER BY seq";
    let params = [instance.into(), after.into(), up_to.into(), key.into()];
    Ok(tx.all(&[sql], &params, |row| Ok((row.int(0)?, row.text(1)?))).await?)
}

/// The number of the last event before a time; where none of those kept is, the one before the first of them. Looks at a few events only: their times
/// are in the order of their numbers but for requests that took long.
pub async fn last_before(tx: &mut Tx, instance: &InstanceId, time: Time) -> Result<i64> {
    let first = first(tx, instance).await?;
    let (mut low, mut high) = (first - 1, head(tx, instance).await?.max(first - 1));
    while low < high {
        let middle = low + (high - low + 1) / 2;
        let sql =
            "SELECT created_at FROM events WHERE instance_id = $1 AND seq <= $2 ORDER BY seq DESC LIMIT 1";
        let at = tx.maybe(&[sql], &[instance.into(), middle.into()], |row| row.time(0)).await?;
        match at.is_some_and(|at| at < time) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    Ok(low.max(0))
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
    let data = match row.maybe_bytes(5)? {
        Some(sealed) => Data::Sealed(sealed),
        None => Data::Plain(row.text(4)?),
    };
    Ok(StoredEvent {
        instance: row.id(0)?,
        id: row.id(1)?,
        kind: row.text(2)?,
        subject: row.text(3)?,
        data,
        client_ip: row.text(6)?,
        user_agent: row.text(7)?,
        created_at: row.time(8)?,
        key: row.maybe_id(9)?,
        seq: row.int(10)?,
    })
}
