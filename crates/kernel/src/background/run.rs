//! The job that does what is left, and one kind of such work.

use std::time::Duration;

use latchkey_base::Result;
use latchkey_base::kinds::InstanceId;
use latchkey_db::{DbError, Row, Table};
use tokio::time::{MissedTickBehavior, interval};

use crate::callers;
use crate::group::Job;
use crate::jobs::JobParts;

/// How often the job looks for work.
const EVERY: Duration = Duration::from_millis(500);
/// Rest between two transactions, so that requests hardly notice.
const PAUSE: Duration = Duration::from_millis(20);
/// How long something that failed waits for its next try.
const RETRY_MS: i64 = 60_000;

/// A kind of work in steps.
pub trait Background: 'static {
    const WORK: WorkRows;
    /// What the log says of a step that failed.
    const FAILURE: &'static str;

    /// One step, after which what is left is due now. Another node may be at the same one.
    fn step(
        parts: &JobParts,
        instance: &InstanceId,
        subject: &str,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// What is left of a kind of work: the rows of a table whose key is the instance and what the work is about. Stores
/// give them away, and keep all other writing to themselves.
pub struct WorkRows(&'static Table);

impl WorkRows {
    /// The rows of this table, which says when each has its turn.
    pub const fn of(table: &'static Table) -> WorkRows {
        WorkRows(table)
    }
}

/// How far a step came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WorkProgress {
    /// Something may be left.
    More,
    Done,
}

/// The job of a kind of work.
pub fn job<B: Background>(parts: &JobParts) -> Job {
    let parts = parts.clone();
    Box::pin(async move {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = run::<B>(&parts).await {
                tracing::error!(?error, "{}; the next try follows", B::FAILURE);
            }
        }
    })
}

/// Does all that is left and does not wait.
pub async fn run<B: Background>(parts: &JobParts) -> Result<()> {
    while step::<B>(parts).await? {
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// One step of what has waited longest. Says whether there was something.
pub async fn step<B: Background>(parts: &JobParts) -> Result<bool> {
    let now = parts.clock.now();
    // A time that is further off than any wait was written before the clock was set back.
    let latest = now.plus_ms(2 * RETRY_MS);
    let next = B::WORK.0.next_due(&mut parts.db.read().await?, (now, latest), read).await?;
    let Some((instance, subject)) = next else { return Ok(false) };
    // Each instance has turns of its own at the database.
    let caller = callers::of_server(&instance);
    match latchkey_db::for_caller(caller, B::step(parts, &instance, &subject)).await {
        Ok(()) => parts.bell.ring(&instance),
        Err(error) => {
            tracing::error!(?error, subject, "{}; it is tried again in {} s", B::FAILURE, RETRY_MS / 1000);
            let (key, until) = (vec![(&instance).into(), subject.into()], now.plus_ms(RETRY_MS));
            parts.db.write(move |tx| Box::pin(B::WORK.0.put_off(tx, key, until))).await?;
        }
    }
    Ok(true)
}

fn read(row: &Row<'_>) -> Result<(InstanceId, String), DbError> {
    Ok((row.id(0)?, row.text(1)?))
}
