//! The inbox of development instances: what would have been sent, for the person who tries it out.
//! Ours, not part of the compatible API; documented in the README.

pub mod dev;
