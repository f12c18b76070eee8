//! Rows that come out of statements, read by index.

use latchkey_base::id::Kind;
use latchkey_base::{Id, Time};

use crate::copied::CopiedColumns;
use crate::error::{DbError, Result};

/// One row of a result, of either engine.
pub enum Row<'a> {
    /// From SQLite.
    #[doc(hidden)]
    Sqlite(&'a rusqlite::Row<'a>),
    /// From PostgreSQL.
    #[doc(hidden)]
    Postgres(&'a tokio_postgres::Row),
    /// Copied out of a result of SQLite.
    #[doc(hidden)]
    Copied(&'a CopiedColumns),
}

/// Makes a value of a row.
pub type Read<T> = fn(&Row<'_>) -> Result<T>;

impl Row<'_> {
    /// A text that may be null, borrowed from the row.
    pub fn maybe_str(&self, index: usize) -> Result<Option<&str>> {
        match self {
            Row::Sqlite(row) => row.get_ref(index)?.as_str_or_null().map_err(DbError::failed),
            Row::Postgres(row) => Ok(row.try_get(index)?),
            Row::Copied(columns) => columns.maybe_str(index),
        }
    }

    /// A text, borrowed from the row.
    pub fn str(&self, index: usize) -> Result<&str> {
        self.maybe_str(index)?.ok_or_else(|| null(index))
    }

    /// A text.
    pub fn text(&self, index: usize) -> Result<String> {
        self.str(index).map(str::to_owned)
    }

    /// A text that may be null.
    pub fn maybe_text(&self, index: usize) -> Result<Option<String>> {
        Ok(self.maybe_str(index)?.map(str::to_owned))
    }

    /// An id.
    pub fn id<K: Kind>(&self, index: usize) -> Result<Id<K>> {
        self.maybe_id(index)?.ok_or_else(|| null(index))
    }

    /// An id that may be null.
    pub fn maybe_id<K: Kind>(&self, index: usize) -> Result<Option<Id<K>>> {
        let parse = |text: &str| {
            let broken = || DbError::failed(format!("column {index} is not an id of `{}_…`", K::PREFIX));
            Id::parse(text).ok_or_else(broken)
        };
        self.maybe_str(index)?.map(parse).transpose()
    }

    /// A number that may be null.
    pub fn maybe_int(&self, index: usize) -> Result<Option<i64>> {
        match self {
            Row::Sqlite(row) => Ok(row.get(index)?),
            Row::Postgres(row) => Ok(row.try_get(index)?),
            Row::Copied(columns) => columns.maybe_int(index),
        }
    }

    /// A number.
    pub fn int(&self, index: usize) -> Result<i64> {
        self.maybe_int(index)?.ok_or_else(|| null(index))
    }

    /// A moment.
    pub fn time(&self, index: usize) -> Result<Time> {
        self.int(index).map(Time::from_ms)
    }

    /// A moment that may be null.
    pub fn maybe_time(&self, index: usize) -> Result<Option<Time>> {
        Ok(self.maybe_int(index)?.map(Time::from_ms))
    }

    /// A flag.
    pub fn bool(&self, index: usize) -> Result<bool> {
        match self {
            Row::Sqlite(row) => Ok(row.get(index)?),
            Row::Postgres(row) => Ok(row.try_get(index)?),
            Row::Copied(columns) => Ok(columns.maybe_int(index)?.ok_or_else(|| null(index))? != 0),
        }
    }

    /// Bytes that may be null.
    pub fn maybe_bytes(&self, index: usize) -> Result<Option<Vec<u8>>> {
        match self {
            Row::Sqlite(row) => Ok(row.get(index)?),
            Row::Postgres(row) => Ok(row.try_get(index)?),
            Row::Copied(columns) => columns.maybe_bytes(index),
        }
    }

    /// Bytes.
    pub fn bytes(&self, index: usize) -> Result<Vec<u8>> {
        self.maybe_bytes(index)?.ok_or_else(|| null(index))
    }
}

fn null(index: usize) -> DbError {
    DbError::failed(format!("column {index} is null"))
}
