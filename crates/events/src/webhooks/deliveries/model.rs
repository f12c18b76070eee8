//! What a delivery is.

use latchkey_base::Time;
use latchkey_base::kinds::{EventId, InstanceId, WebhookEndpointId};
use serde::{Deserialize, Serialize};

/// When a delivery is tried that waits behind another about the same subject: not before that one lets it go,
/// so nobody has to look at it until then. Also that of one behind the cursor of an endpoint that was taken back: it is
/// sent when the cursor comes to it. The last millisecond of the year 9999.
pub const HELD: Time = Time::from_ms(253_402_300_799_999);

/// Longer than any pause before another attempt. One that would last longer was begun before the clock was set back, and is
/// over.
pub const LONGEST_PAUSE_MS: i64 = 12 * 3_600_000;

/// After so many attempts an event no longer holds up those about the same subject: one that its receiver
/// never takes must not cost a user all others. That is some 35 minutes later.
pub const HOLDING_ATTEMPTS: i64 = 4;

/// What became of an event at an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    pub instance: InstanceId,
    pub endpoint: WebhookEndpointId,
    /// The number of the event.
    pub seq: i64,
    pub event_id: EventId,
    pub kind: String,
    /// What the event is about; events about the same thing arrive in order.
    pub subject: String,
    pub status: DeliveryStatus,
    /// How often it was tried since it was queued or replayed.
    pub attempts: i64,
    /// When it is tried again; nothing unless it is pending, and [`HELD`] while it waits behind another
    /// or for the cursor.
    pub next_at: Option<Time>,
    /// What was tried, oldest first.
    pub log: Vec<DeliveryAttempt>,
    pub created_at: Time,
    pub updated_at: Time,
}

/// Which deliveries a list shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Only those that stand so.
    pub status: Option<DeliveryStatus>,
    /// Only of this kind of event.
    pub kind: Option<String>,
    /// Only of events with a smaller number.
    pub before_seq: Option<i64>,
}

/// How a delivery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// It will be tried, perhaps again.
    Pending,
    /// It arrived.
    Succeeded,
    /// It was tried for the last time.
    Failed,
}

impl DeliveryStatus {
    pub const ALL: [DeliveryStatus; 3] =
        [DeliveryStatus::Pending, DeliveryStatus::Succeeded, DeliveryStatus::Failed];

    /// Reads a name.
    pub fn parse(text: &str) -> Option<DeliveryStatus> {
        DeliveryStatus::ALL.into_iter().find(|status| status.name() == text)
    }

    /// The name in the table and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            DeliveryStatus::Pending => "pending",
            DeliveryStatus::Succeeded => "succeeded",
            DeliveryStatus::Failed => "failed",
        }
    }
}

/// One try, as it lies in the log of a delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliveryAttempt {
    pub at: Time,
    /// What the receiver answered, if it did.
    pub status_code: Option<u16>,
    pub duration_ms: i64,
    /// The beginning of the answer's body.
    pub response: String,
    /// Why there was no answer.
    pub error: Option<String>,
}

impl DeliveryAttempt {
    /// Whether the receiver took the event.
    pub fn is_success(&self) -> bool {
        self.status_code.is_some_and(|status| (200..300).contains(&status))
    }
}

/// What one step made due of what had not arrived.
pub struct Replayed {
    pub count: i64,
    /// The last one, if there may be others behind it.
    pub last: Option<QueuePosition>,
}

/// A place in the order in which deliveries were queued.
pub struct QueuePosition {
    pub queued_at: Time,
    pub seq: i64,
}
