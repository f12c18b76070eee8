//! What e-mail addresses and phone numbers have in common: being primary, verified, reserved or
//! unverified, being claimed by one user only, and being proven by a code.
//!
//! The two resources that show them (`email_addresses`, `phone_numbers`) are routes over this.

pub mod codes;
pub mod handlers;
pub mod input;
pub mod rules;
pub mod store;
pub mod view;
