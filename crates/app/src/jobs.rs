//! Work outside of requests: sending events and messages, deleting what is old.

pub mod expire;

use std::sync::Arc;
use std::time::Duration;

use latchkey_base::{Result, Time};
use latchkey_db::{Db, Tx};
use latchkey_events::courier::{self, Courier};
use latchkey_kernel::group::Group;
use latchkey_kernel::jobs::JobParts;
use latchkey_messaging::post::{self, Post};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

/// How often old things are looked for. They are kept for weeks; an hour more does not matter.
const EVERY: Duration = Duration::from_secs(3600);
/// Rest between two batches, so that requests hardly notice.
const PAUSE: Duration = Duration::from_millis(100);

/// What became of events and messages since the server started.
#[derive(Clone, Default)]
pub struct JobCounts {
    /// Of events, at endpoints.
    pub deliveries: Arc<courier::DeliveryCounts>,
    /// Of messages to people.
    pub messages: Arc<post::MessageCounts>,
}

impl JobCounts {
    /// Writes them for those who watch the server, with what is still to be sent.
    pub async fn render(&self, out: &mut String, tx: &mut Tx) -> Result<()> {
        self.deliveries.render(out, tx).await?;
        self.messages.render(out, tx).await
    }
}

/// How long events on their way are waited for at the end. What is not noted by then is sent again.
const LAST_EVENTS: Duration = Duration::from_secs(5);

/// The jobs that run.
pub struct Jobs {
    courier: Courier,
    sending: JoinHandle<()>,
    others: Vec<JoinHandle<()>>,
}

impl Jobs {
    /// Ends them. What they do is cut into transactions, so any moment is good; only what was sent is noted.
    pub async fn stop(mut self) {
        self.others.iter().for_each(JoinHandle::abort);
        self.courier.stop();
        if tokio::time::timeout(LAST_EVENTS, &mut self.sending).await.is_err() {
            self.sending.abort();
        }
    }
}

/// Starts all jobs, those of the groups with them. They end with the runtime, or when they are stopped.
pub fn start(parts: &JobParts, counts: &JobCounts, groups: &[Group]) -> Result<Jobs> {
    let post = Post::new(parts, counts.messages.clone(), None)?;
    let (db, clock) = (parts.db.clone(), parts.clock.clone());
    let cleaned = groups.to_vec();
    let cleaning = tokio::spawn(async move {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = expire::run(&db, &cleaned, clock.now(), PAUSE).await {
                tracing::error!(?error, "old rows could not be deleted; the next try is in an hour");
            }
        }
    });
    let courier = Courier::new(parts, counts.deliveries.clone());
    let sending = courier::spawn(courier.clone());
    let of_groups = groups.iter().flat_map(|group| (group.jobs)(parts)).map(tokio::spawn);
    let others = [cleaning, post::spawn(post)].into_iter().chain(of_groups).collect();
    Ok(Jobs { courier, sending, others })
}

/// Deletes once what is old, without rests.
pub async fn run_once(db: &Db, groups: &[Group], now: Time) -> Result<()> {
    expire::run(db, groups, now, Duration::ZERO).await
}
