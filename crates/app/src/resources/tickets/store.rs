//! Reading what both kinds of tokens keep of a ticket.

use latchkey_base::Id;
use latchkey_db::{DbError, Row};

use super::model::{Grant, Status};

/// Reads a grant from `instance_id, id, user_id, ticket_digest, status, expire_at, created_at, updated_at`.
pub fn read_grant(row: &Row<'_>) -> Result<Grant, DbError> {
    let broken = |what: &str| DbError::Failed(format!("a token has {what}").into());
    Ok(Grant {
        instance: Id::parse(row.str(0)?).ok_or_else(|| broken("no instance"))?,
        user: Id::parse(row.str(2)?).ok_or_else(|| broken("no user"))?,
        digest: row.bytes(3)?,
        status: Status::parse(row.str(4)?).ok_or_else(|| broken("an unknown status"))?,
        expire_at: row.time(5)?,
        created_at: row.time(6)?,
        updated_at: row.time(7)?,
    })
}
