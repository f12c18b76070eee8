//! What the tests stand on: a whole server in the process, on an empty database, at a fixed time
//! with seeded randomness, that fails the test for what it forgot to check.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "this crate exists to fail tests"
)]

mod assist;
mod browser;
mod checker;
mod database;
mod leftovers;
mod person;
mod presence;
mod provider;
mod receiver;
mod schema;
mod server;
mod wallet;

pub use assist::{EventRow, until, until_answered};
pub use browser::{Browser, escape};
pub use person::{PICTURE, Person};
pub use presence::{APP_ORIGIN, SignedIn};
pub use provider::{CLIENT_ID, CLIENT_SECRET, FakeProvider, fields};
pub use receiver::{Arrival, Reaction, Receiver};
pub use schema::{Table, tables};
pub use server::{Answer, HASH_THREADS, LOCAL_HOST, Tenant, TestServer, with_organizations};
pub use wallet::TestWallet;
