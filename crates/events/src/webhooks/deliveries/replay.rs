//! Sending again, for the API and for the command line.

use latchkey_base::kinds::{EventId, InstanceId, WebhookEndpointId};
use latchkey_base::{Error, Result, Time};
use latchkey_db::Tx;

use super::model::{Delivery, DeliveryStatus};
use super::{rules, store};
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
    webhooks::store::lock(tx, instance, endpoint).await?.ok_or_else(|| webhooks::not_found(endpoint))?;
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

/// Makes what has not arrived since a time due now. Says how many events that are.
pub async fn failed(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &WebhookEndpointId,
    since: Time,
    now: Time,
) -> Result<i64> {
    webhooks::store::lock(tx, instance, id).await?.ok_or_else(|| webhooks::not_found(id))?;
    store::replay_failed(tx, instance, id, since, now).await
}

/// Takes an endpoint back to a time, so that everything since then goes out again in its order. Says how
/// many events that are, wanted or not. An endpoint that has not come so far yet stays where it is. What waits
/// for its next attempt waits no longer: it goes out with the others, in its place.
pub async fn everything(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &WebhookEndpointId,
    since: Time,
    now: Time,
) -> Result<i64> {
    let endpoint = webhooks::store::lock(tx, instance, id).await?.ok_or_else(|| webhooks::not_found(id))?;
    let before = feed::store::last_before(tx, instance, rules::surely_before(since)).await?;
    let Some(first) = feed::store::first_since(tx, instance, since, before).await? else { return Ok(0) };
    let cursor = endpoint.cursor_seq.min(first - 1);
    if cursor == endpoint.cursor_seq {
        return Ok(0);
    }
    webhooks::store::move_cursor(tx, instance, id, cursor).await?;
    store::give_up(tx, instance, id, cursor, now).await?;
    Ok(endpoint.cursor_seq - cursor)
}

/// The refusal of an event that has no delivery here, or is no longer kept.
pub fn not_found(event: &EventId) -> Error {
    Error::not_found("delivery of an event", event)
}
