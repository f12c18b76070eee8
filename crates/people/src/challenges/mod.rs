//! Challenges: what somebody is asked to prove in the course of signing in, signing up or verifying again.
//! A challenge has no table; it lies in the document of the attempt it belongs to.

pub mod account;
pub mod links;
pub mod model;
pub mod rules;
pub mod view;
