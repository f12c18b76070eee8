//! Sends one event to one endpoint, once. When and whether to send it again is decided by the caller.

use std::time::Duration;

use bytes::Bytes;
use latchkey_base::Result;
use latchkey_base::time::Clock;
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::limits::WEBHOOK_RESPONSE_BYTES;
use latchkey_outbound::client::{Client, Request};
use latchkey_outbound::reach::Reach;

use super::model::Endpoint;
use super::secrets::{self, WebhookSigner};
use crate::feed::model::StoredEvent;
use crate::feed::view;
use crate::webhooks::deliveries::model::DeliveryAttempt;

/// What an event is sent with, whatever the endpoint.
pub struct WebhookSender<'a> {
    /// The HTTP client, which checks every address before it connects.
    pub client: &'a Client,
    /// Decrypts the data of events that are sealed at rest.
    pub master: &'a MasterKey,
    /// Signatures contain the time of the attempt, and an attempt records how long it took.
    pub clock: &'a dyn Clock,
    /// How long the endpoint may take to answer.
    pub timeout: Duration,
}

/// An endpoint made ready to be sent to: its URL, the secrets that sign, and which addresses it may lead to.
pub struct WebhookTarget {
    url: String,
    signer: WebhookSigner,
    reach: Reach,
}

impl WebhookTarget {
    /// Decrypts the secrets of an endpoint.
    pub fn of(endpoint: &Endpoint, reach: Reach, master: &MasterKey) -> Result<WebhookTarget> {
        let signer = WebhookSigner::new(secrets::open(endpoint, master)?)?;
        Ok(WebhookTarget { url: endpoint.url.clone(), signer, reach })
    }
}

impl WebhookSender<'_> {
    /// Sends an event once. The attempt has what the endpoint answered, or why there was no answer. An error is a failure
    /// of this server. `None`: the event cannot be opened, because it is damaged or sealed with another master key, and
    /// is never sent; that is logged.
    pub async fn send(&self, target: &WebhookTarget, event: &StoredEvent) -> Result<Option<DeliveryAttempt>> {
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
            Ok(answer) => DeliveryAttempt {
                at: began,
                status_code: Some(answer.status),
                duration_ms,
                // A receiver may answer with what it got. Sealed events hold secrets, such as one-time codes,
                // which must not be stored in clear.
                response: if event.is_sealed() { String::new() } else { text(&answer.body) },
                error: None,
            },
            Err(failure) => DeliveryAttempt {
                at: began,
                status_code: None,
                duration_ms,
                response: String::new(),
                error: Some(failure.to_string()),
            },
        }))
    }
}

/// The beginning of an answer as text. PostgreSQL stores no NUL in texts, so each is replaced.
fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).replace('\0', "\u{fffd}")
}
