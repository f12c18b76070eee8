//! Sends the messages that wait in their table.
//!
//! A message is taken for some seconds; whoever took it sends it and notes what became of it. When a node
//! dies in between, the time runs out and another one sends it again: twice is better than never, and the
//! id is the same. Nobody takes more than can be sent at once, so nothing waits while it is taken.

mod redaction;
mod rules;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Error, Result, Time, rng};
use latchkey_db::Tx;
use latchkey_kernel::bell::Listener;
use latchkey_kernel::instances;
use latchkey_kernel::jobs::JobParts;
use latchkey_kernel::limits::METRICS_ROWS;
use latchkey_web::metrics;
use tokio::task::{JoinHandle, JoinSet};

use self::redaction::redacted;
use crate::messages::model::Queued;
use crate::messages::store;
use crate::transports::{Letter, SEND, SendOutcome, SendingInstance, Transports};

/// How often messages are looked for.
const EVERY: Duration = Duration::from_millis(500);
/// Messages on their way at once.
const AT_ONCE: usize = 64;
/// The same for one instance, so that a slow mail server holds up nobody else.
const AT_ONCE_EACH: usize = 16;
/// Of all, those kept for the first message of an instance: slow mail servers of a few cannot take them all.
const KEPT: usize = 16;
/// Instances looked at in one go.
const INSTANCES: i64 = 100;
/// How long a message is taken for: an attempt, and the time to note what became of it.
const LEASE_MS: i64 = SEND.as_millis() as i64 + 10_000;

/// What became of messages since the server started.
#[derive(Default)]
pub struct MessageCounts {
    /// Taken by a service.
    pub sent: AtomicU64,
    /// Given up.
    pub failed: AtomicU64,
    /// To be tried again.
    pub retried: AtomicU64,
}

impl MessageCounts {
    /// Writes them for those who watch the server, with how many messages wait.
    pub async fn render(&self, out: &mut String, tx: &mut Tx) -> Result<()> {
        let waiting = store::waiting(tx, METRICS_ROWS).await?;
        let (counter, gauge) = (metrics::MetricKind::Counter, metrics::MetricKind::Gauge);
        for (kind, name, help, value) in [
            (counter, "latchkey_messages_sent_total", "Messages a service took.", self.sent.load(Relaxed)),
            (counter, "latchkey_messages_failed_total", "Messages given up.", self.failed.load(Relaxed)),
            (counter, "latchkey_messages_retried_total", "Attempts to repeat.", self.retried.load(Relaxed)),
            (
                gauge,
                "latchkey_messages_waiting",
                "Messages to be sent, counted up to 10000.",
                waiting.unsigned_abs(),
            ),
        ] {
            metrics::single(out, kind, name, help, value);
        }
        Ok(())
    }
}

/// Sends messages.
pub struct Post {
    parts: JobParts,
    counts: Arc<MessageCounts>,
    transports: Transports,
}

/// The messages that are on their way.
#[derive(Default)]
struct Round {
    tasks: JoinSet<InstanceId>,
    flying: HashMap<InstanceId, usize>,
}

/// Starts sending. It ends with the runtime or when the handle is aborted; what was on its way then is sent
/// again when its time is over.
pub fn spawn(post: Post) -> JoinHandle<()> {
    let post = Arc::new(post);
    tokio::spawn(async move {
        let mut round = Round::default();
        let mut listener = post.parts.bell.listen();
        loop {
            if let Err(error) = post.take(&mut round).await {
                tracing::error!(?error, "messages could not be taken; the next try is soon");
            }
            round.rest(&mut listener).await;
        }
    })
}

impl Post {
    /// Opens the post office. Connections are made when there is something to send. `extra_roots` is a PEM
    /// file with authorities to trust beside those of the operating system.
    pub fn new(parts: &JobParts, counts: Arc<MessageCounts>, extra_roots: Option<PathBuf>) -> Result<Post> {
        let transports = Transports::new(parts.master.clone(), extra_roots)?;
        Ok(Post { parts: parts.clone(), counts, transports })
    }

    /// Sends all that is due now, and returns when it is done.
    pub async fn run_once(self: &Arc<Post>) -> Result<()> {
        let mut round = Round::default();
        while self.take(&mut round).await? > 0 {
            while !round.tasks.is_empty() {
                round.landed().await;
            }
        }
        Ok(())
    }

    /// Takes as many due messages as there is room for, and lets them go. Says how many.
    async fn take(self: &Arc<Post>, round: &mut Round) -> Result<usize> {
        let now = self.parts.clock.now();
        let due = store::due(&mut self.parts.db.read().await?, now, INSTANCES).await?;
        let mut taken = 0;
        for instance in round.ordered(due) {
            let room = round.room(&instance);
            if room == 0 {
                continue;
            }
            let until = now.plus_ms(LEASE_MS);
            let (sender, queued) = self.claim(instance, now, until, room).await?;
            taken += queued.len();
            for message in queued {
                *round.flying.entry(sender.instance.clone()).or_default() += 1;
                let (post, sender) = (self.clone(), sender.clone());
                round.tasks.spawn(async move {
                    post.deliver(&sender, message, until).await;
                    sender.instance
                });
            }
        }
        Ok(taken)
    }

    async fn claim(
        &self,
        id: InstanceId,
        now: Time,
        until: Time,
        room: usize,
    ) -> Result<(SendingInstance, Vec<Queued>)> {
        let work = self.parts.db.write(move |tx| {
            Box::pin(async move {
                let found = instances::store::find(tx, &id).await?;
                let instance = found.ok_or_else(|| Error::not_found("instance", &id))?;
                let queued = store::claim(tx, &id, now, until, room as i64).await?;
                Ok((instance, queued))
            })
        });
        let (instance, queued) = work.await?;
        let sender = SendingInstance {
            instance: instance.id,
            environment: instance.environment,
            settings: Arc::new(instance.settings),
            settings_revision: instance.settings_revision,
        };
        Ok((sender, queued))
    }

