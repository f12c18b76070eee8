//! The SQL of sign-in tokens.

use latchkey_base::Result;
use latchkey_base::kinds::{InstanceId, SignInTokenId, UserId};
use latchkey_db::{DbError, Row, Table, Tx, Value};
use latchkey_kernel::aging::AgedRows;
use latchkey_kernel::key_tickets::{TicketPage, TicketQuery};
use latchkey_kernel::limits::SESSION_RETENTION_MS;

use super::model::SignInToken;
use crate::tickets::store::{self, grant_row, read_grant};

static SIGN_IN_TOKENS: Table = Table::new("sign_in_tokens", &["instance_id", "id"])
    .saved(&["status", "updated_at"])
    .fixed(&["user_id", "ticket_digest", "expire_at", "created_at", "key_id", "organization_id"])
    .aged_by("expire_at");

/// Those that expired, kept as long as sessions.
pub const AGED: AgedRows = AgedRows {
    name: "sign-in tokens",
    kept_ms: SESSION_RETENTION_MS,
    delete: |tx, before, limit| Box::pin(SIGN_IN_TOKENS.delete_old(tx, before, limit)),
};

pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &SignInTokenId) -> Result<Option<SignInToken>> {
    SIGN_IN_TOKENS.find(tx, &[instance.into(), id.into()], read).await
}

/// One token, to change it.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &SignInTokenId) -> Result<Option<SignInToken>> {
    SIGN_IN_TOKENS.lock(tx, &[instance.into(), id.into()], read).await
}

/// Lists pending tokens.
pub async fn list_pending(tx: &mut Tx, query: TicketQuery) -> Result<TicketPage> {
    store::list_pending(tx, &SIGN_IN_TOKENS, query).await
}

/// Deletes up to `limit` tokens of a user. Says how many.
pub async fn delete_some(tx: &mut Tx, instance: &InstanceId, user: &UserId, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM sign_in_tokens WHERE instance_id = $1 AND id IN \
               (SELECT id FROM sign_in_tokens WHERE instance_id = $1 AND user_id = $2 LIMIT $3)";
    Ok(tx.run(&[sql], &[instance.into(), user.into(), limit.into()]).await?)
}

/// Whether a user has more than `most` tokens.
pub async fn has_more(tx: &mut Tx, instance: &InstanceId, user: &UserId, most: i64) -> Result<bool> {
    let sql = "SELECT 1 FROM sign_in_tokens WHERE instance_id = $1 AND user_id = $2 LIMIT 1 OFFSET $3";
    Ok(tx.exists(&[sql], &[instance.into(), user.into(), most.into()]).await?)
}

pub async fn insert(tx: &mut Tx, token: &SignInToken) -> Result<()> {
    SIGN_IN_TOKENS.insert(tx, &row(token)).await
}

/// Saves what became of a token.
pub async fn save(tx: &mut Tx, token: &SignInToken) -> Result<()> {
    SIGN_IN_TOKENS.save(tx, &row(token)).await
}

fn row(token: &SignInToken) -> Vec<Value> {
    let mut row = grant_row(&token.id, &token.grant);
    row.push(token.organization.as_ref().into());
    row
}

fn read(row: &Row<'_>) -> Result<SignInToken, DbError> {
    Ok(SignInToken { id: row.id(1)?, grant: read_grant(row)?, organization: row.maybe_id(9)? })
}
