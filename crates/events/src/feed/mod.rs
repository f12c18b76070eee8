//! What happened, in order: the feed for those who prefer to ask rather than to be told. Ours, not part of
//! the compatible API.

pub mod backend;
pub mod by_key;
pub mod model;
pub mod store;
pub mod view;
