//! The SQL of sign-in tokens.

use latchkey_base::kinds::{InstanceId, SignInTokenId};
use latchkey_base::{Id, Result, Time};
use latchkey_db::{DbError, Row, Tx};

use super::model::SignInToken;
use crate::resources::tickets::store::read_grant;

const SELECT: &str = "SELECT instance_id, id, user_id, ticket_digest, status, expire_at, created_at, updated_at \
     FROM sign_in_tokens";

/// One token.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &SignInTokenId) -> Result<Option<SignInToken>> {
    let params = [instance.into(), id.into()];
    Ok(tx.maybe(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &params, read).await?)
}

/// One token, to change it.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &SignInTokenId) -> Result<Option<SignInToken>> {
    let params = [instance.into(), id.into()];
    Ok(tx.lock(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &params, read).await?)
}

/// Adds a token.
pub async fn insert(tx: &mut Tx, token: &SignInToken) -> Result<()> {
    let grant = &token.grant;
    let params = [
        (&grant.instance).into(),
        (&token.id).into(),
        (&grant.user).into(),
        grant.digest.as_slice().into(),
        grant.status.name().into(),
        grant.expire_at.into(),
        grant.created_at.into(),
        grant.updated_at.into(),
    ];
    let sql = "INSERT INTO sign_in_tokens \
               (instance_id, id, user_id, ticket_digest, status, expire_at, created_at, updated_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// Saves what became of a token.
pub async fn save(tx: &mut Tx, token: &SignInToken) -> Result<()> {
    let grant = &token.grant;
    let sql = "UPDATE sign_in_tokens SET status = $3, updated_at = $4 WHERE instance_id = $1 AND id = $2";
    let params =
        [(&grant.instance).into(), (&token.id).into(), grant.status.name().into(), grant.updated_at.into()];
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// Deletes up to `limit` tokens of any instance that expired before `before`. Says how many.
pub async fn delete_old(tx: &mut Tx, before: Time, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM sign_in_tokens WHERE (instance_id, id) IN (SELECT instance_id, id \
               FROM sign_in_tokens WHERE expire_at < $1 ORDER BY expire_at LIMIT $2)";
    Ok(tx.run(&[sql], &[before.into(), limit.into()]).await?)
}

fn read(row: &Row<'_>) -> Result<SignInToken, DbError> {
    Ok(SignInToken {
        id: Id::parse(row.str(1)?).ok_or_else(|| DbError::Failed("a sign-in token without id".into()))?,
        grant: read_grant(row)?,
    })
}
