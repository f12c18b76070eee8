//! The SQL of messages: writing them, and taking them on their way.

use latchkey_base::kinds::{InstanceId, MessageId};
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, Statement, Table, Tx, Value};
use latchkey_kernel::aging::InstanceHistory;
use latchkey_letters::model::Channel;

use super::model::{MessageOutcome, MessageRow, MessageStatus, Queued};

static MESSAGES: Table = Table::new("messages", &["instance_id", "id"]).fixed(&[
    "user_id",
    "identification_id",
    "channel",
    "recipient",
    "slug",
    "content_sealed",
    "status",
    "attempts",
    "next_at",
    "leased_until",
    "failure",
    "expire_at",
    "created_at",
    "mailbox",
    "asked_from",
]);

/// Adds a message. One that is to be sent is due at once.
pub async fn insert(tx: &mut Tx, row: &MessageRow<'_>) -> Result<()> {
    let next_at = match row.status {
        MessageStatus::Queued => Some(row.created_at),
        MessageStatus::Held => None,
    };
    let row = [
        row.instance.into(),
        row.id.into(),
        row.user.into(),
        row.identification.into(),
        row.channel.name().into(),
        row.to.into(),
        row.slug.into(),
        row.content_sealed.clone().into(),
        row.status.name().into(),
        0.into(),
        next_at.into(),
        0.into(),
        Value::Text(None),
        row.expire_at.into(),
        row.created_at.into(),
        row.mailbox.into(),
        row.asked_from.into(),
    ];
    MESSAGES.insert(tx, &row).await
}

/// When the text message was written that is the `number`-th from the last one to a recipient, if there were
/// so many. Those that are later than now, because the clock was set back, do not count.
pub async fn text_from_last(
    tx: &mut Tx,
    instance: &InstanceId,
    to: &str,
    number: i64,
    now: Time,
) -> Result<Option<Time>> {
    let sql = "SELECT created_at FROM messages WHERE instance_id = $1 AND recipient = $2 AND channel = 'sms' \
               AND created_at <= $4 ORDER BY created_at DESC LIMIT 1 OFFSET $3";
    let params = [instance.into(), to.into(), (number - 1).into(), now.into()];
    Ok(tx.maybe(&[sql], &params, |row| row.time(0)).await?)
}

/// The same for e-mails to a mailbox that somebody asked for.
pub async fn mail_from_last(
    tx: &mut Tx,
    instance: &InstanceId,
    mailbox: &str,
    number: i64,
    now: Time,
) -> Result<Option<Time>> {
    let sql = "SELECT created_at FROM messages WHERE instance_id = $1 AND mailbox = $2 \
               AND created_at <= $4 ORDER BY created_at DESC LIMIT 1 OFFSET $3";
    let params = [instance.into(), mailbox.into(), (number - 1).into(), now.into()];
    Ok(tx.maybe(&[sql], &params, |row| row.time(0)).await?)
}

/// The same for messages of a channel that strangers asked for from one address.
pub async fn asked_from_last(
    tx: &mut Tx,
    instance: &InstanceId,
    (asked_from, channel): (&str, Channel),
    number: i64,
    now: Time,
) -> Result<Option<Time>> {
    let sql = "SELECT created_at FROM messages WHERE instance_id = $1 AND asked_from = $2 AND channel = $3 \
               AND created_at <= $5 ORDER BY created_at DESC LIMIT 1 OFFSET $4";
    let params = [instance.into(), asked_from.into(), channel.name().into(), (number - 1).into(), now.into()];
    Ok(tx.maybe(&[sql], &params, |row| row.time(0)).await?)
}

/// Messages, for as long as the instance wants to keep them.
pub const HISTORY: InstanceHistory = InstanceHistory {
    name: "messages",
    days: |settings| settings.messages_retention_days,
    delete: |tx, instance, before, limit| Box::pin(delete_old(tx, instance, before, limit)),
};

/// Deletes up to `limit` messages of an instance that were written before a time. Says how many.
async fn delete_old(tx: &mut Tx, instance: InstanceId, before: Time, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM messages WHERE instance_id = $1 AND id IN \
               (SELECT id FROM messages WHERE instance_id = $1 AND created_at < $2 ORDER BY created_at, id LIMIT $3)";
    Ok(tx.run(&[sql], &[(&instance).into(), before.into(), limit.into()]).await?)
}

/// Deletes the messages of one template that were written to a recipient at a time.
pub async fn delete_written(
    tx: &mut Tx,
    instance: &InstanceId,
    (to, slug): (&str, &str),
    written_at: Time,
) -> Result<()> {
    let sql =
        "DELETE FROM messages WHERE instance_id = $1 AND created_at = $2 AND recipient = $3 AND slug = $4";
    tx.run(&[sql], &[instance.into(), written_at.into(), to.into(), slug.into()]).await?;
    Ok(())
}

/// Longer than any message waits for its next attempt: twice the longest pause. One that would was queued before the
/// clock was set back, and is due.
const LONGEST_WAIT_MS: i64 = 2 * 3_600_000;

/// The instances with messages that are due, those that wait longest first.
pub async fn due(tx: &mut Tx, now: Time, limit: i64) -> Result<Vec<InstanceId>> {
    let sql = "SELECT instance_id FROM messages WHERE next_at <= $1 OR next_at > $3 \
               GROUP BY instance_id ORDER BY min(next_at), instance_id LIMIT $2";
    let params = [now.into(), limit.into(), now.plus_ms(LONGEST_WAIT_MS).into()];
    Ok(tx.all(&[sql], &params, |row| row.id(0)).await?)
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
               WHERE instance_id = $1 AND (next_at <= $2 OR next_at > $4) ORDER BY next_at, id LIMIT $3";
    let params = [instance.into(), now.into(), limit.into(), now.plus_ms(LONGEST_WAIT_MS).into()];
    let found = tx.claim(&[sql], &params, read).await?;
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
    outcome: MessageOutcome<'_>,
) -> Result<bool> {
    let sql = "UPDATE messages SET status = $4, next_at = $5, failure = $6, leased_until = 0 \
               WHERE instance_id = $1 AND id = $2 AND leased_until = $3";
    let params = [
        instance.into(),
        id.into(),
        until.into(),
        outcome.status.into(),
        outcome.next_at.into(),
        outcome.failure.into(),
    ];
    Ok(tx.run(&[sql], &params).await? > 0)
}

/// How many messages wait to be sent, in all instances, for whoever watches the server; counted no further than this.
pub async fn waiting(tx: &mut Tx, at_most: i64) -> Result<i64> {
    let sql = "SELECT count(*) FROM (SELECT 1 FROM messages WHERE next_at IS NOT NULL LIMIT $1) AS waiting";
    Ok(tx.maybe(&[sql], &[at_most.into()], |row| row.int(0)).await?.unwrap_or_default())
}

fn read(row: &latchkey_db::Row<'_>) -> Result<Queued, DbError> {
    let channel = match row.str(1)? {
        "sms" => Channel::Sms,
        _ => Channel::Email,
    };
    Ok(Queued {
        id: row.id(0)?,
        channel,
        to: row.text(2)?,
        slug: row.text(3)?,
        content: row.bytes(4)?,
        attempts: row.int(5)?,
        expire_at: row.maybe_time(6)?,
        created_at: row.time(7)?,
    })
}
