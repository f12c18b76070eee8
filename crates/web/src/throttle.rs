//! Counters behind the rate limits: so many requests in a window, then a block until it ends.
//!
//! In process for now; nodes that must share counters will put a store behind the same call, which
//! is asynchronous for that reason. A hit costs a hash, a short lock and an addition.
//!
//! Memory is bounded, and a full table admits nobody for free. A full shard first drops windows that have ended. If
//! it is still full, it keeps every window it has: whoever is being limited stays limited, however many keys others
//! make up. A new key is then counted in one of a fixed number of cells, together with the other keys that share the
//! cell.
//!
//! Keys that anybody can make up in any number (addresses), keys that anybody is given for the asking (clients) and keys
//! that cost something (instances, people) lie in tables of their own, so that a flood of the first does not touch the
//! others. Windows of an hour or more lie apart from short ones of the same keys: of a day's windows none ends for hours,
//! and they must not take the room of those that end within seconds.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use latchkey_base::Time;

const SHARDS: usize = 64;
/// 64 × 4096 windows of 24 bytes: some 12 MB for each table when every one is in use. A table that nobody fills is small.
const WINDOWS_PER_SHARD: usize = 4096;
/// The same for long windows of known keys, of which everybody has one who changed something today: a million people fit,
/// also when one shard gets a few more of them than another. Some 50 MB when every one is in use, and with the five other
/// tables 115 MB.
const LONG_KNOWN_WINDOWS_PER_SHARD: usize = 16 * 1024;
/// Windows from this length on are long ones.
const LONG_MS: i64 = 3600 * 1000;
/// Cells of a shard for keys that find no room, for each limit.
const CELLS_PER_SHARD: usize = 64;

/// A limit: at most `requests` in `window_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// Requests allowed in one window.
    pub requests: u32,
    /// Length of the window.
    pub window_ms: i64,
}

/// A limit that operations have of their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// What is counted. Operations that share the name share the count.
    pub name: &'static str,
    /// Whose requests are counted together.
    pub per: Per,
    /// How many there may be.
    pub limit: Limit,
}

/// A limit that operations have for each person.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PersonRate {
    /// What is counted. Operations that share the name share the count.
    pub name: &'static str,
    /// How many there may be.
    pub limit: Limit,
    /// Whether all people of an address, a network and an instance have a limit together, too.
    pub is_shared: bool,
}

/// Whose requests are counted together. Instances are always counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Those that come from one address.
    Address,
    /// Those about one object, which is the first id in the path.
    Object,
    /// Those about one object that all ids in the path name together.
    Objects,
    /// All those of an instance.
    Instance,
}

/// Who can make up new keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Anybody, in any number: addresses, and the networks they belong to.
    Open,
    /// Anybody, but only as many as they may ask for: clients, and browsers of developers.
    Client,
    /// Only those who were let in: instances, people, objects of an instance.
    Known,
}

impl Per {
    /// Who can make up the keys of this kind.
    pub const fn keys(self) -> Keys {
        match self {
            Per::Address => Keys::Open,
            Per::Object | Per::Objects | Per::Instance => Keys::Known,
        }
    }
}

impl Rate {
    /// So many requests of each address in so many milliseconds.
    pub const fn per_address(name: &'static str, requests: u32, window_ms: i64) -> Rate {
        Rate { name, per: Per::Address, limit: Limit { requests, window_ms } }
    }

    /// So many requests about each object that several ids name together, in so many milliseconds.
    pub const fn per_objects(name: &'static str, requests: u32, window_ms: i64) -> Rate {
        Rate { name, per: Per::Objects, limit: Limit { requests, window_ms } }
    }

    /// So many requests of each instance in so many milliseconds, whatever they are about.
    pub const fn per_instance(name: &'static str, requests: u32, window_ms: i64) -> Rate {
        Rate { name, per: Per::Instance, limit: Limit { requests, window_ms } }
    }

    /// So many requests about each object in so many milliseconds.
    pub const fn per_object(name: &'static str, requests: u32, window_ms: i64) -> Rate {
        Rate { name, per: Per::Object, limit: Limit { requests, window_ms } }
    }
}

