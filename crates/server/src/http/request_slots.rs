//! Room for requests of HTTP/2, where one connection can have many at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use latchkey_web::network::Network;

use super::slots::Slot;

/// Requests of one connection, and of one network, that have room also when it is scarce.
pub(super) const FEW: usize = 4;

/// Requests at once in all connections of HTTP/2 of a listener together.
pub(super) struct RequestSlots {
    all: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    sum: usize,
    networks: HashMap<Network, usize>,
}

/// Room for one request, until it is dropped.
pub(super) struct RequestSlot {
    slots: Arc<RequestSlots>,
    network: Network,
}

impl RequestSlots {
    pub(super) fn new(all: usize) -> RequestSlots {
        RequestSlots { all, taken: Mutex::default() }
    }

    /// Room for one more request of a connection that has `open` under way. Once half of the room is taken, a connection
    /// gets few of the rest. A network never gets more than half of what it leaves to others, or few: one alone has a
    /// third, and of hundreds each has the less. Connections of trusted proxies carry the requests of many, and are
    /// bounded by the sum alone.
    pub(super) fn take(self: &Arc<Self>, open: usize, slot: &Slot) -> Option<RequestSlot> {
        let network = slot.network();
        let mut taken = self.taken();
        let free = self.all - taken.sum;
        let own = taken.networks.get(&network).copied().unwrap_or_default();
        let is_scarce = free * 2 <= self.all;
        let has_enough = (is_scarce && open >= FEW) || own >= FEW.max(free / 2);
        if free == 0 || (has_enough && !slot.is_trusted()) {
            return None;
        }
        taken.sum += 1;
        taken.networks.insert(network, own + 1);
        Some(RequestSlot { slots: self.clone(), network })
    }

    /// How many are free.
    #[cfg(test)]
    pub(super) fn free(&self) -> usize {
        self.all - self.taken().sum
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RequestSlot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken();
        taken.sum -= 1;
        if let Some(own) = taken.networks.get_mut(&self.network) {
            *own -= 1;
            if *own == 0 {
                taken.networks.remove(&self.network);
            }
        }
    }
}
