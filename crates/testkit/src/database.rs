//! A fresh database for each test: a SQLite file, or a copy of a migrated PostgreSQL template when
//! `TEST_DATABASE_URL` names a cluster.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use latchkey_app::migrations;
use latchkey_db::{Db, Location, Options};
use tempfile::TempDir;
use tokio::sync::OnceCell;

static TEMPLATE: OnceCell<String> = OnceCell::const_new();
static COUNT: AtomicU32 = AtomicU32::new(0);

/// An open database and what must outlive it.
pub(crate) struct Database {
    pub(crate) db: Db,
    pub(crate) location: Location,
    _folder: Option<TempDir>,
}

#[expect(clippy::disallowed_methods, reason = "the engine under test is chosen by the environment")]
fn cluster() -> Option<String> {
    std::env::var("TEST_DATABASE_URL").ok().filter(|url| !url.is_empty())
}

pub(crate) async fn fresh() -> Database {
    match cluster() {
        Some(cluster) => {
            let template = TEMPLATE.get_or_init(|| make_template(&cluster)).await;
            let name = format!("{template}_{}", COUNT.fetch_add(1, Ordering::SeqCst));
            run(&cluster, &format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
            let location = Location::Postgres(with_database(&cluster, &name));
            Database { db: open(&location), location, _folder: None }
        }
        None => {
            let folder = TempDir::new_in(scratch()).unwrap();
            let location = Location::Sqlite(folder.path().join("test.db"));
            let db = open(&location);
            db.migrate(migrations::ALL).await.unwrap();
            Database { db, location, _folder: Some(folder) }
        }
    }
}

/// A place in memory where there is one: these tests are not about the disk, and would wait for it
/// thousands of times.
fn scratch() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

async fn make_template(cluster: &str) -> String {
    let name = format!("latchkey_test_{}", std::process::id());
    run(cluster, &format!("DROP DATABASE IF EXISTS {name}")).await;
    run(cluster, &format!("CREATE DATABASE {name}")).await;
    let db = open(&Location::Postgres(with_database(cluster, &name)));
    db.migrate(migrations::ALL).await.unwrap();
    drop(db);
    name
}

fn open(location: &Location) -> Db {
    Db::open(&Options {
        location: location.clone(),
        connections: 4,
        before_commit: migrations::BEFORE_COMMIT,
        numbering: latchkey_app::outbox::NUMBERING,
    })
    .unwrap()
}

/// A template cannot be copied while somebody is connected to it, and a closed connection takes a
/// moment to go: the statement is tried again for a while.
async fn run(cluster: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(cluster, tokio_postgres::NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    let mut outcome = client.batch_execute(sql).await;
    for _ in 0..100 {
        if outcome.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        outcome = client.batch_execute(sql).await;
    }
    outcome.expect(sql);
    drop(client);
    driver.await.unwrap().unwrap();
}

fn with_database(cluster: &str, name: &str) -> String {
    let (base, _) = cluster.rsplit_once('/').expect("the URL of a cluster ends in a database");
    format!("{base}/{name}?sslmode=disable")
}
