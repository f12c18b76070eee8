//! Memory that requests share: bounded in sum, and shared out by networks and tenants.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::network::Network;

/// So many bytes, and who has them.
pub(crate) struct Pool {
    total: usize,
    /// What is taken of it: more than all, where some take what they need without being asked.
    taken: usize,
    /// How much of it is only for networks that have little.
    reserve: usize,
    /// How many bytes are little.
    little: usize,
    pub(crate) networks: HashMap<Network, usize>,
    /// The same by customers, who may have many networks.
    customers: HashMap<Network, usize>,
    pub(crate) tenants: HashMap<Arc<str>, usize>,
}

/// The budget has no room for this.
#[derive(Debug, thiserror::Error)]
#[error("too much memory is taken")]
pub(crate) struct NoRoom;

impl Pool {
    pub(crate) fn new(total: usize, reserve: usize, little: usize) -> Pool {
        Pool {
            total,
            taken: 0,
            reserve,
            little,
            networks: HashMap::new(),
            customers: HashMap::new(),
            tenants: HashMap::new(),
        }
    }

    pub(crate) fn free(&self) -> usize {
        self.total.saturating_sub(self.taken)
    }

    /// A network may have half of what it leaves free beside the reserve; a tenant, or a customer with many networks, as
    /// much as it leaves free. One alone gets a third of what is beside the reserve, one tenant a half; of many each gets the
    /// less, and after some dozens nearly nothing is left beside the reserve. That is for networks that have little.
    pub(crate) fn has_room(&self, network: Network, tenant: Option<&Arc<str>>, bytes: usize) -> bool {
        let Some(left) = self.free().checked_sub(bytes) else { return false };
        let of_network = self.networks.get(&network).copied().unwrap_or_default() + bytes;
        let of_tenant =
            tenant.map_or(0, |tenant| self.tenants.get(tenant).copied().unwrap_or_default() + bytes);
        let share = left.saturating_sub(self.reserve) / 2;
        let of_customer = self.customers.get(&network.of_customer()).copied().unwrap_or_default() + bytes;
        let is_fair = of_customer <= left || of_customer == of_network;
        bytes == 0 || (of_network <= share.max(self.little) && of_tenant <= left && is_fair)
    }

    /// Whether a network has more than it may have, or its customer with many networks.
    pub(crate) fn is_over(&self, network: Network) -> bool {
        let of_network = self.networks.get(&network).copied().unwrap_or_default();
        let of_customer = self.customers.get(&network.of_customer()).copied().unwrap_or_default();
        let share = self.free().saturating_sub(self.reserve) / 2;
        let is_fair = of_customer <= self.free().max(self.little) || of_customer == of_network;
        of_network > share.max(self.little) || !is_fair
    }

    pub(crate) fn take(
        &mut self,
        network: Network,
        tenant: Option<&Arc<str>>,
        bytes: usize,
    ) -> Result<(), NoRoom> {
        if !self.has_room(network, tenant, bytes) {
            return Err(NoRoom);
        }
        self.count(network, bytes);
        if let Some(tenant) = tenant.filter(|_| bytes > 0) {
            *self.tenants.entry(tenant.clone()).or_default() += bytes;
        }
        Ok(())
    }

    /// Counts what a network has whether there is room for it or not.
    pub(crate) fn count(&mut self, network: Network, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.taken += bytes;
        *self.networks.entry(network).or_default() += bytes;
        *self.customers.entry(network.of_customer()).or_default() += bytes;
    }

    pub(crate) fn give_back(&mut self, network: Network, tenant: Option<&Arc<str>>, bytes: usize) {
        self.taken = self.taken.saturating_sub(bytes);
        subtract(&mut self.networks, &network, bytes);
        subtract(&mut self.customers, &network.of_customer(), bytes);
        if let Some(tenant) = tenant {
            subtract(&mut self.tenants, tenant, bytes);
        }
    }
}

/// Those who have nothing are forgotten.
fn subtract<K: Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K, bytes: usize) {
    if let Some(count) = counts.get_mut(key) {
        *count = count.saturating_sub(bytes);
        if *count == 0 {
            counts.remove(key);
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
