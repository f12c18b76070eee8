//! A user's membership in an organization: a role, and metadata.

pub mod backend;
pub mod change;
pub mod input;
pub mod list;
pub mod model;
pub mod rules;
pub mod store;
pub mod view;
