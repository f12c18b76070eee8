//! The memberships of everybody who is signed in on a client, as they are shown with the users.

mod read;
pub mod store;

pub use read::{OwnMembership, OwnMemberships};
