//! A JWT template: claims of the application's choice, from which tokens for third parties are made.
//!
//! A template is a JSON object whose texts may hold shortcodes such as `{{user.first_name}}`. Tokens are
//! signed with the instance's key, or with one the application brought for this template.

pub mod backend;
pub mod input;
pub mod keys;
pub mod model;
pub mod own_keys;
pub mod rules;
pub mod scope;
pub mod shortcodes;
pub mod sizes;
pub mod store;
pub mod view;

#[cfg(test)]
mod tests;
