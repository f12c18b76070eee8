//! The SQL of endpoints, and of the instances that manage their webhooks.

use latchkey_base::kinds::{InstanceId, WebhookEndpointId};
use latchkey_base::page::Paging;
use latchkey_base::rng::{self, Rng};
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, List, Row, Table, Tx, Value};
use latchkey_jose::digest::hex;
use latchkey_kernel::document;

use super::deliveries::model::{HELD, HOLDING_ATTEMPTS, LONGEST_PAUSE_MS};
use super::model::Endpoint;

static WEBHOOK_ENDPOINTS: Table = Table::new("webhook_endpoints", &["instance_id", "id"])
    .saved(&["url", "description", "kinds", "secrets_sealed", "disabled", "failing_since", "updated_at"])
    .fixed(&["created_at", "cursor_seq", "leased_by", "leased_until", "cursor_moves"]);
static WEBHOOK_APPS: Table = Table::new("webhook_apps", &["instance_id"]).fixed(&["created_at"]);

pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &WebhookEndpointId) -> Result<Option<Endpoint>> {
    WEBHOOK_ENDPOINTS.find(tx, &[instance.into(), id.into()], read).await
}

/// One endpoint, to change it.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &WebhookEndpointId) -> Result<Option<Endpoint>> {
    WEBHOOK_ENDPOINTS.lock(tx, &[instance.into(), id.into()], read).await
}

/// One page of endpoints, newest first.
pub async fn list(tx: &mut Tx, instance: &InstanceId, page: Paging) -> Result<Vec<Endpoint>> {
    let list = List::new(WEBHOOK_ENDPOINTS.select()).filter("instance_id = ?", vec![instance.into()]);
    Ok(list.order("created_at DESC, id DESC").page(page).fetch(tx, read).await?)
}

pub async fn count(tx: &mut Tx, instance: &InstanceId) -> Result<i64> {
    let list = List::new("SELECT count(*) FROM webhook_endpoints");
    Ok(list.filter("instance_id = ?", vec![instance.into()]).count(tx).await?)
}

pub async fn insert(tx: &mut Tx, endpoint: &Endpoint) -> Result<()> {
    WEBHOOK_ENDPOINTS.insert(tx, &row(endpoint)?).await
}

/// Saves a changed endpoint. How far it got is not part of it: `move_cursor` says that.
pub async fn save(tx: &mut Tx, endpoint: &Endpoint) -> Result<()> {
    WEBHOOK_ENDPOINTS.save(tx, &row(endpoint)?).await
}

/// Makes an endpoint go on after the event of that number. A worker that serves it at the moment saves no progress any
/// more, which would overwrite the new number.
pub async fn move_cursor(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &WebhookEndpointId,
    cursor_seq: i64,
) -> Result<()> {
    let sql = "UPDATE webhook_endpoints SET cursor_seq = $3, cursor_moves = cursor_moves + 1 \
               WHERE instance_id = $1 AND id = $2";
    tx.run(&[sql], &[instance.into(), id.into(), cursor_seq.into()]).await?;
    Ok(())
}

/// What a worker serves an endpoint under.
#[derive(Clone, Debug)]
pub struct Lease {
    /// A name nobody else has.
    name: String,
    /// How often the cursor had been moved when it was taken.
    cursor_moves: i64,
}

/// Endpoints of all instances with something to send and no worker: one of each instance that does not fail, then one of
/// each that does, soonest lease first, then a second one of each. So those that find no room, which are failing ones or
/// many of one instance, hide none that would. An event that waits behind another one about the same subject, tried less
/// than [`HOLDING_ATTEMPTS`] times, is not something to send; one that would wait longer than any pause lasts is.
pub async fn waiting(tx: &mut Tx, now: Time, limit: i64) -> Result<Vec<Endpoint>> {
    let params = [
        now.into(),
        HOLDING_ATTEMPTS.into(),
        limit.into(),
        now.plus_ms(LONGEST_LEASE_MS).into(),
        now.plus_ms(LONGEST_PAUSE_MS).into(),
        HELD.into(),
    ];
    Ok(tx.all(&[WEBHOOK_ENDPOINTS.select(), WAITING], &params, read).await?)
}

