//! Hands one event to one endpoint and notes what came of it. Trying again is up to the caller.

use std::time::Duration;

use bytes::Bytes;
use latchkey_base::Result;
use latchkey_base::time::Clock;
use latchkey_jose::seal::MasterKey;
use latchkey_outbound::client::{Client, Request};
use latchkey_outbound::reach::Reach;

use super::model::Endpoint;
use super::secrets::{self, Signer};
use crate::limits::WEBHOOK_RESPONSE_BYTES;
use crate::resources::events::model::StoredEvent;
use crate::resources::events::view;
use crate::resources::webhook_deliveries::model::Attempt;

/// What sending needs.
pub struct Sender<'a> {
    /// Does it.
    pub client: &'a Client,
    /// Opens secrets and sealed events.
    pub master: &'a MasterKey,
    /// Signatures tell the time, and attempts how long they took.
    pub clock: &'a dyn Clock,
    /// The time for an answer.
    pub timeout: Duration,
}

/// Where events are sent, and what they are signed with.
pub struct Target {
    url: String,
    signer: Signer,
    reach: Reach,
}

impl Target {
    /// Opens the secrets of an endpoint.
    pub fn of(endpoint: &Endpoint, reach: Reach, master: &MasterKey) -> Result<Target> {
        let signer = Signer::new(secrets::open(endpoint, master)?)?;
        Ok(Target { url: endpoint.url.clone(), signer, reach })
    }
}

impl Sender<'_> {
    /// Sends an event once. Whatever the endpoint does is an attempt; an error is ours. Nothing is sent when the
    /// event cannot be read: it is damaged, or sealed with another key.
    pub async fn send(&self, target: &Target, event: &StoredEvent) -> Result<Option<Attempt>> {
        let began = self.clock.now();
        let Ok(body) = view::body(event, self.master) else {
            tracing::error!(event.id = %event.id, "{} cannot be opened", event.id);
            return Ok(None);
        };
        let signature = target.signer.sign(event.id.as_str(), began, &body);
        let request = Request {
            url: &target.url,
            headers: vec![
                ("content-type", "application/json".to_owned()),
                ("user-agent", concat!("Latchkey-Webhooks/", env!("CARGO_PKG_VERSION")).to_owned()),
                ("svix-id", event.id.to_string()),
                ("svix-timestamp", began.seconds().to_string()),
                ("svix-signature", signature),
            ],
            body: Bytes::from(body),
            reach: target.reach,
            timeout: self.timeout,
            keep: WEBHOOK_RESPONSE_BYTES,
        };
        let outcome = self.client.post(request).await;
        let duration_ms = self.clock.now().ms_since(began);
        Ok(Some(match outcome {
            Ok(answer) => Attempt {
                at: began,
                status_code: Some(answer.status),
                duration_ms,
                // A receiver may send back what it got; a one-time code must not lie here in clear.
                response: if event.is_sealed() { String::new() } else { text(&answer.body) },
                error: None,
            },
            Err(failure) => Attempt {
                at: began,
                status_code: None,
                duration_ms,
                response: String::new(),
                error: Some(failure.to_string()),
            },
        }))
    }
}

/// The beginning of an answer as a text. NUL has no place in the tables.
fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).replace('\0', "\u{fffd}")
}