    /// Sends one message and notes what became of it.
    async fn deliver(&self, sender: &SendingInstance, queued: Queued, until: Time) {
        let state = rules::SendingState::of(&queued);
        let outcome = match state.is_over(self.parts.clock.now()) {
            true => SendOutcome::Never("It could not be sent in time.".to_owned()),
            false => self.attempt(sender, &queued).await,
        };
        let random = u32::from_le_bytes(rng::bytes(&*self.parts.rng));
        let verdict = rules::judge(outcome, &state, self.parts.clock.now(), random);
        self.count(&verdict, &queued, sender);
        let (instance, id) = (sender.instance.clone(), queued.id.clone());
        let noted = self.parts.db.write(move |tx| {
            Box::pin(async move { store::settle(tx, &instance, &id, until, verdict.outcome()).await })
        });
        match noted.await {
            Ok(true) => {}
            Ok(false) => tracing::warn!(message.id = %queued.id, "{} took too long to send", queued.id),
            Err(error) => tracing::error!(?error, message.id = %queued.id, "{} is sent again", queued.id),
        }
    }

    async fn attempt(&self, sender: &SendingInstance, queued: &Queued) -> SendOutcome {
        let opened = self.parts.master.open(queued.id.as_str(), &queued.content).ok();
        let Some(said) = opened.and_then(|plain| serde_json::from_slice(&plain).ok()) else {
            return SendOutcome::Never("The message cannot be opened.".to_owned());
        };
        let Queued { id, channel, to, slug, created_at, .. } = queued.clone();
        let letter = Letter { id, channel, to, slug, said, created_at, sent_at: self.parts.clock.now() };
        self.transports.send(sender, &letter).await
    }

    fn count(&self, verdict: &rules::Verdict, queued: &Queued, sender: &SendingInstance) {
        let (id, instance) = (&queued.id, &sender.instance);
        match verdict {
            rules::Verdict::Sent => drop(self.counts.sent.fetch_add(1, Relaxed)),
            rules::Verdict::Held => {}
            rules::Verdict::Again { why, .. } => {
                self.counts.retried.fetch_add(1, Relaxed);
                tracing::warn!(message.id = %id, instance.id = %instance, why = redacted(why, &queued.to), "{id} of {instance} is tried again");
            }
            rules::Verdict::Failed { why } => {
                self.counts.failed.fetch_add(1, Relaxed);
                tracing::warn!(message.id = %id, instance.id = %instance, why = redacted(why, &queued.to), "{id} of {instance} was not sent");
            }
        }
    }
}

impl Round {
    /// Instances in the order in which they get what room there is: those with the fewest messages on their
    /// way first, so that nobody waits for the slow servers of others.
    fn ordered(&self, mut due: Vec<InstanceId>) -> Vec<InstanceId> {
        due.sort_by_key(|instance| self.flying_of(instance));
        due
    }

    fn flying_of(&self, instance: &InstanceId) -> usize {
        self.flying.get(instance).copied().unwrap_or_default()
    }

    /// How many more messages of an instance may go.
    fn room(&self, instance: &InstanceId) -> usize {
        room(self.flying_of(instance), self.tasks.len())
    }

    /// Waits until there may be something to do: a ring, some time, or a message that made room.
    async fn rest(&mut self, listener: &mut Listener) {
        tokio::select! {
            () = listener.wait(EVERY) => {}
            () = self.landed(), if !self.tasks.is_empty() => {}
        }
    }

    /// Waits for one message, and notes all that are done.
    async fn landed(&mut self) {
        let mut next = self.tasks.join_next().await;
        while let Some(done) = next {
            match done {
                Ok(instance) => {
                    let left = self.flying_of(&instance).saturating_sub(1);
                    match left {
                        0 => drop(self.flying.remove(&instance)),
                        left => drop(self.flying.insert(instance, left)),
                    }
                }
                Err(error) => tracing::error!(?error, "sending a message panicked"),
            }
            next = self.tasks.try_join_next();
        }
        if self.tasks.is_empty() {
            self.flying.clear();
        }
    }
}

/// How many more messages may go of an instance that has `own` on their way, when there are `all`.
fn room(own: usize, all: usize) -> usize {
    let first = usize::from(own == 0 && all < AT_ONCE);
    let shared = (AT_ONCE - KEPT).saturating_sub(all);
    AT_ONCE_EACH.saturating_sub(own).min(shared).max(first)
}

#[cfg(test)]
mod tests {
    use latchkey_base::rng::SystemRng;

    use super::*;

    #[test]
    fn some_room_is_kept_for_those_with_nothing_on_its_way() {
        assert_eq!((room(0, 0), room(4, 4), room(16, 16)), (16, 12, 0));
        assert_eq!((room(0, 40), room(8, 40), room(0, 47)), (8, 8, 1));
        assert_eq!((room(0, 48), room(1, 48), room(0, 63), room(0, 64)), (1, 0, 1, 0));
    }

    #[test]
    fn those_with_the_fewest_messages_on_their_way_come_first() {
        let [a, b, c, d] = [1, 2, 3, 4].map(|at| InstanceId::new(Time::from_ms(at), &SystemRng));
        let flying = HashMap::from([(a.clone(), 16), (b.clone(), 3)]);
        let round = Round { flying, ..Round::default() };
        let due = vec![a.clone(), b.clone(), c.clone(), d.clone()];
        assert_eq!(round.ordered(due), [c, d, b, a]);
    }
}
