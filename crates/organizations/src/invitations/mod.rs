//! Invitations to organizations: an address, and the role its owner will have. Whoever has the address joins, with an
//! account or by making one; the ticket in the e-mail proves that the address is theirs.
//!
//! The ticket opens the account of whoever has the address, like a link to sign in. So backends see it, and members of
//! organizations do not. Invitations that a domain caused have none: only whoever has proven the address sees them.

pub mod backend;
pub mod change;
pub mod ending;
pub mod input;
pub mod list;
pub mod model;
pub mod revocation;
pub mod rules;
pub mod store;
pub mod view;
