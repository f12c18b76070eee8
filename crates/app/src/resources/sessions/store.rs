//! The SQL of sessions.

use latchkey_base::kinds::{ClientId, InstanceId, SessionId, UserId};
use latchkey_base::page::Paging;
use latchkey_base::{Id, Result, Time};
use latchkey_db::{DbError, List, Row, Statement, Tx};

use super::model::{Session, Status};
use super::present::{Found, Present};
use crate::document;
use crate::resources::clients::model::Client;
use crate::resources::clients::store as clients;
use crate::resources::instances::store::{By, SIGNING_PLACE, read_signing_place};
use crate::resources::users::model::User;
use crate::resources::users::store as users;

const SELECT: &str = "SELECT instance_id, document FROM sessions";
/// The ones that still count, at the third parameter.
const LIVE: &str = " AND status IN ('active', 'pending') AND expire_at > $3 AND abandon_at > $3";

/// Who is signed in on the client of the third parameter.
const PRESENT: &str = ", c.document, c.token_digest, s.document, u.document FROM instances i \
     LEFT JOIN clients c ON c.instance_id = i.id AND c.id = $3 \
     LEFT JOIN sessions s ON s.instance_id = i.id AND s.client_id = c.id AND s.status IN ('active', 'pending') \
     AND s.expire_at > $2 AND s.abandon_at > $2 \
     LEFT JOIN users u ON u.instance_id = i.id AND u.id = s.user_id";
/// The order in which all lock sessions, so that two never wait for each other.
const OLDEST_LOCKED: &str = " ORDER BY created_at, id";
const OLDEST_FIRST: &str = " ORDER BY s.created_at NULLS LAST, s.id NULLS LAST";

/// Which sessions a list shows.
#[derive(Clone, Default)]
pub struct Filters {
    /// Of this client.
    pub client: Option<String>,
    /// Of this user.
    pub user: Option<String>,
    /// In this status.
    pub status: Option<Status>,
    /// Whether sessions with something left to do count as active ones.
    pub is_pending_active: bool,
}

/// One session.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &SessionId) -> Result<Option<Session>> {
    let params = [instance.into(), id.into()];
    Ok(tx.maybe(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &params, read).await?)
}

/// One session and its user.
pub async fn find_with_user(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &SessionId,
) -> Result<Option<(Session, User)>> {
    let sql = "SELECT s.instance_id, s.document, u.document FROM sessions s \
               JOIN users u ON u.instance_id = s.instance_id AND u.id = s.user_id \
               WHERE s.instance_id = $1 AND s.id = $2";
    Ok(tx.maybe(&[sql], &[instance.into(), id.into()], read_with_user).await?)
}

/// The instance of a request, one of its clients, and the sessions of that which still count, oldest first.
pub async fn find_present(tx: &mut Tx, by: &By<'_>, client: &ClientId, now: Time) -> Result<Option<Found>> {
    let (condition, value) = by.condition();
    let parts = [SIGNING_PLACE, PRESENT, condition, OLDEST_FIRST];
    let mut rows = tx.all(&parts, &[value, now.into(), client.into()], read_present).await?.into_iter();
    let Some((mut found, first)) = rows.next() else { return Ok(None) };
    if let Some(present) = &mut found.present {
        let others = rows.filter_map(|(_, session)| session);
        present.live = first.into_iter().chain(others).collect();
    }
    Ok(Some(found))
}

/// One session, to change it.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &SessionId) -> Result<Option<Session>> {
    let params = [instance.into(), id.into()];
    Ok(tx.lock(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &params, read).await?)
}

/// The sessions of a client that still count, oldest first, each with its user.
pub async fn live_of_client(
    tx: &mut Tx,
    instance: &InstanceId,
    client: &ClientId,
    now: Time,
) -> Result<Vec<(Session, User)>> {
    let sql = "SELECT s.instance_id, s.document, u.document FROM sessions s \
               JOIN users u ON u.instance_id = s.instance_id AND u.id = s.user_id \
               WHERE s.instance_id = $1 AND s.client_id = $2 AND s.status IN ('active', 'pending') \
               AND s.expire_at > $3 AND s.abandon_at > $3 ORDER BY s.created_at, s.id";
    Ok(tx.all(&[sql], &[instance.into(), client.into(), now.into()], read_with_user).await?)
}

