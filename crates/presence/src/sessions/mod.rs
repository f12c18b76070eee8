//! Sessions: a user signed in on a client, until they sign out, the time is over, or somebody ends it.

pub mod activity;
pub mod backend;
pub mod closing;
mod custom_claims;
pub mod ending;
pub mod input;
pub mod model;
pub mod notices;
pub mod organization_claims;
pub mod own_memberships;
pub mod present;
pub mod renewals;
pub mod rules;
pub mod store;
pub mod templated;
pub mod tokens;
pub mod view;
pub mod working;

pub use custom_claims::custom_claims;
