//! Whose turn it is to have a connection of PostgreSQL. Whoever waits for a row keeps a connection meanwhile, so a caller
//! that makes many requests at once could have them all. Each leaves a quarter to others, and those who wait take turns.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// On whose behalf something is done. Work of the server itself has none.
pub(crate) type CallerName = Option<Arc<str>>;

tokio::task_local! {
    static CALLER: Arc<str>;
}

/// Does something on behalf of a caller, such as the backend of an application: connections of PostgreSQL and the writer of
/// SQLite are shared out by callers.
pub async fn for_caller<F: Future>(caller: Arc<str>, work: F) -> F::Output {
    CALLER.scope(caller, work).await
}

/// The caller of the present task.
pub(crate) fn caller() -> CallerName {
    CALLER.try_with(Arc::clone).ok()
}

/// Connections, and who has them or waits for one.
pub(crate) struct Turns {
    state: Mutex<State>,
    /// As many as one caller may have.
    most: usize,
}

struct State {
    free: usize,
    held: HashMap<CallerName, usize>,
    /// Whoever waits, with the caller who has waited longest for a turn in front.
    waiting: VecDeque<(CallerName, VecDeque<oneshot::Sender<Turn>>)>,
}

/// A turn, which lasts until this is dropped.
pub(crate) struct Turn(Option<(Arc<Turns>, CallerName)>);

impl Turns {
    pub(crate) fn new(total: usize) -> Arc<Turns> {
        let state = State { free: total, held: HashMap::new(), waiting: VecDeque::new() };
        Arc::new(Turns { state: Mutex::new(state), most: (total - total / 4).max(1) })
    }

    /// The next turn of a caller; waits for it.
    pub(crate) async fn take(self: &Arc<Self>, caller: CallerName) -> Turn {
        let (sender, turn) = oneshot::channel();
        self.wait(caller, sender);
        // The sender is in the queue until it sends.
        turn.await.unwrap_or(Turn(None))
    }

    fn wait(self: &Arc<Self>, caller: CallerName, sender: oneshot::Sender<Turn>) {
        let mut state = self.state();
        match state.waiting.iter_mut().find(|(other, _)| *other == caller) {
            Some((_, queue)) => queue.push_back(sender),
            None => state.waiting.push_back((caller, VecDeque::from([sender]))),
        }
        self.hand_out(&mut state);
    }

    /// Gives turns to those who wait, as long as there are some.
    fn hand_out(self: &Arc<Self>, state: &mut State) {
        while state.free > 0
            && let Some((caller, sender)) = state.next(self.most)
        {
            state.free -= 1;
            *state.held.entry(caller.clone()).or_default() += 1;
            if let Err(mut unwanted) = sender.send(Turn(Some((self.clone(), caller))))
                && let Some((_, caller)) = unwanted.0.take()
            {
                state.end(&caller);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Who is next: the first caller who has fewer than `most`. The others of theirs wait behind those of everybody else.
    fn next(&mut self, most: usize) -> Option<(CallerName, oneshot::Sender<Turn>)> {
        // Whoever has gone away spends nobody's turn.
        self.waiting.retain_mut(|(_, queue)| {
            while queue.pop_front_if(|sender| sender.is_closed()).is_some() {}
            !queue.is_empty()
        });
        let has_room = |caller: &CallerName| self.held.get(caller).is_none_or(|count| *count < most);
        let at = self.waiting.iter().position(|(caller, _)| has_room(caller))?;
        let (caller, mut queue) = self.waiting.remove(at)?;
        let sender = queue.pop_front()?;
        if !queue.is_empty() {
            self.waiting.push_back((caller.clone(), queue));
        }
        Some((caller, sender))
    }

    fn end(&mut self, caller: &CallerName) {
        self.free += 1;
        if let Some(count) = self.held.get_mut(caller) {
            *count -= 1;
            if *count == 0 {
                self.held.remove(caller);
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some((turns, caller)) = self.0.take() {
            let mut state = turns.state();
            state.end(&caller);
            turns.hand_out(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn name(caller: &str) -> CallerName {
        Some(caller.into())
    }

    #[tokio::test]
    async fn a_caller_leaves_a_quarter_to_others() {
        let turns = Turns::new(16);
        let many: Vec<_> = (0..100).filter_map(|_| turns.take(name("a")).now_or_never()).collect();
        assert_eq!(many.len(), 12);
        let others: Vec<_> = (0..100).filter_map(|_| turns.take(name("b")).now_or_never()).collect();
        assert_eq!(others.len(), 4);
        assert!(turns.take(None).now_or_never().is_none());
        drop((many, others));
        let state = turns.state();
        assert_eq!((state.free, state.held.len()), (16, 0));
    }

    #[tokio::test]
    async fn callers_who_wait_take_turns() {
        let turns = Turns::new(1);
        let mut held = turns.take(name("a")).await;
        let waiting = ["a", "a", "a", "b", "b", "c"].into_iter().map(|caller| {
            let (sender, turn) = oneshot::channel();
            turns.wait(name(caller), sender);
            Some((caller, turn))
        });
        let mut waiting: Vec<_> = waiting.collect();
        let mut order = Vec::new();
        for _ in 0..6 {
            drop(held);
            let mut ready = None;
            for place in &mut waiting {
                if let Some((caller, turn)) = place
                    && let Ok(turn) = turn.try_recv()
                {
                    order.push(*caller);
                    ready = Some(turn);
                    *place = None;
                    break;
                }
            }
            held = ready.expect("a turn");
        }
        assert_eq!(order, ["a", "b", "c", "a", "b", "a"]);
        drop(held);
        assert_eq!(turns.state().free, 1);
    }

    #[tokio::test]
    async fn whoever_goes_away_takes_no_turn() {
        let turns = Turns::new(1);
        let held = turns.take(name("a")).await;
        drop(Box::pin(turns.take(name("b"))));
        let mut gone = Box::pin(turns.take(name("b")));
        assert!(gone.as_mut().now_or_never().is_none());
        drop(gone);
        drop(held);
        assert_eq!(turns.state().free, 1);
        assert!(turns.take(name("b")).now_or_never().is_some());
    }

    #[tokio::test]
    async fn those_who_went_away_do_not_send_their_caller_to_the_back() {
        let turns = Turns::new(1);
        let held = turns.take(name("a")).await;
        for _ in 0..3 {
            assert!(turns.take(name("a")).now_or_never().is_none());
        }
        let (mine, mut still_here) = oneshot::channel();
        turns.wait(name("a"), mine);
        let (theirs, mut other) = oneshot::channel();
        turns.wait(name("b"), theirs);
        drop(held);
        assert!(still_here.try_recv().is_ok());
        assert!(other.try_recv().is_ok());
    }

    #[tokio::test]
    async fn what_is_done_on_behalf_of_somebody_is_theirs() {
        assert_eq!(caller(), None);
        assert_eq!(for_caller("a".into(), async { caller() }).await, name("a"));
    }
}
