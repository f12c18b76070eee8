//! The SQL of deliveries.

use std::collections::HashSet;

use latchkey_base::kinds::{EventId, InstanceId, WebhookEndpointId};
use latchkey_base::page::Paging;
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, List, Row, Statement, Table, Tx};
use latchkey_kernel::aging::InstanceHistory;
use latchkey_kernel::background::WorkProgress;
use latchkey_kernel::document;

use super::model::{
    Delivery, DeliveryStatus, Filter, HELD, HOLDING_ATTEMPTS, LONGEST_PAUSE_MS, QueuePosition, Replayed,
};
use crate::webhooks::model::Endpoint;

static WEBHOOK_DELIVERIES: Table = Table::new("webhook_deliveries", &["instance_id", "endpoint_id", "seq"])
    .saved(&["status", "attempts", "next_at", "log", "updated_at"])
    .fixed(&["event_id", "kind", "subject_id", "created_at"]);

/// The delivery of an event to an endpoint.
pub async fn find(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    event: &EventId,
) -> Result<Option<Delivery>> {
    let params = [instance.into(), endpoint.into(), event.into()];
    let sql = [WEBHOOK_DELIVERIES.of_instance(), " AND endpoint_id = $2 AND event_id = $3"];
    Ok(tx.maybe(&sql, &params, read).await?)
}

/// One page of the deliveries of an endpoint, newest event first.
pub async fn list(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    filter: &Filter,
    page: Paging,
) -> Result<Vec<Delivery>> {
    let all = List::new(WEBHOOK_DELIVERIES.select());
    let list = filtered(all.filter("instance_id = ?", vec![instance.into()]), endpoint, filter);
    Ok(list.order("seq DESC").page(page).fetch(tx, read).await?)
}

/// How many deliveries that list has.
pub async fn count(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    filter: &Filter,
) -> Result<i64> {
    let all = List::new("SELECT count(*) FROM webhook_deliveries");
    let list = filtered(all.filter("instance_id = ?", vec![instance.into()]), endpoint, filter);
    Ok(list.count(tx).await?)
}

/// The deliveries of an endpoint that are due, longest due first. One that waits behind another about the same
/// subject is not, until that one arrived or was tried [`HOLDING_ATTEMPTS`] times. With those behind the cursor, which the
/// endpoint, taken back, comes to again: to leave them out, they would have to be looked at as well.
pub async fn due(tx: &mut Tx, endpoint: &Endpoint, now: Time, limit: i64) -> Result<Vec<Delivery>> {
    let unheld = " AND (seq > $6 OR NOT EXISTS (SELECT 1 FROM webhook_deliveries b \
         WHERE b.instance_id = $1 AND b.endpoint_id = $2 AND b.status = 'pending' \
         AND b.subject_id = d.subject_id AND b.seq < d.seq AND b.attempts < $4)) ORDER BY next_at, seq LIMIT $5";
    let due = " d WHERE instance_id = $1 AND endpoint_id = $2 AND next_at <= $3";
    let sql = [WEBHOOK_DELIVERIES.select(), due, unheld];
    let Endpoint { instance, id, cursor_seq, .. } = endpoint;
    let params =
        [instance.into(), id.into(), now.into(), HOLDING_ATTEMPTS.into(), limit.into(), (*cursor_seq).into()];
    Ok(tx.all(&sql, &params, read).await?)
}

/// Up to `limit` deliveries of an endpoint that would wait longer than any pause lasts: the clock was set back.
pub async fn overlong(tx: &mut Tx, endpoint: &Endpoint, now: Time, limit: i64) -> Result<Vec<Delivery>> {
    let far = " WHERE instance_id = $1 AND endpoint_id = $2 AND next_at > $3 AND next_at < $4 ORDER BY next_at LIMIT $5";
    let Endpoint { instance, id, .. } = endpoint;
    let params =
        [instance.into(), id.into(), now.plus_ms(LONGEST_PAUSE_MS).into(), HELD.into(), limit.into()];
    Ok(tx.all(&[WEBHOOK_DELIVERIES.select(), far], &params, read).await?)
}

