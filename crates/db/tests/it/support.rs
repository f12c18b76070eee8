//! A fresh database for each test, and the few calls that every test makes.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;

use futures_util::future::{join_all, join3};
use latchkey_base::Result;
use latchkey_db::{Db, Location, Migration, Options, Read, Value};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// One table with a column of each type.
pub(crate) const ITEMS: &[Migration] = &[Migration {
    name: "0001_items",
    common: "CREATE TABLE items (
  id TEXT NOT NULL,
  label TEXT,
  note TEXT,
  amount BIGINT,
  flag BOOLEAN,
  data BYTEA,
  CONSTRAINT uq__items__id PRIMARY KEY (id),
  CONSTRAINT uq__items__label__amount UNIQUE (label, amount)
);
",
    sqlite: "",
    postgres: "",
}];

/// Takes the next numbers of a series.
const NUMBERING: &str = "INSERT INTO heads (series, last) VALUES ($1, $2) \
     ON CONFLICT (series) DO UPDATE SET last = heads.last + excluded.last RETURNING last";

pub(crate) const INSERT: &str = "INSERT INTO items (id, label, amount) VALUES ($1, $2, $3)";

static COUNT: AtomicU32 = AtomicU32::new(0);

/// An open database and what must outlive it. The database goes with this.
pub(crate) struct Fresh {
    db: Db,
    pub(crate) location: Location,
    _folder: Option<TempDir>,
    /// On PostgreSQL its name.
    name: Option<String>,
}

impl Drop for Fresh {
    fn drop(&mut self) {
        let Some((cluster, name)) = cluster().zip(self.name.take()) else { return };
        // On a thread of its own: the test's runtime is in the middle of something.
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(execute(&cluster, &[format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")]));
        };
        // A test that failed already must not end the process.
        let _ = std::thread::spawn(work).join();
    }
}

impl Deref for Fresh {
    type Target = Db;

    fn deref(&self) -> &Db {
        &self.db
    }
}

impl Fresh {
    /// An empty database on the engine under test.
    pub(crate) async fn empty() -> Fresh {
        let Some(cluster) = cluster() else { return Fresh::sqlite() };
        let name = format!("latchkey_db_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        let create = format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'");
        execute(&cluster, &[format!("DROP DATABASE IF EXISTS {name}"), create]).await;
        let (base, _) = cluster.rsplit_once('/').expect("the URL of a cluster ends in a database");
        let location = Location::Postgres(format!("{base}/{name}?sslmode=disable"));
        Fresh { db: open(&location), location, _folder: None, name: Some(name) }
    }

    /// An empty SQLite database, whichever engine is under test.
    pub(crate) fn sqlite() -> Fresh {
        let folder = TempDir::new().unwrap();
        let location = Location::Sqlite(folder.path().join("test.db"));
        Fresh { db: open(&location), location, _folder: Some(folder), name: None }
    }

    /// A database with the product's schema, whose writer keeps the search index.
    pub(crate) async fn of_the_product(migrations: &'static [Migration]) -> Fresh {
        let mut fresh = Fresh::empty().await;
        fresh.db =
            open_with(&fresh.location, include_str!("../../../../migrations/before_commit.sqlite.sql"));
        fresh.migrate(migrations).await.unwrap();
        fresh
    }

    /// A database with this schema.
    pub(crate) async fn with(migrations: &'static [Migration]) -> Fresh {
        let fresh = Fresh::empty().await;
        fresh.migrate(migrations).await.unwrap();
        fresh
    }

    /// The same database, opened once more.
    pub(crate) fn again(&self) -> Db {
        open(&self.location)
    }
}

/// Runs statements on a connection of their own, each in a transaction of its own.
async fn execute(url: &str, statements: &[String]) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    for sql in statements {
        client.batch_execute(sql).await.unwrap();
    }
    drop(client);
    driver.await.unwrap().unwrap();
}

pub(crate) fn open(location: &Location) -> Db {
    open_with(location, "")
}

fn open_with(location: &Location, before_commit: &'static str) -> Db {
    Db::open(&Options { location: location.clone(), connections: 8, before_commit, numbering: NUMBERING })
        .unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the engine under test is chosen by the environment")]
fn cluster() -> Option<String> {
    std::env::var("TEST_DATABASE_URL").ok().filter(|url| !url.is_empty())
}

/// Whether the engine under test is SQLite.
pub(crate) fn on_sqlite() -> bool {
    cluster().is_none()
}

/// Runs one statement in a transaction of its own.
pub(crate) async fn run(db: &Db, sql: &'static str, params: Vec<Value>) -> Result<u64> {
    db.write(move |tx| Box::pin(async move { Ok(tx.run(&[sql], &params).await?) })).await
}

/// All rows, from a read connection.
pub(crate) async fn all<T: Send + 'static>(db: &Db, sql: &str, read: Read<T>) -> Vec<T> {
    db.read().await.unwrap().all(&[sql], &[], read).await.unwrap()
}

/// The first column of all rows, as text.
pub(crate) async fn texts(db: &Db, sql: &str) -> Vec<String> {
    all(db, sql, |row| row.text(0)).await
}

/// The one number a query gives.
pub(crate) async fn number(db: &Db, sql: &str) -> i64 {
    all(db, sql, |row| row.int(0)).await[0]
}

/// How many items there are.
pub(crate) async fn items(db: &Db) -> i64 {
    number(db, "SELECT count(*) FROM items").await
}

/// The values of a row for [`INSERT`].
pub(crate) fn item(id: &str, label: &str, amount: i64) -> Vec<Value> {
    vec![id.into(), label.into(), amount.into()]
}

/// Awaits all writes at once. On SQLite its writer is held until all of them wait for it, so that
/// they certainly share one commit.
pub(crate) async fn together<F: Future>(db: &Db, writes: Vec<F>) -> Vec<F::Output> {
    let (open, gate) = mpsc::channel::<()>();
    let hold = async {
        if on_sqlite() {
            let _ = db.write(move |_| Box::pin(async move { Ok(gate.recv().is_ok()) })).await;
        }
    };
    // Polled in this order: by the time the gate opens, every write has been handed over.
    let (_, outcomes, _) = join3(hold, join_all(writes), async { open.send(()) }).await;
    outcomes
}

/// A runtime for property tests, which are not async themselves.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