/// Longer than any lease. One that would last longer was taken before the clock was set back, and is over.
const LONGEST_LEASE_MS: i64 = 5 * 60_000;

const WAITING: &str = " e WHERE NOT disabled AND (leased_until <= $1 OR leased_until > $4) AND \
     (cursor_seq < (SELECT last_seq FROM event_heads h WHERE h.instance_id = e.instance_id) OR EXISTS \
     (SELECT 1 FROM webhook_deliveries d WHERE d.instance_id = e.instance_id AND d.endpoint_id = e.id AND d.next_at <= $1 \
     AND NOT EXISTS (SELECT 1 FROM webhook_deliveries b WHERE b.instance_id = d.instance_id \
     AND b.endpoint_id = d.endpoint_id AND b.status = 'pending' AND b.subject_id = d.subject_id \
     AND b.seq < d.seq AND b.attempts < $2)) OR EXISTS \
     (SELECT 1 FROM webhook_deliveries f WHERE f.instance_id = e.instance_id AND f.endpoint_id = e.id \
     AND f.next_at > $5 AND f.next_at < $6)) \
     ORDER BY row_number() OVER (PARTITION BY instance_id, failing_since IS NULL ORDER BY leased_until), \
     failing_since IS NOT NULL, leased_until LIMIT $3";

/// Leases an endpoint for some time, unless another worker was faster.
pub async fn lease(
    tx: &mut Tx,
    endpoint: &Endpoint,
    rng: &dyn Rng,
    now: Time,
    until: Time,
) -> Result<Option<Lease>> {
    let name = hex(&rng::bytes::<8>(rng));
    let sql = "UPDATE webhook_endpoints SET leased_by = $3, leased_until = $5 \
               WHERE instance_id = $1 AND id = $2 AND (leased_until <= $4 OR leased_until > $6) RETURNING cursor_moves";
    let params = [
        (&endpoint.instance).into(),
        (&endpoint.id).into(),
        name.as_str().into(),
        now.into(),
        until.into(),
        now.plus_ms(LONGEST_LEASE_MS).into(),
    ];
    let cursor_moves = tx.maybe(&[sql], &params, |row| row.int(0)).await?;
    Ok(cursor_moves.map(|cursor_moves| Lease { name, cursor_moves }))
}

/// Extends a lease until a time, or gives the endpoint back with a time that has come. Says whether the lease was
/// still there.
pub async fn renew(tx: &mut Tx, endpoint: &Endpoint, lease: &Lease, until: Time) -> Result<bool> {
    let sql = "UPDATE webhook_endpoints SET leased_until = $4 WHERE instance_id = $1 AND id = $2 AND leased_by = $3";
    let params =
        [(&endpoint.instance).into(), (&endpoint.id).into(), lease.name.as_str().into(), until.into()];
    Ok(tx.run(&[sql], &params).await? > 0)
}

/// Whether a lease is still there, and nobody moved the cursor since it was taken.
pub async fn is_leased(tx: &mut Tx, endpoint: &Endpoint, lease: &Lease) -> Result<bool> {
    let sql = "SELECT 1 FROM webhook_endpoints WHERE instance_id = $1 AND id = $2 AND leased_by = $3 AND cursor_moves = $4";
    let params = [
        (&endpoint.instance).into(),
        (&endpoint.id).into(),
        lease.name.as_str().into(),
        lease.cursor_moves.into(),
    ];
    Ok(tx.exists(&[sql], &params).await?)
}

/// How far an endpoint got, and how it is doing.
pub struct EndpointProgress {
    /// The last event that was sent or queued.
    pub cursor_seq: i64,
    /// Since when every attempt has failed.
    pub failing_since: Option<Time>,
    /// Whether that is so long that the endpoint gets disabled.
    pub is_given_up: bool,
}

