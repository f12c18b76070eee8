//! Counters behind the rate limits: so many requests in a window, then a block until it ends.
//!
//! In process for now; nodes that must share counters will put a store behind the same call, which
//! is asynchronous for that reason. A hit
//! costs a hash, a short lock and an addition. Memory is bounded: a full shard first drops windows
//! that have ended, then refuses to remember new keys rather than forget the ones it is limiting.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use latchkey_base::Time;

const SHARDS: usize = 64;
/// 64 × 4096 windows of 24 bytes: some 12 MB when every one is in use.
const WINDOWS_PER_SHARD: usize = 4096;

/// A limit: at most `requests` in `window_ms`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Requests allowed in one window.
    pub requests: u32,
    /// Length of the window.
    pub window_ms: i64,
}

/// All counters of this process.
pub struct Throttle {
    hasher: RandomState,
    shards: Vec<Mutex<Shard>>,
}

#[derive(Default)]
struct Shard {
    windows: HashMap<u64, Window>,
    /// When a full shard was last searched for ended windows; searching on every hit would be slow.
    swept_at: Option<Time>,
}

struct Window {
    ends_at: Time,
    count: u32,
}

impl Default for Throttle {
    fn default() -> Throttle {
        Throttle { hasher: RandomState::new(), shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

impl Throttle {
    /// Counts a request for `scope` and `key`. When it is one too many: the whole seconds to wait.
    pub async fn hit(&self, scope: &str, key: &str, limit: Limit, now: Time) -> Result<(), i64> {
        let hash = self.hasher.hash_one((scope, key));
        let mut shard = self.shards[hash as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner);
        if !shard.has_room_for(hash, now) {
            return Ok(());
        }
        let fresh = Window { ends_at: now.plus_ms(limit.window_ms), count: 0 };
        let window = shard.windows.entry(hash).or_insert(Window { ends_at: now, count: 0 });
        if window.ends_at <= now {
            *window = fresh;
        }
        window.count = window.count.saturating_add(1);
        match window.count <= limit.requests {
            true => Ok(()),
            false => Err((window.ends_at.ms_since(now) + 999) / 1000),
        }
    }
}

impl Throttle {
    /// The whole seconds to wait where the limit is reached already; counts nothing.
    pub async fn wait(&self, scope: &str, key: &str, limit: Limit, now: Time) -> Option<i64> {
        let hash = self.hasher.hash_one((scope, key));
        let shard = self.shards[hash as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner);
        let window = shard.windows.get(&hash).filter(|window| window.ends_at > now)?;
        (window.count >= limit.requests).then(|| (window.ends_at.ms_since(now) + 999) / 1000)
    }
}

impl Shard {
    fn has_room_for(&mut self, hash: u64, now: Time) -> bool {
        if self.windows.len() < WINDOWS_PER_SHARD || self.windows.contains_key(&hash) {
            return true;
        }
        if self.swept_at.is_none_or(|swept_at| now.ms_since(swept_at) >= 1000) {
            self.windows.retain(|_, window| window.ends_at > now);
            self.swept_at = Some(now);
        }
        self.windows.len() < WINDOWS_PER_SHARD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Limit = Limit { requests: 2, window_ms: 10_000 };

    #[tokio::test]
    async fn requests_over_the_limit_wait_for_the_window_to_end() {
        let throttle = Throttle::default();
        let start = Time::from_ms(0);
        assert_eq!(throttle.hit("a", "k", TWO, start).await, Ok(()));
        assert_eq!(throttle.hit("a", "k", TWO, start).await, Ok(()));
        assert_eq!(throttle.hit("a", "k", TWO, start.plus_ms(100)).await, Err(10));
        assert_eq!(throttle.hit("a", "other", TWO, start).await, Ok(()));
        assert_eq!(throttle.hit("b", "k", TWO, start).await, Ok(()));
        assert_eq!(throttle.hit("a", "k", TWO, start.plus_ms(9_999)).await, Err(1));
        assert_eq!(throttle.wait("a", "k", TWO, start.plus_ms(9_999)).await, Some(1));
        assert_eq!(throttle.wait("a", "k", TWO, start.plus_ms(10_000)).await, None);
        assert_eq!(throttle.wait("a", "other", TWO, start).await, None);
        assert_eq!(throttle.hit("a", "k", TWO, start.plus_ms(10_000)).await, Ok(()));
    }

    #[tokio::test]
    async fn a_flood_of_keys_does_not_grow_without_bound() {
        let throttle = Throttle::default();
        for key in 0..SHARDS * WINDOWS_PER_SHARD + 50_000 {
            let _ = throttle.hit("a", &key.to_string(), TWO, Time::from_ms(0)).await;
        }
        let held: usize = throttle.shards.iter().map(|shard| shard.lock().unwrap().windows.len()).sum();
        assert!(held <= SHARDS * WINDOWS_PER_SHARD);
    }
}
