//! One SQL text on two engines.
//!
//! The only crate that names SQLite or PostgreSQL. Callers write portable SQL with `$1` placeholders
//! in `&'static str` parts, pass [`Value`]s, and read [`Row`]s by index. What differs between the
//! engines is written here once: locking ([`Tx::lock`]), claiming work ([`Tx::claim`]), searching
//! inside texts ([`List::search`]), numbering rows without gaps ([`Tx::append`]), and the words of the
//! migrations.

mod batch;
mod db;
mod error;
mod list;
mod migrate;
mod number;
mod postgres;
mod row;
mod sample;
mod sqlite;
mod tx;
mod value;

pub use db::{Db, Location, Options};
pub use error::{DbError, Result, unique_violation};
pub use list::{List, SearchIndex};
pub use migrate::Migration;
pub use row::{Read, Row};
pub use tx::{Body, Numbered, Statement, Tx};
pub use value::Value;
