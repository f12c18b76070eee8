//! Attempts to sign in: a document that belongs to a client for a day, and says what is proven so far.

pub mod model;
pub mod rules;
pub mod store;
mod under_way;
pub mod view;

pub use under_way::{shown, transferable};
