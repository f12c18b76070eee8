//! Actor tokens: a backend makes one, and somebody acts as its user for a while, which every token of that
//! session tells.

pub mod ending;
pub mod input;
pub mod model;
pub mod rules;
pub mod store;
pub mod view;

use latchkey_base::Code;

use crate::tickets::rules::Codes;

/// What can be wrong with the ticket of one.
pub const CODES: Codes = Codes {
    used: Code::ActorTokenAlreadyUsed,
    revoked: Code::ActorTokenRevoked,
    not_revocable: Code::ActorTokenCannotBeRevoked,
};