/// The deliveries about a subject that are due behind one of them, in the order of their events; not those that
/// wait behind another which is not due and was tried less than [`HOLDING_ATTEMPTS`] times.
pub async fn due_behind(
    tx: &mut Tx,
    first: &Delivery,
    cursor_seq: i64,
    now: Time,
    limit: i64,
) -> Result<Vec<Delivery>> {
    let unheld = " AND NOT EXISTS (SELECT 1 FROM webhook_deliveries b \
         WHERE b.instance_id = $1 AND b.endpoint_id = $2 AND b.subject_id = $3 AND b.status = 'pending' AND b.next_at > $5 \
         AND b.seq > $4 AND b.seq < d.seq AND b.attempts < $6) ORDER BY seq LIMIT $7";
    let due = " d WHERE instance_id = $1 AND endpoint_id = $2 AND subject_id = $3 AND status = 'pending' AND seq > $4 \
         AND next_at <= $5 AND seq <= $8";
    let sql = [WEBHOOK_DELIVERIES.select(), due, unheld];
    let params = [
        (&first.instance).into(),
        (&first.endpoint).into(),
        first.subject.as_str().into(),
        first.seq.into(),
        now.into(),
        HOLDING_ATTEMPTS.into(),
        limit.into(),
        cursor_seq.into(),
    ];
    Ok(tx.all(&sql, &params, read).await?)
}

/// Makes the first of what waits behind others about a subject due, up to the cursor of the endpoint. What is behind those
/// follows once they have arrived.
pub fn release(
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    cursor_seq: i64,
    subject: &str,
    now: Time,
    limit: i64,
) -> Statement {
    let sql = "UPDATE webhook_deliveries SET next_at = $4, updated_at = $4 WHERE instance_id = $1 \
               AND endpoint_id = $2 AND seq IN (SELECT seq FROM webhook_deliveries WHERE instance_id = $1 \
               AND endpoint_id = $2 AND subject_id = $3 AND status = 'pending' AND next_at = $5 AND seq <= $7 \
               ORDER BY seq LIMIT $6)";
    let params = vec![
        instance.into(),
        endpoint.into(),
        subject.into(),
        now.into(),
        HELD.into(),
        limit.into(),
        cursor_seq.into(),
    ];
    (sql, params)
}

/// Up to `limit` deliveries that wait, of events behind the cursor of an endpoint and up to a number, in their order.
pub async fn waiting_between(
    tx: &mut Tx,
    endpoint: &Endpoint,
    up_to: i64,
    limit: i64,
) -> Result<Vec<Delivery>> {
    let Endpoint { instance, id, cursor_seq, .. } = endpoint;
    let params = [instance.into(), id.into(), (*cursor_seq).into(), up_to.into(), limit.into()];
    let between =
        " AND endpoint_id = $2 AND seq > $3 AND seq <= $4 AND status = 'pending' ORDER BY seq LIMIT $5";
    Ok(tx.all(&[WEBHOOK_DELIVERIES.of_instance(), between], &params, read).await?)
}

/// The deliveries of an endpoint whose events have numbers after one and up to another, in their order.
pub async fn between(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    after: i64,
    up_to: i64,
) -> Result<Vec<Delivery>> {
    let params = [instance.into(), endpoint.into(), after.into(), up_to.into()];
    let between = " AND endpoint_id = $2 AND seq > $3 AND seq <= $4 ORDER BY seq";
    Ok(tx.all(&[WEBHOOK_DELIVERIES.of_instance(), between], &params, read).await?)
}

/// Whether anything waits for a try at an endpoint. In an order that only the index of what is due has: without
/// it PostgreSQL looks for one among all.
pub async fn any_waits(tx: &mut Tx, instance: &InstanceId, endpoint: &WebhookEndpointId) -> Result<bool> {
    let sql = "SELECT seq FROM webhook_deliveries WHERE instance_id = $1 AND endpoint_id = $2 \
               AND next_at IS NOT NULL ORDER BY next_at LIMIT 1";
    Ok(tx.exists(&[sql], &[instance.into(), endpoint.into()]).await?)
}

/// Whether the next event about a subject behind the cursor of an endpoint must wait for one before it that was not taken
/// yet.
pub async fn is_held(tx: &mut Tx, endpoint: &Endpoint, subject: &str) -> Result<bool> {
    let sql = "SELECT seq FROM webhook_deliveries WHERE instance_id = $1 AND endpoint_id = $2 AND subject_id = $3 \
               AND status = 'pending' AND attempts < $4 AND seq <= $5 ORDER BY seq LIMIT 1";
    let Endpoint { instance, id, cursor_seq, .. } = endpoint;
    let params = [instance.into(), id.into(), subject.into(), HOLDING_ATTEMPTS.into(), (*cursor_seq).into()];
    Ok(tx.exists(&[sql], &params).await?)
}

