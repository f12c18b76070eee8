//! The server put together from its groups: routers, jobs, and what is served where no group is meant.

pub mod jobs;
mod no_page;
mod reference;
mod router;
mod security;
pub mod unbuilt;

pub use router::{GROUPS, Routers, document, frontend_document, frontend_operations, operations, routers};
