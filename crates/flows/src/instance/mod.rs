//! The instance as its backends see and change it: another door to the settings document that `latchkey settings set`
//! changes. What a published field means that the server does not have is refused; nothing is accepted without effect.

pub mod backend;
pub mod input;
pub mod organizations;
pub mod rules;
pub mod view;
