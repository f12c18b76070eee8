//! The database as the product sees it: read, write, migrate.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::future::BoxFuture;
use latchkey_base::{Error, Result};
use tokio::sync::{Semaphore, oneshot};

use crate::error::DbError;
use crate::health::WriteHealth;
use crate::migrate::{self, Migration};
use crate::postgres::Postgres;
use crate::sqlite::{self, Sqlite, WriteDecision, WriterJob};
use crate::tx::{Held, LongPlace, Longer, Numbered, ReadTurn, Statement, TransactionBody, Tx};
use crate::{batch, number};

/// Where the data lies.
#[derive(Clone, Debug, PartialEq)]
pub enum Location {
    /// A SQLite file.
    Sqlite(PathBuf),
    /// A PostgreSQL connection URL.
    Postgres(String),
}

impl Location {
    /// Reads `sqlite:PATH`, `postgres://…` or `postgresql://…`.
    pub fn parse(text: &str) -> Result<Location, String> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            return match path.strip_prefix("//").unwrap_or(path) {
                "" => Err("`sqlite:` needs a path, such as `sqlite:./data/latchkey.db`".into()),
                path => Ok(Location::Sqlite(path.into())),
            };
        }
        match text.starts_with("postgres://") || text.starts_with("postgresql://") {
            true => Ok(Location::Postgres(text.to_owned())),
            false => Err("must be `sqlite:PATH` or `postgres://USER@HOST/DATABASE`".into()),
        }
    }
}

/// How to open a database.
pub struct Options {
    /// Where the data lies.
    pub location: Location,
    /// PostgreSQL connections at most.
    pub connections: usize,
    /// SQLite only: the statements the writer runs before each commit, once for all transactions that
    /// share it, to bring search indexes up to date. PostgreSQL's follow by themselves.
    pub before_commit: &'static str,
    /// Takes `$2` numbers of the series `$1` and returns the highest; see [`Tx::append`].
    pub numbering: &'static str,
}

const PANICKED: &str = "the transaction panicked";

/// An open database. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    engine: Engine,
    /// Places for long reads.
    long: Arc<Semaphore>,
    long_reads: usize,
    numbering: &'static str,
    health: Arc<WriteHealth>,
}

#[derive(Clone)]
enum Engine {
    Sqlite(Arc<Sqlite>),
    Postgres(Arc<Postgres>),
}

impl Db {
    /// Opens the database; a missing SQLite file is made.
    pub fn open(options: &Options) -> Result<Db, DbError> {
        let (engine, long_reads) = match &options.location {
            Location::Sqlite(path) => {
                (Engine::Sqlite(Sqlite::open(path, options.before_commit)?), sqlite::LONG_READS)
            }
            Location::Postgres(url) => {
                let engine = Engine::Postgres(Postgres::open(url, options.connections)?);
                // So that other reads always find a connection.
                (engine, (options.connections / 2).max(1))
            }
        };
        let long = Arc::new(Semaphore::new(long_reads));
        Ok(Db { engine, long, long_reads, numbering: options.numbering, health: Arc::default() })
    }

    pub(crate) fn health(&self) -> &WriteHealth {
        &self.health
    }

