//! Sends events to the endpoints that want them.
//!
//! An endpoint is served by one node at a time, which takes it for some seconds and keeps it while there is
//! something to send. It reads the events behind the endpoint's cursor, sends them, and in one transaction
//! notes what became of each and moves the cursor. When a node dies in between, the time runs out and
//! another one begins again at the cursor: an event may arrive twice, with the same id, but never not at
//! all. What was not taken is tried again later, and holds up the next events about the same subject only.

mod batch;
mod rules;
mod senders;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use futures_util::future::{FutureExt, try_join};
use latchkey_base::kinds::InstanceId;
use latchkey_base::{Error, Result};
use latchkey_db::{Tx, for_caller};
use latchkey_kernel::callers;
use latchkey_kernel::jobs::JobParts;
use latchkey_kernel::limits::METRICS_ROWS;
use latchkey_web::metrics;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use self::batch::{Batch, Sent};
use self::senders::Senders;
use crate::webhooks::model::Endpoint;
use crate::webhooks::store::Lease;
use crate::webhooks::{self, deliveries};

/// Events sent to an endpoint in one go, and noted in one transaction. A crash may repeat twice as many: those
/// on their way, and those before them whose outcome was being noted.
pub const EVENTS_AT_ONCE: i64 = 256;
/// How often a node looks by itself: retries become due, and other nodes ring no bell here.
const EVERY: Duration = Duration::from_millis(500);
/// Endpoints served at once.
const AT_ONCE: usize = 32;
/// The same for one instance, so that slow endpoints of one hold up nobody else's.
const AT_ONCE_EACH: usize = 8;
/// Those that took nothing the last time have every second place at most: they may keep it until their time is out.
const FAILING_PART: usize = 2;
/// Endpoints looked at in one go, of which some may have no room.
const LOOKED_AT: i64 = 256;
/// How long an endpoint is served before others have their turn.
const TURN: Duration = Duration::from_secs(20);
/// How long an endpoint is taken for.
const LEASE_MS: i64 = 9_000;
/// How often whoever has it renews that.
const RENEW: Duration = Duration::from_secs(3);

/// What became of events since the server started.
#[derive(Default)]
pub struct DeliveryCounts {
    delivered: AtomicU64,
    refused: AtomicU64,
    given_up: AtomicU64,
}

impl DeliveryCounts {
    /// Writes them for those who watch the server, with what is still to be sent.
    pub async fn render(&self, out: &mut String, tx: &mut Tx) -> Result<()> {
        let waiting = deliveries::store::waiting(tx, METRICS_ROWS).await?.unsigned_abs();
        let lag = webhooks::store::lag(tx, METRICS_ROWS).await?.unsigned_abs();
        let (counter, gauge) = (metrics::MetricKind::Counter, metrics::MetricKind::Gauge);
        for (kind, name, help, value) in [
            (
                counter,
                "latchkey_webhooks_delivered_total",
                "Events endpoints took.",
                self.delivered.load(Relaxed),
            ),
            (counter, "latchkey_webhooks_refused_total", "Attempts that failed.", self.refused.load(Relaxed)),
            (counter, "latchkey_webhooks_given_up_total", "Events given up.", self.given_up.load(Relaxed)),
            (
                gauge,
                "latchkey_webhooks_waiting",
                "Deliveries to be tried again, counted up to 10000.",
                waiting,
            ),
            (
                gauge,
                "latchkey_webhooks_lag",
                "Events that the first 10000 endpoints have not come to yet.",
                lag,
            ),
        ] {
            metrics::single(out, kind, name, help, value);
        }
        Ok(())
    }
}

/// Sends events. Clones share everything.
#[derive(Clone)]
pub struct Courier {
    parts: Arc<JobParts>,
    counts: Arc<DeliveryCounts>,
    is_stopped: Arc<AtomicBool>,
}

/// An endpoint this node has leased for some time.
struct LeasedEndpoint {
    endpoint: Endpoint,
    /// What it was taken under: another turn of this very node is somebody else.
    lease: Lease,
}

/// Why a turn ends early.
enum Stop {
    /// The endpoint was deleted, or taken by somebody who thought this node was gone.
    Lost,
    /// By an error of ours.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

/// Starts sending, until the courier is stopped and all that is on its way was noted.
pub fn spawn(courier: Courier) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut listener = courier.parts.bell.listen();
        let mut served = Served::default();
        while !courier.is_stopped.load(Relaxed) {
            if let Err(error) = courier.take(&mut served).await {
                tracing::error!(?error, "endpoints could not be taken; the next try is soon");
            }
            listener.wait(EVERY).await;
            served.clear();
        }
        while served.tasks.join_next().await.is_some() {}
    })
}

/// The turns that are under way.
#[derive(Default)]
struct Served {
    tasks: JoinSet<(InstanceId, bool)>,
    each: HashMap<InstanceId, TurnCount>,
}

