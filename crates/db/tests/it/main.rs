//! The storage contract: what the product relies on, asserted alike on SQLite and PostgreSQL.
//!
//! `TEST_DATABASE_URL` names a PostgreSQL cluster to run on; unset means SQLite in a temporary file.
//! `make test` runs the modules in `both_engines` on PostgreSQL too; the others test SQLite alone.
//! What only one engine has is named `on_sqlite_…` or `on_postgres_…` and does nothing on the other.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test's helpers fail the test")]

mod both_engines {
    mod concurrency;
    mod constraints;
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
    mod statements;
    mod tables;
    mod transactions;
    mod values;
}
mod faults;
mod files;
mod settings;
mod support;
