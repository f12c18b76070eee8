//! Rows copied out of a result: whoever asks the same again can tell whether they have changed before taking them apart.

use std::ops::Range;

use rusqlite::types::ValueRef;

use crate::error::{DbError, Result};
use crate::row::Row;

/// A row that was copied out of a result.
pub struct CopiedRow(Copied);

enum Copied {
    Sqlite(CopiedColumns),
    Postgres(tokio_postgres::Row),
}

/// The columns of a row of SQLite.
#[derive(PartialEq)]
pub struct CopiedColumns {
    columns: Vec<Column>,
    /// The texts and bytes of all of them, one behind the other.
    bytes: Vec<u8>,
}

#[derive(PartialEq)]
enum Column {
    Null,
    Int(i64),
    Text(Range<usize>),
    Bytes(Range<usize>),
}

impl CopiedRow {
    /// Copies a row.
    pub(crate) fn of(row: &Row<'_>) -> Result<CopiedRow> {
        match row {
            Row::Sqlite(row) => CopiedColumns::of(row).map(|columns| CopiedRow(Copied::Sqlite(columns))),
            Row::Postgres(row) => Ok(CopiedRow(Copied::Postgres((*row).clone()))),
            Row::Copied(_) => Err(DbError::failed("a copy of a row is not copied again")),
        }
    }

    /// The row, to be read.
    pub fn row(&self) -> Row<'_> {
        match &self.0 {
            Copied::Sqlite(columns) => Row::Copied(columns),
            Copied::Postgres(row) => Row::Postgres(row),
        }
    }

    /// Whether another row says the same in every column. PostgreSQL's are not compared: the way to the database costs more
    /// there than what could be saved.
    pub fn says_the_same(&self, other: &CopiedRow) -> bool {
        match (&self.0, &other.0) {
            (Copied::Sqlite(one), Copied::Sqlite(other)) => one == other,
            _ => false,
        }
    }

    /// Whether it can be compared with others.
    pub fn is_comparable(&self) -> bool {
        matches!(self.0, Copied::Sqlite(_))
    }

    /// How many bytes it takes.
    pub fn size(&self) -> usize {
        match &self.0 {
            Copied::Sqlite(CopiedColumns { columns, bytes }) => {
                bytes.len() + columns.len() * size_of::<Column>()
            }
            Copied::Postgres(row) => row.raw_size_bytes(),
        }
    }
}

impl CopiedColumns {
    fn of(row: &rusqlite::Row<'_>) -> Result<CopiedColumns> {
        let count = row.as_ref().column_count();
        let mut copied =
            CopiedColumns { columns: Vec::with_capacity(count), bytes: Vec::with_capacity(2048) };
        for index in 0..count {
            let column = match row.get_ref(index)? {
                ValueRef::Null => Column::Null,
                ValueRef::Integer(number) => Column::Int(number),
                ValueRef::Text(text) => Column::Text(copied.keep(text)),
                ValueRef::Blob(bytes) => Column::Bytes(copied.keep(bytes)),
                ValueRef::Real(_) => return Err(mismatch(index)),
            };
            copied.columns.push(column);
        }
        Ok(copied)
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        from..self.bytes.len()
    }

    fn column(&self, index: usize) -> Result<&Column> {
        self.columns.get(index).ok_or_else(|| mismatch(index))
    }

    pub(crate) fn maybe_str(&self, index: usize) -> Result<Option<&str>> {
        match self.column(index)? {
            Column::Null => Ok(None),
            Column::Text(range) => {
                str::from_utf8(&self.bytes[range.clone()]).map(Some).map_err(DbError::failed)
            }
            _ => Err(mismatch(index)),
        }
    }

    pub(crate) fn maybe_int(&self, index: usize) -> Result<Option<i64>> {
        match self.column(index)? {
            Column::Null => Ok(None),
            Column::Int(number) => Ok(Some(*number)),
            _ => Err(mismatch(index)),
        }
    }

    pub(crate) fn maybe_bytes(&self, index: usize) -> Result<Option<Vec<u8>>> {
        match self.column(index)? {
            Column::Null => Ok(None),
            Column::Bytes(range) => Ok(Some(self.bytes[range.clone()].to_vec())),
            _ => Err(mismatch(index)),
        }
    }
}

fn mismatch(index: usize) -> DbError {
    DbError::failed(format!("column {index} has another type than is read"))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::sqlite::query;

    fn copied(connection: &Connection, sql: &str) -> Vec<CopiedRow> {
        query(connection, sql, &[], CopiedRow::of).unwrap()
    }

    #[test]
    fn a_copy_reads_like_the_row() {
        let connection = Connection::open_in_memory().unwrap();
        let rows = copied(&connection, "SELECT 'text', '', 7, NULL, x'0102', 1");
        let row = rows[0].row();
        assert_eq!((row.text(0).unwrap(), row.text(1).unwrap()), ("text".to_owned(), String::new()));
        assert_eq!((row.int(2).unwrap(), row.maybe_int(3).unwrap()), (7, None));
        assert_eq!((row.maybe_text(3).unwrap(), row.maybe_bytes(3).unwrap()), (None, None));
        assert_eq!((row.bytes(4).unwrap(), row.bool(5).unwrap()), (vec![1, 2], true));
        for wrong in [row.int(0).is_err(), row.str(2).is_err(), row.bytes(0).is_err(), row.str(9).is_err()] {
            assert!(wrong);
        }
    }

    #[test]
    fn copies_say_the_same_only_where_every_column_does() {
        let connection = Connection::open_in_memory().unwrap();
        let row = |sql: &str| copied(&connection, sql).remove(0);
        let one = row("SELECT 'ab', 'c', 1, NULL");
        assert!(one.says_the_same(&row("SELECT 'ab', 'c', 1, NULL")));
        for other in [
            "SELECT 'a', 'bc', 1, NULL",
            "SELECT 'ab', 'c', 2, NULL",
            "SELECT 'ab', 'c', 1, ''",
            "SELECT 'ab', x'63', 1, NULL",
            "SELECT 'ab', 'c', 1",
        ] {
            assert!(!one.says_the_same(&row(other)), "{other}");
        }
    }
}
