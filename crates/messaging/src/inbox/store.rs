//! Reads messages.

use latchkey_base::kinds::{InstanceId, MessageId};
use latchkey_base::page::Paging;
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, List, Row, Tx};

use super::model::{InboxFilter, Sealed};

/// The newest messages, newest first.
pub(super) async fn list(tx: &mut Tx, instance: &InstanceId, wanted: &InboxFilter) -> Result<Vec<Sealed>> {
    let select =
        "SELECT id, channel, recipient, slug, content_sealed, status, failure, created_at FROM messages";
    let page = Paging { limit: wanted.limit, offset: 0 };
    let list = filtered(select, instance, wanted).order("created_at DESC, id DESC").page(page);
    Ok(list.fetch(tx, read).await?)
}

/// How many there are, however many are shown.
pub(super) async fn count(tx: &mut Tx, instance: &InstanceId, wanted: &InboxFilter) -> Result<i64> {
    Ok(filtered("SELECT count(*) FROM messages", instance, wanted).count(tx).await?)
}

fn filtered(select: &'static str, instance: &InstanceId, wanted: &InboxFilter) -> List {
    let list = List::new(select)
        .filter("instance_id = ?", vec![instance.into()])
        .maybe("recipient = ?", wanted.to.as_deref())
        .maybe("created_at >= ?", wanted.since);
    match &wanted.after {
        Some((at, id)) => list.filter("(created_at, id) > (?, ?)", vec![(*at).into(), id.into()]),
        None => list,
    }
}

pub(super) async fn written_at(tx: &mut Tx, instance: &InstanceId, id: &MessageId) -> Result<Option<Time>> {
    let sql = "SELECT created_at FROM messages WHERE instance_id = $1 AND id = $2";
    Ok(tx.maybe(&[sql], &[instance.into(), id.into()], |row| row.time(0)).await?)
}

fn read(row: &Row<'_>) -> Result<Sealed, DbError> {
    Ok(Sealed {
        id: row.id(0)?,
        channel: row.text(1)?,
        to: row.text(2)?,
        slug: row.text(3)?,
        content: row.bytes(4)?,
        status: row.text(5)?,
        failure: row.maybe_text(6)?,
        created_at: row.time(7)?,
    })
}
