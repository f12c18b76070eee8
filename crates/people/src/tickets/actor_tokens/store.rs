//! The SQL of actor tokens.

use latchkey_base::Result;
use latchkey_base::kinds::{ActorTokenId, InstanceId, UserId};
use latchkey_db::{DbError, Row, Table, Tx};
use latchkey_kernel::aging::AgedRows;
use latchkey_kernel::document;
use latchkey_kernel::key_tickets::{TicketPage, TicketQuery};
use latchkey_kernel::limits::SESSION_RETENTION_MS;

use super::model::ActorToken;
use crate::tickets::store::{self, grant_row, read_grant};

static ACTOR_TOKENS: Table = Table::new("actor_tokens", &["instance_id", "id"])
    .saved(&["status", "updated_at"])
    .fixed(&[
        "user_id",
        "ticket_digest",
        "expire_at",
        "created_at",
        "key_id",
        "actor",
        "session_seconds",
        "organization_id",
    ])
    .aged_by("expire_at");

/// Those that expired, kept as long as sessions.
pub const AGED: AgedRows = AgedRows {
    name: "actor tokens",
    kept_ms: SESSION_RETENTION_MS,
    delete: |tx, before, limit| Box::pin(ACTOR_TOKENS.delete_old(tx, before, limit)),
};

pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &ActorTokenId) -> Result<Option<ActorToken>> {
    ACTOR_TOKENS.find(tx, &[instance.into(), id.into()], read).await
}

/// One token, to change it.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &ActorTokenId) -> Result<Option<ActorToken>> {
    ACTOR_TOKENS.lock(tx, &[instance.into(), id.into()], read).await
}

/// Lists pending tokens.
pub async fn list_pending(tx: &mut Tx, query: TicketQuery) -> Result<TicketPage> {
    store::list_pending(tx, &ACTOR_TOKENS, query).await
}

/// Deletes up to `limit` tokens of a user. Says how many.
pub async fn delete_some(tx: &mut Tx, instance: &InstanceId, user: &UserId, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM actor_tokens WHERE instance_id = $1 AND id IN \
               (SELECT id FROM actor_tokens WHERE instance_id = $1 AND user_id = $2 LIMIT $3)";
    Ok(tx.run(&[sql], &[instance.into(), user.into(), limit.into()]).await?)
}

/// Whether a user has more than `most` tokens.
pub async fn has_more(tx: &mut Tx, instance: &InstanceId, user: &UserId, most: i64) -> Result<bool> {
    let sql = "SELECT 1 FROM actor_tokens WHERE instance_id = $1 AND user_id = $2 LIMIT 1 OFFSET $3";
    Ok(tx.exists(&[sql], &[instance.into(), user.into(), most.into()]).await?)
}

pub async fn insert(tx: &mut Tx, token: &ActorToken) -> Result<()> {
    let mut row = grant_row(&token.id, &token.grant);
    row.extend([
        document::write(&token.actor)?.into(),
        token.session_seconds.into(),
        token.organization.as_ref().into(),
    ]);
    ACTOR_TOKENS.insert(tx, &row).await
}

/// Saves what became of a token.
pub async fn save(tx: &mut Tx, token: &ActorToken) -> Result<()> {
    ACTOR_TOKENS.save(tx, &grant_row(&token.id, &token.grant)).await
}

fn read(row: &Row<'_>) -> Result<ActorToken, DbError> {
    Ok(ActorToken {
        id: row.id(1)?,
        grant: read_grant(row)?,
        actor: document::read("actor", row.str(9)?)?,
        session_seconds: row.int(10)?,
        organization: row.maybe_id(11)?,
    })
}
