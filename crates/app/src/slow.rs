//! Slow work on few threads: password hashing and picture decoding.
//!
//! A bounded number runs at once, so that it can never take the processor from other requests, and a
//! bounded number waits; the next one is told to come back.

use std::sync::Arc;

use latchkey_base::{Code, Error, Result};
use tokio::sync::Semaphore;

/// Jobs that may wait for each one that runs.
const WAITING_PER_SLOT: usize = 64;

/// Places for slow work.
pub struct SlowPool {
    slots: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

impl SlowPool {
    /// Room for `slots` jobs at once.
    pub fn new(slots: usize) -> SlowPool {
        let places = slots * (WAITING_PER_SLOT + 1);
        SlowPool { slots: Arc::new(Semaphore::new(slots)), places: Arc::new(Semaphore::new(places)) }
    }

    /// Runs `work` when there is a free place. A caller who goes away does not stop it, so the place is
    /// taken until it is done, not until nobody waits for it.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let busy = |_| {
            Error::new(Code::ServiceUnavailable).saying("Too much slow work is under way.").retry_after(1)
        };
        let place = self.places.clone().try_acquire_owned().map_err(busy)?;
        let slot = self.slots.clone().acquire_owned().await.map_err(Error::internal)?;
        let guarded = move || {
            let outcome = work();
            drop((slot, place));
            outcome
        };
        tokio::task::spawn_blocking(guarded).await.map_err(Error::internal)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn abandoned_work_keeps_its_place_until_it_is_done() {
        let pool = Arc::new(SlowPool::new(1));
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
        assert_eq!(pool.slots.available_permits(), 0);
        finish.send(()).unwrap();
        pool.run(|| ()).await.unwrap();
        assert_eq!(pool.slots.available_permits(), 1);
    }
}
