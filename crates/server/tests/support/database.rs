//! A database of its own for each test, where `TEST_DATABASE_URL` names a PostgreSQL cluster.

use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// An empty database; dropped with this.
pub(crate) struct Database {
    pub(crate) url: String,
    cluster: String,
    name: String,
}

impl Database {
    /// Nothing when the tests run on SQLite.
    #[expect(clippy::disallowed_methods, reason = "the engine under test is chosen by the environment")]
    pub(crate) fn make() -> Option<Database> {
        let cluster = std::env::var("TEST_DATABASE_URL").ok().filter(|url| !url.is_empty())?;
        let name = format!("latchkey_cli_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        run(&cluster, &format!("CREATE DATABASE {name}"));
        let (base, _) = cluster.rsplit_once('/').unwrap();
        Some(Database { url: format!("{base}/{name}?sslmode=disable"), cluster, name })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        run(&self.cluster, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

/// On a thread of its own: a test that is asynchronous itself cannot wait for another runtime.
fn run(cluster: &str, sql: &str) {
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(cluster, tokio_postgres::NoTls).await.unwrap();
            let driver = tokio::spawn(connection);
            client.batch_execute(sql).await.unwrap();
            drop(client);
            driver.await.unwrap().unwrap();
        });
    };
    std::thread::scope(|scope| scope.spawn(work).join().unwrap());
}