/// One counter.
#[derive(Clone, Debug)]
pub struct Counter<'a> {
    /// Who can make up its key.
    pub keys: Keys,
    /// What it counts.
    pub scope: &'static str,
    /// Whose requests it counts.
    pub key: Cow<'a, str>,
    /// How far it goes.
    pub limit: Limit,
}

impl<'a> Counter<'a> {
    /// One whose key anybody can make up.
    pub fn open(scope: &'static str, key: impl Into<Cow<'a, str>>, limit: Limit) -> Counter<'a> {
        Counter { keys: Keys::Open, scope, key: key.into(), limit }
    }

    /// One whose key is a client, or the browser of a developer.
    pub fn client(scope: &'static str, key: impl Into<Cow<'a, str>>, limit: Limit) -> Counter<'a> {
        Counter { keys: Keys::Client, scope, key: key.into(), limit }
    }

    /// One whose key belongs to somebody who was let in.
    pub fn known(scope: &'static str, key: impl Into<Cow<'a, str>>, limit: Limit) -> Counter<'a> {
        Counter { keys: Keys::Known, scope, key: key.into(), limit }
    }
}

/// All counters of this process.
pub struct Throttle {
    open: Tables,
    client: Tables,
    known: Tables,
}

/// The windows of one kind of keys.
struct Tables {
    short: Table,
    long: Table,
}

struct Table {
    hasher: RandomState,
    shards: Vec<Mutex<Shard>>,
}

struct Shard {
    windows: HashMap<u64, Window>,
    /// How many windows there may be.
    room: usize,
    /// What is counted for keys that found no room, by their limit. Limits are constants or settings of the server, so
    /// there are few; apart, because a short window must not last as long as a long one, and keys that may count to a
    /// thousand must not use up what those have that may count to three.
    cells: HashMap<Limit, Vec<Window>>,
    /// When a full shard was last searched for ended windows; searching on every hit would be slow.
    swept_at: Option<Time>,
}

#[derive(Clone, Copy)]
struct Window {
    ends_at: Time,
    count: u32,
}

impl Default for Throttle {
    fn default() -> Throttle {
        Throttle {
            open: Tables::new(WINDOWS_PER_SHARD),
            client: Tables::new(WINDOWS_PER_SHARD),
            known: Tables::new(LONG_KNOWN_WINDOWS_PER_SHARD),
        }
    }
}

impl Tables {
    /// With room for so many long windows in each shard.
    fn new(long: usize) -> Tables {
        Tables { short: Table::new(WINDOWS_PER_SHARD), long: Table::new(long) }
    }

    fn of(&self, limit: Limit) -> &Table {
        match limit.window_ms >= LONG_MS {
            true => &self.long,
            false => &self.short,
        }
    }
}

impl Table {
    fn new(room: usize) -> Table {
        let shard = || Shard { windows: HashMap::new(), room, cells: HashMap::new(), swept_at: None };
        Table { hasher: RandomState::new(), shards: (0..SHARDS).map(|_| Mutex::new(shard())).collect() }
    }

    fn windows(&self) -> usize {
        self.shards.iter().map(|shard| open(shard).windows.len()).sum()
    }
}

