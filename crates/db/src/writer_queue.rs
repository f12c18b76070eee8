//! Transactions that wait for the one writer of SQLite. Callers take turns, so that nobody who writes much, or slowly, keeps
//! the writes of others waiting for more than one of theirs.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::turns::CallerName;

/// Jobs by caller, with the caller whose turn it is in front.
pub(crate) struct WriterQueue<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
}

struct State<J> {
    waiting: VecDeque<(CallerName, VecDeque<J>)>,
    is_closed: bool,
}

impl<J> WriterQueue<J> {
    pub(crate) fn new() -> WriterQueue<J> {
        let state = State { waiting: VecDeque::new(), is_closed: false };
        WriterQueue { state: Mutex::new(state), changed: Condvar::new() }
    }

    pub(crate) fn push(&self, caller: CallerName, job: J) {
        let mut state = self.state();
        match state.waiting.iter_mut().find(|(other, _)| *other == caller) {
            Some((_, jobs)) => jobs.push_back(job),
            None => state.waiting.push_back((caller, VecDeque::from([job]))),
        }
        drop(state);
        self.changed.notify_one();
    }

    /// The next job, if one waits.
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

    fn state(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J> State<J> {
    fn next(&mut self) -> Option<J> {
        let (caller, mut jobs) = self.waiting.pop_front()?;
        let job = jobs.pop_front();
        if !jobs.is_empty() {
            self.waiting.push_back((caller, jobs));
        }
        job
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_take_turns() {
        let queue = WriterQueue::new();
        for (caller, job) in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("b", 6)] {
            queue.push(Some(caller.into()), job);
        }
        queue.push(None, 7);
        let order: Vec<i32> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(order, [1, 4, 5, 7, 2, 6, 3]);
    }

    #[test]
    fn what_waits_when_the_queue_is_closed_is_still_done() {
        let queue = WriterQueue::new();
        queue.push(None, 1);
        queue.close();
        assert_eq!((queue.wait(), queue.wait()), (Some(1), None));
    }
}
