//! Signing keys, JSON Web Tokens, one-time codes, and the sealing of secrets at rest.
//!
//! It exists so that cryptography is called in one place, through few functions that are hard to misuse.
//! Everything here is functions over bytes: no clock, no database, no HTTP. What a claim means, when a
//! token expires and where a key is kept are the caller's business.
//!
//! Randomness comes from the cryptographic library and not from the application's generator: keys and
//! nonces made from a generator that tests can seed would be one wiring mistake away from predictable.

#![warn(missing_docs)]

pub mod custom;
pub mod digest;
pub mod error;
pub mod es256;
pub mod foreign;
pub mod jwk;
pub mod jwt;
#[cfg(test)]
mod rfc7515;
pub mod rsa;
pub mod seal;
pub mod totp;