/// The turns of one instance.
#[derive(Default)]
struct TurnCount {
    all: usize,
    /// Of endpoints that fail.
    failing: usize,
}

impl Served {
    fn clear(&mut self) {
        while let Some(done) = self.tasks.try_join_next() {
            match done {
                Ok((instance, is_failing)) => {
                    let count = self.each.entry(instance).or_default();
                    count.all = count.all.saturating_sub(1);
                    count.failing = count.failing.saturating_sub(usize::from(is_failing));
                }
                // Whose it was is not known; counting from nothing only gives more room.
                Err(_) => self.each.clear(),
            }
        }
        self.each.retain(|_, count| count.all > 0);
    }

    /// Notes a turn.
    fn note(&mut self, endpoint: &Endpoint) {
        let count = self.each.entry(endpoint.instance.clone()).or_default();
        count.all += 1;
        count.failing += usize::from(is_failing(endpoint));
    }

    /// Whether an endpoint may have a turn.
    fn has_room(&self, endpoint: &Endpoint) -> bool {
        let none = TurnCount::default();
        let own = self.each.get(&endpoint.instance).unwrap_or(&none);
        let failing: usize = self.each.values().map(|count| count.failing).sum();
        let may_fail = failing < AT_ONCE / FAILING_PART && own.failing < AT_ONCE_EACH / FAILING_PART;
        self.tasks.len() < AT_ONCE && own.all < AT_ONCE_EACH && (may_fail || !is_failing(endpoint))
    }
}

fn is_failing(endpoint: &Endpoint) -> bool {
    endpoint.failing_since.is_some()
}

impl Courier {
    /// Makes a courier. Connections are made when there is something to send.
    pub fn new(parts: &JobParts, counts: Arc<DeliveryCounts>) -> Courier {
        Courier { parts: Arc::new(parts.clone()), counts, is_stopped: Arc::default() }
    }

    /// Sends nothing more. What is on its way is still noted, and endpoints are given back.
    pub fn stop(&self) {
        self.is_stopped.store(true, Relaxed);
        self.parts.bell.ring_workers();
    }

    /// Whether a turn that ends then is over.
    fn is_over(&self, end: Instant) -> bool {
        Instant::now() >= end || self.is_stopped.load(Relaxed)
    }

    /// Sends all that is due now, and returns when it is done or the courier is stopped.
    pub async fn run_once(&self) -> Result<()> {
        while !self.is_stopped.load(Relaxed) {
            let mut turns = Vec::new();
            for endpoint in self.waiting().await? {
                turns.extend(self.lease(endpoint).await?);
            }
            if turns.is_empty() {
                return Ok(());
            }
            for turn in turns {
                self.serve(&turn).await?;
            }
        }
        Ok(())
    }

    /// Takes as many endpoints as there is room for, and serves each in a task of its own.
    async fn take(&self, served: &mut Served) -> Result<()> {
        for endpoint in self.waiting().await? {
            if !served.has_room(&endpoint) {
                continue;
            }
            let Some(turn) = self.lease(endpoint).await? else { continue };
            let place = (turn.endpoint.instance.clone(), is_failing(&turn.endpoint));
            served.note(&turn.endpoint);
            let courier = self.clone();
            served.tasks.spawn(async move {
                // Endpoints of each instance take its turns at the database, not each other's.
                let caller = callers::of_server(&turn.endpoint.instance);
                if let Err(error) = for_caller(caller, courier.serve(&turn)).await {
                    let id = &turn.endpoint.id;
                    tracing::error!(?error, endpoint.id = %id, "{id} could not be served; another try follows");
                }
                // What happened in the last moment rang while the endpoint was taken.
                courier.parts.bell.ring_workers();
                place
            });
        }
        Ok(())
    }

    /// Endpoints with something to send; those that had their turn longest ago come first.
    async fn waiting(&self) -> Result<Vec<Endpoint>> {
        let mut tx = self.parts.db.read().await?;
        webhooks::store::waiting(&mut tx, self.parts.clock.now(), LOOKED_AT).await
    }

    /// Makes an endpoint ours for some time, unless somebody was faster.
    async fn lease(&self, endpoint: Endpoint) -> Result<Option<LeasedEndpoint>> {
        let (taken, rng, now) = (endpoint.clone(), self.parts.rng.clone(), self.parts.clock.now());
        let until = now.plus_ms(LEASE_MS);
        let lease = self.parts.db.write(move |tx| {
            Box::pin(async move { webhooks::store::lease(tx, &taken, &*rng, now, until).await })
        });
        Ok(lease.await?.map(|lease| LeasedEndpoint { endpoint, lease }))
    }

    /// Keeps an endpoint for a while, or gives it back. Says whether it was still ours.
    async fn renew(&self, turn: &LeasedEndpoint, while_ms: i64) -> Result<bool> {
        let (endpoint, lease) = (turn.endpoint.clone(), turn.lease.clone());
        let until = self.parts.clock.now().plus_ms(while_ms);
        let renewed = self.parts.db.write(move |tx| {
            Box::pin(async move { webhooks::store::renew(tx, &endpoint, &lease, until).await })
        });
        renewed.await
    }

