//! The SQL of clients and of the browsers of developers.

use latchkey_base::kinds::{ClientId, InstanceId, UserId};
use latchkey_base::{Id, Result, Time};
use latchkey_db::{DbError, List, Row, Statement, Tx, Value};

use super::model::Client;
use crate::document;

const SELECT: &str = "SELECT instance_id, document FROM clients";

/// One client.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &ClientId) -> Result<Option<Client>> {
    let params = [instance.into(), id.into()];
    Ok(tx.maybe(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &params, read).await?)
}

/// A client and the digest of its secret.
pub async fn find_with_digest(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &ClientId,
) -> Result<Option<(Client, Vec<u8>)>> {
    let sql = "SELECT instance_id, document, token_digest FROM clients WHERE instance_id = $1 AND id = $2";
    Ok(tx.maybe(&[sql], &[instance.into(), id.into()], |row| Ok((read(row)?, row.bytes(2)?))).await?)
}

/// One client, to change it.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &ClientId) -> Result<Option<Client>> {
    let params = [instance.into(), id.into()];
    Ok(tx.lock(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &params, read).await?)
}

/// Clients, to change them, in the order in which all lock them.
pub async fn lock_some(tx: &mut Tx, instance: &InstanceId, ids: &[&ClientId]) -> Result<Vec<Client>> {
    let ids: Vec<Value> = ids.iter().map(|&id| id.into()).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let list = List::new(SELECT).filter("instance_id = ?", vec![instance.into()]);
    Ok(list.any_of("id IN", vec![], ids, "").order("id").lock(tx, read).await?)
}

/// The clients on which users are signed in, and maybe one more, to change them.
pub async fn lock_of_users(
    tx: &mut Tx,
    instance: &InstanceId,
    users: &[&UserId],
    also: Option<&ClientId>,
    now: Time,
) -> Result<Vec<Client>> {
    // Not `OR`: PostgreSQL would look at every client of the tenant.
    const SIGNED_IN: &str = "id IN (SELECT ? UNION ALL SELECT client_id FROM sessions WHERE instance_id = ? \
         AND status IN ('active', 'pending') AND expire_at > ? AND abandon_at > ? AND user_id IN";
    let users: Vec<Value> = users.iter().map(|&id| id.into()).collect();
    if users.is_empty() {
        return Ok(Vec::new());
    }
    let also = also.map_or("", |id| id.as_str());
    let first = vec![also.into(), instance.into(), now.into(), now.into()];
    let list = List::new(SELECT).filter("instance_id = ?", vec![instance.into()]);
    Ok(list.any_of(SIGNED_IN, first, users, ")").order("id").lock(tx, read).await?)
}

/// A page of clients, newest first.
pub async fn list(tx: &mut Tx, instance: &InstanceId, limit: i64, offset: i64) -> Result<Vec<Client>> {
    let params = [instance.into(), limit.into(), offset.into()];
    let parts = [SELECT, " WHERE instance_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3"];
    Ok(tx.all(&parts, &params, read).await?)
}

/// How many clients there are.
pub async fn count(tx: &mut Tx, instance: &InstanceId) -> Result<i64> {
    let sql = "SELECT count(*) FROM clients WHERE instance_id = $1";
    Ok(tx.maybe(&[sql], &[instance.into()], |row| row.int(0)).await?.unwrap_or_default())
}

