//! How many durable creates PostgreSQL itself can take: the connections of a usual pool, each sending a whole
//! transaction (begin, three inserts, commit) in one go and waiting for its end. No HTTP, no rules, no reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use tokio::task::JoinSet;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

use crate::Result;
use crate::databases::connect;
use crate::load::{Clock, Outcome, Window};
use crate::people::People;
use crate::raw::{INSTANCE, Insert};

const CONNECTIONS: usize = 16;

const SCHEMA: &str = "
    CREATE TABLE users (instance_id TEXT NOT NULL, id TEXT NOT NULL, created_at BIGINT NOT NULL,
        document TEXT NOT NULL, PRIMARY KEY (instance_id, id));
    CREATE TABLE identifications (instance_id TEXT NOT NULL, value TEXT NOT NULL, user_id TEXT NOT NULL,
        PRIMARY KEY (instance_id, value));
    CREATE TABLE outbox (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, instance_id TEXT NOT NULL,
        created_at BIGINT NOT NULL, event TEXT NOT NULL);";
const USER: &str = "INSERT INTO users (instance_id, id, created_at, document) VALUES ($1, $2, $3, $4)";
const IDENTIFICATION: &str = "INSERT INTO identifications (instance_id, value, user_id) VALUES ($1, $2, $3)";
const OUTBOX: &str = "INSERT INTO outbox (instance_id, created_at, event) VALUES ($1, $2, $3)";

/// The prefilled database.
pub(crate) struct RawPostgres {
    url: String,
    people: People,
    next: Arc<AtomicU64>,
}

impl RawPostgres {
    /// Tables with `users` rows in them, so that their trees are as deep as our server's.
    pub(crate) async fn open(url: String, people: People, users: u64) -> Result<Self> {
        let client = connect(&url).await?;
        client.batch_execute(SCHEMA).await?;
        client.batch_execute(&prefill(users)).await?;
        client.batch_execute("VACUUM ANALYZE").await?;
        client.batch_execute("CHECKPOINT").await?;
        Ok(Self { url, people, next: Arc::new(AtomicU64::new(users)) })
    }

    pub(crate) async fn run(&self, window: Window) -> Result<Outcome> {
        let mut clients = Vec::with_capacity(CONNECTIONS);
        for _ in 0..CONNECTIONS {
            let client = connect(&self.url).await?;
            let statements = [
                client.prepare(USER).await?,
                client.prepare(IDENTIFICATION).await?,
                client.prepare(OUTBOX).await?,
            ];
            clients.push((client, statements));
        }
        let clock = Clock::start(window);
        let mut set = JoinSet::new();
        for (client, statements) in clients {
            set.spawn(feed(client, statements, self.people, self.next.clone(), clock));
        }
        let mut all = Outcome::new();
        while let Some(one) = set.join_next().await {
            all.beside(one??);
        }
        Ok(all)
    }
}

async fn feed(
    client: Client,
    statements: [Statement; 3],
    people: People,
    next: Arc<AtomicU64>,
    clock: Clock,
) -> Result<Outcome> {
    let mut outcome = Outcome::new();
    loop {
        let began = Instant::now();
        insert(&client, &statements, &Insert::new(people, next.fetch_add(1, Relaxed))).await?;
        if !clock.count(began, &mut outcome) {
            return Ok(outcome);
        }
    }
}

/// One round trip: requests leave in the order in which they are first polled. If an insert fails, the server
/// turns the commit into a rollback, and the insert's own error is returned.
async fn insert(
    client: &Client,
    [user, identification, outbox]: &[Statement; 3],
    row: &Insert,
) -> Result<()> {
    let of_user: [&(dyn ToSql + Sync); 4] = [&INSTANCE, &row.user_id, &row.at, &row.document];
    let of_identification: [&(dyn ToSql + Sync); 3] = [&INSTANCE, &row.email, &row.user_id];
    let of_outbox: [&(dyn ToSql + Sync); 3] = [&INSTANCE, &row.at, &row.event];
    let (begun, user, identification, outbox, committed) = tokio::join!(
        biased;
        client.batch_execute("BEGIN"),
        client.execute(user, &of_user),
        client.execute(identification, &of_identification),
        client.execute(outbox, &of_outbox),
        client.batch_execute("COMMIT"),
    );
    begun?;
    user?;
    identification?;
    outbox?;
    committed?;
    Ok(())
}

/// The same rows made inside the database; addresses in no order, as real ones arrive.
fn prefill(users: u64) -> String {
    format!(
        "INSERT INTO users SELECT '{INSTANCE}', 'user_' || lpad(n::text, 27, '0'), n, repeat('x', 1500)
             FROM generate_series(0, {users} - 1) AS n;
         INSERT INTO identifications SELECT '{INSTANCE}', md5(n::text) || '@prefill.example.com',
             'user_' || lpad(n::text, 27, '0') FROM generate_series(0, {users} - 1) AS n;
         INSERT INTO outbox (instance_id, created_at, event) SELECT '{INSTANCE}', n, repeat('x', 70)
             FROM generate_series(0, {users} - 1) AS n;"
    )
}
