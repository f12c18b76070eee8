//! What others look up about an instance by convention: the keys its tokens are checked with, and who it is.

pub mod frontend;