/// Adds a client.
pub async fn insert(tx: &mut Tx, client: &Client, digest: &[u8]) -> Result<()> {
    let params = [
        (&client.instance).into(),
        (&client.id).into(),
        digest.into(),
        document::write(client)?.into(),
        client.created_at.into(),
    ];
    let sql = "INSERT INTO clients (instance_id, id, token_digest, document, created_at, seen_at) VALUES ($1, $2, $3, $4, $5, $5)";
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// Saves a changed client.
pub async fn save(tx: &mut Tx, client: &Client, now: Time) -> Result<()> {
    let (sql, params) = saving(client, now)?;
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// The same as a statement, for callers that save several at once.
pub fn saving(client: &Client, now: Time) -> Result<Statement> {
    let sql = "UPDATE clients SET document = $3, seen_at = $4 WHERE instance_id = $1 AND id = $2";
    let params =
        vec![(&client.instance).into(), (&client.id).into(), document::write(client)?.into(), now.into()];
    Ok((sql, params))
}

/// Gives a client a new secret.
pub async fn rotate(tx: &mut Tx, client: &Client, digest: &[u8]) -> Result<()> {
    let sql = "UPDATE clients SET token_digest = $3 WHERE instance_id = $1 AND id = $2";
    tx.run(&[sql], &[(&client.instance).into(), (&client.id).into(), digest.into()]).await?;
    Ok(())
}

/// Deletes up to `limit` clients not seen since `before` that hold no session. Says how many.
pub async fn delete_unused(tx: &mut Tx, before: Time, limit: i64) -> Result<u64> {
    // The first condition is looked at again when the row was locked by somebody who is just signing in.
    let sql = "DELETE FROM clients WHERE seen_at < $1 AND (instance_id, id) IN (SELECT c.instance_id, c.id FROM clients c \
               WHERE c.seen_at < $1 AND NOT EXISTS (SELECT 1 FROM sessions s \
               WHERE s.instance_id = c.instance_id AND s.client_id = c.id) ORDER BY c.seen_at LIMIT $2)";
    Ok(tx.run(&[sql], &[before.into(), limit.into()]).await?)
}

/// A developer's browser, as far as it is known.
pub struct DevBrowser {
    /// The client it uses.
    pub client: Option<ClientId>,
}

/// The browser that has this token.
pub async fn find_dev_browser(
    tx: &mut Tx,
    instance: &InstanceId,
    digest: &[u8],
) -> Result<Option<DevBrowser>> {
    let sql = "SELECT client_id FROM dev_browsers WHERE instance_id = $1 AND token_digest = $2";
    let read = |row: &Row<'_>| {
        let client = row.maybe_str(0)?.map(read_id).transpose()?;
        Ok(DevBrowser { client })
    };
    Ok(tx.maybe(&[sql], &[instance.into(), digest.into()], read).await?)
}

/// Adds a browser, or links a known one to a client.
pub async fn save_dev_browser(
    tx: &mut Tx,
    instance: &InstanceId,
    digest: &[u8],
    client: Option<&ClientId>,
    now: Time,
) -> Result<()> {
    let sql = "INSERT INTO dev_browsers (instance_id, token_digest, client_id, created_at, seen_at) \
               VALUES ($1, $2, $3, $4, $4) ON CONFLICT (instance_id, token_digest) \
               DO UPDATE SET client_id = excluded.client_id, seen_at = excluded.seen_at";
    let client = client.map(|id| id.as_str().to_owned());
    tx.run(&[sql], &[instance.into(), digest.into(), client.into(), now.into()]).await?;
    Ok(())
}

/// Deletes up to `limit` browsers not seen since `before`. Says how many.
pub async fn delete_unused_dev_browsers(tx: &mut Tx, before: Time, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM dev_browsers WHERE (instance_id, token_digest) IN (SELECT instance_id, token_digest \
               FROM dev_browsers WHERE seen_at < $1 ORDER BY seen_at LIMIT $2)";
    Ok(tx.run(&[sql], &[before.into(), limit.into()]).await?)
}

fn read(row: &Row<'_>) -> Result<Client, DbError> {
    read_document(&read_id(row.str(0)?)?, row.str(1)?)
}

/// Reads a client from its document, for stores that join.
pub fn read_document(instance: &InstanceId, document: &str) -> Result<Client, DbError> {
    let client: Client = document::read("client", document)?;
    Ok(Client { instance: instance.clone(), ..client })
}

fn read_id<K: latchkey_base::id::Kind>(text: &str) -> Result<Id<K>, DbError> {
    Id::parse(text).ok_or_else(|| DbError::Failed(format!("{text} is not an id").into()))
}
