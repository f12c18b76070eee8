//! Waiting for something to happen, for the operations that take `wait`.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Code, Error, Result};
use tokio::time::Instant;

use crate::bell::Listener;

/// How often somebody who waits looks by themselves: another node rings no bell here.
const LOOK: Duration = Duration::from_millis(500);

/// Reads `wait`: a number of seconds, such as `20` or `20s`; nothing means not to wait.
pub fn patience(wait: Option<&str>, at_most: u64) -> Result<Duration> {
    let text = wait.unwrap_or("0");
    match text.strip_suffix('s').unwrap_or(text).parse() {
        Ok(seconds) if seconds <= at_most => Ok(Duration::from_secs(seconds)),
        _ => Err(Error::param(Code::FormParamValueInvalid, "wait")
            .saying(format!("It must be a number of seconds from 0 to {at_most}, such as 5s."))),
    }
}

/// Places for those who wait. A tenant may have at most as many as are still free for all others, so that none takes
/// the last one: the first gets half of them, whoever comes next half of the rest.
pub struct Places {
    total: usize,
    taken: Mutex<HashMap<InstanceId, usize>>,
}

/// A place, which is free again when this is dropped.
struct WaitingPlace<'a> {
    places: &'a Places,
    tenant: InstanceId,
}

impl Places {
    /// So many places for all tenants together.
    pub fn new(total: usize) -> Places {
        Places { total, taken: Mutex::default() }
    }

    /// How many are free.
    pub fn free(&self) -> usize {
        self.total - self.taken().values().sum::<usize>()
    }

    /// Takes a place for a tenant, unless it has its share already.
    fn take(&self, tenant: &InstanceId) -> Option<WaitingPlace<'_>> {
        let mut taken = self.taken();
        let free = self.total - taken.values().sum::<usize>();
        let own = taken.get(tenant).copied().unwrap_or_default();
        if own >= free {
            return None;
        }
        taken.insert(tenant.clone(), own + 1);
        Some(WaitingPlace { places: self, tenant: tenant.clone() })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<InstanceId, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WaitingPlace<'_> {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        if let Some(count) = taken.get_mut(&self.tenant) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.tenant);
            }
        }
    }
}

/// Somebody who looks again and again until there is something, or their patience is over.
pub struct Waiter<'a> {
    listener: Listener,
    deadline: Instant,
    places: &'a Places,
    tenant: &'a InstanceId,
    place: Option<WaitingPlace<'a>>,
}

impl<'a> Waiter<'a> {
    /// Listens from now on. A place is taken by those only who really wait.
    pub fn new(
        listener: Listener,
        places: &'a Places,
        tenant: &'a InstanceId,
        patience: Duration,
    ) -> Waiter<'a> {
        Waiter { listener, deadline: Instant::now() + patience, places, tenant, place: None }
    }

    /// Waits until it is worth looking again; `false` when the time is over.
    pub async fn again(&mut self) -> Result<bool> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        if self.place.is_none() {
            self.place = Some(self.places.take(self.tenant).ok_or_else(too_many)?);
        }
        self.listener.wait(left.min(LOOK)).await;
        Ok(true)
    }
}

fn too_many() -> Error {
    Error::new(Code::ServiceUnavailable)
        .saying("Too many are waiting. Ask without `wait`, or try again in a second.")
        .retry_after(1)
}

#[cfg(test)]
mod tests {
    use latchkey_base::Time;
    use latchkey_base::rng::SeededRng;

    use super::*;
    use crate::bell::Bell;

    #[test]
    fn seconds_are_read_with_and_without_their_unit() {
        assert_eq!(patience(None, 25).unwrap(), Duration::ZERO);
        assert_eq!(patience(Some("25"), 25).unwrap(), Duration::from_secs(25));
        assert_eq!(patience(Some("7s"), 25).unwrap(), Duration::from_secs(7));
        for bad in ["", "s", "-1", "26", "5m", "1.5", "5ss"] {
            assert!(patience(Some(bad), 25).is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn whoever_finds_no_place_is_told_at_once() {
        let (bell, places, tenant) = (Bell::default(), Places::new(0), InstanceId::unset());
        let mut waiter = Waiter::new(bell.listen(), &places, &tenant, Duration::from_secs(20));
        assert_eq!(waiter.again().await.unwrap_err().code(), Code::ServiceUnavailable);
        let mut hasty = Waiter::new(bell.listen(), &places, &tenant, Duration::ZERO);
        assert!(!hasty.again().await.unwrap(), "nobody who does not wait needs a place");
    }

    #[test]
    fn no_tenant_takes_the_place_of_all_others() {
        let places = Places::new(8);
        let rng = SeededRng::new(1);
        let tenants: Vec<InstanceId> = (0..4).map(|_| InstanceId::new(Time::from_ms(0), &rng)).collect();
        let mut held = Vec::new();
        for expected in [4, 2, 1, 1] {
            let tenant = &tenants[held.len()];
            let mine: Vec<WaitingPlace<'_>> = std::iter::from_fn(|| places.take(tenant)).collect();
            assert_eq!(mine.len(), expected);
            held.push(mine);
        }
        held.clear();
        assert_eq!((places.free(), places.taken().len()), (8, 0));
    }
}