    /// The engine's name, for people.
    pub fn engine(&self) -> &'static str {
        match self.engine {
            Engine::Sqlite(_) => "SQLite",
            Engine::Postgres(_) => "PostgreSQL",
        }
    }

    /// A connection for short, indexed reads. On SQLite they run on the calling thread.
    pub async fn read(&self) -> Result<Tx, DbError> {
        self.reader(None).await.inspect_err(|error| self.health.note_failure(error))
    }

    /// A connection for reads that should be short. On SQLite, a statement that takes too many steps or finds too much is
    /// given up, and done again when it is the caller's turn. PostgreSQL works on others meanwhile.
    pub async fn read_short(&self, turn: ReadTurn) -> Result<Tx, DbError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                let longer = Longer { turn, places: self.long.clone() };
                Tx::sqlite_short_reader(sqlite.clone(), longer)
                    .inspect_err(|error| self.health.note_failure(error))
            }
            Engine::Postgres(_) => self.read().await,
        }
    }

    /// A connection for reads that may take long: searches, large lists. They never hold up others.
    pub async fn read_long(&self) -> Result<Tx, DbError> {
        self.read_long_holding(()).await
    }

    /// The same, which holds something until its last statement has ended, even if the caller goes away before.
    pub async fn read_long_holding(&self, held: impl Send + Sync + 'static) -> Result<Tx, DbError> {
        self.reader(Some(Box::new(held))).await
    }

    /// How many long reads run at once; more wait.
    pub fn long_reads(&self) -> usize {
        self.long_reads
    }

    async fn reader(&self, held: Option<Held>) -> Result<Tx, DbError> {
        let place = match held {
            Some(held) => {
                let place = self.long.clone().acquire_owned().await.map_err(DbError::unavailable)?;
                Some(LongPlace { _place: place, _held: held })
            }
            None => None,
        };
        match &self.engine {
            Engine::Sqlite(sqlite) => Tx::sqlite_reader(sqlite.clone(), place),
            Engine::Postgres(postgres) => {
                let samples = postgres.samples.clone();
                Ok(Tx::postgres_reader(postgres.connection().await?, samples, place))
            }
        }
    }

    /// Runs `body` in one transaction: committed when it succeeds, undone when it fails. When this
    /// returns `Ok`, the changes are on disk.
    pub async fn write<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut Tx) -> TransactionBody<'a, T> + Send + 'static,
    {
        self.write_numbered(body).await.map(|(value, _)| value)
    }

    /// The same, and tells the highest number that a row it appended was given.
    pub async fn write_numbered<T, F>(&self, body: F) -> Result<(T, Option<i64>)>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut Tx) -> TransactionBody<'a, T> + Send + 'static,
    {
        let (value, number) = self.write_any(Box::new(move |tx| any(body(tx)))).await?;
        let value = value.downcast().map_err(|_| Error::internal("a transaction returned something else"))?;
        Ok((*value, number))
    }

    fn write_any(&self, body: AnyWork) -> BoxFuture<'_, Result<(AnyValue, Option<i64>)>> {
        Box::pin(async {
            let outcome = self.run_transaction(body).await;
            self.health.note(&outcome);
            outcome
        })
    }

    /// Runs a statement in a transaction of its own, whose outcome the health of the database does not note: the caller
    /// judges it. Returns the number of rows.
    pub(crate) async fn probe(&self, sql: &'static str) -> Result<u64> {
        let body: AnyWork = Box::new(move |tx| any(Box::pin(async move { Ok(tx.run(&[sql], &[]).await?) })));
        let (rows, _) = self.run_transaction(body).await?;
        let rows = rows.downcast().map_err(|_| Error::internal("a probe returned something else"))?;
        Ok(*rows)
    }

    async fn run_transaction(&self, body: AnyWork) -> Result<(AnyValue, Option<i64>)> {
        let numbering = self.numbering;
        match &self.engine {
            Engine::Sqlite(sqlite) => write_sqlite(sqlite, numbering, body).await,
            Engine::Postgres(postgres) => {
                let mut tx = Tx::postgres_transaction(postgres.connection().await?);
                let done = unless_it_panics(async {
                    let value = body(&mut tx).await?;
                    tx.check()?;
                    Ok(value)
                });
                match done.await {
                    Ok(value) => {
                        let rows = tx.take_numbered();
                        let counted = number::statements(numbering, &rows.iter().collect::<Vec<_>>())?;
                        let highest = tx.run_and_commit(&[], &counted).await??;
                        Ok((value, highest.last().copied()))
                    }
                    Err(error) => {
                        // What failed is worth telling, not that it could not be undone politely.
                        let _ = tx.roll_back().await;
                        Err(error)
                    }
                }
            }
        }
    }

    /// Runs statements in one transaction; on PostgreSQL together with transactions that wait at the same
    /// time. Statements with the same text run together, the others in their order, numbered rows last.
    /// Tells the highest number given.
    pub async fn write_all(
        &self,
        statements: Vec<Statement>,
        numbered: Vec<Numbered>,
    ) -> Result<Option<i64>> {
        match &self.engine {
            Engine::Sqlite(_) => {
                let written = self.write_numbered(move |tx| {
                    Box::pin(async move {
                        numbered.into_iter().for_each(|row| tx.append(row));
                        Ok(tx.run_many(statements).await?)
                    })
                });
                written.await.map(|((), last)| last)
            }
            Engine::Postgres(postgres) => {
                let outcome =
                    batch::write(postgres, self.numbering, statements, numbered).await.map_err(Error::from);
                self.health.note(&outcome);
                outcome
            }
        }
    }

    /// Fails once the file of a SQLite database was deleted or replaced.
    pub fn check_place(&self) -> Result<(), DbError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.check_place(),
            Engine::Postgres(_) => Ok(()),
        }
    }

    /// Puts everything into one place, for those who copy the data of a server that has stopped: on SQLite what
    /// is in the log comes into the file.
    pub async fn fold(&self) -> Result<(), DbError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                let sqlite = sqlite.clone();
                tokio::task::spawn_blocking(move || sqlite.fold()).await.map_err(DbError::failed)?
            }
            Engine::Postgres(_) => Ok(()),
        }
    }

    /// Runs a step that changes data, once in the life of the database, also when several nodes start together.
    /// `None` if it has run before. The step and the note that it has run are one transaction.
    pub async fn once<T, F>(&self, name: &'static str, step: F) -> Result<Option<T>>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut Tx) -> TransactionBody<'a, T> + Send + 'static,
    {
        self.write(move |tx| {
            Box::pin(async move {
                match migrate::begin(tx, name).await? {
                    true => Ok(Some(step(tx).await?)),
                    false => Ok(None),
                }
            })
        })
        .await
    }

    /// Brings the schema up to date; safe when several nodes start together. Returns what was applied.
    pub async fn migrate(&self, migrations: &'static [Migration]) -> Result<Vec<&'static str>> {
        self.write(move |tx| Box::pin(migrate::run(tx, migrations))).await
    }
}

/// The work of a transaction, whatever it returns: what runs transactions is compiled once, and not for each of the
/// hundreds there are.
type AnyWork = Box<dyn for<'a> FnOnce(&'a mut Tx) -> TransactionBody<'a, AnyValue> + Send>;
type AnyValue = Box<dyn Any + Send>;

