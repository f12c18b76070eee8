//! What an invitation to the application is.

use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, InvitationId, SecretKeyId, UserId};
use latchkey_base::text::{email, fold};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::tickets::model::TicketStatus;

/// An invitation of an address to the application.
#[derive(Clone, Debug)]
pub struct ApplicationInvitation {
    pub instance: InstanceId,
    pub id: InvitationId,
    /// Whether it may stand beside others of the same address.
    pub is_beside_others: bool,
    /// What somebody did with it. Whether its time is over follows from `expire_at`.
    pub status: TicketStatus,
    pub details: ApplicationInvitationDetails,
    /// The secret key that made it.
    pub key: Option<SecretKeyId>,
    pub created_at: Time,
    pub expire_at: Time,
}

/// The document of an invitation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApplicationInvitationDetails {
    pub email_address: String,
    /// Where the link leads, if not to the pages for signing in and up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_url: Option<String>,
    /// The ticket, sealed and in base64.
    pub ticket: String,
    /// What the user will have.
    pub public_metadata: Box<RawValue>,
    /// Who followed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_by: Option<UserId>,
    pub updated_at: Time,
}

impl ApplicationInvitation {
    /// What became of it, by the name on the wire.
    pub fn state(&self, now: Time) -> &'static str {
        match self.status {
            TicketStatus::Pending if self.expire_at <= now => "expired",
            status => status.name(),
        }
    }

    /// Whether it can still be followed.
    pub fn is_open(&self, now: Time) -> bool {
        self.status == TicketStatus::Pending && self.expire_at > now
    }
}

/// An address in the form in which invitations are found by it.
pub fn folded(email_address: &str) -> String {
    fold(&email(email_address).unwrap_or_else(|| email_address.to_owned()))
}
