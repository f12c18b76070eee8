//! The load: a number of connections, each sending its next request as soon as the reply to the last one is
//! there (a closed loop), for a warm-up and a measured window. Every server of the bench is loaded by this one
//! function, so that what is compared was loaded alike.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};

use crate::Result;
use crate::histogram::Histogram;
use crate::http::Connection;

/// Writes the next request into an empty buffer. Shared by all connections, so creates can count upwards.
pub(crate) type Requests = Arc<dyn Fn(&mut Vec<u8>) + Send + Sync>;

/// A request that takes longer than this beyond the window is a failure, not a latency.
const GRACE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy)]
pub(crate) struct Window {
    pub(crate) warm_up: Duration,
    pub(crate) measured: Duration,
}

/// What one or several windows counted.
#[derive(Clone)]
pub(crate) struct Outcome {
    pub(crate) latencies: Histogram,
    /// From the beginning of the window to the end of the last operation that counted.
    pub(crate) elapsed: Duration,
    /// Operations that ended inside the window, whenever they began: the latencies of slow ones leave out as
    /// many as were under way at its beginning, and the rate must not.
    pub(crate) completed: u64,
    pub(crate) window: Duration,
    /// Replies other than 2xx, and connections that broke. Any makes the bench fail.
    pub(crate) failures: u64,
    pub(crate) first_failure: Option<String>,
}

impl Outcome {
    pub(crate) fn new() -> Self {
        Self {
            latencies: Histogram::new(),
            elapsed: Duration::ZERO,
            completed: 0,
            window: Duration::ZERO,
            failures: 0,
            first_failure: None,
        }
    }

    pub(crate) fn rate(&self) -> f64 {
        match self.completed {
            // Longer than the window; better a rough rate than none.
            0 => self.latencies.count() as f64 / self.elapsed.as_secs_f64().max(1e-9),
            completed => completed as f64 / self.window.as_secs_f64().max(1e-9),
        }
    }

    pub(crate) fn p50(&self) -> Option<Duration> {
        self.latencies.quantile(0.5)
    }

    pub(crate) fn p99(&self) -> Option<Duration> {
        self.latencies.quantile(0.99)
    }

    pub(crate) fn fail(&mut self, why: String) {
        self.failures += 1;
        self.first_failure.get_or_insert(why);
    }

    /// Adds what a connection counted in the same window.
    pub(crate) fn beside(&mut self, other: Self) {
        self.latencies.merge(&other.latencies);
        self.elapsed = self.elapsed.max(other.elapsed);
        self.completed += other.completed;
        self.window = self.window.max(other.window);
        self.failures += other.failures;
        self.first_failure = self.first_failure.take().or(other.first_failure);
    }

    /// Adds a later window.
    pub(crate) fn then(&mut self, other: Self) {
        let (elapsed, window) = (self.elapsed + other.elapsed, self.window + other.window);
        self.beside(other);
        (self.elapsed, self.window) = (elapsed, window);
    }
}

/// Loads `address` with `connections` connections for one window, as fast as the replies come.
pub(crate) async fn run(
    address: SocketAddr,
    connections: usize,
    window: Window,
    requests: &Requests,
) -> Result<Outcome> {
    run_paced(address, connections, window, requests, Duration::ZERO).await
}

/// The same, but each connection begins a request no sooner than `every` after the one before.
pub(crate) async fn run_paced(
    address: SocketAddr,
    connections: usize,
    window: Window,
    requests: &Requests,
    every: Duration,
) -> Result<Outcome> {
    let mut open = Vec::with_capacity(connections);
    for _ in 0..connections {
        open.push(Connection::open(address).await?);
    }
    let clock = Clock::start(window);
    let mut tasks = JoinSet::new();
    for (number, connection) in open.into_iter().enumerate() {
        // Spread over the period: requests that always come together would measure each other.
        let due = Instant::now() + every.mul_f64(number as f64 / connections as f64);
        tasks.spawn(drive(connection, clock, Pace { every, due }, requests.clone()));
    }
    let mut all = Outcome::new();
    let collect = async {
        while let Some(one) = tasks.join_next().await {
            all.beside(one?);
        }
        Result::Ok(())
    };
    match timeout(window.warm_up + window.measured + GRACE, collect).await {
        Ok(done) => done?,
        Err(_) => all.fail(format!("no reply within {} s", GRACE.as_secs())),
    }
    Ok(all)
}

/// The borders of one window.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    from: Instant,
    until: Instant,
}

impl Clock {
    pub(crate) fn start(window: Window) -> Self {
        let from = Instant::now() + window.warm_up;
        Self { from, until: from + window.measured }
    }

    /// Counts an operation, and says whether to go on. Its latency counts if it began inside the window, even
    /// if it is longer than that: a slow search must show as slow, not as absent.
    pub(crate) fn count(&self, began: Instant, outcome: &mut Outcome) -> bool {
        let now = Instant::now();
        outcome.window = self.until - self.from;
        if (self.from..self.until).contains(&now) {
            outcome.completed += 1;
        }
        if began >= self.from {
            outcome.latencies.record(now - began);
            outcome.elapsed = now - self.from;
        }
        now < self.until || outcome.latencies.count() == 0
    }
}

/// When the requests of one connection begin.
struct Pace {
    every: Duration,
    due: Instant,
}

impl Pace {
    /// Waits until the next request is due and says when it began. One that is late because the reply before
    /// it was late began when it was due: its wait counts.
    async fn next(&mut self) -> Instant {
        let (now, due) = (Instant::now(), self.due);
        if self.every.is_zero() {
            return now;
        }
        self.due += self.every;
        if now >= due {
            return due;
        }
        sleep_until(due.into()).await;
        Instant::now()
    }
}

async fn drive(mut connection: Connection, clock: Clock, mut pace: Pace, requests: Requests) -> Outcome {
    let mut outcome = Outcome::new();
    let mut request = Vec::with_capacity(1024);
    loop {
        request.clear();
        requests(&mut request);
        let began = pace.next().await;
        match connection.exchange(&request).await {
            Ok(reply) if reply.ok() => {}
            Ok(reply) => outcome.fail(reply.describe()),
            Err(error) => {
                outcome.fail(error.to_string());
                return outcome;
            }
        }
        if !clock.count(began, &mut outcome) {
            return outcome;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_under_way_at_the_beginning_counts_for_the_rate() {
        let (from, second) = (Instant::now() - Duration::from_secs(1), Duration::from_secs(1));
        let clock = Clock { from, until: from + 9 * second };
        let mut outcome = Outcome::new();
        assert!(clock.count(from - second, &mut outcome));
        assert_eq!((outcome.completed, outcome.latencies.count()), (1, 0));
        assert_eq!(outcome.rate(), 1.0 / 9.0);
        assert!(clock.count(from, &mut outcome));
        assert_eq!((outcome.completed, outcome.latencies.count()), (2, 1));
    }

    #[test]
    fn an_operation_longer_than_the_window_has_a_rate_too() {
        let (from, second) = (Instant::now() - Duration::from_secs(4), Duration::from_secs(1));
        let clock = Clock { from, until: from + second };
        let mut outcome = Outcome::new();
        assert!(!clock.count(from, &mut outcome));
        assert_eq!(outcome.completed, 0);
        assert!((0.2..=0.25).contains(&outcome.rate()));
    }
}
