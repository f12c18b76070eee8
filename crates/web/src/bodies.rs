//! Memory for request bodies while they arrive and are handled: bounded in sum, and shared out.
//!
//! Every byte is counted when it arrives, not when it is announced, and given back when its request has ended. Whoever
//! asks for more than is left for them is refused before the bytes are kept. There are two pools: most of a small body
//! comes out of one, what is beyond it out of the other, so that uploads never keep small requests out.
//!
//! The first bytes of a body always have room (`FIRST_BYTES`), so whoever signs in or up gets in whatever others hold.
//! They need no pool, because the server bounds the number of requests at once. No body gives way to another: what is
//! held comes back when the time of its request is over, and only larger bodies wait for that.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use latchkey_base::{Code, Error};
use tokio::time::Instant;

use crate::network::Network;
use crate::pool::{NoRoom, Pool, lock};

/// How much of every body has room whatever others hold: a form to sign in or up is smaller. A listener has at most
/// 5,000 connections and 5,000 requests over HTTP/2, so this is at most 40 MB.
pub const FIRST_BYTES: usize = 4 * 1024;
/// Where the large part of a body begins. What lies between its first bytes and this comes out of the pool for small
/// bodies: nearly every JSON body and form is smaller.
pub const SMALL_BODY: usize = 32 * 1024;

/// How long a body may take before its sender is asked for again: longer than nearly all bodies take.
const HELD_BACK: Duration = Duration::from_millis(100);

/// The memory for bodies of one listener.
pub struct BodyBudget {
    small: Mutex<Pool>,
    large: Mutex<Pool>,
}

/// What one request has of the budget, until the last copy of this is dropped.
#[derive(Clone)]
pub struct BodyShare(Arc<Share>);

struct Share {
    budget: Arc<BodyBudget>,
    taken: Mutex<Taken>,
    /// When it was asked who sends the body, and how to ask again.
    checked: OnceLock<(Instant, Recheck)>,
}

/// Asks again whether the sender of a body may have done what it asks for.
pub type Recheck = Box<dyn Fn() -> BoxFuture<'static, latchkey_base::Result<()>> + Send + Sync>;

struct Taken {
    network: Network,
    tenant: Option<Arc<str>>,
    sum: usize,
    small: usize,
    large: usize,
    is_refused: bool,
}

impl BodyBudget {
    /// So many bytes for small bodies, and so many for what is beyond them. Half of the room for small ones is for
    /// networks that have no more than one body there.
    pub fn new(small: usize, large: usize) -> Arc<BodyBudget> {
        let small = Pool::new(small, small / 2, SMALL_BODY - FIRST_BYTES);
        Arc::new(BodyBudget { small: Mutex::new(small), large: Mutex::new(Pool::new(large, 0, 0)) })
    }

    /// For a request from this network, which has nothing yet.
    pub fn share(self: &Arc<Self>, network: Network) -> BodyShare {
        let taken = Taken { network, tenant: None, sum: 0, small: 0, large: 0, is_refused: false };
        BodyShare(Arc::new(Share {
            budget: self.clone(),
            taken: Mutex::new(taken),
            checked: OnceLock::new(),
        }))
    }

    /// What belongs to a tenant is bounded in the pool of large bodies only: its other visitors must get in. Only one
    /// pool is locked at a time.
    fn take(&self, whose: &Taken, small: usize, large: usize) -> Result<(), NoRoom> {
        lock(&self.small).take(whose.network, None, small)?;
        let outcome = lock(&self.large).take(whose.network, whose.tenant.as_ref(), large);
        if outcome.is_err() {
            lock(&self.small).give_back(whose.network, None, small);
        }
        outcome
    }

    fn has_room(&self, whose: &Taken, small: usize, large: usize) -> bool {
        let has_room = lock(&self.small).has_room(whose.network, None, small);
        has_room && lock(&self.large).has_room(whose.network, whose.tenant.as_ref(), large)
    }

