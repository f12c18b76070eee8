//! Link tokens of admin portals: a backend makes one, and puts it into a link that somebody opens to set an organization
//! up. A token is shown once, and only its digest is kept.

pub mod backend;
pub mod ending;
pub mod input;
pub mod model;
pub mod rules;
pub mod store;
pub mod view;
