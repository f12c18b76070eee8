//! The SQL of messages: writing them, and taking them on their way.

use latchkey_base::kinds::{InstanceId, MessageId};
use latchkey_base::{Id, Result, Time};
use latchkey_db::{DbError, Statement, Tx};

use super::model::{Fate, Queued, Row, Status};
use crate::resources::templates::model::Channel;

/// Adds a message. One that is to be sent is due at once.
pub async fn insert(tx: &mut Tx, row: &Row<'_>) -> Result<()> {
    let next_at = match row.status {
        Status::Queued => Some(row.created_at),
        Status::Held => None,
    };
    tx.run(
        &["INSERT INTO messages (instance_id, id, user_id, identification_id, channel, recipient, slug, \
           content_sealed, status, attempts, next_at, leased_until, expire_at, created_at) \
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10, 0, $11, $12)"],
        &[
            row.instance.into(),
            row.id.into(),
            row.user.map(|user| user.as_str()).into(),
            row.identification.map(|id| id.as_str()).into(),
            row.channel.name().into(),
            row.to.into(),
            row.slug.into(),
            row.content_sealed.clone().into(),
            row.status.name().into(),
            next_at.into(),
            row.expire_at.into(),
            row.created_at.into(),
        ],
    )
    .await?;
    Ok(())
}

/// When the text message was written that is the `number`-th from the last one to a recipient, if there were
/// so many.
pub async fn text_from_last(
    tx: &mut Tx,
    instance: &InstanceId,
    to: &str,
    number: i64,
) -> Result<Option<Time>> {
    // The channel is written out because the index is for this one only.
    let sql = "SELECT created_at FROM messages WHERE instance_id = $1 AND recipient = $2 AND channel = 'sms' \
               ORDER BY created_at DESC LIMIT 1 OFFSET $3";
    Ok(tx.maybe(&[sql], &[instance.into(), to.into(), (number - 1).into()], |row| row.time(0)).await?)
}

/// Deletes up to `limit` messages of an instance that were written before a time. Says how many.
pub async fn delete_old(tx: &mut Tx, instance: &InstanceId, before: Time, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM messages WHERE instance_id = $1 AND id IN \
               (SELECT id FROM messages WHERE instance_id = $1 AND created_at < $2 ORDER BY created_at, id LIMIT $3)";
    Ok(tx.run(&[sql], &[instance.into(), before.into(), limit.into()]).await?)
}

/// The instances with messages that are due, those that wait longest first.
pub async fn due(tx: &mut Tx, now: Time, limit: i64) -> Result<Vec<InstanceId>> {
    let sql = "SELECT instance_id FROM messages WHERE next_at <= $1 \
               GROUP BY instance_id ORDER BY min(next_at), instance_id LIMIT $2";
    Ok(tx.all(&[sql], &[now.into(), limit.into()], |row| id(row.str(0)?)).await?)
}

/// Takes messages of an instance that are due, until `until`: nobody else takes them before.
pub async fn claim(
    tx: &mut Tx,
    instance: &InstanceId,
    now: Time,
    until: Time,
    limit: i64,
) -> Result<Vec<Queued>> {
    let sql = "SELECT id, channel, recipient, slug, content_sealed, attempts, expire_at, created_at FROM messages \
               WHERE instance_id = $1 AND next_at <= $2 ORDER BY next_at, id LIMIT $3";
    let found = tx.claim(&[sql], &[instance.into(), now.into(), limit.into()], read).await?;
    let taken = "UPDATE messages SET attempts = attempts + 1, leased_until = $3, next_at = $3 \
                 WHERE instance_id = $1 AND id = $2";
    let take =
        |queued: &Queued| -> Statement { (taken, vec![instance.into(), (&queued.id).into(), until.into()]) };
    tx.run_many(found.iter().map(take).collect()).await?;
    Ok(found)
}

/// Notes what became of a message, unless its time was over and somebody else took it.
pub async fn settle(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &MessageId,
    until: Time,
    fate: Fate<'_>,
) -> Result<bool> {
    let sql = "UPDATE messages SET status = $4, next_at = $5, failure = $6, leased_until = 0 \
               WHERE instance_id = $1 AND id = $2 AND leased_until = $3";
    let params = [
        instance.into(),
        id.into(),
        until.into(),
        fate.status.into(),
        fate.next_at.into(),
        fate.failure.into(),
    ];
    Ok(tx.run(&[sql], &params).await? > 0)
}

/// How many messages wait to be sent, in all instances, for whoever watches the server.
pub async fn waiting(tx: &mut Tx) -> Result<i64> {
    let sql = "SELECT count(instance_id) FROM messages WHERE next_at IS NOT NULL";
    Ok(tx.maybe(&[sql], &[], |row| row.int(0)).await?.unwrap_or_default())
}

fn read(row: &latchkey_db::Row<'_>) -> Result<Queued, DbError> {
    let channel = match row.str(1)? {
        "sms" => Channel::Sms,
        _ => Channel::Email,
    };
    Ok(Queued {
        id: id(row.str(0)?)?,
        channel,
        to: row.text(2)?,
        slug: row.text(3)?,
        content: row.bytes(4)?,
        attempts: row.int(5)?,
        expire_at: row.maybe_time(6)?,
        created_at: row.time(7)?,
    })
}

fn id<K: latchkey_base::id::Kind>(text: &str) -> Result<Id<K>, DbError> {
    Id::parse(text).ok_or_else(|| DbError::Failed(format!("{text} is not such an id").into()))
}
