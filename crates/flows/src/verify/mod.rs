//! Opening a link that was sent by e-mail. The token says what it belongs to: an attempt to sign in or up,
//! or an address of somebody who is signed in.

pub mod frontend;
mod model;
mod other_browser;

pub use model::{CLIENT_MISMATCH, Verified, outdated};