/// The sessions of a client that still count, to change them.
pub async fn lock_live_of_client(tx: &mut Tx, client: &Client, now: Time) -> Result<Vec<Session>> {
    let parts = [SELECT, " WHERE instance_id = $1 AND client_id = $2", LIVE, OLDEST_LOCKED];
    let params = [(&client.instance).into(), (&client.id).into(), now.into()];
    Ok(tx.lock_all(&parts, &params, read).await?)
}

/// The sessions of a user that still count, to change them.
pub async fn lock_live_of_user(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    now: Time,
) -> Result<Vec<Session>> {
    let parts = [SELECT, " WHERE instance_id = $1 AND user_id = $2", LIVE, OLDEST_LOCKED];
    Ok(tx.lock_all(&parts, &[instance.into(), user.into(), now.into()], read).await?)
}

/// A page of sessions, newest first.
pub async fn list(
    tx: &mut Tx,
    instance: &InstanceId,
    filters: Filters,
    paging: Paging,
    now: Time,
) -> Result<Vec<Session>> {
    let list = filtered(SELECT, instance, filters, now).order("created_at DESC, id DESC").page(paging);
    Ok(list.fetch(tx, read).await?)
}

/// The sessions of clients that still count, oldest first; and those that were revoked, if wanted.
pub async fn of_clients(
    tx: &mut Tx,
    instance: &InstanceId,
    clients: &[&ClientId],
    with_revoked: bool,
    now: Time,
) -> Result<Vec<Session>> {
    if clients.is_empty() {
        return Ok(Vec::new());
    }
    let ids = clients.iter().map(|&id| id.into()).collect();
    let list = List::new(SELECT)
        .filter("instance_id = ?", vec![instance.into()])
        .any_of("client_id IN", vec![], ids, "")
        .filter(
            "((status IN ('active', 'pending') AND expire_at > ? AND abandon_at > ?) OR (status = 'revoked' AND ?))",
            vec![now.into(), now.into(), with_revoked.into()],
        );
    Ok(list.order("created_at, id").fetch(tx, read).await?)
}

/// How many sessions a list has.
pub async fn count(tx: &mut Tx, instance: &InstanceId, filters: Filters, now: Time) -> Result<i64> {
    Ok(filtered("SELECT count(*) FROM sessions", instance, filters, now).count(tx).await?)
}

fn filtered(select: &'static str, instance: &InstanceId, filters: Filters, now: Time) -> List {
    let mut list = List::new(select).filter("instance_id = ?", vec![instance.into()]);
    if let Some(client) = filters.client {
        list = list.filter("client_id = ?", vec![client.into()]);
    }
    if let Some(user) = filters.user {
        list = list.filter("user_id = ?", vec![user.into()]);
    }
    match filters.status {
        None => list,
        Some(Status::Active) if filters.is_pending_active => list.filter(
            "status IN ('active', 'pending') AND expire_at > ? AND abandon_at > ?",
            vec![now.into(), now.into()],
        ),
        Some(status @ (Status::Active | Status::Pending)) => list.filter(
            "status = ? AND expire_at > ? AND abandon_at > ?",
            vec![status.name().into(), now.into(), now.into()],
        ),
        Some(Status::Expired) => list.filter(
            "(status = 'expired' OR (status IN ('active', 'pending') AND expire_at <= ?))",
            vec![now.into()],
        ),
        Some(Status::Abandoned) => list.filter(
            "(status = 'abandoned' OR (status IN ('active', 'pending') AND expire_at > ? AND abandon_at <= ?))",
            vec![now.into(), now.into()],
        ),
        Some(status) => list.filter("status = ?", vec![status.name().into()]),
    }
}

