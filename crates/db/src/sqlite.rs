//! SQLite: reads inline on a free connection, writes on one thread with group commit.
//!
//! Short indexed reads run on the calling thread: handing them to another one costs more than the
//! read (measured 1.3 to 2.4 times). All transactions go to one writer thread, which runs every
//! waiting one in a savepoint of its own and commits them together, so that they share one fsync;
//! none is acknowledged before that fsync.

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OpenFlags};

use crate::error::{DbError, Result};
use crate::private::{self, FileIdentity};
use crate::row::{Read, Row};
use crate::sample::Samples;
use crate::turns;
use crate::tx::Tx;
use crate::value::Value;
use crate::writer_queue::{Awaited, WriterQueue};

/// How long to wait for another process that writes to the file.
const BUSY: Duration = Duration::from_secs(10);
/// How long a server that stops waits for others that still read.
const FOLDING: Duration = Duration::from_secs(2);
/// Idle read connections kept open.
const KEPT_READERS: usize = 8;
/// Long reads at the same time, so that a flood of searches leaves threads and memory to the others.
pub(crate) const LONG_READS: usize = 4;
/// How long transactions are added to a commit, so that the first of them does not wait for ever.
const BATCH: Duration = Duration::from_millis(20);
/// The same where the disk is slow: as long as the last commit took, but no longer than this.
const LONGEST_BATCH: Duration = Duration::from_millis(200);
/// Page cache of the writer, which walks many indexes for each new row.
const WRITER_CACHE_KIB: i64 = -32_000;
/// Pages in the log before they are copied to the file. Hot pages are then copied once for many changes;
/// the log takes some 40 MB.
const CHECKPOINT_PAGES: i64 = 10_000;
/// How much of the file readers map rather than copy; what they touch is the system's cache, not ours.
const MAPPED_BYTES: i64 = 1 << 30;
/// Steps between two looks at whether a statement has taken too many.
const PACE: i32 = 1000;
/// Steps that a short read may take, some milliseconds: a page of a hundred rows takes a few thousand, and the last of those
/// that may be skipped ten times as many.
const SHORT_STEPS: i64 = 100_000;
/// Bytes that it may find: a hundred users with a few kilobytes each. They are decoded and written on the same thread.
const SHORT_BYTES: usize = 512 * 1024;
/// Prepared statements kept for each connection.
const STATEMENTS: usize = 256;

/// An open SQLite database.
pub(crate) struct Sqlite {
    path: PathBuf,
    /// Which file it is.
    file: FileIdentity,
    readers: Mutex<Vec<Connection>>,
    pub(crate) samples: Arc<Samples>,
    writer: Arc<WriterQueue<WriterJob>>,
}

/// What a transaction does. It is given the transaction, or the reason why none could begin: it says whether to keep its
/// changes, and is told whether they were committed.
type WriterWork = Box<dyn FnOnce(Result<&mut Tx, Arc<DbError>>) -> WriteDecision + Send>;

/// A transaction to run on the writer thread.
pub(crate) struct WriterJob {
    pub(crate) run: WriterWork,
    /// Held by whoever waits for it.
    pub(crate) caller: Weak<()>,
}

impl Awaited for WriterJob {
    fn is_awaited(&self) -> bool {
        self.caller.strong_count() > 0
    }
}

/// What a transaction decided.
pub(crate) struct WriteDecision {
    pub(crate) keep: bool,
    pub(crate) acknowledge: Box<dyn FnOnce(Result<(), Arc<DbError>>) + Send>,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, before_commit: &'static str) -> Result<Arc<Sqlite>> {
        private::prepare_database(path).map_err(DbError::failed)?;
        let connection = Connection::open(path)?;
        prepare(&connection)?;
        use_write_ahead_log(&connection)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "cache_size", WRITER_CACHE_KIB)?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        let before_commit: Vec<&str> = before_commit.split_terminator(";\n").collect();
        let writer = Arc::new(WriterQueue::new());
        let jobs = writer.clone();
        std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || write_loop(connection, &jobs, &before_commit))
            .map_err(DbError::failed)?;
        Ok(Arc::new(Sqlite {
            path: path.to_owned(),
            file: private::identity(path).map_err(DbError::failed)?,
            readers: Mutex::default(),
            samples: Arc::default(),
            writer,
        }))
    }

    /// A read-only connection: an idle one, or a new one.
    pub(crate) fn reader(&self) -> Result<Connection> {
        let idle = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(connection) => Ok(connection),
            None => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let connection = Connection::open_with_flags(&self.path, flags)?;
                prepare(&connection)?;
                connection.pragma_update(None, "mmap_size", MAPPED_BYTES)?;
                Ok(connection)
            }
        }
    }

    /// Takes a read connection back.
    pub(crate) fn give_back(&self, connection: Connection) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < KEPT_READERS {
            readers.push(connection);
        }
    }

    /// Fails once the file is not where it was opened: somebody deleted or replaced it, and what is written goes into a file
    /// without a name.
    pub(crate) fn check_place(&self) -> Result<()> {
        match private::identity(&self.path) {
            Ok(file) if file == self.file => Ok(()),
            // Where the folder cannot be looked into, only a write can tell.
            Err(error) if error.kind() != ErrorKind::NotFound => Ok(()),
            _ => Err(DbError::unavailable(format!(
                "{} was deleted or replaced while it is in use; what is written now is lost when the server stops",
                self.path.display()
            ))),
        }
    }

    /// Copies the log into the file and empties it.
    pub(crate) fn fold(&self) -> Result<()> {
        let connection = Connection::open(&self.path)?;
        connection.busy_timeout(FOLDING)?;
        let is_busy: bool =
            connection.pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |row| row.get(0))?;
        match is_busy {
            true => Err(DbError::unavailable("others still read the database")),
            false => Ok(()),
        }
    }

    /// Hands a transaction to the writer, on behalf of the caller of the present task.
    pub(crate) fn submit(&self, job: WriterJob) {
        self.writer.push(turns::caller(), job);
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.writer.close();
    }
}

