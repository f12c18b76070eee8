//! The SQL of actor tokens.

use latchkey_base::kinds::{ActorTokenId, InstanceId};
use latchkey_base::{Id, Result, Time};
use latchkey_db::{DbError, Row, Tx};

use super::model::ActorToken;
use crate::document;
use crate::resources::tickets::store::read_grant;

const SELECT: &str = "SELECT instance_id, id, user_id, ticket_digest, status, expire_at, created_at, updated_at, actor, session_seconds \
     FROM actor_tokens";

/// One token.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &ActorTokenId) -> Result<Option<ActorToken>> {
    let params = [instance.into(), id.into()];
    Ok(tx.maybe(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &params, read).await?)
}

/// One token, to change it.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &ActorTokenId) -> Result<Option<ActorToken>> {
    let params = [instance.into(), id.into()];
    Ok(tx.lock(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &params, read).await?)
}

/// Adds a token.
pub async fn insert(tx: &mut Tx, token: &ActorToken) -> Result<()> {
    let grant = &token.grant;
    let params = [
        (&grant.instance).into(),
        (&token.id).into(),
        (&grant.user).into(),
        grant.digest.as_slice().into(),
        grant.status.name().into(),
        document::write(&token.actor)?.into(),
        token.session_seconds.into(),
        grant.expire_at.into(),
        grant.created_at.into(),
        grant.updated_at.into(),
    ];
    let sql = "INSERT INTO actor_tokens (instance_id, id, user_id, ticket_digest, status, actor, session_seconds, \
               expire_at, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// Saves what became of a token.
pub async fn save(tx: &mut Tx, token: &ActorToken) -> Result<()> {
    let grant = &token.grant;
    let sql = "UPDATE actor_tokens SET status = $3, updated_at = $4 WHERE instance_id = $1 AND id = $2";
    let params =
        [(&grant.instance).into(), (&token.id).into(), grant.status.name().into(), grant.updated_at.into()];
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// Deletes up to `limit` tokens of any instance that expired before `before`. Says how many.
pub async fn delete_old(tx: &mut Tx, before: Time, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM actor_tokens WHERE (instance_id, id) IN (SELECT instance_id, id \
               FROM actor_tokens WHERE expire_at < $1 ORDER BY expire_at LIMIT $2)";
    Ok(tx.run(&[sql], &[before.into(), limit.into()]).await?)
}

fn read(row: &Row<'_>) -> Result<ActorToken, DbError> {
    Ok(ActorToken {
        id: Id::parse(row.str(1)?).ok_or_else(|| DbError::Failed("an actor token without id".into()))?,
        grant: read_grant(row)?,
        actor: document::read("actor", row.str(8)?)?,
        session_seconds: row.int(9)?,
    })
}
