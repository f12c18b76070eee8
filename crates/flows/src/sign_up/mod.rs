//! Signing up: people tell about themselves step by step, prove what must be proven, and have an account and
//! a session in the very transaction in which nothing is left to ask for.

pub mod accounts;
pub mod complete;
pub mod frontend;
pub mod input;
pub mod link;
pub mod restrictions;
pub mod rules;
pub mod step;
pub mod tickets;
pub mod transfer;

pub use link::link_verified;