fn open(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Throttle {
    /// Counts a request, and tells how many there were in the window, with this one. When it is one too many: the whole
    /// seconds to wait.
    pub async fn hit(&self, counter: &Counter<'_>, now: Time) -> Result<u32, i64> {
        self.weigh(counter, 1, now).await
    }

    /// The same for a request that counts as `weight` of them. One that is refused is counted as well, so that
    /// trying again and again does not help.
    pub async fn weigh(&self, counter: &Counter<'_>, weight: u32, now: Time) -> Result<u32, i64> {
        let limit = counter.limit;
        let (hash, mut shard) = self.shard(counter);
        let window = shard.window(hash, limit, now);
        if !window.is_open(limit, now) {
            *window = Window { ends_at: now.plus_ms(limit.window_ms), count: 0 };
        }
        window.count = window.count.saturating_add(weight);
        match window.count <= limit.requests {
            true => Ok(window.count),
            false => Err(window.wait_seconds(now)),
        }
    }

    /// The whole seconds to wait where the limit is reached already; counts nothing.
    pub async fn wait(&self, counter: &Counter<'_>, now: Time) -> Option<i64> {
        let limit = counter.limit;
        let (hash, shard) = self.shard(counter);
        let window = match shard.windows.get(&hash) {
            Some(window) => window,
            None if shard.windows.len() < shard.room => return None,
            None => shard.cells.get(&limit)?.get(cell(hash))?,
        };
        (window.is_open(limit, now) && window.count >= limit.requests).then(|| window.wait_seconds(now))
    }

    /// How many windows of an hour or more are kept for keys of a kind, those that have ended included.
    pub fn long_windows(&self, keys: Keys) -> usize {
        self.tables(keys).long.windows()
    }

    fn tables(&self, keys: Keys) -> &Tables {
        match keys {
            Keys::Open => &self.open,
            Keys::Client => &self.client,
            Keys::Known => &self.known,
        }
    }

    /// The hash of a counter, and the shard it lies in.
    fn shard(&self, Counter { keys, scope, key, limit }: &Counter<'_>) -> (u64, MutexGuard<'_, Shard>) {
        let table = self.tables(*keys).of(*limit);
        let hash = table.hasher.hash_one((scope, key));
        (hash, open(&table.shards[hash as usize % SHARDS]))
    }
}

impl Shard {
    /// The window a key is counted in: its own, or the cell it shares with others when there is no room for one.
    fn window(&mut self, hash: u64, limit: Limit, now: Time) -> &mut Window {
        let ended = Window { ends_at: now, count: 0 };
        match self.has_room_for(hash, now) {
            true => self.windows.entry(hash).or_insert(ended),
            false => {
                let cells = self.cells.entry(limit).or_insert_with(|| vec![ended; CELLS_PER_SHARD]);
                &mut cells[cell(hash)]
            }
        }
    }

    fn has_room_for(&mut self, hash: u64, now: Time) -> bool {
        if self.windows.len() < self.room || self.windows.contains_key(&hash) {
            return true;
        }
        if self.swept_at.is_none_or(|swept_at| now < swept_at || now.ms_since(swept_at) >= 1000) {
            self.windows.retain(|_, window| window.ends_at > now);
            self.swept_at = Some(now);
        }
        self.windows.len() < self.room
    }
}

impl Window {
    /// Whether it lasts. One that would last longer than windows do was begun before the clock was set back.
    fn is_open(&self, limit: Limit, now: Time) -> bool {
        self.ends_at > now && self.ends_at <= now.plus_ms(limit.window_ms)
    }

    fn wait_seconds(&self, now: Time) -> i64 {
        (self.ends_at.ms_since(now) + 999) / 1000
    }
}

/// The cell of a key: by other bits of the hash than those that chose the shard.
fn cell(hash: u64) -> usize {
    (hash >> 32) as usize % CELLS_PER_SHARD
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Limit = Limit { requests: 2, window_ms: 10_000 };

    #[tokio::test]
    async fn requests_over_the_limit_wait_for_the_window_to_end() {
        let throttle = Throttle::default();
        let start = Time::from_ms(0);
        assert!(throttle.hit(&Counter::known("a", "k", TWO), start).await.is_ok());
        assert!(throttle.hit(&Counter::known("a", "k", TWO), start).await.is_ok());
        assert_eq!(throttle.hit(&Counter::known("a", "k", TWO), start.plus_ms(100)).await, Err(10));
        assert!(throttle.hit(&Counter::known("a", "other", TWO), start).await.is_ok());
        assert!(throttle.hit(&Counter::known("b", "k", TWO), start).await.is_ok());
        assert_eq!(throttle.hit(&Counter::known("a", "k", TWO), start.plus_ms(9_999)).await, Err(1));
        assert_eq!(throttle.wait(&Counter::known("a", "k", TWO), start.plus_ms(9_999)).await, Some(1));
        assert_eq!(throttle.wait(&Counter::known("a", "k", TWO), start.plus_ms(10_000)).await, None);
        assert_eq!(throttle.wait(&Counter::known("a", "other", TWO), start).await, None);
        assert!(throttle.hit(&Counter::known("a", "k", TWO), start.plus_ms(10_000)).await.is_ok());
    }

    /// As many keys as fill every shard, counted once each.
    async fn flood(throttle: &Throttle, now: Time) -> usize {
        let mut admitted = 0;
        for key in 0..SHARDS * WINDOWS_PER_SHARD * 5 / 4 {
            admitted +=
                usize::from(throttle.hit(&Counter::open("a", key.to_string(), TWO), now).await.is_ok());
        }
        admitted
    }

    #[tokio::test]
    async fn a_clock_that_is_set_back_or_forward_locks_nobody_out() {
        let throttle = Throttle::default();
        let (start, day) = (Time::from_ms(1_767_225_600_000), 24 * 3_600_000);
        for step in [-day, day] {
            for _ in 0..2 {
                assert!(throttle.hit(&Counter::known("a", "k", TWO), start).await.is_ok());
            }
            assert_eq!(throttle.hit(&Counter::known("a", "k", TWO), start).await, Err(10));
            let stepped = start.plus_ms(step);
            assert_eq!(throttle.wait(&Counter::known("a", "k", TWO), stepped).await, None);
            // It is counted anew, and no less strictly.
            assert!(throttle.hit(&Counter::known("a", "k", TWO), stepped).await.is_ok());
            assert!(throttle.hit(&Counter::known("a", "k", TWO), stepped).await.is_ok());
            assert_eq!(throttle.hit(&Counter::known("a", "k", TWO), stepped).await, Err(10));
        }
    }

    #[tokio::test]
    async fn a_flood_of_keys_does_not_grow_without_bound_and_is_not_admitted() {
        let throttle = Throttle::default();
        let start = Time::from_ms(0);
        flood(&throttle, start).await;
        assert_eq!(throttle.open.short.windows(), SHARDS * WINDOWS_PER_SHARD, "the table is full");
        let cells = SHARDS * CELLS_PER_SHARD * TWO.requests as usize;
        let mut admitted = 0;
        for key in 0..10 * cells {
            let key = format!("later {key}");
            admitted += usize::from(throttle.hit(&Counter::open("a", key, TWO), start).await.is_ok());
        }
        assert!(admitted <= cells, "{admitted} of {} new keys", 10 * cells);
        assert!(throttle.hit(&Counter::known("a", "somebody", TWO), start).await.is_ok());
    }

    #[tokio::test]
    async fn whoever_is_limited_stays_so_in_a_flood_of_keys_and_the_room_comes_back() {
        let throttle = Throttle::default();
        let start = Time::from_ms(0);
        for _ in 0..3 {
            let _ = throttle.hit(&Counter::open("a", "attacker", TWO), start).await;
        }
        flood(&throttle, start.plus_ms(1)).await;
        assert_eq!(throttle.hit(&Counter::open("a", "attacker", TWO), start.plus_ms(2)).await, Err(10));
        let later = start.plus_ms(20_000);
        for key in 0..1000 {
            assert!(throttle.hit(&Counter::open("a", format!("later {key}"), TWO), later).await.is_ok());
        }
    }

    #[tokio::test]
    async fn in_a_full_table_keys_with_a_large_limit_use_up_nothing_of_those_with_a_small_one() {
        let (throttle, start) = (Throttle::default(), Time::from_ms(0));
        let thousand = Limit { requests: 1000, ..TWO };
        // Windows of a larger limit fill the table, so that the cells are empty but for the last of them.
        for key in 0..SHARDS * WINDOWS_PER_SHARD * 5 / 4 {
            throttle.hit(&Counter::open("a", key.to_string(), thousand), start).await.unwrap();
        }
        assert!(throttle.hit(&Counter::open("b", "somebody", TWO), start).await.is_ok());
        assert_eq!(throttle.wait(&Counter::open("b", "somebody", TWO), start).await, None);
        assert!(throttle.hit(&Counter::open("b", "somebody", TWO), start).await.is_ok());
        assert_eq!(throttle.wait(&Counter::open("b", "somebody", TWO), start).await, Some(10));
        assert_eq!(throttle.hit(&Counter::open("b", "somebody", TWO), start).await, Err(10));
    }

    const TWO_A_DAY: Limit = Limit { requests: 2, window_ms: 24 * 3600 * 1000 };

    /// Counts as many new keys as fill a table of short windows, and some more.
    async fn fill<'a>(throttle: &Throttle, counter: impl Fn(String) -> Counter<'a>) {
        for key in 0..SHARDS * WINDOWS_PER_SHARD * 5 / 4 {
            let _ = throttle.hit(&counter(key.to_string()), Time::from_ms(0)).await;
        }
    }

    /// Whether so many keys are each counted by themselves, whatever others count.
    async fn have_room<'a>(
        throttle: &Throttle,
        keys: usize,
        counter: impl Fn(String) -> Counter<'a>,
    ) -> bool {
        for key in 0..keys {
            if throttle.hit(&counter(format!("later {key}")), Time::from_ms(1)).await != Ok(1) {
                return false;
            }
        }
        true
    }

    #[tokio::test]
    async fn clients_and_addresses_in_any_number_leave_people_their_room() {
        let throttle = Throttle::default();
        for limit in [TWO, TWO_A_DAY] {
            fill(&throttle, |key| Counter::open("a", key, limit)).await;
            assert!(have_room(&throttle, 20_000, |key| Counter::client("a", key, limit)).await);
            fill(&throttle, |key| Counter::client("a", key, limit)).await;
            assert!(!have_room(&throttle, 20_000, |key| Counter::client("a", key, limit)).await);
            assert!(have_room(&throttle, 20_000, |key| Counter::known("a", key, limit)).await);
        }
    }

    #[tokio::test]
    async fn windows_of_a_day_do_not_take_the_room_of_short_ones() {
        let throttle = Throttle::default();
        fill(&throttle, |key| Counter::open("a", key, TWO_A_DAY)).await;
        fill(&throttle, |key| Counter::client("a", key, TWO_A_DAY)).await;
        assert!(have_room(&throttle, 20_000, |key| Counter::open("a", key, TWO)).await);
        assert!(have_room(&throttle, 20_000, |key| Counter::client("a", key, TWO)).await);
    }

    #[tokio::test]
    async fn a_million_people_each_have_a_window_of_a_day() {
        let throttle = Throttle::default();
        assert!(have_room(&throttle, 1_000_000, |key| Counter::known("a", key, TWO_A_DAY)).await);
        assert_eq!(throttle.long_windows(Keys::Known), 1_000_000);
        assert_eq!(throttle.known.short.windows(), 0);
    }

    #[tokio::test]
    async fn a_count_tells_how_many_there_were_in_the_window() {
        let (throttle, start) = (Throttle::default(), Time::from_ms(0));
        assert_eq!(throttle.hit(&Counter::known("a", "k", TWO), start).await, Ok(1));
        assert_eq!(throttle.hit(&Counter::known("a", "k", TWO), start).await, Ok(2));
        assert_eq!(throttle.hit(&Counter::known("a", "k", TWO), start).await, Err(10));
        assert_eq!(throttle.hit(&Counter::known("a", "k", TWO), start.plus_ms(10_000)).await, Ok(1));
    }

    #[tokio::test]
    async fn a_heavy_request_counts_as_many() {
        let throttle = Throttle::default();
        let (start, five) = (Time::from_ms(0), Limit { requests: 5, window_ms: 10_000 });
        assert!(throttle.weigh(&Counter::known("a", "k", five), 4, start).await.is_ok());
        assert_eq!(throttle.weigh(&Counter::known("a", "k", five), 2, start).await, Err(10));
        assert_eq!(throttle.weigh(&Counter::known("a", "k", five), u32::MAX, start).await, Err(10));
    }
}
