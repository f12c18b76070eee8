//! What both kinds of tokens keep of a ticket, in the columns `instance_id, id, status, updated_at, user_id,
//! ticket_digest, expire_at, created_at, key_id`, before those of its own.

use latchkey_base::{Id, Result};
use latchkey_db::{DbError, Row, Table, Tx, Value};
use latchkey_kernel::key_tickets::{PendingTicket, TicketPage, TicketQuery};

use super::model::{Grant, TicketStatus};

const OF_KEY: &str = " AND key_id = $5";
/// The condition of tickets that can still be used, behind the id of `list_tickets`.
pub const PENDING: &str = " AND status = 'pending' AND expire_at > $2 AND id > $3";

/// The row of a token with a grant.
pub fn grant_row<K>(id: &Id<K>, grant: &Grant) -> Vec<Value> {
    vec![
        (&grant.instance).into(),
        id.into(),
        grant.status.name().into(),
        grant.updated_at.into(),
        (&grant.user).into(),
        grant.digest.as_slice().into(),
        grant.expire_at.into(),
        grant.created_at.into(),
        grant.key.as_ref().into(),
    ]
}

/// Lists pending tokens of a table.
pub async fn list_pending(tx: &mut Tx, table: &'static Table, query: TicketQuery) -> Result<TicketPage> {
    let rows = list_tickets(tx, table, (PENDING, &query), read_pending).await?;
    Ok(TicketPage::new(rows, query.limit))
}

/// Lists rows of a table with tickets that meet a condition, those of one key if the query names one.
pub async fn list_tickets<T: Send + 'static>(
    tx: &mut Tx,
    table: &'static Table,
    (condition, query): (&'static str, &TicketQuery),
    read: fn(&Row<'_>) -> Result<T, DbError>,
) -> Result<Vec<T>> {
    let TicketQuery { instance, key, now, after, limit } = query;
    let mut params: Vec<Value> = vec![instance.into(), (*now).into(), after.as_str().into(), (*limit).into()];
    params.extend(key.as_ref().map(Value::from));
    let of_key = if key.is_some() { OF_KEY } else { "" };
    Ok(tx.all(&[table.of_instance(), condition, of_key, " ORDER BY id LIMIT $4"], &params, read).await?)
}

fn read_pending(row: &Row<'_>) -> Result<(PendingTicket, bool), DbError> {
    let Grant { user, key, created_at, expire_at, .. } = read_grant(row)?;
    let subject = Some(user.to_string());
    Ok((PendingTicket { id: row.text(1)?, subject, key, created_at, expire_at }, true))
}

/// Reads the grant of a token.
pub fn read_grant(row: &Row<'_>) -> Result<Grant, DbError> {
    let unknown = || DbError::Failed("a token has an unknown status".into());
    Ok(Grant {
        instance: row.id(0)?,
        status: TicketStatus::parse(row.str(2)?).ok_or_else(unknown)?,
        updated_at: row.time(3)?,
        user: row.id(4)?,
        digest: row.bytes(5)?,
        expire_at: row.time(6)?,
        created_at: row.time(7)?,
        key: row.maybe_id(8)?,
    })
}
