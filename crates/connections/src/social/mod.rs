//! Accounts at other providers: which providers there are, how they are spoken to, and what they say about people.

mod accounts;
mod attempts;
mod callback;
mod connecting;
pub mod mock;
mod popup;
pub mod protocol;
pub mod providers;
mod returning;
mod routes;
mod takeover;
pub mod tokens;
mod verdicts;

pub(crate) use routes::{backend, frontend, pages, register};
