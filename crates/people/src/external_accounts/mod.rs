//! Accounts of users at other providers. They lie in the document of the user; the tokens that the provider gave for them
//! lie in a table of their own, sealed. Who talks to providers is a group above.

pub mod change;
pub mod model;
pub mod rules;
pub mod store;
pub mod tokens;
pub mod view;
