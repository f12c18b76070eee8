//! What the tests stand on: a whole server in the process, on a database of its own, at a fixed time
//! with seeded randomness, that fails the test for what it forgot to check.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "this crate exists to fail tests"
)]

mod checker;
mod database;
mod server;

pub use server::{Answer, Tenant, TestServer};
