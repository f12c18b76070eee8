//! What an entry of the waitlist is.

use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, InvitationId, WaitlistEntryId};
use serde::{Deserialize, Serialize};

/// An address whose owner asked to be let in.
#[derive(Clone, Debug)]
pub struct WaitlistEntry {
    pub instance: InstanceId,
    pub id: WaitlistEntryId,
    pub status: WaitlistStatus,
    pub details: WaitlistEntryDetails,
    /// When they were invited last.
    pub invited_at: Option<Time>,
    pub created_at: Time,
}

/// The document of an entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WaitlistEntryDetails {
    pub email_address: String,
    /// The invitation they got last, or the one they followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invitation: Option<InvitationId>,
    pub updated_at: Time,
}

/// What became of somebody who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitlistStatus {
    /// Nothing yet.
    Pending,
    /// They were invited.
    Invited,
    /// They were invited and have followed the invitation.
    Completed,
    /// They are not let in.
    Rejected,
}

impl WaitlistStatus {
    const ALL: [WaitlistStatus; 4] = [
        WaitlistStatus::Pending,
        WaitlistStatus::Invited,
        WaitlistStatus::Completed,
        WaitlistStatus::Rejected,
    ];

    /// Reads a name.
    pub fn parse(text: &str) -> Option<WaitlistStatus> {
        WaitlistStatus::ALL.into_iter().find(|status| status.name() == text)
    }

    /// The name in the table and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            WaitlistStatus::Pending => "pending",
            WaitlistStatus::Invited => "invited",
            WaitlistStatus::Completed => "completed",
            WaitlistStatus::Rejected => "rejected",
        }
    }
}
