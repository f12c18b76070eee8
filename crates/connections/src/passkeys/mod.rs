//! Passkeys: key pairs that a device or a password manager keeps for one user and one domain. People register them on
//! their own account, and sign in with them: a device proves that it holds the key, and that its owner unlocked it.
//!
//! `ceremony` speaks WebAuthn and nothing else, `origins` says which pages and apps may answer a challenge, and `factor`
//! plugs into the sign-in machine. What is shown of a passkey stands in the document of its user (`people/users`), its
//! public key in a table of its own.

pub mod backend;
pub mod ceremony;
pub mod factor;
pub mod frontend;
pub mod input;
pub mod model;
pub mod origins;
pub mod removal;
pub mod rules;
pub mod store;
pub mod well_known;
