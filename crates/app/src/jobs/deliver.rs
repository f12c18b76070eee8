//! Sends events to the endpoints that want them.
//!
//! An endpoint is served by one node at a time, which takes it for some seconds and keeps it while there is
//! something to send. It reads the events behind the endpoint's cursor, sends them, and in one transaction
//! notes what became of each and moves the cursor. When a node dies in between, the time runs out and
//! another one begins again at the cursor: an event may arrive twice, with the same id, but never not at
//! all. What was not taken is tried again later, and holds up the next events about the same subject only.

mod batch;
mod rules;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use latchkey_base::rng;
use latchkey_base::{Error, Result};
use latchkey_db::Tx;
use latchkey_jose::digest::hex;
use latchkey_web::metrics;
use tokio::task::{JoinHandle, JoinSet};

use self::batch::Batch;
use super::Parts;
use crate::resources::webhooks::model::Endpoint;
use crate::resources::{webhook_deliveries, webhooks};

/// How often a node looks by itself: retries become due, and other nodes ring no bell here.
const EVERY: Duration = Duration::from_millis(500);
/// Endpoints served at once.
const AT_ONCE: usize = 32;
/// How long an endpoint is taken for.
const LEASE_MS: i64 = 9_000;
/// How often whoever has it renews that.
const RENEW: Duration = Duration::from_secs(3);

/// What became of events since the server started.
#[derive(Default)]
pub struct Counts {
    delivered: AtomicU64,
    refused: AtomicU64,
    given_up: AtomicU64,
}

impl Counts {
    /// Writes them for those who watch the server, with what is still to be sent.
    pub async fn render(&self, out: &mut String, tx: &mut Tx) -> Result<()> {
        let waiting = webhook_deliveries::store::waiting(tx).await?.unsigned_abs();
        let lag = webhooks::store::lag(tx).await?.unsigned_abs();
        let (counter, gauge) = (metrics::Kind::Counter, metrics::Kind::Gauge);
        for (kind, name, help, value) in [
            (
                counter,
                "latchkey_webhooks_delivered_total",
                "Events endpoints took.",
                self.delivered.load(Relaxed),
            ),
            (counter, "latchkey_webhooks_refused_total", "Attempts that failed.", self.refused.load(Relaxed)),
            (counter, "latchkey_webhooks_given_up_total", "Events given up.", self.given_up.load(Relaxed)),
            (gauge, "latchkey_webhooks_waiting", "Deliveries to be tried again.", waiting),
            (gauge, "latchkey_webhooks_lag", "Events endpoints have not come to yet.", lag),
        ] {
            metrics::single(out, kind, name, help, value);
        }
        Ok(())
    }
}

/// Sends events.
pub struct Courier {
    parts: Parts,
    /// What this node calls itself when it takes an endpoint.
    node: String,
}

/// Starts sending. It ends with the runtime or when the handle is aborted.
pub fn spawn(courier: Courier) -> JoinHandle<()> {
    let courier = Arc::new(courier);
    tokio::spawn(async move {
        let mut listener = courier.parts.bell.listen();
        let mut served = JoinSet::new();
        loop {
            if let Err(error) = courier.take(&mut served).await {
                tracing::error!(?error, "endpoints could not be taken; the next try is soon");
            }
            listener.wait(EVERY).await;
            while served.try_join_next().is_some() {}
        }
    })
}

impl Courier {
    /// Makes a courier. Connections are made when there is something to send.
    pub fn new(parts: &Parts) -> Courier {
        Courier { parts: parts.clone(), node: hex(&rng::bytes::<8>(&*parts.rng)) }
    }

    /// Sends all that is due now, and returns when it is done.
    pub async fn run_once(&self) -> Result<()> {
        loop {
            let taken = self.lease(AT_ONCE).await?;
            if taken.is_empty() {
                return Ok(());
            }
            for endpoint in taken {
                self.serve(&endpoint).await?;
            }
        }
    }

    /// Takes as many endpoints as there is room for, and serves each in a task of its own.
    async fn take(self: &Arc<Courier>, served: &mut JoinSet<()>) -> Result<()> {
        for endpoint in self.lease(AT_ONCE.saturating_sub(served.len())).await? {
            let courier = self.clone();
            served.spawn(async move {
                if let Err(error) = courier.serve(&endpoint).await {
                    let id = &endpoint.id;
                    tracing::error!(?error, endpoint.id = %id, "{id} could not be served; another try follows");
                }
                // What happened in the last moment rang while the endpoint was taken.
                courier.parts.bell.ring();
            });
        }
        Ok(())
    }

    /// Endpoints with something to send that are ours from now on.
    async fn lease(&self, room: usize) -> Result<Vec<Endpoint>> {
        let (now, limit) = (self.parts.clock.now(), i64::try_from(room).map_err(Error::internal)?);
        let waiting = match limit {
            0 => Vec::new(),
            _ => {
                let mut tx = self.parts.db.read().await?;
                webhooks::store::waiting(&mut tx, now, rules::HOLDING_ATTEMPTS, limit).await?
            }
        };
        let mut taken = Vec::new();
        for endpoint in waiting {
            if self.keep(&endpoint).await? {
                taken.push(endpoint);
            }
        }
        Ok(taken)
    }

    /// Takes an endpoint, or keeps it for longer. Says whether it is ours.
    async fn keep(&self, endpoint: &Endpoint) -> Result<bool> {
        let (endpoint, node, now) = (endpoint.clone(), self.node.clone(), self.parts.clock.now());
        let lease = self.parts.db.write(move |tx| {
            Box::pin(
                async move { webhooks::store::lease(tx, &endpoint, &node, now, now.plus_ms(LEASE_MS)).await },
            )
        });
        lease.await
    }

    /// Sends to an endpoint until there is nothing left, and gives it back.
    async fn serve(&self, endpoint: &Endpoint) -> Result<()> {
        while let Some(batch) = Batch::read(self, endpoint).await? {
            let sent = self.while_ours(endpoint, batch.send(self)).await?;
            batch.save(self, sent).await?;
        }
        let (endpoint, node) = (endpoint.clone(), self.node.clone());
        let release = self
            .parts
            .db
            .write(move |tx| Box::pin(async move { webhooks::store::release(tx, &endpoint, &node).await }));
        release.await
    }

    /// Does something while the endpoint is ours, and keeps it so.
    async fn while_ours<T>(&self, endpoint: &Endpoint, work: impl Future<Output = Result<T>>) -> Result<T> {
        let renewal = async {
            loop {
                tokio::time::sleep(RENEW).await;
                if !self.keep(endpoint).await? {
                    return Err::<T, Error>(Error::internal("another node took the endpoint"));
                }
            }
        };
        tokio::select! {
            done = work => done,
            lost = renewal => lost,
        }
    }
}