/// Saves how far the worker with this lease got. Says whether it still had the lease: nothing is saved if it is gone,
/// or if somebody moved the cursor in the meantime.
pub async fn save_progress(
    tx: &mut Tx,
    before: &Endpoint,
    lease: &Lease,
    progress: &EndpointProgress,
) -> Result<bool> {
    let sql = "UPDATE webhook_endpoints SET cursor_seq = CASE WHEN cursor_seq = $4 THEN $5 ELSE cursor_seq END, \
               failing_since = $6, disabled = disabled OR $7 \
               WHERE instance_id = $1 AND id = $2 AND leased_by = $3 AND cursor_moves = $8";
    let params = [
        (&before.instance).into(),
        (&before.id).into(),
        lease.name.as_str().into(),
        before.cursor_seq.into(),
        progress.cursor_seq.into(),
        progress.failing_since.into(),
        progress.is_given_up.into(),
        lease.cursor_moves.into(),
    ];
    Ok(tx.run(&[sql], &params).await? > 0)
}

/// Events that endpoints have not come to yet, wanted or not: of so many endpoints at most, those of the oldest
/// instances first.
pub async fn lag(tx: &mut Tx, at_most: i64) -> Result<i64> {
    let sql = "SELECT CAST(coalesce(sum(h.last_seq - e.cursor_seq), 0) AS BIGINT) FROM \
               (SELECT instance_id, cursor_seq, disabled FROM webhook_endpoints ORDER BY instance_id, id LIMIT $1) e \
               JOIN event_heads h ON h.instance_id = e.instance_id WHERE NOT e.disabled";
    Ok(tx.maybe(&[sql], &[at_most.into()], |row| row.int(0)).await?.unwrap_or_default())
}

/// Deletes an endpoint and its deliveries. Says whether there was one.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &WebhookEndpointId) -> Result<bool> {
    WEBHOOK_ENDPOINTS.delete(tx, &[instance.into(), id.into()]).await
}

/// The ids of all endpoints.
pub async fn ids(tx: &mut Tx, instance: &InstanceId) -> Result<Vec<WebhookEndpointId>> {
    let sql = "SELECT id FROM webhook_endpoints WHERE instance_id = $1";
    Ok(tx.all(&[sql], &[instance.into()], |row| row.id(0)).await?)
}

/// Since when an instance manages its webhooks, if it does.
pub async fn find_app(tx: &mut Tx, instance: &InstanceId) -> Result<Option<Time>> {
    WEBHOOK_APPS.find(tx, &[instance.into()], |row| row.time(1)).await
}

/// Notes that an instance manages its webhooks. Says whether that is new.
pub async fn insert_app(tx: &mut Tx, instance: &InstanceId, now: Time) -> Result<bool> {
    WEBHOOK_APPS.insert_new(tx, &[instance.into(), now.into()]).await
}

/// Forgets that an instance manages its webhooks. Says whether it did.
pub async fn delete_app(tx: &mut Tx, instance: &InstanceId) -> Result<bool> {
    WEBHOOK_APPS.delete(tx, &[instance.into()]).await
}

fn row(endpoint: &Endpoint) -> Result<Vec<Value>> {
    Ok(vec![
        (&endpoint.instance).into(),
        (&endpoint.id).into(),
        endpoint.url.as_str().into(),
        endpoint.description.as_str().into(),
        document::write(&endpoint.kinds)?.into(),
        endpoint.secrets_sealed.as_slice().into(),
        endpoint.is_disabled.into(),
        endpoint.failing_since.into(),
        endpoint.updated_at.into(),
        endpoint.created_at.into(),
        endpoint.cursor_seq.into(),
        "".into(),
        0.into(),
        0.into(),
    ])
}

fn read(row: &Row<'_>) -> Result<Endpoint, DbError> {
    Ok(Endpoint {
        instance: row.id(0)?,
        id: row.id(1)?,
        url: row.text(2)?,
        description: row.text(3)?,
        kinds: document::read("webhook endpoint", row.str(4)?)?,
        secrets_sealed: row.bytes(5)?,
        is_disabled: row.bool(6)?,
        failing_since: row.maybe_time(7)?,
        updated_at: row.time(8)?,
        created_at: row.time(9)?,
        cursor_seq: row.int(10)?,
    })
}
