//! The SQL of clients and of the browsers of developers.

use latchkey_base::kinds::{ClientId, InstanceId, UserId};
use latchkey_base::page::Paging;
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, List, Row, Statement, Table, Tx, Value};
use latchkey_kernel::aging::AgedRows;
use latchkey_kernel::document;
use latchkey_kernel::limits::{CLIENT_RETENTION_MS, CLIENT_WITHOUT_PEOPLE_RETENTION_MS};

use super::model::Client;

static CLIENTS: Table = Table::new("clients", &["instance_id", "id"])
    .saved(&["document", "seen_at", "knows_users"])
    .fixed(&["token_digest", "created_at"])
    .read(&["instance_id", "document"]);
static DEV_BROWSERS: Table = Table::new("dev_browsers", &["instance_id", "token_digest"])
    .saved(&["client_id", "client_digest", "seen_at"])
    .fixed(&["created_at"])
    .read(&["client_id", "client_digest"])
    .aged_by("seen_at");

/// Clients that nobody uses. They hold no session: those go first.
pub const AGED: AgedRows = AgedRows {
    name: "clients",
    kept_ms: CLIENT_RETENTION_MS,
    delete: |tx, before, limit| Box::pin(delete_unused(tx, before, limit)),
};

/// Clients on which nobody ever signed in.
pub const AGED_WITHOUT_PEOPLE: AgedRows = AgedRows {
    name: "clients without people",
    kept_ms: CLIENT_WITHOUT_PEOPLE_RETENTION_MS,
    delete: |tx, before, limit| Box::pin(delete_without_people(tx, before, limit)),
};

/// Those that nobody uses.
pub const AGED_DEV_BROWSERS: AgedRows = AgedRows {
    name: "browsers of developers",
    kept_ms: CLIENT_RETENTION_MS,
    delete: |tx, before, limit| Box::pin(DEV_BROWSERS.delete_old(tx, before, limit)),
};

pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &ClientId) -> Result<Option<Client>> {
    CLIENTS.find(tx, &[instance.into(), id.into()], read).await
}

/// A client and the digest of its secret.
pub async fn find_with_digest(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &ClientId,
) -> Result<Option<(Client, Vec<u8>)>> {
    Ok(tx.maybe(&[WITH_DIGEST], &[instance.into(), id.into()], read_with_digest).await?)
}

/// The same, to change the client.
pub async fn lock_with_digest(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &ClientId,
) -> Result<Option<(Client, Vec<u8>)>> {
    Ok(tx.lock(&[WITH_DIGEST], &[instance.into(), id.into()], read_with_digest).await?)
}

const WITH_DIGEST: &str =
    "SELECT instance_id, document, token_digest FROM clients WHERE instance_id = $1 AND id = $2";

fn read_with_digest(row: &Row<'_>) -> Result<(Client, Vec<u8>), DbError> {
    Ok((read(row)?, row.bytes(2)?))
}

/// One client, to change it.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &ClientId) -> Result<Option<Client>> {
    CLIENTS.lock(tx, &[instance.into(), id.into()], read).await
}

/// Clients, to change them, in the order in which all lock them.
pub async fn lock_some(tx: &mut Tx, instance: &InstanceId, ids: &[&ClientId]) -> Result<Vec<Client>> {
    let ids: Vec<Value> = ids.iter().map(|&id| id.into()).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let list = List::new(CLIENTS.select()).filter("instance_id = ?", vec![instance.into()]);
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
    let list = List::new(CLIENTS.select()).filter("instance_id = ?", vec![instance.into()]);
    Ok(list.any_of(SIGNED_IN, first, users, ")").order("id").lock(tx, read).await?)
}

/// A page of clients, newest first.
pub async fn list(tx: &mut Tx, instance: &InstanceId, page: Paging) -> Result<Vec<Client>> {
    let params = [instance.into(), page.limit.into(), page.offset.into()];
    let parts = [CLIENTS.of_instance(), " ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3"];
    Ok(tx.all(&parts, &params, read).await?)
}

pub async fn count(tx: &mut Tx, instance: &InstanceId) -> Result<i64> {
    let sql = "SELECT count(*) FROM clients WHERE instance_id = $1";
    Ok(tx.maybe(&[sql], &[instance.into()], |row| row.int(0)).await?.unwrap_or_default())
}

pub async fn insert(tx: &mut Tx, client: &Client, digest: &[u8]) -> Result<()> {
    let mut row = saved(client, client.created_at)?;
    row.extend([digest.into(), client.created_at.into()]);
    CLIENTS.insert(tx, &row).await
}

/// Saves a changed client.
pub async fn save(tx: &mut Tx, client: &Client, now: Time) -> Result<()> {
    CLIENTS.save(tx, &saved(client, now)?).await
}

