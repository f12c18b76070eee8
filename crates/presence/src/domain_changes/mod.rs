//! What is left to do after the primary domain of an instance changed: sessions that began before end, as published.
//! Cookies of the old domain do not reach the new one, and its tokens name an issuer that is gone. There may be many, so
//! they end in steps: the first right after the change, the others by a job.

mod run;
pub mod store;

pub use run::{DomainChanges, begin, go_on};
