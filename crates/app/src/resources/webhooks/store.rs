//! The SQL of endpoints, and of the instances that manage their webhooks.

use latchkey_base::kinds::{InstanceId, WebhookEndpointId};
use latchkey_base::page::Paging;
use latchkey_base::{Id, Result, Time};
use latchkey_db::{DbError, List, Row, Tx};

use super::model::Endpoint;
use crate::document;

const SELECT: &str = "SELECT instance_id, id, url, description, kinds, secrets_sealed, disabled, cursor_seq, failing_since, \
     created_at, updated_at FROM webhook_endpoints";

/// One endpoint.
pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &WebhookEndpointId) -> Result<Option<Endpoint>> {
    Ok(tx
        .maybe(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &[instance.into(), id.into()], read)
        .await?)
}

/// One endpoint, to change it.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &WebhookEndpointId) -> Result<Option<Endpoint>> {
    Ok(tx.lock(&[SELECT, " WHERE instance_id = $1 AND id = $2"], &[instance.into(), id.into()], read).await?)
}

/// One page of endpoints, newest first.
pub async fn list(tx: &mut Tx, instance: &InstanceId, page: Paging) -> Result<Vec<Endpoint>> {
    let list = List::new(SELECT).filter("instance_id = ?", vec![instance.into()]);
    Ok(list.order("created_at DESC, id DESC").page(page).fetch(tx, read).await?)
}

/// How many endpoints there are.
pub async fn count(tx: &mut Tx, instance: &InstanceId) -> Result<i64> {
    let list = List::new("SELECT count(*) FROM webhook_endpoints");
    Ok(list.filter("instance_id = ?", vec![instance.into()]).count(tx).await?)
}