    /// Serves an endpoint for one turn, and gives it back.
    async fn serve(&self, turn: &LeasedEndpoint) -> Result<()> {
        let ended = tokio::select! {
            ended = self.send_all(turn) => ended,
            lost = self.keep(turn) => lost,
        };
        match ended {
            Ok(()) => {
                self.renew(turn, 0).await?;
                Ok(())
            }
            Err(Stop::Lost) => {
                // Somebody who moved the cursor has not taken it: it is served from there at once.
                self.renew(turn, 0).await?;
                tracing::info!(endpoint.id = %turn.endpoint.id, "{} is no longer ours", turn.endpoint.id);
                Ok(())
            }
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// Keeps an endpoint until that fails.
    async fn keep(&self, turn: &LeasedEndpoint) -> Result<(), Stop> {
        loop {
            tokio::time::sleep(RENEW).await;
            if !self.renew(turn, LEASE_MS).await? {
                return Err(Stop::Lost);
            }
        }
    }

    /// Sends to an endpoint until there is nothing left or its turn is over.
    async fn send_all(&self, turn: &LeasedEndpoint) -> Result<(), Stop> {
        let end = Instant::now() + TURN;
        let mut listener = self.parts.bell.listen_to(&turn.endpoint.instance);
        let mut senders = Senders::default();
        loop {
            if !self.is_over(end) {
                self.send_what_is_there(turn, end, &mut senders).await?;
            }
            if senders.is_idle() {
                return Ok(());
            }
            // Some answers take long. Others are not held up by them: there may be something new to send.
            tokio::select! {
                done = senders.wait() => done?,
                () = listener.wait(EVERY), if !self.is_over(end) => {}
            }
            let late = senders.take_late()?;
            if !late.deliveries.is_empty() {
                Sent::late(self, &turn.endpoint, late).await?.save(self, &turn.lease).await?;
            }
        }
    }

    /// Sends batch after batch. While one is on its way, what became of the one before is noted and the next one
    /// is read.
    async fn send_what_is_there(
        &self,
        turn: &LeasedEndpoint,
        end: Instant,
        senders: &mut Senders,
    ) -> Result<(), Stop> {
        let mut next = Batch::read(self, turn, senders.late()).await?;
        let mut unsaved: Option<Sent> = None;
        while let Some(mut batch) = next.take() {
            let sending = senders.send(batch.round(self, end)?);
            let beside = async {
                if let Some(sent) = unsaved.take() {
                    sent.save(self, &turn.lease).await?;
                }
                Ok::<_, Stop>(batch.read_ahead(self).await)
            };
            // What became of the batch before is noted even if sending this one fails.
            let (outcome, ahead) = try_join(sending.map(Ok), beside).await?;
            let sent = batch.became(outcome?, senders.take_late()?);
            let is_over = self.is_over(end);
            match ahead.filter(|_| sent.is_all_taken() && !is_over) {
                Some(ahead) if ahead.is_current(self).await? => {
                    (unsaved, next) = (Some(sent), Some(ahead));
                }
                _ => {
                    sent.save(self, &turn.lease).await?;
                    next = if is_over { None } else { Batch::read(self, turn, senders.late()).await? };
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use latchkey_base::Time;
    use latchkey_base::kinds::WebhookEndpointId;
    use latchkey_base::rng::SeededRng;

    use super::*;

    const NOW: Time = Time::from_ms(1_767_225_600_000);

    fn endpoint(instance: u64, failing_since: Option<Time>) -> Endpoint {
        Endpoint {
            instance: InstanceId::new(NOW, &SeededRng::new(instance)),
            id: WebhookEndpointId::new(NOW, &SeededRng::new(1)),
            url: String::new(),
            description: String::new(),
            kinds: Vec::new(),
            secrets_sealed: Vec::new(),
            is_disabled: false,
            cursor_seq: 0,
            failing_since,
            created_at: NOW,
            updated_at: NOW,
        }
    }

    #[test]
    fn endpoints_that_hang_leave_places_to_those_that_answer() {
        let (healthy, failing) = (endpoint(1, None), endpoint(1, Some(NOW)));
        let mut served = Served::default();
        for _ in 0..AT_ONCE_EACH / FAILING_PART {
            assert!(served.has_room(&failing));
            served.note(&failing);
        }
        assert!(!served.has_room(&failing) && served.has_room(&endpoint(2, Some(NOW))));
        for _ in 0..AT_ONCE_EACH / FAILING_PART {
            assert!(served.has_room(&healthy));
            served.note(&healthy);
        }
        assert!(!served.has_room(&healthy) && served.has_room(&endpoint(2, None)));
    }
}
