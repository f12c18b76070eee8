//! Slow work on threads of its own: password hashing and picture decoding.
//!
//! A bounded number runs at once, so that it can never take the processor from other requests, and a
//! bounded number waits; the next one is told to come back. Its threads step back behind all others: a
//! request that needs the processor for a moment does not wait for the end of their turn.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use latchkey_base::{Code, Error, Result};
use tokio::sync::{Semaphore, oneshot};

/// Jobs that may wait for each one that runs.
const WAITING_PER_SLOT: usize = 64;
/// How far the threads step back, of 19. Even on a machine that never rests they get about a tenth of it.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

type Job = Box<dyn FnOnce() + Send>;

/// Places for slow work.
pub struct SlowPool {
    queue: mpsc::Sender<Job>,
    places: Arc<Semaphore>,
}

impl SlowPool {
    /// Room for `slots` jobs at once. The threads end with the pool.
    pub fn new(slots: usize) -> SlowPool {
        let (queue, jobs) = mpsc::channel();
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..slots {
            let jobs = jobs.clone();
            let thread = thread::Builder::new().name("slow".to_owned());
            if let Err(error) = thread.spawn(move || work_off(&jobs)) {
                tracing::error!(?error, "a thread for slow work could not be started");
            }
        }
        SlowPool { queue, places: Arc::new(Semaphore::new(slots * (WAITING_PER_SLOT + 1))) }
    }

    /// Runs `work` when there is a free thread. A caller who goes away does not stop it once it has begun,
    /// so the place is taken until it is done, not until nobody waits for it.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let busy = |_| {
            Error::new(Code::ServiceUnavailable).saying("Too much slow work is under way.").retry_after(1)
        };
        let place = self.places.clone().try_acquire_owned().map_err(busy)?;
        let (done, answer) = oneshot::channel();
        let job = move || {
            if done.is_closed() {
                return;
            }
            let outcome = catch_unwind(AssertUnwindSafe(work));
            drop(place);
            if let Ok(outcome) = outcome {
                let _ = done.send(outcome);
            }
        };
        let none = |_| Error::internal("there is no thread for slow work");
        self.queue.send(Box::new(job)).map_err(none)?;
        answer.await.map_err(Error::internal)
    }
}

fn work_off(jobs: &Mutex<mpsc::Receiver<Job>>) {
    step_back();
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match next {
            Ok(job) => job(),
            Err(_) => return,
        }
    }
}

/// Without it the kernel lets whoever computes go on for some milliseconds while others wait.
fn step_back() {
    // On Linux this is about the calling thread; elsewhere it would be about the whole server.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::warn!(?error, "a thread for slow work keeps its priority");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn abandoned_work_keeps_its_place_until_it_is_done() {
        let pool = Arc::new(SlowPool::new(1));
        let free = pool.places.available_permits();
        let (finish, wait) = mpsc::channel::<()>();
        let (begun, started) = mpsc::channel::<()>();
        let caller = {
            let pool = pool.clone();
            tokio::spawn(async move {
                pool.run(move || {
                    begun.send(()).unwrap();
                    wait.recv().unwrap();
                })
                .await
            })
        };
        tokio::task::spawn_blocking(move || started.recv().unwrap()).await.unwrap();
        caller.abort();
        assert!(caller.await.is_err());
        assert_eq!(pool.places.available_permits(), free - 1);
        finish.send(()).unwrap();
        pool.run(|| ()).await.unwrap();
        assert_eq!(pool.places.available_permits(), free);
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error_and_takes_no_thread_along() {
        let pool = SlowPool::new(1);
        assert!(pool.run(|| assert_eq!(1, 2)).await.is_err());
        assert_eq!(pool.run(|| 3).await.unwrap(), 3);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn its_threads_step_back_and_others_do_not() {
        let niceness = || rustix::process::getpriority_process(None).unwrap();
        let before = niceness();
        assert_eq!(SlowPool::new(1).run(niceness).await.unwrap(), NICENESS);
        assert_eq!(niceness(), before);
    }
}
