//! A message in the inbox, and which ones are asked for.

use latchkey_base::Time;
use latchkey_base::kinds::MessageId;

/// A message as it lies in its table.
pub(super) struct Sealed {
    pub(super) id: MessageId,
    pub(super) channel: String,
    pub(super) to: String,
    pub(super) slug: String,
    pub(super) content: Vec<u8>,
    pub(super) status: String,
    pub(super) failure: Option<String>,
    pub(super) created_at: Time,
}

/// Which messages.
pub(super) struct InboxFilter {
    /// Only to this address or number, in lower case.
    pub(super) to: Option<String>,
    /// Only those written then or later.
    pub(super) since: Option<Time>,
    /// Only those after this one.
    pub(super) after: Option<(Time, MessageId)>,
    /// At most so many.
    pub(super) limit: i64,
}
