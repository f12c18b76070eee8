//! Invitations to the application: an address, and what its owner will have when they sign up. The ticket in the e-mail
//! proves that the address is theirs, and opens sign-ups that are not open to everybody.

pub mod backend;
pub mod change;
pub mod ending;
pub mod input;
pub mod list;
pub mod model;
pub mod rules;
pub mod store;
pub mod view;
