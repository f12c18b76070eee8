//! What can happen, by the names applications know it under.

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
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
            Event::UserCreated => "user.created",
            Event::UserUpdated => "user.updated",
            Event::UserDeleted => "user.deleted",
        }
    }
}
