//! What members of organizations may do: permissions, roles that hold them, and role sets, from which organizations
//! choose their roles. All of an instance's are one document; see `model.rs`.

pub mod defaults;
pub mod described;
pub mod input;
pub mod list;
pub mod model;
pub mod permissions;
pub mod role_sets;
pub mod roles;
pub mod rules;
pub mod sets;
pub mod store;
pub mod view;
