//! The SQL of deliveries.

use latchkey_base::kinds::{EventId, InstanceId, WebhookEndpointId};
use latchkey_base::page::Paging;
use latchkey_base::{Id, Result, Time};
use latchkey_db::{DbError, List, Row, Statement, Tx};

use super::model::{Delivery, Filter, HELD, Status};
use crate::document;

const SELECT: &str = "SELECT instance_id, endpoint_id, seq, event_id, kind, subject_id, status, attempts, next_at, log, created_at, \
     updated_at FROM webhook_deliveries";

/// The delivery of an event to an endpoint.
pub async fn find(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    event: &EventId,
) -> Result<Option<Delivery>> {
    let params = [instance.into(), endpoint.into(), event.into()];
    let sql = [SELECT, " WHERE instance_id = $1 AND endpoint_id = $2 AND event_id = $3"];
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
    let list = filtered(List::new(SELECT).filter("instance_id = ?", vec![instance.into()]), endpoint, filter);
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
/// subject is not, until that one arrived or was tried `holding` times.
pub async fn due(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    now: Time,
    holding: i64,
    limit: i64,
) -> Result<Vec<Delivery>> {
    let unheld = " AND NOT EXISTS (SELECT 1 FROM webhook_deliveries b \
         WHERE b.instance_id = $1 AND b.endpoint_id = $2 AND b.next_at IS NOT NULL \
         AND b.subject_id = d.subject_id AND b.seq < d.seq AND b.attempts < $4) ORDER BY next_at, seq LIMIT $5";
    let sql = [SELECT, " d WHERE instance_id = $1 AND endpoint_id = $2 AND next_at <= $3", unheld];
    let params = [instance.into(), endpoint.into(), now.into(), holding.into(), limit.into()];
    Ok(tx.all(&sql, &params, read).await?)
}

/// The deliveries about a subject that are due behind one of them, in the order of their events; not those that
/// wait behind another which is not due and was tried less than `holding` times.
pub async fn due_behind(
    tx: &mut Tx,
    first: &Delivery,
    now: Time,
    holding: i64,
    limit: i64,
) -> Result<Vec<Delivery>> {
    let unheld = " AND NOT EXISTS (SELECT 1 FROM webhook_deliveries b \
         WHERE b.instance_id = $1 AND b.endpoint_id = $2 AND b.subject_id = $3 AND b.next_at > $5 \
         AND b.seq > $4 AND b.seq < d.seq AND b.attempts < $6) ORDER BY seq LIMIT $7";
    let sql = [
        SELECT,
        " d WHERE instance_id = $1 AND endpoint_id = $2 AND subject_id = $3 AND seq > $4 AND next_at <= $5",
        unheld,
    ];
    let params = [
        (&first.instance).into(),
        (&first.endpoint).into(),
        first.subject.as_str().into(),
        first.seq.into(),
        now.into(),
        holding.into(),
        limit.into(),
    ];
    Ok(tx.all(&sql, &params, read).await?)
}

/// Makes everything due that waits behind another about a subject.
pub fn release(instance: &InstanceId, endpoint: &WebhookEndpointId, subject: &str, now: Time) -> Statement {
    let sql = "UPDATE webhook_deliveries SET next_at = $4, updated_at = $4 WHERE instance_id = $1 \
               AND endpoint_id = $2 AND subject_id = $3 AND next_at = $5";
    (sql, vec![instance.into(), endpoint.into(), subject.into(), now.into(), HELD.into()])
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
    let sql =
        [SELECT, " WHERE instance_id = $1 AND endpoint_id = $2 AND seq > $3 AND seq <= $4 ORDER BY seq"];
    Ok(tx.all(&sql, &params, read).await?)
}

/// Whether anything waits for a try at an endpoint. In an order that only the index of what is due has: without
/// it PostgreSQL looks for one among all.
pub async fn any_waits(tx: &mut Tx, instance: &InstanceId, endpoint: &WebhookEndpointId) -> Result<bool> {
    let sql = "SELECT seq FROM webhook_deliveries WHERE instance_id = $1 AND endpoint_id = $2 \
               AND next_at IS NOT NULL ORDER BY next_at LIMIT 1";
    Ok(tx.maybe(&[sql], &[instance.into(), endpoint.into()], |row| row.int(0)).await?.is_some())
}

/// Whether the next event about a subject must wait behind one that was not taken yet.
pub async fn is_held(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    subject: &str,
    holding: i64,
) -> Result<bool> {
    let sql = "SELECT seq FROM webhook_deliveries WHERE instance_id = $1 AND endpoint_id = $2 \
               AND subject_id = $3 AND next_at IS NOT NULL AND attempts < $4 ORDER BY seq LIMIT 1";
    let params = [instance.into(), endpoint.into(), subject.into(), holding.into()];
    Ok(tx.maybe(&[sql], &params, |row| row.int(0)).await?.is_some())
}

/// Writes what became of an event at an endpoint.
pub fn save(delivery: &Delivery) -> Result<Statement> {
    let sql = "INSERT INTO webhook_deliveries (instance_id, endpoint_id, seq, event_id, kind, subject_id, status, \
               attempts, next_at, log, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
               ON CONFLICT (instance_id, endpoint_id, seq) DO UPDATE SET status = excluded.status, \
               attempts = excluded.attempts, next_at = excluded.next_at, log = excluded.log, updated_at = excluded.updated_at";
    let params = vec![
        (&delivery.instance).into(),
        (&delivery.endpoint).into(),
        delivery.seq.into(),
        (&delivery.event_id).into(),
        delivery.kind.as_str().into(),
        delivery.subject.as_str().into(),
        delivery.status.name().into(),
        delivery.attempts.into(),
        delivery.next_at.into(),
        document::write(&delivery.log)?.into(),
        delivery.created_at.into(),
        delivery.updated_at.into(),
    ];
    Ok((sql, params))
}

/// Deletes up to `limit` deliveries of an instance that were queued before a time. Says how many.
pub async fn delete_old(tx: &mut Tx, instance: &InstanceId, before: Time, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM webhook_deliveries WHERE instance_id = $1 AND (endpoint_id, seq) IN \
               (SELECT endpoint_id, seq FROM webhook_deliveries WHERE instance_id = $1 AND created_at < $2 \
               AND next_at IS NULL ORDER BY created_at LIMIT $3)";
    Ok(tx.run(&[sql], &[instance.into(), before.into(), limit.into()]).await?)
}

/// Deletes up to `limit` deliveries of an endpoint. Says how many.
pub async fn delete_of(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    limit: i64,
) -> Result<u64> {
    let sql = "DELETE FROM webhook_deliveries WHERE instance_id = $1 AND endpoint_id = $2 AND seq IN \
               (SELECT seq FROM webhook_deliveries WHERE instance_id = $1 AND endpoint_id = $2 ORDER BY seq LIMIT $3)";
    Ok(tx.run(&[sql], &[instance.into(), endpoint.into(), limit.into()]).await?)
}

/// How many deliveries wait for a try, of all instances.
pub async fn waiting(tx: &mut Tx) -> Result<i64> {
    let sql = "SELECT count(*) FROM webhook_deliveries WHERE next_at IS NOT NULL";
    Ok(tx.maybe(&[sql], &[], |row| row.int(0)).await?.unwrap_or_default())
}

/// How many deliveries of an endpoint wait for a try.
pub async fn count_pending(tx: &mut Tx, instance: &InstanceId, endpoint: &WebhookEndpointId) -> Result<i64> {
    let list =
        List::new("SELECT count(*) FROM webhook_deliveries").filter("instance_id = ?", vec![instance.into()]);
    // Only so the index of what is due is used.
    let pending = list.filter("endpoint_id = ? AND next_at IS NOT NULL", vec![endpoint.into()]);
    Ok(pending.count(tx).await?)
}

/// How the newest deliveries of an endpoint stand, newest first.
pub async fn recent(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    limit: i64,
) -> Result<Vec<Status>> {
    let sql = "SELECT status FROM webhook_deliveries WHERE instance_id = $1 AND endpoint_id = $2 \
               ORDER BY seq DESC LIMIT $3";
    Ok(tx.all(&[sql], &[instance.into(), endpoint.into(), limit.into()], |row| status(row.str(0)?)).await?)
}

/// Makes every delivery due now that was queued since a time and did not arrive. Says how many.
pub async fn replay_failed(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    since: Time,
    now: Time,
) -> Result<i64> {
    let sql = "UPDATE webhook_deliveries SET status = 'pending', attempts = 0, next_at = $4, updated_at = $4 \
               WHERE instance_id = $1 AND endpoint_id = $2 AND status <> 'succeeded' AND created_at >= $3";
    let params = [instance.into(), endpoint.into(), since.into(), now.into()];
    Ok(tx.run(&[sql], &params).await?.try_into().unwrap_or(i64::MAX))
}

/// Ends the tries of every delivery that waits for one, of the events behind a number.
pub async fn give_up(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    after_seq: i64,
    now: Time,
) -> Result<()> {
    let sql = "UPDATE webhook_deliveries SET status = 'failed', next_at = NULL, updated_at = $4 \
               WHERE instance_id = $1 AND endpoint_id = $2 AND seq > $3 AND next_at IS NOT NULL";
    tx.run(&[sql], &[instance.into(), endpoint.into(), after_seq.into(), now.into()]).await?;
    Ok(())
}

fn filtered(list: List, endpoint: &WebhookEndpointId, filter: &Filter) -> List {
    list.filter("endpoint_id = ?", vec![endpoint.into()])
        .maybe("status = ?", filter.status.map(Status::name))
        .maybe("kind = ?", filter.kind.as_deref())
        .maybe("seq < ?", filter.before_seq)
}

fn status(text: &str) -> Result<Status, DbError> {
    Status::parse(text).ok_or_else(|| DbError::Failed("a webhook delivery has an unknown status".into()))
}

fn read(row: &Row<'_>) -> Result<Delivery, DbError> {
    let failed = |text: &str| DbError::Failed(format!("a webhook delivery has {text}").into());
    Ok(Delivery {
        instance: Id::parse(row.str(0)?).ok_or_else(|| failed("no instance"))?,
        endpoint: Id::parse(row.str(1)?).ok_or_else(|| failed("no endpoint"))?,
        seq: row.int(2)?,
        event_id: Id::parse(row.str(3)?).ok_or_else(|| failed("no event"))?,
        kind: row.text(4)?,
        subject: row.text(5)?,
        status: status(row.str(6)?)?,
        attempts: row.int(7)?,
        next_at: row.maybe_time(8)?,
        log: document::read("webhook delivery", row.str(9)?)?,
        created_at: row.time(10)?,
        updated_at: row.time(11)?,
    })
}
