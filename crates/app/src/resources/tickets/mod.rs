//! Tickets: signed texts that open something once. Sign-in tokens and actor tokens hand them out, the
//! sign-in takes them.
//!
//! A ticket is recognised by its digest, not by its signature: it goes on working when the signing keys
//! change, and no key, algorithm or claim an attacker could choose is ever trusted.

pub mod model;
pub mod redeem;
pub mod rules;
pub mod store;

pub use redeem::{Kind, Look, Redeemed, look, redeem};
