//! E-mail addresses and phone numbers of users: being primary, verified, reserved or unverified, being
//! claimed by one user only, and being proven by a code.

pub mod backend;
pub mod codes;
pub mod handlers;
pub mod input;
pub mod rules;
pub mod store;
pub mod view;
