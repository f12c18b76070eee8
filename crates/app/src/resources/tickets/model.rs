//! What a ticket stands for.

use latchkey_base::Time;
use latchkey_base::kinds::{ActorTokenId, InstanceId, SignInTokenId, UserId};

/// What all tickets have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// The tenant.
    pub instance: InstanceId,
    /// Whom it signs in.
    pub user: UserId,
    /// What became of it.
    pub status: Status,
    /// Tells the ticket when it comes back.
    pub digest: Vec<u8>,
    /// When it is no longer good.
    pub expire_at: Time,
    /// When it was made.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

/// What became of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nobody has used it.
    Pending,
    /// It was used.
    Accepted,
    /// Somebody took it back.
    Revoked,
}

impl Status {
    /// Reads a name.
    pub fn parse(text: &str) -> Option<Status> {
        [Status::Pending, Status::Accepted, Status::Revoked].into_iter().find(|status| status.name() == text)
    }

    /// The name in the table and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Accepted => "accepted",
            Status::Revoked => "revoked",
        }
    }
}

/// What handed a ticket out.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A sign-in token.
    SignInToken(SignInTokenId),
    /// An actor token.
    ActorToken(ActorTokenId),
}

/// A ticket that came back, as far as it can be read without looking it up.
#[derive(Clone, Debug, PartialEq)]
pub struct Ticket {
    /// What it says it is from.
    pub source: Source,
    /// Tells whether it is.
    pub digest: [u8; 32],
}
