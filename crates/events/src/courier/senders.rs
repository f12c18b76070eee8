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
use crate::feed::model::StoredEvent;
use crate::webhooks::deliveries::model::Delivery;
use crate::webhooks::sending::{WebhookSender, WebhookTarget};

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

/// The subjects of what is under way although its batch was noted, and how many chains there are of each.
pub(super) type Late = HashMap<String, usize>;

/// Those who send to an endpoint during one turn. They end with this value.
#[derive(Default)]
pub(super) struct Senders {
    /// Each ends with what it finished after its batch had been noted.
    tasks: JoinSet<Result<Outcome>>,
    under_way: Late,
    done: Outcome,
}

impl Senders {
    /// Sends everything of a batch and says what became of it. What takes long is noted as waiting; what becomes
    /// of it after all is told by [`Senders::take_late`].
    pub(super) async fn send(&mut self, round: Round) -> Result<Outcome> {
        let round = Arc::new(round);
        self.fill(&round);
        let mut answers = 0;
        while !round.is_done() {
            match timeout(PATIENCE, self.tasks.join_next()).await {
                Ok(Some(done)) => {
                    self.note(done)?;
                    self.fill(&round);
                }
                Ok(None) => break,
                Err(_) if round.is_begun() && round.lock().answers == answers => break,
                Err(_) => answers = round.lock().answers,
            }
        }
        let (outcome, late) = round.close();
        for subject in late {
            *self.under_way.entry(subject).or_default() += 1;
        }
        Ok(outcome)
    }

    /// As many as there is room for beside those who are late. Tasks, so that all processors take part.
    fn fill(&mut self, round: &Arc<Round>) {
        let wanted = round.lock().waiting.len();
        for _ in 0..wanted.min(REQUESTS.saturating_sub(self.tasks.len())) {
            self.tasks.spawn(round.clone().send());
        }
    }

    /// What is under way although its batch was noted.
    pub(super) fn late(&self) -> &Late {
        &self.under_way
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
        Ok(std::mem::take(&mut self.done))
    }

    fn note(&mut self, done: Result<Result<Outcome>, JoinError>) -> Result<()> {
        let outcome = done.map_err(Error::internal)??;
        if let Some(Delivery { subject, .. }) = outcome.deliveries.first()
            && let Some(count) = self.under_way.get_mut(subject)
        {
            *count -= 1;
            self.under_way.retain(|_, count| *count > 0);
        }
        self.done.add(outcome);
        Ok(())
    }
}

/// What those who send a batch share.
pub(super) struct Round {
    courier: Courier,
    target: WebhookTarget,
    end: Instant,
    state: Mutex<State>,
}

struct State {
    waiting: Enumerate<vec::IntoIter<Chain>>,
    under_way: HashMap<usize, UnderWay>,
    outcome: Outcome,
    /// How many attempts have come to an end.
    answers: usize,
}

/// A chain, and what became of its first events.
struct UnderWay {
    chain: Arc<Chain>,
    outcome: Outcome,
}

impl Round {
    pub(super) fn new(courier: &Courier, target: WebhookTarget, end: Instant, chains: Vec<Chain>) -> Round {
        let waiting = chains.into_iter().enumerate();
        let state = State { waiting, under_way: HashMap::new(), outcome: Outcome::default(), answers: 0 };
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
            let late = self.send_chain(number, &chain).await?;
            let mut state = self.lock();
            match state.under_way.remove(&number) {
                Some(done) => state.outcome.add(done.outcome),
                None => return Ok(late),
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
        let begun = UnderWay { chain: chain.clone(), outcome: Outcome::default() };
        state.under_way.insert(number, begun);
        Some((number, chain))
    }

    /// Sends events about one subject, each when the one before it has arrived. Returns what was done too late.
    async fn send_chain(&self, number: usize, chain: &Chain) -> Result<Outcome> {
        let parts = &self.courier.parts;
        let sender = WebhookSender {
            client: &parts.outbound,
            master: &parts.master,
            clock: &*parts.clock,
            timeout: parts.answer_timeout,
        };
        let (mut late, mut is_held) = (Outcome::default(), false);
        for (nth, Item { event, delivery }) in chain.iter().enumerate() {
            let (delivery, mut is_success) = (delivery.clone(), None);
            let became = if is_held {
                rules::held(delivery, parts.clock.now())
            } else if nth > 0 && !self.goes_on(number) {
                rules::left(delivery, parts.clock.now())
            } else if let Some(attempt) = sender.send(&self.target, event).await? {
                is_success = Some(attempt.is_success());
                let tried = rules::tried(delivery, attempt, parts.clock.now(), &*parts.rng);
                is_held = rules::is_holding(&tried);
                tried
            } else {
                rules::lost(delivery, UNREADABLE, parts.clock.now())
            };
            self.note(number, became, is_success, &mut late);
        }
        Ok(late)
    }

    /// Notes what became of an event: with its batch, or as done too late.
    fn note(&self, number: usize, became: Delivery, is_success: Option<bool>, late: &mut Outcome) {
        let mut state = self.lock();
        state.answers += 1;
        let outcome = state.under_way.get_mut(&number).map_or(late, |it| &mut it.outcome);
        outcome.deliveries.push(became);
        outcome.attempts.extend(is_success);
    }

    /// Whether the next event of a chain is sent. One that is late ends where it is: it is noted as waiting, and
    /// must be done before that time comes.
    fn goes_on(&self, number: usize) -> bool {
        !self.is_over() && self.lock().under_way.contains_key(&number)
    }

    /// Says what became of everything, and the subjects of what is still under way: whatever is done after this is
    /// late.
    fn close(&self) -> (Outcome, Vec<String>) {
        let parts = &self.courier.parts;
        let now = parts.clock.now();
        let mut state = self.lock();
        let (mut outcome, mut subjects) = (std::mem::take(&mut state.outcome), Vec::new());
        for UnderWay { chain, outcome: done } in std::mem::take(&mut state.under_way).into_values() {
            let left = chain.iter().skip(done.deliveries.len()).map(|item| &item.delivery);
            subjects.extend(left.clone().next().map(|delivery| delivery.subject.clone()));
            let late = left.map(|delivery| rules::late(delivery.clone(), parts.answer_timeout, now));
            outcome.deliveries.extend(late);
            outcome.add(done);
        }
        let left = state.waiting.by_ref().flat_map(|(_, chain)| chain);
        outcome.deliveries.extend(left.map(|item| rules::left(item.delivery, now)));
        (outcome, subjects)
    }
}
