//! What both kinds of tokens keep of a ticket, in the columns `instance_id, id, status, updated_at, user_id,
//! ticket_digest, expire_at, created_at`, before those of its own.

use latchkey_base::Id;
use latchkey_db::{DbError, Row, Value};

use super::model::{Grant, TicketStatus};

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
    ]
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
    })
}