/// Adds a session.
pub async fn insert(tx: &mut Tx, session: &Session) -> Result<()> {
    let params = [
        (&session.instance).into(),
        (&session.id).into(),
        (&session.client).into(),
        (&session.user).into(),
        session.status.name().into(),
        document::write(session)?.into(),
        session.created_at.into(),
        session.expire_at.into(),
        session.abandon_at.into(),
    ];
    let sql = "INSERT INTO sessions (instance_id, id, client_id, user_id, status, document, created_at, expire_at, abandon_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// Saves a changed session.
pub async fn save(tx: &mut Tx, session: &Session) -> Result<()> {
    let (sql, params) = saving(session)?;
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// The same as a statement, for callers that save several at once.
pub fn saving(session: &Session) -> Result<Statement> {
    let sql = "UPDATE sessions SET status = $3, document = $4, expire_at = $5, abandon_at = $6 \
               WHERE instance_id = $1 AND id = $2";
    let params = vec![
        (&session.instance).into(),
        (&session.id).into(),
        session.status.name().into(),
        document::write(session)?.into(),
        session.expire_at.into(),
        session.abandon_at.into(),
    ];
    Ok((sql, params))
}

/// Notes that a token of a session was renewed. Says whether it was for the first time.
pub async fn renew(tx: &mut Tx, session: &Session, digest: &[u8], expire_at: Time) -> Result<bool> {
    let sql = "INSERT INTO renewed_tokens (instance_id, token_digest, session_id, expire_at) \
               VALUES ($1, $2, $3, $4) ON CONFLICT (instance_id, token_digest) DO NOTHING";
    let params = [(&session.instance).into(), digest.into(), (&session.id).into(), expire_at.into()];
    Ok(tx.run(&[sql], &params).await? > 0)
}

/// Deletes up to `limit` notes about tokens that are too old to be renewed. Says how many.
pub async fn delete_old_renewals(tx: &mut Tx, before: Time, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM renewed_tokens WHERE (instance_id, token_digest) IN \
               (SELECT instance_id, token_digest FROM renewed_tokens WHERE expire_at < $1 ORDER BY expire_at LIMIT $2)";
    Ok(tx.run(&[sql], &[before.into(), limit.into()]).await?)
}

/// Deletes up to `limit` sessions whose time was over before `before`. Says how many.
pub async fn delete_old(tx: &mut Tx, before: Time, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM sessions WHERE (instance_id, id) IN (SELECT instance_id, id FROM sessions \
               WHERE expire_at < $1 ORDER BY expire_at LIMIT $2)";
    Ok(tx.run(&[sql], &[before.into(), limit.into()]).await?)
}

fn read(row: &Row<'_>) -> Result<Session, DbError> {
    read_document(&read_instance(row)?, row.str(1)?)
}

/// Reads a session from its document.
pub fn read_document(instance: &InstanceId, text: &str) -> Result<Session, DbError> {
    let session: Session = document::read("session", text)?;
    Ok(Session { instance: instance.clone(), ..session })
}

fn read_with_user(row: &Row<'_>) -> Result<(Session, User), DbError> {
    let session = read(row)?;
    let user = users::read_document(&session.instance, row.str(2)?)?;
    Ok((session, user))
}

fn read_instance(row: &Row<'_>) -> Result<InstanceId, DbError> {
    Id::parse(row.str(0)?).ok_or_else(|| DbError::Failed("a session without instance".into()))
}

fn read_present(row: &Row<'_>) -> Result<(Found, Option<(Session, User)>), DbError> {
    let (place, signing_key) = read_signing_place(row)?;
    let instance = &place.holder.id;
    let present = row.maybe_str(5)?.map(|document| read_client(row, instance, document)).transpose()?;
    let session = match (row.maybe_str(7)?, row.maybe_str(8)?) {
        (Some(session), Some(user)) => {
            Some((read_document(instance, session)?, users::read_document(instance, user)?))
        }
        _ => None,
    };
    Ok((Found { place, signing_key, present }, session))
}

fn read_client(row: &Row<'_>, instance: &InstanceId, document: &str) -> Result<Present, DbError> {
    let client = clients::read_document(instance, document)?;
    Ok(Present { client, token_digest: row.bytes(6)?, live: Vec::new() })
}
