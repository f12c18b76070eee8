//! The SQL of syncs.

use latchkey_base::kinds::{ClientId, InstanceId};
use latchkey_base::{Id, Result, Time};
use latchkey_db::{DbError, Row, Tx};
use latchkey_jose::digest::sha256;

use super::model::{Sync, Taken};

/// Keeps a sync until the browser arrives.
pub async fn insert(tx: &mut Tx, sync: &Sync, token: &str) -> Result<()> {
    let sql = "INSERT INTO syncs (instance_id, token_digest, satellite, state_digest, client_id, redirect_url, \
               expire_at, is_used) VALUES ($1, $2, $3, $4, $5, $6, $7, FALSE)";
    let digest = sha256(token.as_bytes());
    let client = sync.client.as_ref().map(|id| id.as_str().to_owned());
    let params = [
        (&sync.instance).into(),
        digest.as_slice().into(),
        sync.satellite.as_str().into(),
        sync.state_digest.as_slice().into(),
        client.into(),
        sync.redirect_url.as_str().into(),
        sync.expire_at.into(),
    ];
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// Uses a token up. One that is shown at another satellite or by another browser stays good for its own.
pub async fn take(
    tx: &mut Tx,
    instance: &InstanceId,
    satellite: &str,
    token: &str,
    state_digest: &[u8],
    now: Time,
) -> Result<Taken> {
    let digest = sha256(token.as_bytes());
    let params =
        [instance.into(), digest.as_slice().into(), satellite.into(), state_digest.into(), now.into()];
    let sql = "UPDATE syncs SET is_used = TRUE WHERE instance_id = $1 AND token_digest = $2 AND satellite = $3 \
               AND state_digest = $4 AND expire_at > $5 AND is_used = FALSE RETURNING client_id, redirect_url";
    if let Some(taken) = tx.all(&[sql], &params, read).await?.into_iter().next() {
        return Ok(taken);
    }
    let sql = "SELECT is_used FROM syncs WHERE instance_id = $1 AND token_digest = $2 AND satellite = $3 \
               AND state_digest = $4 AND expire_at > $5";
    Ok(match tx.maybe(&[sql], &params, |row| row.bool(0)).await? {
        Some(true) => Taken::Before,
        Some(false) | None => Taken::Never,
    })
}

/// Deletes up to `limit` syncs whose time is over. Says how many.
pub async fn delete_old(tx: &mut Tx, before: Time, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM syncs WHERE (instance_id, token_digest) IN (SELECT instance_id, token_digest \
               FROM syncs WHERE expire_at < $1 ORDER BY expire_at LIMIT $2)";
    Ok(tx.run(&[sql], &[before.into(), limit.into()]).await?)
}

fn read(row: &Row<'_>) -> Result<Taken, DbError> {
    let client = row.maybe_str(0)?.map(read_id).transpose()?;
    Ok(Taken::Now { client, redirect_url: row.text(1)? })
}

fn read_id(text: &str) -> Result<ClientId, DbError> {
    Id::parse(text).ok_or_else(|| DbError::Failed(format!("{text} is not an id").into()))
}
