//! Work outside of requests.

pub mod expire;

use std::sync::Arc;
use std::time::Duration;

use latchkey_base::time::Clock;
use latchkey_base::{Result, Time};
use latchkey_db::Db;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

/// How often old things are looked for. They are kept for weeks; an hour more does not matter.
const EVERY: Duration = Duration::from_secs(3600);
/// Rest between two batches, so that requests hardly notice.
const PAUSE: Duration = Duration::from_millis(100);

/// Starts all jobs. They end with the runtime, or when the handle is aborted; what they do is cut into
/// transactions, so any moment is good.
pub fn spawn(db: Db, clock: Arc<dyn Clock>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = expire::run(&db, clock.now(), PAUSE).await {
                tracing::error!(?error, "old rows could not be deleted; the next try is in an hour");
            }
        }
    })
}

/// Does once what the jobs do, without rests.
pub async fn run_once(db: &Db, now: Time) -> Result<()> {
    expire::run(db, now, Duration::ZERO).await
}
