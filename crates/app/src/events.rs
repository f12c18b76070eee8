//! What can happen, by the names applications know it under.

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session began, or its last task was done.
    SessionCreated,
    /// A user signed out, or another session took this one's place.
    SessionEnded,
    /// A session began with something left to do.
    SessionPending,
    /// A user signed out on a client.
    SessionRemoved,
    /// Somebody else ended a session.
    SessionRevoked,
    /// A user was created.
    UserCreated,
    /// A user, or anything that belongs to one, was changed.
    UserUpdated,
    /// A user was deleted.
    UserDeleted,
}

impl Event {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Event::SessionCreated => "session.created",
            Event::SessionEnded => "session.ended",
            Event::SessionPending => "session.pending",
            Event::SessionRemoved => "session.removed",
            Event::SessionRevoked => "session.revoked",
            Event::UserCreated => "user.created",
            Event::UserUpdated => "user.updated",
            Event::UserDeleted => "user.deleted",
        }
    }
}