/// When several open a new file together, SQLite refuses this at once instead of waiting.
fn use_write_ahead_log(connection: &Connection) -> Result<()> {
    const PAUSE: Duration = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL").map_err(DbError::from) {
            Err(DbError::Unavailable(_)) if waited < BUSY => std::thread::sleep(PAUSE),
            outcome => return outcome,
        }
        waited += PAUSE;
    }
}

fn prepare(connection: &Connection) -> Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise plans may depend on the values bound, and SQLite prepares a statement anew each time it
    // gets others: most statements here would cost four times as much.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cache_size", -1_000)?;
    Ok(())
}

/// Runs transactions until the queue is closed.
#[expect(clippy::disallowed_methods, reason = "how long a commit may be added to needs a monotonic clock")]
fn write_loop(connection: Connection, jobs: &WriterQueue<WriterJob>, before_commit: &[&str]) {
    let _abandoning = Abandoning(jobs);
    let mut tx = Tx::sqlite_writer(connection);
    let mut batch = BATCH;
    while let Some(first) = jobs.wait() {
        let begun = execute(tx.writer(), "BEGIN IMMEDIATE");
        let begun_at = Instant::now();
        let mut verdicts = vec![run(&mut tx, first, &begun)];
        // Some failures, such as a full disk, make SQLite undo the whole transaction. Whoever comes
        // next needs a new one, and those before are told that nothing was committed.
        while begun_at.elapsed() < batch
            && !tx.writer().is_autocommit()
            && let Some(job) = jobs.take()
        {
            verdicts.push(run(&mut tx, job, &begun));
        }
        let done_at = Instant::now();
        let committed = begun.and_then(|()| commit(tx.writer(), before_commit)).inspect_err(|_| {
            // A failed commit (a full disk, say) leaves the transaction open; nothing of it may stay.
            let _ = execute(tx.writer(), "ROLLBACK");
        });
        batch = done_at.elapsed().clamp(BATCH, LONGEST_BATCH);
        for verdict in verdicts {
            (verdict.acknowledge)(committed.clone());
        }
    }
}

/// However the writer ends, nobody waits for it any more.
struct Abandoning<'a>(&'a WriterQueue<WriterJob>);

impl Drop for Abandoning<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

fn commit(connection: &Connection, before: &[&str]) -> Result<(), Arc<DbError>> {
    before.iter().try_for_each(|sql| execute(connection, sql))?;
    execute(connection, "COMMIT")
}

/// Runs one transaction in a savepoint of its own, undone alone when it fails. Without a savepoint it
/// does not run: its statements would be committed one by one.
fn run(tx: &mut Tx, job: WriterJob, begun: &Result<(), Arc<DbError>>) -> WriteDecision {
    let begun = begun.clone().and_then(|()| execute(tx.writer(), "SAVEPOINT job"));
    let is_begun = begun.is_ok();
    tx.reset();
    let verdict = catch_unwind(AssertUnwindSafe(|| (job.run)(begun.map(|()| &mut *tx))))
        // The caller sees its channel closed and answers an internal error.
        .unwrap_or_else(|_| WriteDecision { keep: false, acknowledge: Box::new(|_| ()) });
    if is_begun {
        if !verdict.keep && execute(tx.writer(), "ROLLBACK TO job").is_err() {
            let _ = execute(tx.writer(), "ROLLBACK");
        }
        let _ = execute(tx.writer(), "RELEASE job");
    }
    verdict
}

