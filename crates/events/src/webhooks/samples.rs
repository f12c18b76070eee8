//! Made-up events for trying an endpoint out. They look like real ones and are about nobody.

use latchkey_base::kinds::{EventId, InstanceId};
use latchkey_base::rng::Rng;
use latchkey_base::{Error, Result, Time};
use latchkey_kernel::events::Event;
use serde_json::{Map, Value, json};

use crate::feed::model::{Data, StoredEvent};

/// What an event is about, by the noun in its name.
const SAMPLES: &str = include_str!("samples.json");

/// Things of which only the id is left in the event of their deletion.
const SHORT_WHEN_DELETED: [&str; 5] = ["user", "organization", "organizationDomain", "role", "permission"];

/// A made-up event of a kind.
pub fn event(kind: Event, instance: &InstanceId, now: Time, rng: &dyn Rng) -> Result<StoredEvent> {
    Ok(StoredEvent {
        instance: instance.clone(),
        id: EventId::new(now, rng),
        kind: kind.name().to_owned(),
        created_at: now,
        key: None,
        client_ip: "192.0.2.10".to_owned(),
        user_agent: "Mozilla/5.0 (test event)".to_owned(),
        seq: 0,
        subject: String::new(),
        data: Data::Plain(data(kind)?.to_string()),
    })
}

/// What such an event tells.
pub fn data(kind: Event) -> Result<Value> {
    let mut samples: Map<String, Value> = serde_json::from_str(SAMPLES).map_err(Error::internal)?;
    let (noun, verb) = kind.name().split_once('.').unwrap_or((kind.name(), ""));
    let mut sample = samples.remove(noun).ok_or_else(|| Error::internal("an event without a sample"))?;
    if verb == "deleted" && SHORT_WHEN_DELETED.contains(&noun) {
        return Ok(json!({ "object": sample["object"], "id": sample["id"], "deleted": true }));
    }
    match noun {
        "session" => {
            sample["user"] = samples.remove("user").unwrap_or_default();
            sample["status"] = status_of_session(verb).into();
        }
        "organizationInvitation" if verb != "created" => {
            sample["status"] = verb.into();
            if verb == "accepted" {
                sample["user_id"] = samples.remove("user").unwrap_or_default()["id"].take();
            }
        }
        "paymentAttempt" if verb == "updated" => {
            sample["status"] = "paid".into();
            sample["paid_at"] = sample["updated_at"].clone();
        }
        "subscription" if verb == "pastDue" => sample["status"] = "past_due".into(),
        "subscriptionItem" if verb != "updated" => sample["status"] = status_of_item(verb).into(),
        _ => (),
    }
    Ok(sample)
}

fn status_of_session(verb: &str) -> &str {
    match verb {
        "created" => "active",
        other => other,
    }
}

fn status_of_item(verb: &str) -> &str {
    match verb {
        "pastDue" => "past_due",
        "freeTrialEnding" => "active",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_sample() {
        for kind in Event::ALL {
            let data = data(*kind).unwrap();
            assert!(data["id"].as_str().is_some_and(|id| id.contains('_')), "{}", kind.name());
        }
    }

    #[test]
    fn samples_tell_what_happened() {
        assert_eq!(data(Event::UserDeleted).unwrap()["deleted"], true);
        assert_eq!(data(Event::OrganizationMembershipDeleted).unwrap().get("deleted"), None);
        assert_eq!(data(Event::SessionRevoked).unwrap()["status"], "revoked");
        assert_eq!(data(Event::SessionCreated).unwrap()["user"]["object"], "user");
        assert_eq!(data(Event::SubscriptionItemPastDue).unwrap()["status"], "past_due");
    }
}
