//! A redirect URL: a page or a deep link of a native app that browsers may be sent to although it is on none of the
//! application's domains. The instance keeps a list of them; `door/redirects.rs` asks whether a URL is on it.

pub mod backend;
pub mod input;
pub mod model;
pub mod rules;
pub mod store;
pub mod view;