    fn give_back(&self, whose: &Taken, small: usize, large: usize) {
        lock(&self.small).give_back(whose.network, None, small);
        lock(&self.large).give_back(whose.network, whose.tenant.as_ref(), large);
    }
}

impl BodyShare {
    /// Says where the request comes from, when that is known better than at its beginning.
    pub fn set_network(&self, network: Network) {
        let mut taken = lock(&self.0.taken);
        if taken.sum == 0 {
            taken.network = network;
        }
    }

    /// Says which tenant the request is for.
    pub fn set_tenant(&self, tenant: &str) {
        let mut taken = lock(&self.0.taken);
        if taken.sum == 0 {
            taken.tenant = Some(tenant.into());
        }
    }

    /// Says that the sender was let in just now, and how to ask again.
    pub fn set_recheck(&self, recheck: Recheck) {
        let _ = self.0.checked.set((Instant::now(), recheck));
    }

    /// Asks again who sends a body that has arrived whole, if it took long: a sender whose key was revoked meanwhile could
    /// otherwise still have done what was begun before.
    pub async fn recheck(&self) -> latchkey_base::Result<()> {
        match self.0.checked.get() {
            Some((at, recheck)) if at.elapsed() >= HELD_BACK => recheck().await,
            _ => Ok(()),
        }
    }

    /// Takes room for bytes that arrived.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), NoRoom> {
        let mut taken = lock(&self.0.taken);
        let (small, large) = taken.split(bytes);
        let outcome = self.0.budget.take(&taken, small, large);
        match outcome {
            Ok(()) => {
                taken.sum += bytes;
                taken.small += small;
                taken.large += large;
            }
            Err(NoRoom) => taken.is_refused = true,
        }
        outcome
    }

    /// Fails if so many bytes, which were announced, would not find room now. Takes nothing.
    pub(crate) fn expect(&self, bytes: usize) -> Result<(), NoRoom> {
        let mut taken = lock(&self.0.taken);
        let (small, large) = taken.split(bytes);
        let fits = self.0.budget.has_room(&taken, small, large);
        taken.is_refused |= !fits;
        fits.then_some(()).ok_or(NoRoom)
    }

    /// What the client is told, if there was no room for its body.
    pub(crate) fn refusal(&self) -> Option<Error> {
        lock(&self.0.taken).is_refused.then(|| {
            Error::new(Code::ServiceUnavailable)
                .saying(
                    "Too many request bodies are being received at once. Send this one again in a moment.",
                )
                .retry_after(1)
        })
    }
}

