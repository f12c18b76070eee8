//! One SQL text on two engines.
//!
//! The only crate that names SQLite or PostgreSQL. Callers write portable SQL with `$1` placeholders
//! in `&'static str` parts, or derive it from a [`Table`]; they pass [`Value`]s and read [`Row`]s by
//! index. What differs between the engines is written here once: locking ([`Tx::lock`]), claiming work
//! ([`Tx::claim`]), searching inside texts ([`List::search`]), numbering rows without gaps
//! ([`Tx::append`]), and the words of the migrations.

#![warn(missing_docs)]

mod batch;
mod copied;
mod db;
mod error;
mod health;
mod list;
mod migrate;
mod number;
mod postgres;
mod private;
mod row;
mod sample;
mod sqlite;
mod table;
mod turns;
mod tx;
mod value;
mod writer_queue;

pub use copied::CopiedRow;
pub use db::{Db, Location, Options};
pub use error::{DbError, Result, unique_violation};
pub use list::{List, SearchIndex};
pub use migrate::Migration;
pub use private::keep_private;
pub use row::{Read, Row};
pub use table::Table;
pub use turns::for_caller;
pub use tx::{Held, Numbered, ReadTurn, Statement, TransactionBody, Tx};
pub use value::Value;
