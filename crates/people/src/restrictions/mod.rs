//! Which addresses, numbers and wallets people may enter with: the allow-list, the block-list, and what the settings
//! refuse by itself. Everything that gives somebody an identifier asks `check`: signing up, adding one to an account,
//! creating a user.
//!
//! The order, as published: the allow-list, which has the last word where it is in use; the block-list; sub-addresses;
//! mailboxes that are thrown away.

pub mod backend;
pub mod check;
pub mod input;
pub mod model;
pub mod rules;
pub mod store;
pub mod view;
