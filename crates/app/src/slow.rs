//! Slow work on few threads: password hashing and picture decoding.
//!
//! A bounded number runs at once, so that it can never take the processor from other requests, and a
//! bounded number waits; the next one is told to come back.

use latchkey_base::{Code, Error, Result};
use tokio::sync::Semaphore;

/// Jobs that may wait for each one that runs.
const WAITING_PER_SLOT: usize = 64;

/// Places for slow work.
pub struct SlowPool {
    slots: Semaphore,
    places: Semaphore,
}

impl SlowPool {
    /// Room for `slots` jobs at once.
    pub fn new(slots: usize) -> SlowPool {
        SlowPool { slots: Semaphore::new(slots), places: Semaphore::new(slots * (WAITING_PER_SLOT + 1)) }
    }

    /// Runs `work` when there is a free place.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let busy =
            |_| Error::new(Code::ServiceUnavailable).saying("Too much hashing is under way.").retry_after(1);
        let _place = self.places.try_acquire().map_err(busy)?;
        let _slot = self.slots.acquire().await.map_err(Error::internal)?;
        tokio::task::spawn_blocking(work).await.map_err(Error::internal)
    }
}
