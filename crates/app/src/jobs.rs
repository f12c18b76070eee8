//! Work outside of requests: sending events and messages, deleting what is old.

pub mod deliver;
pub mod expire;
pub mod post;

use std::sync::Arc;
use std::time::Duration;

use latchkey_base::rng::Rng;
use latchkey_base::time::Clock;
use latchkey_base::{Result, Time};
use latchkey_db::{Db, Tx};
use latchkey_jose::seal::MasterKey;
use latchkey_outbound::client::Client;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use self::deliver::Courier;
use self::post::Post;
use crate::bell::Bell;

/// How often old things are looked for. They are kept for weeks; an hour more does not matter.
const EVERY: Duration = Duration::from_secs(3600);
/// Rest between two batches, so that requests hardly notice.
const PAUSE: Duration = Duration::from_millis(100);

/// What the jobs are made of.
#[derive(Clone)]
pub struct Parts {
    /// The database.
    pub db: Db,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Randomness, for ids and pauses.
    pub rng: Arc<dyn Rng>,
    /// Opens what is sealed at rest.
    pub master: Arc<MasterKey>,
    /// Rings when there is something new.
    pub bell: Bell,
    /// Sends requests to addresses other people chose.
    pub outbound: Client,
    /// Counts what becomes of events and messages.
    pub counts: Arc<Counts>,
    /// How long an endpoint may take to answer.
    pub answer_timeout: Duration,
    /// Events sent to an endpoint in one go.
    pub events_at_once: i64,
}

/// What became of events and messages since the server started.
#[derive(Default)]
pub struct Counts {
    /// Of events, at endpoints.
    pub deliveries: deliver::Counts,
    /// Of messages to people.
    pub messages: post::Counts,
}

impl Counts {
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

/// Starts all jobs. They end with the runtime, or when they are stopped.
pub fn start(parts: &Parts) -> Result<Jobs> {
    let post = Post::new(parts, None)?;
    let (db, clock) = (parts.db.clone(), parts.clock.clone());
    let cleaning = tokio::spawn(async move {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = expire::run(&db, clock.now(), PAUSE).await {
                tracing::error!(?error, "old rows could not be deleted; the next try is in an hour");
            }
        }
    });
    let courier = Courier::new(parts);
    let sending = deliver::spawn(courier.clone());
    Ok(Jobs { courier, sending, others: vec![cleaning, post::spawn(post)] })
}

/// Deletes once what is old, without rests.
pub async fn run_once(db: &Db, now: Time) -> Result<()> {
    expire::run(db, now, Duration::ZERO).await
}
