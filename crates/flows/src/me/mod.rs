//! What somebody who is signed in does to their own account.
//!
//! Whatever protects the account (identifiers, passwords, second factors, other sessions) changes only after
//! a recent proof of who it is. All changes go the same ways as those of backends; what users may not do to
//! themselves stands in `rules`.

mod account;
pub mod attempt;
pub mod backup_codes;
pub mod contacts;
pub mod emails;
pub mod links;
pub mod passwords;
pub mod phones;
pub mod picture;
pub mod profile;
mod routes;
pub mod rules;
pub mod sessions;
pub mod settle;
pub mod totp;
pub mod view;

pub use account::show;
pub use routes::routes;

use account::{change, target};
