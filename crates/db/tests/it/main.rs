//! The storage contract: what the product relies on, asserted alike on SQLite and PostgreSQL.
//!
//! `TEST_DATABASE_URL` names a PostgreSQL cluster to run on; unset means SQLite in a temporary file.
//! What only one engine has is named `on_sqlite_…` or `on_postgres_…` and does nothing on the other.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test's helpers fail the test")]

mod concurrency;
mod constraints;
mod faults;
mod files;
mod health;
mod input;
mod lists;
mod migrations;
mod numbers;
mod openings;
mod paging;
mod schema;
mod search;
mod search_many;
mod settings;
mod statements;
mod support;
mod tables;
mod transactions;
mod values;
