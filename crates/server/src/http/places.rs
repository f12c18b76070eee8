//! Room for requests of HTTP/2, where one connection can have many at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Requests of one connection that have room also when it is scarce.
pub(super) const FEW: usize = 4;

/// Requests at once in all connections of HTTP/2 of a listener together.
pub(super) struct Places {
    free: Arc<Semaphore>,
    all: usize,
}

impl Places {
    pub(super) fn new(all: usize) -> Places {
        Places { free: Arc::new(Semaphore::new(all)), all }
    }

    /// A place for one more request of a connection that has `open` under way. Once half of the places are taken,
    /// a connection gets few of the rest, so that it takes many connections to keep others out.
    pub(super) fn take(&self, open: usize) -> Option<OwnedSemaphorePermit> {
        let is_scarce = self.free() * 2 <= self.all;
        match is_scarce && open >= FEW {
            true => None,
            false => self.free.clone().try_acquire_owned().ok(),
        }
    }

    /// How many are free.
    pub(super) fn free(&self) -> usize {
        self.free.available_permits()
    }
}
