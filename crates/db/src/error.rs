//! What can go wrong with a database, said alike for both engines.

use latchkey_base::{Code, Error};
use tokio::time::error::Elapsed;

/// Result of a database call.
pub type Result<T, E = DbError> = std::result::Result<T, E>;

/// A failed database call.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// A unique constraint was violated: `table.column` of its last column.
    #[error("unique constraint {0}")]
    Unique(String),
    /// The database cannot be reached, is too busy, or gave up on the statement: trying later may help.
    #[error("the database is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The statement took more steps than it was given.
    #[error("the statement took too many steps")]
    GaveUp,
    /// The caller may not read for so long now.
    #[error("the read is too long for now")]
    Refused(#[source] Error),
    /// Anything else, which is a mistake of ours or damage on disk.
    #[error("the database call failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The driver's own error.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// PostgreSQL's message that it has no space left.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct DiskFull(String);

impl DbError {
    pub(crate) fn failed(cause: impl Into<Cause>) -> DbError {
        DbError::Failed(cause.into())
    }

    pub(crate) fn unavailable(cause: impl Into<Cause>) -> DbError {
        DbError::Unavailable(cause.into())
    }

    /// Returns whether the database has no space left to write.
    pub(crate) fn is_full(&self) -> bool {
        let DbError::Unavailable(cause) = self else { return false };
        let code = cause.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
        cause.is::<DiskFull>() || code == Some(rusqlite::ErrorCode::DiskFull)
    }

    /// Whether nothing failed, but somebody waited for too long.
    pub(crate) fn is_late(&self) -> bool {
        matches!(self, DbError::Unavailable(cause) if cause.is::<Elapsed>())
    }
}

/// The `table.column` of a unique violation behind an error, so that whoever knows its meaning can say it.
pub fn unique_violation(error: &Error) -> Option<&str> {
    match error.cause()?.downcast_ref::<DbError>()? {
        DbError::Unique(column) => Some(column),
        _ => None,
    }
}

impl From<DbError> for Error {
    fn from(error: DbError) -> Error {
        match error {
            DbError::Unavailable(_) => {
                Error::internal(error).recoded(Code::ServiceUnavailable).retry_after(1)
            }
            DbError::Refused(error) => error,
            DbError::Unique(_) | DbError::GaveUp | DbError::Failed(_) => Error::internal(error),
        }
    }
}

impl From<rusqlite::Error> for DbError {
    fn from(error: rusqlite::Error) -> DbError {
        use rusqlite::ErrorCode::{
            ConstraintViolation, DatabaseBusy, DatabaseLocked, DiskFull, OperationInterrupted, ReadOnly,
            SystemIoFailure,
        };
        match &error {
            rusqlite::Error::SqliteFailure(code, Some(text)) if code.code == ConstraintViolation => {
                match text.strip_prefix("UNIQUE constraint failed: ") {
                    Some(columns) => DbError::Unique(last_column(columns).to_owned()),
                    None => DbError::failed(error),
                }
            }
            rusqlite::Error::SqliteFailure(code, _)
                if [DatabaseBusy, DatabaseLocked, DiskFull, ReadOnly, SystemIoFailure]
                    .contains(&code.code) =>
            {
                DbError::unavailable(error)
            }
            rusqlite::Error::SqliteFailure(code, _) if code.code == OperationInterrupted => DbError::GaveUp,
            _ => DbError::failed(error),
        }
    }
}

/// `users.instance_id, users.external_id` → `users.external_id`.
fn last_column(columns: &str) -> &str {
    columns.rsplit(", ").next().unwrap_or(columns)
}

impl From<tokio_postgres::Error> for DbError {
    fn from(error: tokio_postgres::Error) -> DbError {
        use tokio_postgres::error::SqlState;
        let Some(refusal) = error.as_db_error() else {
            return match error.is_closed()
                || std::error::Error::source(&error).is_some_and(|source| source.is::<std::io::Error>())
            {
                true => DbError::unavailable(error),
                false => DbError::failed(error),
            };
        };
        let state = refusal.code();
        if *state == SqlState::DISK_FULL {
            return DbError::unavailable(DiskFull(without_values(refusal)));
        }
        if *state == SqlState::UNIQUE_VIOLATION {
            return DbError::Unique(constraint_column(refusal.table(), refusal.constraint()));
        }
        // Class 57 is operator intervention (shutdown, cancelled statement), 53 lack of resources, 40
        // a transaction rolled back because of others, 55 a row that others did not let go, 58 a failure of the system such
        // as a broken disk: none of them is the caller's mistake. Nor is a server that follows another one and takes no
        // writes.
        let is_passing = ["57", "58", "55", "53", "40", "08"].contains(&&state.code()[..2]);
        match is_passing || *state == SqlState::READ_ONLY_SQL_TRANSACTION {
            true => DbError::unavailable(without_values(refusal)),
            false => DbError::failed(without_values(refusal)),
        }
    }
}

/// What PostgreSQL says, without the details: they repeat the row they are about, and this is logged.
fn without_values(refusal: &tokio_postgres::error::DbError) -> String {
    format!("{} {}: {}", refusal.severity(), refusal.code().code(), refusal.message())
}

/// Constraints are named `uq__table__column__column`, so the name tells what SQLite's text tells.
fn constraint_column(table: Option<&str>, constraint: Option<&str>) -> String {
    let column = constraint.and_then(|name| name.rsplit("__").next()).unwrap_or_default();
    format!("{}.{column}", table.unwrap_or_default())
}