fn execute(connection: &Connection, sql: &str) -> Result<(), Arc<DbError>> {
    let outcome = connection.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
    outcome.map(|_| ()).map_err(|error| Arc::new(error.into()))
}

/// All rows of a query.
pub(crate) fn query<T>(
    connection: &Connection,
    sql: &str,
    params: &[Value],
    read: Read<T>,
) -> Result<Vec<T>> {
    query_up_to(connection, (sql, params), read, usize::MAX)
}

/// The same, which gives up after `SHORT_STEPS` and `SHORT_BYTES`.
pub(crate) fn query_short<T>(
    connection: &mut Connection,
    sql: &str,
    params: &[Value],
    read: Read<T>,
) -> Result<Vec<T>> {
    limit_steps(connection, Some(SHORT_STEPS))?;
    let found = query_up_to(connection, (sql, params), read, SHORT_BYTES);
    limit_steps(connection, None)?;
    found
}

/// All rows of a query, or none if they have more bytes than this together.
fn query_up_to<T>(
    connection: &Connection,
    (sql, params): (&str, &[Value]),
    read: Read<T>,
    most: usize,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, params)?;
    let mut rows = statement.raw_query();
    let (mut found, mut left) = (Vec::new(), most);
    while let Some(row) = rows.next()? {
        if most < usize::MAX {
            left = left.checked_sub(size(row)?).ok_or(DbError::GaveUp)?;
        }
        found.push(read(&Row::Sqlite(row))?);
    }
    Ok(found)
}

/// The bytes of a row.
fn size(row: &rusqlite::Row<'_>) -> Result<usize> {
    let bytes = |index| {
        Ok(match row.get_ref(index)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
            _ => size_of::<i64>(),
        })
    };
    (0..row.as_ref().column_count()).map(bytes).sum()
}

/// Makes statements give up after so many steps of SQLite's machine, or lets them run again.
pub(crate) fn limit_steps(connection: &mut Connection, steps: Option<i64>) -> Result<()> {
    let Some(steps) = steps else {
        return Ok(connection.progress_handler(0, None::<fn() -> bool>)?);
    };
    // SQLite's own count goes on where a cached statement ended before, so its looks are counted instead.
    let mut left = steps / i64::from(PACE);
    let is_over = move || {
        left -= 1;
        left < 0
    };
    Ok(connection.progress_handler(PACE, Some(is_over))?)
}

/// Runs a statement and says how many rows it touched.
pub(crate) fn run_statement(connection: &Connection, sql: &str, params: &[Value]) -> Result<u64> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, params)?;
    Ok(statement.raw_execute()? as u64)
}

fn bind(statement: &mut CachedStatement<'_>, params: &[Value]) -> Result<()> {
    // SQLite would take a missing parameter for a null.
    let wanted = statement.parameter_count();
    if wanted != params.len() {
        return Err(DbError::failed(format!("{} parameters given where {wanted} are wanted", params.len())));
    }
    for (index, value) in params.iter().enumerate() {
        statement.raw_bind_parameter(index + 1, value)?;
    }
    Ok(())
}

/// Placeholders are written `$1`; SQLite numbers them as `?1`.
pub(crate) fn placeholders(sql: &str) -> String {
    sql.replace('$', "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_gives_up_after_its_steps_whatever_ran_before() {
        let mut connection = Connection::open_in_memory().unwrap();
        let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) SELECT count(*) FROM n";
        let count =
            |connection: &Connection, rows: i64| query(connection, sql, &[rows.into()], |row| row.int(0));
        for _ in 0..20 {
            limit_steps(&mut connection, Some(20_000)).unwrap();
            assert_eq!(count(&connection, 500).unwrap(), [500]);
            limit_steps(&mut connection, Some(20_000)).unwrap();
            assert!(matches!(count(&connection, 50_000), Err(DbError::GaveUp)));
        }
        limit_steps(&mut connection, None).unwrap();
        assert_eq!(count(&connection, 50_000).unwrap(), [50_000]);
    }

    #[test]
    fn a_short_read_gives_up_on_many_steps_and_on_many_bytes() {
        let mut connection = Connection::open_in_memory().unwrap();
        let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
                   SELECT hex(zeroblob(?2)) FROM n";
        let mut read = |rows: i64, bytes: i64| {
            let found = query_short(&mut connection, sql, &[rows.into(), bytes.into()], |row| row.text(0));
            found.map(|rows| rows.len())
        };
        assert_eq!(read(100, 1000).unwrap(), 100);
        assert!(matches!(read(50_000, 1), Err(DbError::GaveUp)), "steps");
        assert!(matches!(read(100, 5000), Err(DbError::GaveUp)), "bytes");
        assert_eq!(read(1, 200_000).unwrap(), 1, "the next one begins anew");
    }
}
