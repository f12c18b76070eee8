//! An instance is one tenant: its keys, its settings, and everything that belongs to it.
//!
//! Instances are made and removed by the operator through the command line, never over HTTP.

pub mod change;
pub mod keys;
pub mod model;
pub mod rules;
pub mod store;
