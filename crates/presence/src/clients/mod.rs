//! Clients: browsers and devices. A client holds the sessions of the people who signed in on it, and the
//! attempts to sign in or up that are under way.

pub mod backend;
pub mod earlier;
pub mod model;
pub mod store;
pub mod token;
pub mod view;
