//! The job that does what is left, and one kind of such work.

use std::time::Duration;

use latchkey_base::Result;
use latchkey_base::kinds::InstanceId;
use tokio::time::{MissedTickBehavior, interval};

use super::store;
use crate::group::Job;
use crate::jobs::JobParts;

/// How often the job looks for work.
const EVERY: Duration = Duration::from_millis(500);
/// Rest between two transactions, so that requests hardly notice.
const PAUSE: Duration = Duration::from_millis(20);
/// How long something that failed waits for its next try.
pub(super) const RETRY_MS: i64 = 60_000;

/// A kind of work in steps. What is left is in a table with the columns `instance_id`, that of the subject and `due_at`.
pub trait Background: 'static {
    const TABLE: &'static str;
    /// The column of what the work is about.
    const SUBJECT: &'static str;
    /// What the log says of a step that failed.
    const FAILURE: &'static str;

    /// One step, which sets `due_at` to now if something is left. Another node may be at the same one.
    fn step(
        parts: &JobParts,
        instance: &InstanceId,
        subject: &str,
    ) -> impl Future<Output = Result<()>> + Send;
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
    let Some((instance, subject)) = store::next::<B>(&mut parts.db.read().await?, now).await? else {
        return Ok(false);
    };
    match B::step(parts, &instance, &subject).await {
        Ok(()) => parts.bell.ring(&instance),
        Err(error) => {
            tracing::error!(?error, subject, "{}; it is tried again in {} s", B::FAILURE, RETRY_MS / 1000);
            let until = now.plus_ms(RETRY_MS);
            parts
                .db
                .write(move |tx| {
                    Box::pin(async move { store::put_off::<B>(tx, &instance, &subject, until).await })
                })
                .await?;
        }
    }
    Ok(true)
}
