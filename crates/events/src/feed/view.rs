//! Events as applications see them: in the feed, and in what endpoints are sent.

use latchkey_base::kinds::{EventId, InstanceId, SecretKeyId};
use latchkey_base::{Error, Result, Time};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::model::StoredEvent;

object!(EventObject, "event");
object!(ListObject, "list");

/// What a receiver is sent. The names stand in the order of the alphabet, as receivers are used to.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookPayload")]
pub struct PayloadView<'a> {
    #[schemars(with = "Map<String, Value>")]
    data: Box<RawValue>,
    #[serde(flatten)]
    about: AboutView<'a>,
}

/// All but what the event tells.
#[derive(Serialize, JsonSchema)]
struct AboutView<'a> {
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
    /// What the event tells; null where `unreadable`.
    #[schemars(with = "Option<Map<String, Value>>")]
    data: Option<Box<RawValue>>,
    /// True where what the event tells is lost, because it is sealed with another master key than the
    /// server's; left out elsewhere. The event keeps its place, so that the feed has no gap and goes on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unreadable: bool,
    /// The secret key of the request that caused the event, or the one that made the link of that request; null for
    /// browsers, the command line and the server itself.
    key_id: Option<&'a SecretKeyId>,
    #[serde(flatten)]
    about: AboutView<'a>,
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
    Ok(PayloadView { data: data(event, master)?, about: about(event) })
}

/// What a receiver is sent, as a text. What the event tells was JSON when it was stored; it is not read again.
pub fn body(event: &StoredEvent, master: &MasterKey) -> Result<String> {
    let about = serde_json::to_string(&about(event)).map_err(Error::internal)?;
    let rest = about.strip_prefix('{').unwrap_or_default();
    Ok([r#"{"data":"#, &event.open(master)?, ",", rest].concat())
}

/// What a receiver is sent, or nothing where that cannot be read any more.
pub fn payload_if_readable<'a>(event: &'a StoredEvent, master: &MasterKey) -> Option<PayloadView<'a>> {
    Some(PayloadView { data: readable(event, master)?, about: about(event) })
}

/// A page of the feed, which goes on behind `last_seq`.
pub fn feed<'a>(
    events: &'a [StoredEvent],
    last_seq: i64,
    has_more: bool,
    master: &MasterKey,
) -> FeedView<'a> {
    let shown = |event: &'a StoredEvent| {
        let data = readable(event, master);
        EventView {
            id: &event.id,
            seq: event.seq,
            unreadable: data.is_none(),
            data,
            key_id: event.key.as_ref(),
            about: about(event),
        }
    };
    FeedView { object: ListObject::It, data: events.iter().map(shown).collect(), last_seq, has_more }
}

fn about(event: &StoredEvent) -> AboutView<'_> {
    AboutView {
        event_attributes: AttributesView {
            http_request: RequestView { client_ip: &event.client_ip, user_agent: &event.user_agent },
        },
        instance_id: &event.instance,
        object: EventObject::It,
        timestamp: event.created_at,
        kind: &event.kind,
    }
}

fn data(event: &StoredEvent, master: &MasterKey) -> Result<Box<RawValue>> {
    RawValue::from_string(event.open(master)?.into_owned()).map_err(Error::internal)
}

/// What the event tells, if that can be read. Whoever reads many events must not stumble over one.
fn readable(event: &StoredEvent, master: &MasterKey) -> Option<Box<RawValue>> {
    data(event, master).ok()
}

#[cfg(test)]
mod tests {
    use latchkey_base::Id;

    use super::super::model::Data;
    use super::*;

    #[test]
    fn receivers_are_sent_what_the_payload_shows() {
        let event = StoredEvent {
            instance: Id::unset(),
            seq: 1,
            id: Id::unset(),
            kind: "user.created".to_owned(),
            subject: "user_1".to_owned(),
            data: Data::Plain(r#"{"id":"user_1","first_name":"\u0000\"Ada\""}"#.to_owned()),
            client_ip: "::1".to_owned(),
            user_agent: "\"quoted\"\u{7}".to_owned(),
            created_at: Time::from_ms(1_700_000_000_000),
            key: None,
        };
        let master = MasterKey::from_bytes([1; 32]);
        let shown = serde_json::to_string(&payload(&event, &master).unwrap()).unwrap();
        assert_eq!(body(&event, &master).unwrap(), shown);
        assert!(serde_json::from_str::<Value>(&shown).is_ok());
    }
}
