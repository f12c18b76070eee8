//! What a ticket stands for.

use latchkey_base::Time;
use latchkey_base::kinds::{
    ActorTokenId, InstanceId, InvitationId, OrganizationInvitationId, SecretKeyId, SignInTokenId, UserId,
};

/// What all tickets have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    pub instance: InstanceId,
    /// Whom it signs in.
    pub user: UserId,
    /// The secret key that made it; `None` if it was made before keys were stored with tickets.
    pub key: Option<SecretKeyId>,
    /// What became of it.
    pub status: TicketStatus,
    /// Tells the ticket when it comes back.
    pub digest: Vec<u8>,
    pub expire_at: Time,
    pub created_at: Time,
    pub updated_at: Time,
}

/// What became of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketStatus {
    /// Nobody has used it.
    Pending,
    /// It was used.
    Accepted,
    /// Somebody took it back.
    Revoked,
}

impl TicketStatus {
    /// Reads a name.
    pub fn parse(text: &str) -> Option<TicketStatus> {
        [TicketStatus::Pending, TicketStatus::Accepted, TicketStatus::Revoked]
            .into_iter()
            .find(|status| status.name() == text)
    }

    /// The name in the table and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            TicketStatus::Pending => "pending",
            TicketStatus::Accepted => "accepted",
            TicketStatus::Revoked => "revoked",
        }
    }
}

/// What handed a ticket out.
#[derive(Clone, Debug, PartialEq)]
pub enum TicketSource {
    SignInToken(SignInTokenId),
    ActorToken(ActorTokenId),
    /// Kept by `people/invitations`: whoever is shown a ticket asks there first.
    Invitation(InvitationId),
    /// Kept by `organizations/invitations`, above this folder: whoever is shown a ticket asks there first.
    OrganizationInvitation(OrganizationInvitationId),
}

/// A ticket that came back, as far as it can be read without looking it up.
#[derive(Clone, Debug, PartialEq)]
pub struct Ticket {
    /// What it says it is from.
    pub source: TicketSource,
    /// Tells whether it is.
    pub digest: [u8; 32],
}
