//! Syncs: browsers on their way from the primary domain to a satellite, where they are to be known as the same
//! client.

pub mod model;
pub mod store;