impl Taken {
    /// How much of the next bytes comes out of either pool.
    fn split(&self, bytes: usize) -> (usize, usize) {
        let bytes = bytes.saturating_sub(FIRST_BYTES.saturating_sub(self.sum));
        let small = bytes.min((SMALL_BODY - FIRST_BYTES).saturating_sub(self.small));
        (small, bytes - small)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let taken = lock(&self.taken);
        self.budget.give_back(&taken, taken.small, taken.large);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1024 * 1024;

    fn network(number: u32) -> Network {
        Network::of(std::net::Ipv4Addr::from(number).into())
    }

    /// Uploads of a network, a megabyte at a time, until there is no room; and how much they got.
    fn fill(budget: &Arc<BodyBudget>, number: u32, tenant: &str) -> (Vec<BodyShare>, usize) {
        let (mut shares, mut got) = (Vec::new(), 0);
        loop {
            let share = budget.share(network(number));
            share.set_tenant(tenant);
            let before = got;
            while got - before < 10 * MB && share.take(MB).is_ok() {
                got += MB;
            }
            shares.push(share);
            if got == before {
                return (shares, got);
            }
        }
    }

    #[test]
    fn one_network_gets_a_third_and_one_tenant_half() {
        let budget = BodyBudget::new(32 * MB, 96 * MB);
        let (first, got) = fill(&budget, 1, "a");
        assert_eq!(got / MB, 32);
        let more: Vec<_> = (2..50).map(|number| fill(&budget, number, "a")).collect();
        let sum = got + more.iter().map(|(_, got)| got).sum::<usize>();
        assert!((45 * MB..=48 * MB).contains(&sum), "{sum}");
        let (_others, got) = fill(&budget, 100, "b");
        assert!(got >= 15 * MB, "{got}");
        drop((first, more));
        assert!(first_free(&budget) > 80 * MB);
    }

    fn first_free(budget: &Arc<BodyBudget>) -> usize {
        lock(&budget.large).free()
    }

    #[test]
    fn small_bodies_get_in_while_uploads_of_hundreds_fill_their_share() {
        let budget = BodyBudget::new(32 * MB, 96 * MB);
        let uploads: Vec<_> = (0..500).map(|number| fill(&budget, number, "a")).collect();
        // Small bodies of the very same ones, and of others.
        for number in [0, 499, 1000] {
            let share = budget.share(network(number));
            share.set_tenant("a");
            share.take(8 * 1024).unwrap();
        }
        drop(uploads);
        assert_eq!((lock(&budget.small).free(), lock(&budget.large).free()), (32 * MB, 96 * MB));
        assert!(lock(&budget.large).networks.is_empty() && lock(&budget.large).tenants.is_empty());
    }

    #[test]
    fn a_newcomer_has_room_however_many_small_bodies_there_are() {
        let budget = BodyBudget::new(32 * MB, 96 * MB);
        let crowd: Vec<BodyShare> = (0..10_000)
            .map(|number| {
                let share = budget.share(network(number % 300));
                while share.take(1024).is_ok() {}
                share
            })
            .collect();
        budget.share(network(1000)).take(SMALL_BODY).unwrap();
        drop(crowd);
    }

    /// Small bodies of a network until there is no room for more.
    fn fill_small(budget: &Arc<BodyBudget>, number: u32) -> Vec<BodyShare> {
        let mut shares = Vec::new();
        loop {
            let share = budget.share(network(number));
            while lock(&share.0.taken).sum < SMALL_BODY && share.take(1024).is_ok() {}
            let is_whole = lock(&share.0.taken).sum == SMALL_BODY;
            shares.push(share);
            if !is_whole {
                return shares;
            }
        }
    }

    #[test]
    fn a_newcomer_has_room_for_a_small_body_after_networks_took_all_they_get_one_after_the_other() {
        let budget = BodyBudget::new(32 * MB, 96 * MB);
        let crowd: Vec<_> = (0..300).map(|number| fill_small(&budget, number)).collect();
        budget.share(network(1000)).take(SMALL_BODY).unwrap();
        drop(crowd);
        assert_eq!(lock(&budget.small).free(), 32 * MB);
    }

    #[test]
    fn the_first_bytes_of_a_body_have_room_when_everything_is_taken() {
        let budget = BodyBudget::new(32 * MB, 96 * MB);
        let crowd: Vec<_> = (0..2000).map(|number| fill_small(&budget, number)).collect();
        for number in [0, 1999, 5000] {
            let share = budget.share(network(number));
            assert!(share.expect(FIRST_BYTES).is_ok() && share.take(FIRST_BYTES).is_ok(), "{number}");
            assert!(share.refusal().is_none() && share.take(8 * 1024).is_err(), "{number}");
        }
        drop(crowd);
        assert_eq!(lock(&budget.small).free(), 32 * MB);
        assert!(lock(&budget.small).networks.is_empty());
    }

    #[test]
    fn what_is_announced_takes_nothing() {
        let budget = BodyBudget::new(32 * MB, 96 * MB);
        let share = budget.share(network(1));
        assert!(share.expect(20 * MB).is_ok() && share.refusal().is_none());
        assert_eq!(first_free(&budget), 96 * MB);
        assert!(share.expect(60 * MB).is_err());
        assert!(share.refusal().is_some_and(|error| error.status() == 503));
    }
}