/// Adds an endpoint.
pub async fn insert(tx: &mut Tx, endpoint: &Endpoint) -> Result<()> {
    tx.run(
        &["INSERT INTO webhook_endpoints \
           (instance_id, id, url, description, kinds, secrets_sealed, disabled, cursor_seq, failing_since, \
           leased_by, leased_until, created_at, updated_at) \
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '', 0, $10, $11)"],
        &[
            (&endpoint.instance).into(),
            (&endpoint.id).into(),
            endpoint.url.as_str().into(),
            endpoint.description.as_str().into(),
            document::write(&endpoint.kinds)?.into(),
            endpoint.secrets_sealed.as_slice().into(),
            endpoint.is_disabled.into(),
            endpoint.cursor_seq.into(),
            endpoint.failing_since.into(),
            endpoint.created_at.into(),
            endpoint.updated_at.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Saves a changed endpoint. How far it got is not part of it: `move_cursor` says that.
pub async fn save(tx: &mut Tx, endpoint: &Endpoint) -> Result<()> {
    tx.run(
        &["UPDATE webhook_endpoints SET url = $3, description = $4, kinds = $5, secrets_sealed = $6, \
           disabled = $7, failing_since = $8, updated_at = $9 WHERE instance_id = $1 AND id = $2"],
        &[
            (&endpoint.instance).into(),
            (&endpoint.id).into(),
            endpoint.url.as_str().into(),
            endpoint.description.as_str().into(),
            document::write(&endpoint.kinds)?.into(),
            endpoint.secrets_sealed.as_slice().into(),
            endpoint.is_disabled.into(),
            endpoint.failing_since.into(),
            endpoint.updated_at.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Makes an endpoint go on after the event of that number. Whoever serves it loses it, and what became of the events
/// on their way is not noted any more.
pub async fn move_cursor(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &WebhookEndpointId,
    cursor_seq: i64,
) -> Result<()> {
    let sql = "UPDATE webhook_endpoints SET cursor_seq = $3, leased_by = CASE WHEN leased_by LIKE '%' || $4 \
               THEN leased_by ELSE leased_by || $4 END WHERE instance_id = $1 AND id = $2";
    tx.run(&[sql], &[instance.into(), id.into(), cursor_seq.into(), MOVED.into()]).await?;
    Ok(())
}

/// Behind the name of a lease: the cursor was moved since the endpoint was taken.
const MOVED: &str = "!";

/// Endpoints of all instances that have something to send and nobody who does, soonest lease first. What
/// waits behind another event, tried less than `holding` times, is nothing to send.
pub async fn waiting(tx: &mut Tx, now: Time, holding: i64, limit: i64) -> Result<Vec<Endpoint>> {
    Ok(tx.all(&[SELECT, WAITING], &[now.into(), holding.into(), limit.into()], read).await?)
}

const WAITING: &str = " e WHERE NOT disabled AND leased_until <= $1 AND \
     (cursor_seq < (SELECT last_seq FROM event_heads h WHERE h.instance_id = e.instance_id) OR EXISTS \
     (SELECT 1 FROM webhook_deliveries d WHERE d.instance_id = e.instance_id AND d.endpoint_id = e.id AND d.next_at <= $1 \
     AND NOT EXISTS (SELECT 1 FROM webhook_deliveries b WHERE b.instance_id = d.instance_id \
     AND b.endpoint_id = d.endpoint_id AND b.next_at IS NOT NULL AND b.subject_id = d.subject_id \
     AND b.seq < d.seq AND b.attempts < $2))) ORDER BY leased_until LIMIT $3";

/// Takes an endpoint for some time, under a name of its own. Says whether that worked: somebody else may
/// have been faster.
pub async fn lease(tx: &mut Tx, endpoint: &Endpoint, lease: &str, now: Time, until: Time) -> Result<bool> {
    let sql = "UPDATE webhook_endpoints SET leased_by = $3, leased_until = $5 \
               WHERE instance_id = $1 AND id = $2 AND leased_until <= $4";
    let params = [(&endpoint.instance).into(), (&endpoint.id).into(), lease.into(), now.into(), until.into()];
    Ok(tx.run(&[sql], &params).await? > 0)
}

/// Keeps an endpoint until a time, or gives it back with a time that has come. Says whether it was still
/// taken under this name.
pub async fn renew(tx: &mut Tx, endpoint: &Endpoint, lease: &str, until: Time) -> Result<bool> {
    let sql = "UPDATE webhook_endpoints SET leased_until = $5 WHERE instance_id = $1 AND id = $2 AND leased_by IN ($3, $4)";
    let moved = [lease, MOVED].concat();
    let params =
        [(&endpoint.instance).into(), (&endpoint.id).into(), lease.into(), (&*moved).into(), until.into()];
    Ok(tx.run(&[sql], &params).await? > 0)
}

/// Whether an endpoint is taken under this name, and nobody moved its cursor since then.
pub async fn is_leased(tx: &mut Tx, endpoint: &Endpoint, lease: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM webhook_endpoints WHERE instance_id = $1 AND id = $2 AND leased_by = $3";
    let params = [(&endpoint.instance).into(), (&endpoint.id).into(), lease.into()];
    Ok(tx.maybe(&[sql], &params, |_| Ok(())).await?.is_some())
}

/// How far an endpoint got, and how it is doing.
pub struct Progress {
    /// The last event that was sent or queued.
    pub cursor_seq: i64,
    /// Since when nothing gets there.
    pub failing_since: Option<Time>,
    /// Whether that has been too long.
    pub is_given_up: bool,
}

/// Saves how far whoever has the lease got. Says whether they still had it: nothing is saved if somebody moved the
/// cursor in the meantime.
pub async fn save_progress(tx: &mut Tx, before: &Endpoint, lease: &str, progress: &Progress) -> Result<bool> {
    let sql = "UPDATE webhook_endpoints SET cursor_seq = CASE WHEN cursor_seq = $4 THEN $5 ELSE cursor_seq END, \
               failing_since = $6, disabled = disabled OR $7 WHERE instance_id = $1 AND id = $2 AND leased_by = $3";
    let params = [
        (&before.instance).into(),
        (&before.id).into(),
        lease.into(),
        before.cursor_seq.into(),
        progress.cursor_seq.into(),
        progress.failing_since.into(),
        progress.is_given_up.into(),
    ];
    Ok(tx.run(&[sql], &params).await? > 0)
}

/// Events that endpoints have not come to yet, of all instances, wanted or not.
pub async fn lag(tx: &mut Tx) -> Result<i64> {
    let sql = "SELECT CAST(coalesce(sum(h.last_seq - e.cursor_seq), 0) AS BIGINT) FROM webhook_endpoints e \
               JOIN event_heads h ON h.instance_id = e.instance_id WHERE NOT e.disabled";
    Ok(tx.maybe(&[sql], &[], |row| row.int(0)).await?.unwrap_or_default())
}

/// Deletes an endpoint and its deliveries. Says whether there was one.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &WebhookEndpointId) -> Result<bool> {
    let sql = "DELETE FROM webhook_endpoints WHERE instance_id = $1 AND id = $2";
    Ok(tx.run(&[sql], &[instance.into(), id.into()]).await? > 0)
}

/// The ids of all endpoints.
pub async fn ids(tx: &mut Tx, instance: &InstanceId) -> Result<Vec<WebhookEndpointId>> {
    let sql = "SELECT id FROM webhook_endpoints WHERE instance_id = $1";
    let read = |row: &Row<'_>| {
        Id::parse(row.str(0)?).ok_or_else(|| DbError::Failed("a webhook endpoint has no id".into()))
    };
    Ok(tx.all(&[sql], &[instance.into()], read).await?)
}

/// Deletes all endpoints and their deliveries. Says whether there were any.
pub async fn delete_all(tx: &mut Tx, instance: &InstanceId) -> Result<bool> {
    Ok(tx.run(&["DELETE FROM webhook_endpoints WHERE instance_id = $1"], &[instance.into()]).await? > 0)
}

/// Since when an instance manages its webhooks, if it does.
pub async fn find_app(tx: &mut Tx, instance: &InstanceId) -> Result<Option<Time>> {
    let sql = "SELECT created_at FROM webhook_apps WHERE instance_id = $1";
    Ok(tx.maybe(&[sql], &[instance.into()], |row| row.time(0)).await?)
}

/// Notes that an instance manages its webhooks. Says whether that is new.
pub async fn insert_app(tx: &mut Tx, instance: &InstanceId, now: Time) -> Result<bool> {
    let sql = "INSERT INTO webhook_apps (instance_id, created_at) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    Ok(tx.run(&[sql], &[instance.into(), now.into()]).await? > 0)
}

/// Forgets that an instance manages its webhooks. Says whether it did.
pub async fn delete_app(tx: &mut Tx, instance: &InstanceId) -> Result<bool> {
    Ok(tx.run(&["DELETE FROM webhook_apps WHERE instance_id = $1"], &[instance.into()]).await? > 0)
}

fn read(row: &Row<'_>) -> Result<Endpoint, DbError> {
    let failed = |text: &str| DbError::Failed(format!("a webhook endpoint has {text}").into());
    Ok(Endpoint {
        instance: Id::parse(row.str(0)?).ok_or_else(|| failed("no instance"))?,
        id: Id::parse(row.str(1)?).ok_or_else(|| failed("no id"))?,
        url: row.text(2)?,
        description: row.text(3)?,
        kinds: document::read("webhook endpoint", row.str(4)?)?,
        secrets_sealed: row.bytes(5)?,
        is_disabled: row.bool(6)?,
        cursor_seq: row.int(7)?,
        failing_since: row.maybe_time(8)?,
        created_at: row.time(9)?,
        updated_at: row.time(10)?,
    })
}
