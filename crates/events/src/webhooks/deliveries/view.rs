//! How deliveries look on the wire.

use latchkey_base::Time;
use latchkey_base::kinds::{EventId, WebhookEndpointId};
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::{Delivery, DeliveryAttempt, HELD};
use crate::feed::view::PayloadView;

object!(DeliveryObject, "webhook_delivery");
object!(ReplayObject, "webhook_replay");

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookDelivery")]
pub struct DeliveryView<'a> {
    object: DeliveryObject,
    endpoint_id: &'a WebhookEndpointId,
    event_id: &'a EventId,
    /// The number of the event.
    seq: i64,
    #[serde(rename = "type")]
    kind: &'a str,
    /// What the event is about.
    subject_id: &'a str,
    /// `pending`, `succeeded` or `failed`.
    status: &'static str,
    /// How often it was tried since it was queued or replayed.
    attempts: i64,
    /// Null while it waits behind another event about the same subject, and when there is none.
    next_attempt_at: Option<Time>,
    /// What the receiver answered last.
    last_attempt: Option<AttemptView<'a>>,
    created_at: Time,
    updated_at: Time,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookDeliveryDetails")]
pub struct DetailsView<'a> {
    #[serde(flatten)]
    delivery: DeliveryView<'a>,
    /// Everything that was tried, oldest first.
    log: Vec<AttemptView<'a>>,
    /// What is sent; null when the event is no longer kept, or sealed with another master key.
    payload: Option<PayloadView<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookAttempt")]
pub struct AttemptView<'a> {
    at: Time,
    succeeded: bool,
    status_code: Option<u16>,
    duration_ms: i64,
    /// The beginning of the answer's body.
    response: &'a str,
    /// Why there was no answer.
    error: Option<&'a str>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookReplay")]
pub struct ReplayView {
    object: ReplayObject,
    /// How many events go out again; those the endpoint does not want are counted as well.
    events: i64,
}

pub fn delivery(delivery: &Delivery) -> DeliveryView<'_> {
    DeliveryView {
        object: DeliveryObject::It,
        endpoint_id: &delivery.endpoint,
        event_id: &delivery.event_id,
        seq: delivery.seq,
        kind: &delivery.kind,
        subject_id: &delivery.subject,
        status: delivery.status.name(),
        attempts: delivery.attempts,
        next_attempt_at: delivery.next_at.filter(|at| *at != HELD),
        last_attempt: delivery.log.last().map(attempt),
        created_at: delivery.created_at,
        updated_at: delivery.updated_at,
    }
}

pub fn details<'a>(found: &'a Delivery, payload: Option<PayloadView<'a>>) -> DetailsView<'a> {
    DetailsView { delivery: delivery(found), log: found.log.iter().map(attempt).collect(), payload }
}

pub fn attempt(attempt: &DeliveryAttempt) -> AttemptView<'_> {
    AttemptView {
        at: attempt.at,
        succeeded: attempt.is_success(),
        status_code: attempt.status_code,
        duration_ms: attempt.duration_ms,
        response: &attempt.response,
        error: attempt.error.as_deref(),
    }
}

pub fn replay(events: i64) -> ReplayView {
    ReplayView { object: ReplayObject::It, events }
}
