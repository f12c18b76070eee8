//! Sending again, for the API and for the command line.

use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;

use latchkey_base::kinds::{EventId, InstanceId, WebhookEndpointId};
use latchkey_base::time::Clock;
use latchkey_base::{Error, Result, Time};
use latchkey_db::{Db, Tx};
use latchkey_kernel::steps::{self, AT_ONCE};

use super::model::{Delivery, DeliveryStatus, QueuePosition, Replayed};
use super::{rules, store};
use crate::webhooks::model::Endpoint;
use crate::{feed, webhooks};

/// Makes one delivery due now. The event must still be there.
pub async fn one(
    tx: &mut Tx,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    event: &EventId,
    now: Time,
) -> Result<Delivery> {
    let missing = || not_found(event);
    lock(tx, instance, endpoint).await?;
    let found = store::find(tx, instance, endpoint, event).await?.ok_or_else(missing)?;
    feed::store::find(tx, instance, found.seq).await?.ok_or_else(missing)?;
    let queued = Delivery {
        status: DeliveryStatus::Pending,
        attempts: 0,
        next_at: Some(now),
        updated_at: now,
        ..found
    };
    let (sql, params) = store::save(&queued)?;
    tx.run(&[sql], &params).await?;
    Ok(queued)
}

/// Makes what has not arrived since a time due now, in the order of the events. Says how many events that are.
pub async fn failed(
    db: &Db,
    clock: Arc<dyn Clock>,
    instance: &InstanceId,
    endpoint: &WebhookEndpointId,
    since: Time,
) -> Result<i64> {
    let (db, caller, instance, endpoint) = (db.clone(), instance, instance.clone(), endpoint.clone());
    // What fails meanwhile is left alone, so that this ends.
    let up_to = clock.now();
    let start = QueuePosition { queued_at: since, seq: 0 };
    let work = steps::all((start, 0), move |(behind, events)| {
        let (db, instance, endpoint, now) = (db.clone(), instance.clone(), endpoint.clone(), clock.now());
        async move {
            let step = db.write(move |tx| {
                Box::pin(async move {
                    lock(tx, &instance, &endpoint).await?;
                    store::replay_failed(tx, (&instance, &endpoint), &behind, up_to, now, AT_ONCE).await
                })
            });
            let Replayed { count, last } = step.await?;
            let events = events + count;
            Ok(last.map_or(Break(events), |last| Continue((last, events))))
        }
    });
    steps::to_the_end(caller, work).await
}

/// Takes an endpoint back to a time, so that everything since then goes out again in its order. Says how
/// many events that are, wanted or not. An endpoint that has not come so far yet stays where it is. What waits
/// for its next attempt waits no longer: it goes out with the others, in its place.
pub async fn everything(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &WebhookEndpointId,
    since: Time,
) -> Result<i64> {
    let endpoint = lock(tx, instance, id).await?;
    let before = feed::store::last_before(tx, instance, rules::surely_before(since)).await?;
    let Some(first) = feed::store::first_since(tx, instance, since, before).await? else { return Ok(0) };
    let cursor = endpoint.cursor_seq.min(first - 1);
    if cursor < endpoint.cursor_seq {
        webhooks::store::move_cursor(tx, instance, id, cursor).await?;
    }
    Ok(endpoint.cursor_seq - cursor)
}

async fn lock(tx: &mut Tx, instance: &InstanceId, id: &WebhookEndpointId) -> Result<Endpoint> {
    webhooks::store::lock(tx, instance, id).await?.ok_or_else(|| webhooks::not_found(id))
}

/// The refusal of an event that has no delivery here, or is no longer kept.
pub fn not_found(event: &EventId) -> Error {
    Error::not_found("delivery of an event", event)
}
