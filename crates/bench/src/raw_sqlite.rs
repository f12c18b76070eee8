//! How many durable creates SQLite itself can take: WAL, `synchronous=FULL`, one writer thread that commits
//! everything waiting at once, fed by as many tasks as there are connections. No HTTP, no rules, no reads.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::Result;
use crate::load::{Clock, Outcome, Window};
use crate::people::People;
use crate::raw::{INSTANCE, Insert};

const SCHEMA: &str = "
    CREATE TABLE users (instance_id TEXT NOT NULL, id TEXT NOT NULL, created_at INTEGER NOT NULL,
        document TEXT NOT NULL, UNIQUE (instance_id, id));
    CREATE TABLE identifications (instance_id TEXT NOT NULL, value TEXT NOT NULL, user_id TEXT NOT NULL,
        PRIMARY KEY (instance_id, value)) WITHOUT ROWID;
    CREATE TABLE outbox (id INTEGER PRIMARY KEY, instance_id TEXT NOT NULL, created_at INTEGER NOT NULL,
        event TEXT NOT NULL);";
const USER: &str = "INSERT INTO users (instance_id, id, created_at, document) VALUES (?, ?, ?, ?)";
const IDENTIFICATION: &str = "INSERT INTO identifications (instance_id, value, user_id) VALUES (?, ?, ?)";
const OUTBOX: &str = "INSERT INTO outbox (instance_id, created_at, event) VALUES (?, ?, ?)";
const PREFILL_BATCH: u64 = 20_000;
const GROUP: usize = 256;

/// The open database; its writer thread ends when this is dropped.
pub(crate) struct RawSqlite {
    jobs: mpsc::Sender<Job>,
    people: People,
    next: Arc<AtomicU64>,
}

struct Job {
    insert: Insert,
    done: oneshot::Sender<Result<()>>,
}

impl RawSqlite {
    /// A new database with `users` rows in it, so that its trees are as deep as our server's.
    pub(crate) async fn open(path: &Path, people: People, users: u64) -> Result<Self> {
        let path = path.to_owned();
        let db = tokio::task::spawn_blocking(move || prefilled(&path, people, users)).await??;
        let (jobs, waiting) = mpsc::channel(GROUP);
        thread::spawn(move || write(&db, waiting));
        Ok(Self { jobs, people, next: Arc::new(AtomicU64::new(users)) })
    }

    pub(crate) async fn run(&self, tasks: usize, window: Window) -> Result<Outcome> {
        let clock = Clock::start(window);
        let mut set = JoinSet::new();
        for _ in 0..tasks {
            set.spawn(feed(self.jobs.clone(), self.people, self.next.clone(), clock));
        }
        let mut all = Outcome::new();
        while let Some(one) = set.join_next().await {
            all.beside(one??);
        }
        Ok(all)
    }
}

fn prefilled(path: &Path, people: People, users: u64) -> Result<Connection> {
    let db = Connection::open(path)?;
    db.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536;")?;
    db.execute_batch(SCHEMA)?;
    for first in (0..users).step_by(PREFILL_BATCH as usize) {
        db.execute_batch("BEGIN IMMEDIATE")?;
        for n in first..(first + PREFILL_BATCH).min(users) {
            insert(&db, &Insert::new(people, n))?;
        }
        db.execute_batch("COMMIT")?;
    }
    db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA synchronous=FULL;")?;
    // Nothing was synced so far; left to the first commits, gigabytes of it would be measured as theirs.
    File::open(path)?.sync_all()?;
    Ok(db)
}

async fn feed(
    jobs: mpsc::Sender<Job>,
    people: People,
    next: Arc<AtomicU64>,
    clock: Clock,
) -> Result<Outcome> {
    let mut outcome = Outcome::new();
    loop {
        let began = Instant::now();
        let insert = Insert::new(people, next.fetch_add(1, Relaxed));
        let (done, acknowledged) = oneshot::channel();
        jobs.send(Job { insert, done }).await.map_err(|_| "the writer ended")?;
        acknowledged.await??;
        if !clock.count(began, &mut outcome) {
            return Ok(outcome);
        }
    }
}

/// Begins, runs every waiting job, commits once, then acknowledges all.
fn write(db: &Connection, mut waiting: mpsc::Receiver<Job>) {
    let mut group = Vec::with_capacity(GROUP);
    while let Some(first) = waiting.blocking_recv() {
        group.push(first);
        while let Ok(job) = waiting.try_recv() {
            group.push(job);
            if group.len() == GROUP {
                break;
            }
        }
        let outcome = commit(db, &group).map_err(|error| error.to_string());
        for job in group.drain(..) {
            // A task that no longer waits has been cancelled; the write stands.
            let _ = job.done.send(outcome.clone().map_err(Into::into));
        }
    }
}

fn commit(db: &Connection, group: &[Job]) -> rusqlite::Result<()> {
    db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    for job in group {
        insert(db, &job.insert)?;
    }
    db.prepare_cached("COMMIT")?.execute([])?;
    Ok(())
}

fn insert(db: &Connection, row: &Insert) -> rusqlite::Result<()> {
    db.prepare_cached(USER)?.execute(params![INSTANCE, row.user_id, row.at, row.document])?;
    db.prepare_cached(IDENTIFICATION)?.execute(params![INSTANCE, row.email, row.user_id])?;
    db.prepare_cached(OUTBOX)?.execute(params![INSTANCE, row.at, row.event])?;
    Ok(())
}
