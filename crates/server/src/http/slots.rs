//! Room for connections, shared out by the networks they come from.
//!
//! A network may have a share of the connections of a listener, and no more. Where all room is taken, whoever has many
//! gives way to whoever has few, so that a newcomer gets in at once. Of the networks that have more than the newcomer's
//! will have, a connection without a request is closed: one of the network that has most, and of those the one that has
//! waited longest. Only if all of theirs have requests, one with a request is closed. Where no network has more, a
//! connection without a request gives way, and one with a request never does. That is decided among some connections,
//! which are others each time (`LOOKED_AT`). Nobody waits for room: a connection that finds none is closed.
//!
//! What one customer of a provider has is one network: 48 bits of IPv6.
//!
//! Proxies that the operator trusts bring the connections of many people. They have no share, and give way last.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use latchkey_web::network::Network;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::answer::Answered;

/// One network has at most this part of a listener's connections. Large enough for an office behind one address and for
/// a backend with a pool of connections, and three others of its kind have room beside it.
const SHARE: usize = 4;
/// Least time between two lines in the log about it.
const TELL_EVERY_MS: u64 = 60_000;
/// Connections that are looked at to find the one that gives way. Whoever holds a tenth of them is among so many with a
/// chance of 29 in 30, and looking at all of them would make a flood of connections cost more.
const LOOKED_AT: usize = 32;

/// The connections of one listener.
pub(super) struct Slots {
    all: usize,
    share: usize,
    trusted: Vec<IpAddr>,
    began: Instant,
    next: AtomicU64,
    /// When the log was last told that there is too little room.
    told: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Vec<Arc<Slot>>,
    networks: HashMap<Network, Vec<Arc<Slot>>>,
    /// Where to begin to look for the next one that gives way.
    turn: usize,
}

/// What is known about one connection.
pub(super) struct Slot {
    number: u64,
    network: Network,
    is_trusted: bool,
    /// Where it stands among all of them, and among those of its network.
    place: AtomicUsize,
    own_place: AtomicUsize,
    /// Requests under way.
    requests: AtomicUsize,
    /// When the last request ended or the connection began, in milliseconds since the server started.
    idle_since: AtomicU64,
    began: Instant,
    give_way: Notify,
}

/// A connection's room, until it is dropped.
pub(super) struct SlotGuard {
    slots: Arc<Slots>,
    slot: Arc<Slot>,
}

/// A connection that can be closed for a newcomer; the greatest is closed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// Whether its network has more than the newcomer's will have.
    has_more: bool,
    is_idle: bool,
    /// Connections of its network.
    count: usize,
    idle_for: u64,
}

