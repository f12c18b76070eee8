//! The database as the product sees it: read, write, migrate.

use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use latchkey_base::{Error, Result};
use tokio::sync::oneshot;

use crate::error::DbError;
use crate::migrate::{self, Migration};
use crate::postgres::Postgres;
use crate::sqlite::{Sqlite, Verdict};
use crate::tx::{Body, Tx};

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
            return match path.trim_start_matches("//") {
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
}

/// An open database. Cheap to clone.
#[derive(Clone)]
pub struct Db(Engine);

#[derive(Clone)]
enum Engine {
    Sqlite(Arc<Sqlite>),
    Postgres(Arc<Postgres>),
}

impl Db {
    /// Opens the database; a missing SQLite file is made.
    pub fn open(options: &Options) -> Result<Db, DbError> {
        Ok(Db(match &options.location {
            Location::Sqlite(path) => Engine::Sqlite(Sqlite::open(path)?),
            Location::Postgres(url) => Engine::Postgres(Postgres::open(url, options.connections)?),
        }))
    }

    /// The engine's name, for people.
    pub fn engine(&self) -> &'static str {
        match self.0 {
            Engine::Sqlite(_) => "SQLite",
            Engine::Postgres(_) => "PostgreSQL",
        }
    }

    /// A connection for short, indexed reads. On SQLite they run on the calling thread.
    pub async fn read(&self) -> Result<Tx, DbError> {
        self.reader(false).await
    }

    /// A connection for reads that may take long: searches, large lists. They never hold up others.
    pub async fn read_long(&self) -> Result<Tx, DbError> {
        self.reader(true).await
    }

    async fn reader(&self, long: bool) -> Result<Tx, DbError> {
        match &self.0 {
            Engine::Sqlite(sqlite) => Tx::sqlite_reader(sqlite.clone(), long),
            Engine::Postgres(postgres) => Ok(Tx::postgres_single(postgres.connection().await?)),
        }
    }

    /// Runs `body` in one transaction: committed when it succeeds, undone when it fails. When this
    /// returns `Ok`, the changes are on disk.
    pub async fn write<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut Tx) -> Body<'a, T> + Send + 'static,
    {
        match &self.0 {
            Engine::Sqlite(sqlite) => write_sqlite(sqlite, body).await,
            Engine::Postgres(postgres) => {
                let mut tx = Tx::postgres_transaction(postgres.connection().await?);
                let outcome = body(&mut tx).await;
                let ended = tx.finish(outcome.is_ok()).await;
                let value = outcome?;
                ended?;
                Ok(value)
            }
        }
    }

    /// Brings the schema up to date; safe when several nodes start together. Returns what was applied.
    pub async fn migrate(&self, migrations: &'static [Migration]) -> Result<Vec<&'static str>> {
        self.write(move |tx| Box::pin(migrate::run(tx, migrations))).await
    }
}

async fn write_sqlite<T, F>(sqlite: &Sqlite, body: F) -> Result<T>
where
    T: Send + 'static,
    F: for<'a> FnOnce(&'a mut Tx) -> Body<'a, T> + Send + 'static,
{
    let (sender, answer) = oneshot::channel();
    let job = move |tx: &mut Tx| {
        let outcome = poll_once(body(tx));
        let keep = outcome.is_ok();
        let acknowledge = move |committed: Result<(), String>| {
            let _ = sender.send(match committed {
                Ok(()) => outcome,
                Err(reason) => Err(DbError::unavailable(reason).into()),
            });
        };
        Verdict { keep, acknowledge: Box::new(acknowledge) }
    };
    sqlite.submit(Box::new(job)).await?;
    answer.await.map_err(|_| Error::internal("the transaction panicked"))?
}

/// On SQLite every statement is done when it returns, so a body that is still pending has awaited
/// something that does not belong into a transaction.
fn poll_once<T>(mut body: Body<'_, T>) -> Result<T> {
    match body.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(Error::internal("a transaction awaited something other than the database")),
    }
}