/// Writes what became of an event at an endpoint.
pub fn save(delivery: &Delivery) -> Result<Statement> {
    Ok(WEBHOOK_DELIVERIES.putting(vec![
        (&delivery.instance).into(),
        (&delivery.endpoint).into(),
        delivery.seq.into(),
        delivery.status.name().into(),
        delivery.attempts.into(),
        delivery.next_at.into(),
        document::write(&delivery.log)?.into(),
        delivery.updated_at.into(),
        (&delivery.event_id).into(),
        delivery.kind.as_str().into(),
        delivery.subject.as_str().into(),
        delivery.created_at.into(),
    ]))
}

/// Deliveries, for as long as the instance wants to keep them.
pub const HISTORY: InstanceHistory = InstanceHistory {
    name: "deliveries",
    days: |settings| settings.deliveries_retention_days,
    delete: |tx, instance, before, limit| Box::pin(delete_old(tx, instance, before, limit)),
};

/// Deletes up to `limit` deliveries of an instance that were queued before a time. Says how many.
async fn delete_old(tx: &mut Tx, instance: InstanceId, before: Time, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM webhook_deliveries WHERE instance_id = $1 AND (endpoint_id, seq) IN \
               (SELECT endpoint_id, seq FROM webhook_deliveries WHERE instance_id = $1 AND created_at < $2 \
               AND next_at IS NULL ORDER BY created_at LIMIT $3)";
    Ok(tx.run(&[sql], &[(&instance).into(), before.into(), limit.into()]).await?)
}

/// Deletes up to `limit` deliveries of an endpoint.
pub async fn delete_of(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    limit: i64,
) -> Result<()> {
    let sql = "DELETE FROM webhook_deliveries WHERE instance_id = $1 AND endpoint_id = $2 AND seq IN \
               (SELECT seq FROM webhook_deliveries WHERE instance_id = $1 AND endpoint_id = $2 ORDER BY seq LIMIT $3)";
    tx.run(&[sql], &[instance.into(), endpoint.into(), limit.into()]).await?;
    Ok(())
}

/// Whether an endpoint has more than `most` deliveries.
pub async fn has_more(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    most: i64,
) -> Result<bool> {
    let sql = "SELECT 1 FROM webhook_deliveries WHERE instance_id = $1 AND endpoint_id = $2 ORDER BY seq LIMIT 1 OFFSET $3";
    Ok(tx.exists(&[sql], &[instance.into(), endpoint.into(), most.into()]).await?)
}

/// How many deliveries wait for a try, of all instances; counted no further than this.
pub async fn waiting(tx: &mut Tx, at_most: i64) -> Result<i64> {
    let sql = "SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries WHERE next_at IS NOT NULL LIMIT $1) AS waiting";
    Ok(tx.maybe(&[sql], &[at_most.into()], |row| row.int(0)).await?.unwrap_or_default())
}

/// How many deliveries of an endpoint wait for a try; counted no further than this.
pub async fn count_pending(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    at_most: i64,
) -> Result<i64> {
    // Only so the index of what is due is used.
    let sql = "SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries WHERE instance_id = $1 AND endpoint_id = $2 \
               AND next_at IS NOT NULL LIMIT $3) AS pending";
    let params = [instance.into(), endpoint.into(), at_most.into()];
    Ok(tx.maybe(&[sql], &params, |row| row.int(0)).await?.unwrap_or_default())
}

/// How the newest deliveries of an endpoint stand, newest first.
pub async fn recent(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    limit: i64,
) -> Result<Vec<DeliveryStatus>> {
    let sql = "SELECT status FROM webhook_deliveries WHERE instance_id = $1 AND endpoint_id = $2 \
               ORDER BY seq DESC LIMIT $3";
    Ok(tx.all(&[sql], &[instance.into(), endpoint.into(), limit.into()], |row| status(row.str(0)?)).await?)
}

