//! Tickets: signed texts that open something once. Sign-in tokens, actor tokens and invitations hand them out,
//! sign-in and sign-up take them.
//!
//! A ticket is recognised by its digest, not by its signature: it goes on working when the signing keys
//! change, and no key, algorithm or claim an attacker could choose is ever trusted.

pub mod actor_tokens;
pub mod destinations;
pub mod model;
pub mod redeem;
pub mod rules;
pub mod sign_in_tokens;
pub mod store;

pub use redeem::{Redeemed, TicketKind, ValidTicket, find_valid, redeem};
