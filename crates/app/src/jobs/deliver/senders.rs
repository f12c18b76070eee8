//! Those who send to one endpoint: some subjects at once, each in its order.

use std::collections::HashMap;
use std::iter::Enumerate;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::vec;

use latchkey_base::{Error, Result};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, timeout};

use super::{Courier, rules};
use crate::resources::events::model::StoredEvent;
use crate::resources::webhook_deliveries::model::Delivery;
use crate::resources::webhooks::sending::{Sender, Target};

/// Requests to one endpoint at once.
const REQUESTS: usize = 16;
/// How long the end of a batch waits for its last answers. Whoever takes longer holds up nobody but what comes
/// about the same subject.
const PATIENCE: Duration = Duration::from_secs(1);
/// Why an event is not sent: it is damaged, or sealed with another key.
const UNREADABLE: &str = "The event cannot be opened.";

/// Events about one subject, oldest first: one is sent when the one before it has arrived.
pub(super) type Chain = Vec<Item>;

/// An event and what is known of its delivery.
pub(super) struct Item {
    pub(super) event: StoredEvent,
    pub(super) delivery: Delivery,
}

/// What became of events.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) deliveries: Vec<Delivery>,
    /// Whether each attempt succeeded.
    pub(super) attempts: Vec<bool>,
}

impl Outcome {
    /// Adds what became of others.
    pub(super) fn add(&mut self, other: Outcome) {
        self.deliveries.extend(other.deliveries);
        self.attempts.extend(other.attempts);
    }
}

/// Those who send to an endpoint during one turn. They end with this value.
#[derive(Default)]
pub(super) struct Senders {
    /// Each ends with what it finished after its batch had been noted.
    tasks: JoinSet<Result<Outcome>>,
    late: Outcome,
}

impl Senders {
    /// Sends everything of a batch and says what became of it. What takes long is noted as waiting; what becomes
    /// of it after all is told by [`Senders::take_late`].
    pub(super) async fn send(&mut self, round: Round) -> Result<Outcome> {
        let round = Arc::new(round);
        let wanted = round.lock().waiting.len();
        while wanted > 0 && self.tasks.len() >= REQUESTS {
            self.wait().await?;
        }
        // Tasks, so that all processors take part.
        for _ in 0..wanted.min(REQUESTS - self.tasks.len()) {
            self.tasks.spawn(round.clone().send());
        }
        while !round.is_done() {
            match timeout(PATIENCE, self.tasks.join_next()).await {
                Ok(Some(done)) => self.note(done)?,
                Ok(None) => break,
                Err(_) if round.is_begun() => break,
                Err(_) => {}
            }
        }
        Ok(round.close())
    }

    /// Whether nobody is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Waits until one of them is done.
    pub(super) async fn wait(&mut self) -> Result<()> {
        match self.tasks.join_next().await {
            Some(done) => self.note(done),
            None => Ok(()),
        }
    }

    /// What was done after its batch had been noted.
    pub(super) fn take_late(&mut self) -> Result<Outcome> {
        while let Some(done) = self.tasks.try_join_next() {
            self.note(done)?;
        }
        Ok(std::mem::take(&mut self.late))
    }

    fn note(&mut self, done: Result<Result<Outcome>, JoinError>) -> Result<()> {
        self.late.add(done.map_err(Error::internal)??);
        Ok(())
    }
}

/// What those who send a batch share.
pub(super) struct Round {
    courier: Courier,
    target: Target,
    end: Instant,
    state: Mutex<State>,
}

struct State {
    waiting: Enumerate<vec::IntoIter<Chain>>,
    under_way: HashMap<usize, Arc<Chain>>,
    outcome: Outcome,
}

impl Round {
    pub(super) fn new(courier: &Courier, target: Target, end: Instant, chains: Vec<Chain>) -> Round {
        let waiting = chains.into_iter().enumerate();
        let state = State { waiting, under_way: HashMap::new(), outcome: Outcome::default() };
        Round { courier: courier.clone(), target, end, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing more is to be sent.
    fn is_over(&self) -> bool {
        self.courier.is_over(self.end)
    }

    /// Whether all that is to be sent is at least under way.
    fn is_begun(&self) -> bool {
        self.is_over() || self.lock().waiting.len() == 0
    }

    fn is_done(&self) -> bool {
        self.is_begun() && self.lock().under_way.is_empty()
    }

    /// Sends one chain after the other, beside others who do. Ends with what was done too late.
    async fn send(self: Arc<Round>) -> Result<Outcome> {
        while let Some((number, chain)) = self.next() {
            let outcome = self.send_chain(number, &chain).await?;
            let mut state = self.lock();
            match state.under_way.remove(&number) {
                Some(_) => state.outcome.add(outcome),
                None => return Ok(outcome),
            }
        }
        Ok(Outcome::default())
    }

    fn next(&self) -> Option<(usize, Arc<Chain>)> {
        if self.is_over() {
            return None;
        }
        let mut state = self.lock();
        let (number, chain) = state.waiting.next()?;
        let chain = Arc::new(chain);
        state.under_way.insert(number, chain.clone());
        Some((number, chain))
    }

    /// Sends events about one subject, each when the one before it has arrived.
    async fn send_chain(&self, number: usize, chain: &Chain) -> Result<Outcome> {
        let parts = &self.courier.parts;
        let sender = Sender {
            client: &parts.outbound,
            master: &parts.master,
            clock: &*parts.clock,
            timeout: parts.answer_timeout,
        };
        let (mut outcome, mut is_held) = (Outcome::default(), false);
        for (nth, Item { event, delivery }) in chain.iter().enumerate() {
            let (delivery, is_first) = (delivery.clone(), nth == 0);
            outcome.deliveries.push(if is_held {
                rules::held(delivery, parts.clock.now())
            } else if !is_first && !self.goes_on(number) {
                rules::left(delivery, parts.clock.now())
            } else if let Some(attempt) = sender.send(&self.target, event).await? {
                outcome.attempts.push(attempt.is_success());
                let delivery = rules::tried(delivery, attempt, parts.clock.now(), &*parts.rng);
                is_held = rules::is_holding(&delivery);
                delivery
            } else {
                rules::lost(delivery, UNREADABLE, parts.clock.now())
            });
        }
        Ok(outcome)
    }

    /// Whether the next event of a chain is sent. One that is late ends where it is: it is noted as waiting, and
    /// must be done before that time comes.
    fn goes_on(&self, number: usize) -> bool {
        !self.is_over() && self.lock().under_way.contains_key(&number)
    }

    /// Says what became of everything. Whatever is done after this is late.
    fn close(&self) -> Outcome {
        let parts = &self.courier.parts;
        let now = parts.clock.now();
        let mut state = self.lock();
        let mut outcome = std::mem::take(&mut state.outcome);
        for chain in std::mem::take(&mut state.under_way).into_values() {
            let late = chain.iter().map(|item| rules::late(item.delivery.clone(), parts.answer_timeout, now));
            outcome.deliveries.extend(late);
        }
        let left = state.waiting.by_ref().flat_map(|(_, chain)| chain);
        outcome.deliveries.extend(left.map(|item| rules::left(item.delivery, now)));
        outcome
    }
}
