//! Attempts to sign up: what somebody has told about themselves so far, and what of it is proven.
//!
//! An attempt belongs to one client and is a document. A password in it is hashed from the first moment on,
//! and leaves it for the user's credentials once the attempt is complete.

pub mod backend;
pub mod fields;
pub mod input;
pub mod model;
pub mod rules;
pub mod store;
mod under_way;
pub mod view;

pub use under_way::{shown, transferable};