fn any<T: Send + 'static>(body: TransactionBody<'_, T>) -> TransactionBody<'_, AnyValue> {
    Box::pin(async move { Ok(Box::new(body.await?) as AnyValue) })
}

async fn write_sqlite(
    sqlite: &Sqlite,
    numbering: &'static str,
    body: AnyWork,
) -> Result<(AnyValue, Option<i64>)> {
    let (sender, answer) = oneshot::channel();
    // Gone with the caller, who was told nothing then, or that it took too long, and may try again.
    let caller = Arc::new(());
    let run = move |begun: Result<&mut Tx, Arc<DbError>>| {
        let outcome = match begun {
            Ok(tx) => poll_once(Box::pin(async move {
                let value = body(tx).await?;
                tx.check()?;
                let rows = tx.number(numbering).await?;
                let last = rows.last().map(|(_, number)| *number);
                tx.run_many(rows.into_iter().map(|(row, _)| row).collect()).await?;
                Ok((value, last))
            })),
            Err(reason) => Err(DbError::unavailable(reason).into()),
        };
        let keep = outcome.is_ok();
        let acknowledge = move |committed: Result<(), Arc<DbError>>| {
            let _ = sender.send(match committed {
                Ok(()) => outcome,
                // Whoever failed before knows better why.
                Err(reason) => outcome.and(Err(DbError::unavailable(reason).into())),
            });
        };
        WriteDecision { keep, acknowledge: Box::new(acknowledge) }
    };
    sqlite.submit(WriterJob { run: Box::new(run), caller: Arc::downgrade(&caller) });
    answer.await.map_err(|_| Error::internal(PANICKED))?
}

/// On PostgreSQL the body runs in the caller's task. A panic in it is an error to the caller and
/// undone, as on SQLite's writer.
async fn unless_it_panics<T>(body: impl Future<Output = Result<T>>) -> Result<T> {
    let mut body = pin!(body);
    let guarded = poll_fn(|context| {
        catch_unwind(AssertUnwindSafe(|| body.as_mut().poll(context)))
            .unwrap_or_else(|_| Poll::Ready(Err(Error::internal(PANICKED))))
    });
    guarded.await
}

/// On SQLite every statement is done when it returns, so a body that is still pending has awaited
/// something that does not belong into a transaction.
fn poll_once<T>(mut body: TransactionBody<'_, T>) -> Result<T> {
    match body.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(Error::internal("a transaction awaited something other than the database")),
    }
}
