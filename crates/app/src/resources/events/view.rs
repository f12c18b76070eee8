//! Events as applications see them: in the feed, and in what endpoints are sent.
#![expect(missing_docs, reason = "wire fields, documented by the published description")]

use latchkey_base::kinds::{EventId, InstanceId};
use latchkey_base::{Error, Result, Time};
use latchkey_jose::seal::MasterKey;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::model::StoredEvent;
use crate::words::object;

object!(EventObject, "event");
object!(ListObject, "list");

/// What a receiver is sent. The names stand in the order of the alphabet, as receivers are used to.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookPayload")]
pub struct PayloadView<'a> {
    #[schemars(with = "Map<String, Value>")]
    data: Box<RawValue>,
    event_attributes: AttributesView<'a>,
    instance_id: &'a InstanceId,
    object: EventObject,
    timestamp: Time,
    #[serde(rename = "type")]
    kind: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct AttributesView<'a> {
    http_request: RequestView<'a>,
}

#[derive(Serialize, JsonSchema)]
struct RequestView<'a> {
    client_ip: &'a str,
    user_agent: &'a str,
}

/// An event in the feed: what a receiver is sent, with its id and its number.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct EventView<'a> {
    id: &'a EventId,
    seq: i64,
    #[serde(flatten)]
    payload: PayloadView<'a>,
}

/// A page of the feed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EventFeed")]
pub struct FeedView<'a> {
    object: ListObject,
    data: Vec<EventView<'a>>,
    /// What to ask for next: `after` this number.
    last_seq: i64,
    /// Whether there are more already.
    has_more: bool,
}

/// What a receiver is sent.
pub fn payload<'a>(event: &'a StoredEvent, master: &MasterKey) -> Result<PayloadView<'a>> {
    Ok(PayloadView {
        data: RawValue::from_string(event.open(master)?).map_err(Error::internal)?,
        event_attributes: AttributesView {
            http_request: RequestView { client_ip: &event.client_ip, user_agent: &event.user_agent },
        },
        instance_id: &event.instance,
        object: EventObject::It,
        timestamp: event.created_at,
        kind: &event.kind,
    })
}

/// A page of the feed that was asked for `after` a number.
pub fn feed<'a>(
    events: &'a [StoredEvent],
    after: i64,
    has_more: bool,
    master: &MasterKey,
) -> Result<FeedView<'a>> {
    let shown = |event: &'a StoredEvent| {
        Ok(EventView { id: &event.id, seq: event.seq, payload: payload(event, master)? })
    };
    let data = events.iter().map(shown).collect::<Result<_>>()?;
    let last_seq = events.last().map_or(after, |event| event.seq);
    Ok(FeedView { object: ListObject::It, data, last_seq, has_more })
}
