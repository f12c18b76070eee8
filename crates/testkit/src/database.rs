//! The databases of tests. Making one costs more than most tests, so a test gets one that another test is done
//! with, emptied of everything; as many are made as tests run at once. No two tests use one at the same time, and
//! none sees anything of those before it, so that every test finds the same ids and numbers.
//!
//! A test has a database of its own, which goes with it, where
//! - its runtime has threads of its own: its tasks may still write when the test is over;
//! - it failed: whatever it left half done is nobody else's.
//!
//! SQLite lies in files, unless `TEST_DATABASE_URL` names a PostgreSQL cluster. New databases are copies of one that
//! was migrated.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use latchkey_db::{Db, Location, Options};
use latchkey_kernel::migrations;
use rustix::fs::statvfs;
use tokio::runtime::{Builder, Handle, RuntimeFlavor};
use tokio::sync::OnceCell;

use crate::leftovers;
use crate::schema::tables;

static COUNT: AtomicU32 = AtomicU32::new(0);
/// Those that no test uses at the moment.
static IDLE: Mutex<Vec<Place>> = Mutex::new(Vec::new());

/// An open database.
pub(crate) struct Database {
    pub(crate) db: Db,
    /// Where it lies; nowhere only while it is dropped.
    place: Option<Place>,
    is_shared: bool,
}

impl Database {
    /// An empty database for a test, used by others before and after it where that is safe.
    pub(crate) async fn shared() -> Database {
        match Handle::current().runtime_flavor() {
            RuntimeFlavor::CurrentThread => {
                let idle = IDLE.lock().unwrap().pop();
                let (place, is_used) = match idle {
                    Some(place) => (place, true),
                    None => (Place::make().await, false),
                };
                let db = place.db.clone().unwrap_or_else(|| open(&place.location));
                if is_used {
                    place.empty(&db).await;
                }
                Database { db, place: Some(place), is_shared: true }
            }
            _ => Database::own().await,
        }
    }

    /// A new database, which goes with this.
    pub(crate) async fn own() -> Database {
        let place = Place::make().await;
        let db = place.db.clone().unwrap_or_else(|| open(&place.location));
        Database { db, place: Some(place), is_shared: false }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        match self.place.take() {
            Some(place) if self.is_shared && !std::thread::panicking() => IDLE.lock().unwrap().push(place),
            Some(place) => place.remove(),
            None => (),
        }
    }
}

/// Where a database lies.
struct Place {
    location: Location,
    /// Open already on SQLite. Connections to PostgreSQL belong to the runtime of one test.
    db: Option<Db>,
}

impl Place {
    async fn make() -> Place {
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        match cluster() {
            Some(cluster) => {
                static TEMPLATE: OnceCell<String> = OnceCell::const_new();
                let template = TEMPLATE.get_or_init(|| make_postgres(&cluster)).await;
                let name = format!("{}{number}", prefix());
                run(&cluster, &format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
                Place { location: Location::Postgres(with_database(&cluster, &name)), db: None }
            }
            None => {
                static TEMPLATE: OnceCell<PathBuf> = OnceCell::const_new();
                let template = TEMPLATE.get_or_init(make_sqlite).await;
                let file = template.with_file_name(format!("{number}.db"));
                fs::copy(template, &file).unwrap();
                let location = Location::Sqlite(file);
                Place { db: Some(open(&location)), location }
            }
        }
    }

    /// Deletes every row, those that refer to others first.
    async fn empty(&self, db: &Db) {
        static STATEMENTS: OnceLock<Vec<String>> = OnceLock::new();
        let statements = STATEMENTS.get_or_init(|| {
            tables().iter().rev().map(|table| format!("DELETE FROM {};", table.name)).collect()
        });
        match &self.location {
            Location::Postgres(url) => run(url, &statements.concat()).await,
            Location::Sqlite(_) => {
                let work = db.write(move |tx| {
                    Box::pin(async move {
                        for sql in statements {
                            tx.run(&[sql], &[]).await?;
                        }
                        Ok(())
                    })
                });
                work.await.unwrap();
            }
        }
    }

    fn remove(self) {
        match self.location {
            Location::Sqlite(file) => {
                for end in ["", "-wal", "-shm"] {
                    let mut name = file.clone().into_os_string();
                    name.push(end);
                    // Not all of them are there at all times.
                    let _ = fs::remove_file(name);
                }
            }
            // On a thread of its own, because the test's runtime is in the middle of something. Whatever goes wrong
            // is left to the end of the process.
            Location::Postgres(url) => {
                let name = url.rsplit('/').next().and_then(|end| end.split('?').next()).unwrap_or_default();
                let (cluster, sql) = (cluster(), format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
                let work = move || {
                    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
                    runtime.block_on(run(&cluster.unwrap(), &sql));
                };
                let _ = std::thread::spawn(work).join();
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the engine under test is chosen by the environment")]
fn cluster() -> Option<String> {
    std::env::var("TEST_DATABASE_URL").ok().filter(|url| !url.is_empty())
}

/// What the names of this process's databases begin with.
fn prefix() -> String {
    format!("latchkey_test_{}_", std::process::id())
}

/// Makes the database that others are copies of, and sees to it that all of them go at the end.
async fn make_postgres(cluster: &str) -> String {
    let (prefix, name) = (prefix(), format!("{}template", prefix()));
    leftovers::drop_databases_at_the_end(cluster, &prefix);
    run(cluster, &format!("DROP DATABASE IF EXISTS {name}")).await;
    run(cluster, &format!("CREATE DATABASE {name}")).await;
    let db = open(&Location::Postgres(with_database(cluster, &name)));
    db.migrate(migrations::ALL).await.unwrap();
    drop(db);
    // A template cannot be copied while somebody is connected to it, and a closed connection takes a moment to go.
    let leave =
        format!("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}'");
    run(cluster, &leave).await;
    name
}

async fn make_sqlite() -> PathBuf {
    let folder = scratch().join(prefix().replace('_', "-").trim_end_matches('-'));
    leftovers::remove_folder_at_the_end(&folder);
    // Of a process that had the same number.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let file = folder.join("template.db");
    let db = open(&Location::Sqlite(file.clone()));
    db.migrate(migrations::ALL).await.unwrap();
    db.fold().await.unwrap();
    file
}

/// A place in memory where there is one with room: these tests are not about the disk, and would wait for it
/// thousands of times. In a container it often has 64 MB; they take up to 130.
fn scratch() -> PathBuf {
    const ROOM: u64 = 512 << 20;
    let memory = Path::new("/dev/shm");
    let room = statvfs(memory).map_or(0, |found| found.f_bavail * found.f_frsize);
    if room >= ROOM { memory.to_owned() } else { std::env::temp_dir() }
}

fn open(location: &Location) -> Db {
    Db::open(&Options {
        location: location.clone(),
        connections: 4,
        before_commit: migrations::BEFORE_COMMIT,
        numbering: latchkey_kernel::outbox::NUMBERING,
    })
    .unwrap()
}

async fn run(url: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    client.batch_execute(sql).await.expect(sql);
    drop(client);
    driver.await.unwrap().unwrap();
}

fn with_database(cluster: &str, name: &str) -> String {
    let (base, _) = cluster.rsplit_once('/').expect("the URL of a cluster ends in a database");
    format!("{base}/{name}?sslmode=disable")
}
