//! Factors: the ways a user can prove who they are. Signing in and verifying again offer the same ones.
//! Proving them is a story of its own, in `flows/factors`.

pub mod audience;
pub mod model;
pub mod rules;
pub mod view;
