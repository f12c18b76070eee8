//! What an endpoint is.

use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, WebhookEndpointId};
use latchkey_base::secret::Secret;
use latchkey_kernel::events::Event;

/// Where events are sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    pub instance: InstanceId,
    pub id: WebhookEndpointId,
    /// Where events are posted.
    pub url: String,
    /// What its owner says about it.
    pub description: String,
    /// The kinds of events it wants; empty for all.
    pub kinds: Vec<String>,
    /// What events are signed with, sealed with the master key; `secrets::open` opens it.
    pub secrets_sealed: Vec<u8>,
    /// Whether it gets no events.
    pub is_disabled: bool,
    /// The last event that was sent or queued.
    pub cursor_seq: i64,
    /// Since when nothing got there any more.
    pub failing_since: Option<Time>,
    pub created_at: Time,
    pub updated_at: Time,
}

impl Endpoint {
    /// Whether it wants events of a kind.
    pub fn wants(&self, kind: &str) -> bool {
        let is_for_endpoints = !Event::is_feed_only(kind);
        is_for_endpoints && (self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind))
    }
}

/// A secret that events are signed with: `whsec_` and base64.
#[derive(Clone, Debug)]
pub struct SigningSecret {
    /// The text receivers know.
    pub secret: Secret,
    /// When it signs no more; never for the newest one.
    pub expire_at: Option<Time>,
}

impl SigningSecret {
    pub fn is_good(&self, now: Time) -> bool {
        self.expire_at.is_none_or(|expire_at| expire_at > now)
    }
}

/// What the list tells about how an endpoint is doing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    /// Deliveries that wait for another try.
    pub pending: i64,
    /// Events it has not come to yet, wanted or not.
    pub unread: i64,
    /// What became of the last deliveries, newest first.
    pub recent: Vec<&'static str>,
}
