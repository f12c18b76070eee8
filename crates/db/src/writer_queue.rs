//! Transactions that wait for the one writer of SQLite. Callers take turns, so that nobody who writes much, or slowly, keeps
//! the writes of others waiting for all of theirs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::turns::CallerName;

/// How many jobs of one caller may wait until it is looked which of them nobody waits for any more.
const SWEPT: usize = 256;

/// A job that may be of no use any more when its turn comes.
pub(crate) trait Awaited {
    /// Whether somebody waits for it still.
    fn is_awaited(&self) -> bool;
}

/// Jobs by caller.
pub(crate) struct WriterQueue<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
}

struct State<J> {
    waiting: HashMap<CallerName, VecDeque<J>>,
    /// Callers with jobs, the one whose turn it is in front, but for the one whose job is being done.
    order: VecDeque<CallerName>,
    /// Whose job is being done. Those who came meanwhile have the next turns.
    served: Option<CallerName>,
    is_closed: bool,
}

impl<J: Awaited> WriterQueue<J> {
    pub(crate) fn new() -> WriterQueue<J> {
        let state = State { waiting: HashMap::new(), order: VecDeque::new(), served: None, is_closed: false };
        WriterQueue { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Adds a job; once the queue is closed it is dropped.
    pub(crate) fn push(&self, caller: CallerName, job: J) {
        self.state().push(caller, job);
        self.changed.notify_one();
    }

    /// The next job, if one waits. The one before has been done.
    pub(crate) fn take(&self) -> Option<J> {
        self.state().next()
    }

    /// The next job; nothing once the queue is closed and empty.
    pub(crate) fn wait(&self) -> Option<J> {
        let mut state = self.state();
        loop {
            match state.next() {
                None if !state.is_closed => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                job => return job,
            }
        }
    }

    /// What waits is still done; then nobody adds anything.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_one();
    }

    /// Nothing is done any more: whoever waits learns it.
    pub(crate) fn abandon(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let jobs = std::mem::take(&mut state.waiting);
        drop(state);
        drop(jobs);
    }

    fn state(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J: Awaited> State<J> {
    fn push(&mut self, caller: CallerName, job: J) {
        if self.is_closed {
            return;
        }
        let jobs = self.waiting.entry(caller.clone()).or_default();
        let is_first = jobs.is_empty();
        if jobs.len() % SWEPT == SWEPT - 1 {
            jobs.retain(Awaited::is_awaited);
        }
        jobs.push_back(job);
        if is_first && self.served.as_ref() != Some(&caller) {
            self.order.push_back(caller);
        }
    }

    fn next(&mut self) -> Option<J> {
        if let Some(caller) = self.served.take()
            && self.waiting.contains_key(&caller)
        {
            self.order.push_back(caller);
        }
        while let Some(caller) = self.order.pop_front() {
            let jobs = self.waiting.get_mut(&caller)?;
            // What nobody waits for spends nobody's turn.
            let job = std::iter::from_fn(|| jobs.pop_front()).find(Awaited::is_awaited);
            if jobs.is_empty() {
                self.waiting.remove(&caller);
            }
            if job.is_some() {
                self.served = Some(caller);
                return job;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    struct Job(i32, bool);

    impl Awaited for Job {
        fn is_awaited(&self) -> bool {
            self.1
        }
    }

    fn name(caller: &str) -> CallerName {
        Some(caller.into())
    }

    fn queue(jobs: &[(&str, i32)]) -> WriterQueue<Job> {
        let queue = WriterQueue::new();
        for (caller, number) in jobs {
            queue.push(name(caller), Job(*number, true));
        }
        queue
    }

    fn taken(queue: &WriterQueue<Job>) -> Vec<i32> {
        std::iter::from_fn(|| queue.take()).map(|job| job.0).collect()
    }

    #[test]
    fn callers_take_turns() {
        let queue = queue(&[("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("b", 6)]);
        queue.push(None, Job(7, true));
        assert_eq!(taken(&queue), [1, 4, 5, 7, 2, 6, 3]);
    }

    #[test]
    fn who_comes_while_a_job_is_done_is_served_before_the_next_one_of_its_caller() {
        let queue = queue(&[("a", 1), ("a", 2)]);
        assert_eq!(queue.take().map(|job| job.0), Some(1));
        queue.push(name("b"), Job(3, true));
        queue.push(name("a"), Job(4, true));
        assert_eq!(taken(&queue), [3, 2, 4]);
        queue.push(name("a"), Job(5, true));
        assert_eq!(taken(&queue), [5]);
    }

    #[test]
    fn what_nobody_waits_for_spends_no_turn_and_does_not_pile_up() {
        let queue = queue(&[("a", 1), ("b", 2), ("b", 3)]);
        for _ in 0..10 * SWEPT {
            queue.push(name("a"), Job(0, false));
        }
        queue.push(name("a"), Job(4, true));
        assert!(queue.state().waiting.values().map(VecDeque::len).sum::<usize>() <= SWEPT + 3);
        assert_eq!(taken(&queue), [1, 2, 4, 3]);
    }

    #[test]
    fn what_waits_when_the_queue_is_closed_is_still_done() {
        let queue = queue(&[("a", 1)]);
        queue.close();
        queue.push(name("a"), Job(2, true));
        assert_eq!(queue.wait().map(|job| job.0), Some(1));
        assert!(queue.wait().is_none());
    }

    #[test]
    fn when_nothing_is_done_any_more_whoever_waits_learns_it() {
        let held = Arc::new(());
        struct Held(#[expect(dead_code, reason = "what is dropped with it is looked at")] Arc<()>);
        impl Awaited for Held {
            fn is_awaited(&self) -> bool {
                true
            }
        }
        let queue = WriterQueue::new();
        queue.push(None, Held(held.clone()));
        queue.abandon();
        queue.push(None, Held(held.clone()));
        assert_eq!(Arc::strong_count(&held), 1);
        assert!(queue.wait().is_none());
    }
}
