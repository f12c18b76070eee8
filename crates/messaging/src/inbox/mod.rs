//! The inbox of development instances: what would have been sent, for the person who tries it out and for
//! tests that wait for it. Ours, not part of the compatible API; documented in the README.
//!
//! The page is the same for everybody and knows nothing; whoever opens it shows a secret key, or the pass
//! in the link the server prints when it starts.

pub mod dev;
mod model;
pub mod page;
mod reader;
pub mod rules;
mod store;
pub mod view;
