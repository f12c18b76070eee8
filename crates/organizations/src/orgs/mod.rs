//! An organization: a name, a picture, metadata, and how many members it may have. Who they are lies in `memberships`.

pub mod backend;
pub mod change;
pub mod create;
pub mod entitlements;
pub mod input;
pub mod list;
pub mod model;
pub mod rules;
pub mod store;
pub mod view;
