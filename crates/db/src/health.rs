//! Whether the database takes writes, for those who decide where requests are sent.
//!
//! Only a write can tell: a full disk, a file system that became read-only and a PostgreSQL that follows another one
//! all answer reads. So a tiny write is tried, seldom: its outcome counts for some seconds, unless a write of the
//! product fails meanwhile. On a full disk the tiny write may still fit, so a write of the product that failed for lack of
//! space counts for some seconds by itself.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex as StdMutex, PoisonError};
use std::time::Duration;

use latchkey_base::{Error, Result};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::db::Db;
use crate::error::DbError;

/// How long a write that was tried and succeeded counts.
const GOOD_FOR: Duration = Duration::from_secs(5);
/// How long a write of the product that failed for lack of space counts.
const FULL_FOR: Duration = Duration::from_secs(10);
/// The pause between two tries while they fail.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How long a try may take: less than those who ask usually wait.
const PATIENCE: Duration = Duration::from_secs(3);
/// Changes nothing, and yet both engines write it to their logs.
const PROBE: &str =
    "UPDATE schema_migrations SET name = name WHERE name = (SELECT min(name) FROM schema_migrations)";

/// What is known about writing.
#[derive(Default)]
pub(crate) struct WriteHealth {
    /// When a write was last tried here, and why it failed if it did.
    tried: StdMutex<Option<(Instant, Result<(), String>)>>,
    /// A write of the product failed since.
    is_doubted: AtomicBool,
    /// When a write of the product last failed for lack of space.
    full_at: StdMutex<Option<Instant>>,
    /// Held by whoever tries, so that many who ask cost one write.
    turn: Mutex<()>,
}

impl WriteHealth {
    /// Sees how a write of the product ended. What the product refused by itself says nothing about the database.
    pub(crate) fn note<T>(&self, outcome: &Result<T>) {
        let Err(error) = outcome else { return };
        if let Some(failure) = error.cause().and_then(|cause| cause.downcast_ref::<DbError>()) {
            self.note_failure(failure);
        }
    }

    /// Sees a failure of the database. Where it cannot even be read, no request gets as far as a write. Waiting for one's
    /// turn in vain says nothing about it.
    pub(crate) fn note_failure(&self, failure: &DbError) {
        if matches!(failure, DbError::Unavailable(_) | DbError::Failed(_)) && !failure.is_late() {
            self.is_doubted.store(true, Relaxed);
        }
        if failure.is_full() {
            *self.full_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }

    /// Returns whether a write of the product failed for lack of space a moment ago.
    fn was_full(&self) -> bool {
        let full_at = *self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        full_at.is_some_and(|at| at.elapsed() < FULL_FOR)
    }

    /// What the last try said, as long as it counts.
    fn known(&self) -> Option<Result<(), String>> {
        if self.was_full() {
            return Some(Err("there was no space left for a write".to_owned()));
        }
        let tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (at, outcome) = tried?;
        let good_for = match (&outcome, self.is_doubted.load(Relaxed)) {
            (Ok(()), false) => GOOD_FOR,
            (Ok(()), true) => Duration::ZERO,
            (Err(_), _) => AGAIN_AFTER,
        };
        (at.elapsed() < good_for).then_some(outcome)
    }

    fn remember(&self, outcome: Result<(), String>) {
        *self.tried.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), outcome));
    }
}

impl Db {
    /// Fails while the database takes no writes, whatever the reason. Cheap enough to be asked all the time.
    pub async fn check_writes(&self) -> Result<(), DbError> {
        let health = self.health();
        let tried = async {
            let _turn = health.turn.lock().await;
            if let Some(known) = health.known() {
                return known;
            }
            // Before it, so that what fails during the try is not forgotten.
            health.is_doubted.store(false, Relaxed);
            // In a task of its own, which is no caller's: it waits behind nobody who asks for much.
            let db = self.clone();
            let probing = tokio::spawn(async move { timeout(PATIENCE, probe(&db)).await });
            let outcome = match probing.await {
                Ok(in_time) => in_time.unwrap_or_else(|_| Err(late())),
                Err(error) => Err(error.to_string()),
            };
            health.remember(outcome.clone());
            outcome
        };
        let outcome = match health.known() {
            Some(known) => known,
            // Whoever waits for the try of another one waits no longer than for their own.
            None => timeout(PATIENCE * 2, tried).await.unwrap_or_else(|_| Err(late())),
        };
        outcome.map_err(|reason| DbError::unavailable(format!("the database takes no writes: {reason}")))
    }
}

async fn probe(db: &Db) -> Result<(), String> {
    db.check_place().map_err(|error| reason(&error.into()))?;
    match db.probe(PROBE).await {
        Ok(0) => Err("its schema was not made".to_owned()),
        Ok(_) => Ok(()),
        Err(error) => Err(reason(&error)),
    }
}

/// The whole chain of causes: the outermost only says that a call failed.
fn reason(error: &Error) -> String {
    let mut reasons = Vec::new();
    let mut cause: Option<&(dyn std::error::Error + 'static)> = match error.cause() {
        Some(cause) => Some(cause),
        None => return error.to_string(),
    };
    while let Some(inner) = cause {
        reasons.push(inner.to_string());
        cause = inner.source();
    }
    reasons.join(": ")
}

fn late() -> String {
    format!("a write took more than {} seconds", PATIENCE.as_secs())
}
