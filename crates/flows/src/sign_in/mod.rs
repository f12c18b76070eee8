//! Signing in: saying who one is, proving it, proving it once more where that is asked for, and a session
//! at the end. The attempt is a document that belongs to the client; every step locks the client, then the
//! user.
//!
//! Where answers must not tell who has an account, an attempt may be about nobody. It looks like every
//! other, but nothing is sent and nothing is right; see `nobody`.

pub mod attempt;
pub mod create;
pub mod finish;
pub mod frontend;
pub mod input;
pub mod link;
pub mod nobody;
pub mod password;
pub mod plan;
pub mod registered;
pub mod rules;
pub mod steps;
pub mod ticket;