impl Slots {
    pub(super) fn new(all: usize, trusted_proxies: &[IpAddr]) -> Slots {
        Slots {
            all,
            share: (all / SHARE).max(1),
            trusted: trusted_proxies.iter().map(IpAddr::to_canonical).collect(),
            began: Instant::now(),
            next: AtomicU64::new(0),
            told: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    /// Whether an address is that of a trusted proxy.
    fn is_trusted(&self, address: IpAddr) -> bool {
        self.trusted.contains(&address.to_canonical())
    }

    /// Room for a connection from this address; nothing if its network has its share and is busy with all of it, or if
    /// everybody has as little as it has and is busy.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Option<SlotGuard> {
        let network = Network::of(address).of_customer();
        let is_trusted = self.is_trusted(address);
        let mut state = self.state();
        let own = state.networks.get(&network).map_or(0, Vec::len);
        if !is_trusted && own >= self.share {
            self.tell(
                "one network has its share of the connections; a proxy in front belongs into trusted_proxies",
            );
            let idle = state.idlest_of(network)?;
            state.close(&idle);
        } else if state.open.len() >= self.all {
            self.tell("all connections are taken; those with many give way");
            let other = state.gives_way(if is_trusted { 0 } else { own })?;
            state.close(&other);
        }
        let slot = Arc::new(Slot {
            number: self.next.fetch_add(1, Relaxed),
            network,
            is_trusted,
            place: AtomicUsize::new(0),
            own_place: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            idle_since: AtomicU64::new(millis(self.began)),
            began: self.began,
            give_way: Notify::new(),
        });
        state.add(slot.clone());
        Some(SlotGuard { slots: self.clone(), slot })
    }

    /// A line in the log, once in a while.
    fn tell(&self, what: &str) {
        let now = millis(self.began).max(1);
        let told = self.told.load(Relaxed);
        if told == 0 || now.saturating_sub(told) >= TELL_EVERY_MS {
            self.told.store(now, Relaxed);
            tracing::warn!(connections = self.all, share = self.share, "{what}");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, slot: Arc<Slot>) {
        let own = self.networks.entry(slot.network).or_default();
        slot.place.store(self.open.len(), Relaxed);
        slot.own_place.store(own.len(), Relaxed);
        own.push(slot.clone());
        self.open.push(slot);
    }

    /// Takes a connection out, unless it is out already. The last one takes its place.
    fn remove(&mut self, slot: &Slot) {
        let place = slot.place.load(Relaxed);
        if self.open.get(place).is_none_or(|found| found.number != slot.number) {
            return;
        }
        self.open.swap_remove(place);
        if let Some(moved) = self.open.get(place) {
            moved.place.store(place, Relaxed);
        }
        let Some(own) = self.networks.get_mut(&slot.network) else { return };
        let place = slot.own_place.load(Relaxed);
        if place < own.len() {
            own.swap_remove(place);
        }
        match own.get(place) {
            Some(moved) => moved.own_place.store(place, Relaxed),
            None if own.is_empty() => _ = self.networks.remove(&slot.network),
            None => {}
        }
    }

    /// Makes room at once: the connection itself ends a moment later.
    fn close(&mut self, slot: &Slot) {
        self.remove(slot);
        slot.give_way.notify_one();
    }

    /// The connection of a network that has waited longest for a request.
    fn idlest_of(&mut self, network: Network) -> Option<Arc<Slot>> {
        self.turn = self.turn.wrapping_add(1);
        let own = self.networks.get(&network)?;
        let idle = spread(own, self.turn).filter(|slot| slot.is_idle());
        idle.max_by_key(|slot| slot.idle_for()).cloned()
    }

    /// The connection that gives way to a newcomer whose network has `own` already.
    fn gives_way(&mut self, own: usize) -> Option<Arc<Slot>> {
        self.turn = self.turn.wrapping_add(1);
        let candidates = spread(&self.open, self.turn).map(|slot| (self.candidate(slot, own), slot));
        let (_, slot) = candidates
            .filter(|(candidate, _)| candidate.has_more || (candidate.is_idle && candidate.count > own))
            .max_by(|(one, _), (other, _)| one.cmp(other))?;
        Some(slot.clone())
    }

    fn candidate(&self, slot: &Slot, own: usize) -> Candidate {
        let count = match slot.is_trusted {
            true => 1,
            false => self.networks.get(&slot.network).map_or(0, Vec::len),
        };
        Candidate { has_more: count > own + 1, is_idle: slot.is_idle(), count, idle_for: slot.idle_for() }
    }
}

/// Some of them, evenly spread, others with each turn.
fn spread(slots: &[Arc<Slot>], turn: usize) -> impl Iterator<Item = &Arc<Slot>> {
    let step = (slots.len() / LOOKED_AT).max(1);
    slots.iter().skip(turn % step).step_by(step)
}

fn millis(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl Slot {
    fn is_idle(&self) -> bool {
        self.requests.load(Relaxed) == 0
    }

    fn idle_for(&self) -> u64 {
        millis(self.began).saturating_sub(self.idle_since.load(Relaxed))
    }

    /// Where the connection comes from.
    pub(super) fn network(&self) -> Network {
        self.network
    }

    /// Whether it comes from a proxy that the operator trusts.
    pub(super) fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// A request has begun; it ends when what is returned is dropped.
    pub(super) fn request(self: &Arc<Self>) -> Request {
        self.requests.fetch_add(1, Relaxed);
        Request(self.clone())
    }
}

/// A request under way, until the last byte of its answer was sent or given up.
pub(super) struct Request(Arc<Slot>);

impl Answered for Request {}

impl Drop for Request {
    fn drop(&mut self) {
        self.0.idle_since.store(millis(self.0.began), Relaxed);
        self.0.requests.fetch_sub(1, Relaxed);
    }
}

impl SlotGuard {
    /// What the connection tells of itself.
    pub(super) fn slot(&self) -> &Arc<Slot> {
        &self.slot
    }

    /// Waits until the connection has to give way to another.
    pub(super) async fn gives_way(&self) {
        self.slot.give_way.notified().await;
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.slots.state().remove(&self.slot);
    }
}
