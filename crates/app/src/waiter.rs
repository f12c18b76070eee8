//! Waiting for something to happen, for the operations that take `wait`.

use std::time::Duration;

use latchkey_base::{Code, Error, Result};
use tokio::sync::{Semaphore, SemaphorePermit};
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

/// Somebody who looks again and again until there is something, or their patience is over.
pub struct Waiter<'a> {
    listener: Listener,
    deadline: Instant,
    places: &'a Semaphore,
    place: Option<SemaphorePermit<'a>>,
}

impl<'a> Waiter<'a> {
    /// Listens from now on. A place is taken by those only who really wait.
    pub fn new(listener: Listener, places: &'a Semaphore, patience: Duration) -> Waiter<'a> {
        Waiter { listener, deadline: Instant::now() + patience, places, place: None }
    }

    /// Waits until it is worth looking again; `false` when the time is over.
    pub async fn again(&mut self) -> Result<bool> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        if self.place.is_none() {
            let busy =
                |_| Error::new(Code::ServiceUnavailable).saying("Too many are waiting.").retry_after(1);
            self.place = Some(self.places.try_acquire().map_err(busy)?);
        }
        self.listener.wait(left.min(LOOK)).await;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
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
        let (bell, places) = (Bell::default(), Semaphore::new(0));
        let mut waiter = Waiter::new(bell.listen(), &places, Duration::from_secs(20));
        assert_eq!(waiter.again().await.unwrap_err().code(), Code::ServiceUnavailable);
        let mut hasty = Waiter::new(bell.listen(), &places, Duration::ZERO);
        assert!(!hasty.again().await.unwrap(), "nobody who does not wait needs a place");
    }
}
