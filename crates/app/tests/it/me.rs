//! What people do to their own accounts.

mod emails;
mod passwords;
mod phones;
mod picture;
mod profile;
mod sessions;
pub(crate) mod support;
mod tasks;
mod totp;
