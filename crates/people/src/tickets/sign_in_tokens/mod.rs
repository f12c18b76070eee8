//! Sign-in tokens: a backend makes one, and its user signs in with it once, without any credentials.

pub mod ending;
pub mod input;
pub mod model;
pub mod store;
pub mod view;

use latchkey_base::Code;

use crate::tickets::rules::Codes;

/// What can be wrong with the ticket of one.
pub const CODES: Codes = Codes {
    used: Code::SignInTokenAlreadyUsed,
    revoked: Code::SignInTokenRevoked,
    not_revocable: Code::SignInTokenCannotBeRevoked,
};
