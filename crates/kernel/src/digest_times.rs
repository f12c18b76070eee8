//! How long comparing a password takes for the slowest digests of an instance, as far as they were seen: where answers must
//! not tell who has an account, all of them take as long.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use latchkey_base::kinds::InstanceId;

/// The slowest digest of each instance.
#[derive(Default)]
pub struct DigestTimes(Mutex<HashMap<InstanceId, Duration>>);

impl DigestTimes {
    /// The time of the slowest digest, once some were looked at.
    pub fn slowest(&self, instance: &InstanceId) -> Option<Duration> {
        self.times().get(instance).copied()
    }

    /// Some digests were looked at: this is the time of the slowest of them.
    pub fn found(&self, instance: &InstanceId, time: Duration) {
        let mut times = self.times();
        let slowest = times.entry(instance.clone()).or_default();
        *slowest = time.max(*slowest);
    }

    /// Notes one more digest, if some were looked at before.
    pub fn note(&self, instance: &InstanceId, time: Duration) {
        if let Some(slowest) = self.times().get_mut(instance) {
            *slowest = time.max(*slowest);
        }
    }

    fn times(&self) -> MutexGuard<'_, HashMap<InstanceId, Duration>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
