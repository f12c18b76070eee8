//! Passwords as pure functions over bytes: reading the digests other systems export, checking a password against
//! one, making our own argon2id digests, and saying what is weak about a password somebody chose.
//!
//! Nothing here does I/O, reads a clock or draws randomness; the salt of a new digest is an argument. Everything is
//! synchronous and some of it is slow on purpose, so the caller decides on which thread it runs and how many run at
//! once. What the caller may rely on: whatever [`Digest::parse`] accepts costs at most one or two seconds of one core
//! to verify, and no password and no digest text makes anything panic.

#![warn(missing_docs)]

mod common;
mod digest;
mod encoding;
mod error;
mod formats;
mod hasher;
mod policy;
mod strength;

pub use common::is_breached;
pub use digest::{Digest, MAX_DIGEST_BYTES};
pub use error::DigestError;
pub use formats::argon2::hash;
pub use hasher::Hasher;
pub use policy::{MAX_BYTES, Policy, SPECIAL_CHARACTERS, Weakness, check, special_characters};
pub use strength::suggestion_message;
