//! What became of an event at an endpoint: whether it got there, what was tried, and trying again.

pub mod backend;
pub mod input;
pub mod model;
pub mod replay;
pub mod rules;
pub mod store;
pub mod view;