/// Makes up to `limit` deliveries due now that did not arrive, were queued up to a time, and are behind another. One that is
/// behind another about the same subject waits for that.
pub async fn replay_failed(
    tx: &mut Tx,
    (instance, endpoint): (&InstanceId, &WebhookEndpointId),
    behind: &QueuePosition,
    up_to: Time,
    now: Time,
    limit: i64,
) -> Result<Replayed> {
    let sql = "SELECT created_at, seq, subject_id FROM webhook_deliveries WHERE instance_id = $1 AND endpoint_id = $2 \
               AND status <> 'succeeded' AND created_at <= $5 AND (created_at, seq) > ($3, $4) \
               ORDER BY created_at, seq LIMIT $6";
    let QueuePosition { queued_at, seq } = behind;
    let params =
        [instance.into(), endpoint.into(), (*queued_at).into(), (*seq).into(), up_to.into(), limit.into()];
    let found = tx.all(&[sql], &params, |row| Ok((row.time(0)?, row.int(1)?, row.text(2)?))).await?;
    let count = found.len() as i64;
    let last = found.last().map(|(queued_at, seq, _)| QueuePosition { queued_at: *queued_at, seq: *seq });
    let key = |seq: i64| [instance.into(), endpoint.into(), seq.into()];
    let (mut held, mut due, mut subjects) = (Vec::new(), Vec::new(), HashSet::new());
    for (_, seq, subject) in found {
        held.push((HOLD, [&key(seq)[..], &[HELD.into(), now.into()]].concat()));
        if subjects.insert(subject) {
            due.push((LET_FIRST_GO, [&key(seq)[..], &[now.into(), HOLDING_ATTEMPTS.into()]].concat()));
        }
    }
    tx.run_many(held).await?;
    tx.run_many(due).await?;
    Ok(Replayed { count, last: last.filter(|_| count >= limit) })
}

/// Lets a delivery wait behind others about its subject.
const HOLD: &str = "UPDATE webhook_deliveries SET status = 'pending', attempts = 0, next_at = $4, updated_at = $5 \
     WHERE instance_id = $1 AND endpoint_id = $2 AND seq = $3";
/// Makes one due, unless another holds it up.
const LET_FIRST_GO: &str = "UPDATE webhook_deliveries AS d SET next_at = $4 \
     WHERE instance_id = $1 AND endpoint_id = $2 AND seq = $3 AND seq = (SELECT b.seq FROM webhook_deliveries b \
     WHERE b.instance_id = $1 AND b.endpoint_id = $2 AND b.subject_id = d.subject_id AND b.status = 'pending' \
     AND b.attempts < $5 ORDER BY b.seq LIMIT 1)";

/// Ends the tries of up to `limit` deliveries that wait for one. The last about a subject go first: what holds up others
/// stays as long as they do, whenever this ends.
pub async fn give_up(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    now: Time,
    limit: i64,
) -> Result<WorkProgress> {
    let sql = "UPDATE webhook_deliveries SET status = 'failed', next_at = NULL, updated_at = $3 \
               WHERE instance_id = $1 AND endpoint_id = $2 AND seq IN (SELECT seq FROM webhook_deliveries \
               WHERE instance_id = $1 AND endpoint_id = $2 AND status = 'pending' \
               ORDER BY subject_id DESC, seq DESC LIMIT $4)";
    let params = [instance.into(), endpoint.into(), now.into(), limit.into()];
    let is_full = tx.run(&[sql], &params).await? >= limit.unsigned_abs();
    Ok(if is_full { WorkProgress::More } else { WorkProgress::Done })
}

fn filtered(list: List, endpoint: &WebhookEndpointId, filter: &Filter) -> List {
    list.filter("endpoint_id = ?", vec![endpoint.into()])
        .maybe("status = ?", filter.status.map(DeliveryStatus::name))
        .maybe("kind = ?", filter.kind.as_deref())
        .maybe("seq < ?", filter.before_seq)
}

fn status(text: &str) -> Result<DeliveryStatus, DbError> {
    DeliveryStatus::parse(text)
        .ok_or_else(|| DbError::Failed("a webhook delivery has an unknown status".into()))
}

fn read(row: &Row<'_>) -> Result<Delivery, DbError> {
    Ok(Delivery {
        instance: row.id(0)?,
        endpoint: row.id(1)?,
        seq: row.int(2)?,
        status: status(row.str(3)?)?,
        attempts: row.int(4)?,
        next_at: row.maybe_time(5)?,
        log: document::read("webhook delivery", row.str(6)?)?,
        updated_at: row.time(7)?,
        event_id: row.id(8)?,
        kind: row.text(9)?,
        subject: row.text(10)?,
        created_at: row.time(11)?,
    })
}
