//! A user: a person known to an instance by e-mail addresses, phone numbers, a username or wallets.
//!
//! A user is stored as one document, read and written whole, beside the columns that lists filter
//! and order by, and the index rows that say who holds which identifier. Secrets (password digest,
//! TOTP secret, backup codes) lie in a table of their own.

pub mod activity;
pub mod arrivals;
pub mod backend;
pub mod change;
pub mod create;
pub mod credentials;
pub mod domains;
pub mod entitlements;
pub mod factors;
pub mod found;
pub mod input;
pub mod list;
pub mod metadata;
pub mod model;
pub mod passkeys;
pub mod pictures;
pub mod rules;
pub mod store;
pub mod view;
