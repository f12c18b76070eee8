//! What is left to do after an organization or a user was deleted. Memberships are removed a few at a time, each with its
//! event: what fits into one transaction is done at once, the rest by a job, so that nobody waits for it.

mod run;
pub mod store;

pub use run::{Removals, delete_organization, delete_user};