/// The same as a statement, for callers that save several at once.
pub fn saving(client: &Client, now: Time) -> Result<Statement> {
    Ok(CLIENTS.saving(saved(client, now)?))
}

fn saved(client: &Client, now: Time) -> Result<Vec<Value>> {
    let knows_users = !client.known_users.is_empty();
    let document = document::write(client)?;
    Ok(vec![(&client.instance).into(), (&client.id).into(), document.into(), now.into(), knows_users.into()])
}

/// Replaces the secret of a client.
pub async fn rotate(tx: &mut Tx, client: &Client, digest: &[u8]) -> Result<()> {
    let sql = "UPDATE clients SET token_digest = $3 WHERE instance_id = $1 AND id = $2";
    tx.run(&[sql], &[(&client.instance).into(), (&client.id).into(), digest.into()]).await?;
    Ok(())
}

/// Deletes up to `limit` clients not seen since `before` that hold no session. Says how many.
async fn delete_unused(tx: &mut Tx, before: Time, limit: i64) -> Result<u64> {
    // The first condition is looked at again when the row was locked by somebody who is just signing in.
    let sql = "DELETE FROM clients WHERE seen_at < $1 AND (instance_id, id) IN (SELECT c.instance_id, c.id FROM clients c \
               WHERE c.seen_at < $1 AND NOT EXISTS (SELECT 1 FROM sessions s \
               WHERE s.instance_id = c.instance_id AND s.client_id = c.id) ORDER BY c.seen_at LIMIT $2)";
    Ok(tx.run(&[sql], &[before.into(), limit.into()]).await?)
}

/// Deletes up to `limit` clients not seen since `before` on which nobody ever signed in. Says how many.
async fn delete_without_people(tx: &mut Tx, before: Time, limit: i64) -> Result<u64> {
    // A session in which somebody acts as another leaves no user behind that the client knows.
    let sql = "DELETE FROM clients WHERE seen_at < $1 AND NOT knows_users AND (instance_id, id) IN \
               (SELECT c.instance_id, c.id FROM clients c WHERE c.seen_at < $1 AND NOT c.knows_users \
               AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.instance_id = c.instance_id AND s.client_id = c.id) \
               ORDER BY c.seen_at LIMIT $2)";
    Ok(tx.run(&[sql], &[before.into(), limit.into()]).await?)
}

/// A developer's browser, as far as it is known.
pub struct DevBrowser {
    /// The client that it was linked to, with the digest of the secret that the client had then. The browser proves what
    /// this secret proves.
    pub client: Option<(ClientId, Vec<u8>)>,
}

/// The browser that has this token.
pub async fn find_dev_browser(
    tx: &mut Tx,
    instance: &InstanceId,
    digest: &[u8],
) -> Result<Option<DevBrowser>> {
    DEV_BROWSERS.find(tx, &[instance.into(), digest.into()], read_dev_browser).await
}

/// The same, to change what it is linked to.
pub async fn lock_dev_browser(
    tx: &mut Tx,
    instance: &InstanceId,
    digest: &[u8],
) -> Result<Option<DevBrowser>> {
    DEV_BROWSERS.lock(tx, &[instance.into(), digest.into()], read_dev_browser).await
}

fn read_dev_browser(row: &Row<'_>) -> Result<DevBrowser, DbError> {
    Ok(DevBrowser { client: row.maybe_id(0)?.zip(row.maybe_bytes(1)?) })
}

/// Adds a browser, or links a known one to a client and the digest of a secret of it.
pub async fn save_dev_browser(
    tx: &mut Tx,
    instance: &InstanceId,
    digest: &[u8],
    client: Option<(&ClientId, &[u8])>,
    now: Time,
) -> Result<()> {
    let (id, client_digest) = client.unzip();
    let client_digest = client_digest.map(<[u8]>::to_vec);
    let row = [instance.into(), digest.into(), id.into(), client_digest.into(), now.into(), now.into()];
    DEV_BROWSERS.put(tx, &row).await
}

/// Takes the client away from a browser that is linked to another one than `client`. The browser stays known.
pub async fn unlink_dev_browser(tx: &mut Tx, client: &Client, digest: &[u8]) -> Result<()> {
    let sql = "UPDATE dev_browsers SET client_id = NULL, client_digest = NULL \
               WHERE instance_id = $1 AND token_digest = $2 AND client_id <> $3";
    tx.run(&[sql], &[(&client.instance).into(), digest.into(), (&client.id).into()]).await?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Client, DbError> {
    read_document(&row.id(0)?, row.str(1)?)
}

/// Reads a client from its document, for stores that join.
pub fn read_document(instance: &InstanceId, document: &str) -> Result<Client, DbError> {
    let client: Client = document::read("client", document)?;
    Ok(Client { instance: instance.clone(), ..client })
}
