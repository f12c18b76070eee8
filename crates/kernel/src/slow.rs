//! Slow work on threads of its own: password hashing, decoding of pictures, signing with long keys. Others only take a
//! place in a lane, and work elsewhere: long reads.
//!
//! Each kind has a lane of its own, so that no kind waits for another. In a lane a bounded number runs at once, so that
//! it can never take the processor from other requests, and a bounded number waits; the next one is told to come back.
//! Tenants take turns: one with a thousand jobs delays another by at most one job for each thread. The people of a
//! tenant take turns in the same way, and its backend is one of them. A tenant, and a person of it, may only have so
//! many jobs; when a lane is full, the tenant with most of them gives a place to one that has fewer, and when a tenant
//! has all it may have, the person with most does.
//!
//! The threads step back behind all others: a request that needs the processor for a moment does not wait for the end
//! of their turn.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use latchkey_base::kinds::{InstanceId, UserId};
use latchkey_base::{Code, Error, Result};
use latchkey_web::network::Network;
use tokio::sync::oneshot;

/// The niceness of the threads, of 19. It was chosen by two figures on two cores: a password sign-in beside eight busy
/// processes, three at a time, and the 99th percentile of tokens beside sign-ins without pause, medians of three runs.
///
/// | niceness | sign-in, median | slowest | tokens |
/// |---:|---:|---:|---:|
/// | 0 | 1.0 s | 1.2 s | 63 ms |
/// | 2 | 1.8 s | 2.6 s | 58 ms |
/// | 5 | 3.0 s | 3.7 s | 34 ms |
/// | 10 | 8.9 s | 11.4 s | 36 ms |
///
/// Clients give up after 10 s. Below 5 tokens wait longer.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

/// Work, which returns the delivery of its outcome: the place is free before anybody learns of it.
type Job = Box<dyn FnOnce() -> Delivery + Send>;
type Delivery = Box<dyn FnOnce() + Send>;

/// How much a lane takes.
#[derive(Clone, Copy, Debug)]
pub struct LaneSize {
    /// Jobs that run at once.
    pub slots: usize,
    /// Jobs that wait.
    pub waiting: usize,
    /// Those of one tenant among them.
    pub per_tenant: usize,
    /// Jobs of one person, or of one network where nobody is known, that wait or run: at most a quarter of
    /// `per_tenant`.
    pub per_person: usize,
}

impl LaneSize {
    /// Jobs of the backend of one tenant that wait or run. Half, so that its people always find room.
    pub const fn per_backend(self) -> usize {
        self.per_tenant / 2
    }

    fn most_of(self, worker: &Worker) -> usize {
        match worker {
            Worker::Backend => self.per_backend(),
            Worker::Person(_) => self.per_person,
        }
    }
}

/// For whom work is done.
#[derive(Clone, Debug)]
pub struct WorkOwner {
    tenant: String,
    worker: Worker,
}

/// Who takes turns within a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Worker {
    /// Whoever has the key of the tenant.
    Backend,
    /// One person, or one network where nobody is known.
    Person(String),
}

impl WorkOwner {
    /// A backend, which has the key of the whole tenant.
    pub fn backend(tenant: &InstanceId) -> WorkOwner {
        WorkOwner { tenant: tenant.to_string(), worker: Worker::Backend }
    }

    /// Somebody of whom only the network is known, or who still has to prove who they are.
    pub fn network(tenant: &InstanceId, network: Network) -> WorkOwner {
        WorkOwner { tenant: tenant.to_string(), worker: Worker::Person(network.to_string()) }
    }

    /// Somebody who is signed in.
    pub fn user(tenant: &InstanceId, user: &UserId) -> WorkOwner {
        WorkOwner { tenant: tenant.to_string(), worker: Worker::Person(user.to_string()) }
    }
}

/// Threads for one kind of slow work. They end with the pool.
pub struct SlowPool {
    lane: Arc<Lane>,
}

impl SlowPool {
    /// A lane of this size, whose threads step back behind others.
    pub fn new(size: LaneSize) -> SlowPool {
        SlowPool::with_threads(size, step_back)
    }

    /// A lane of this size whose threads only hand out places, which must not take long.
    pub fn of_places(size: LaneSize) -> SlowPool {
        SlowPool::with_threads(size, || ())
    }

    fn with_threads(size: LaneSize, begin: fn()) -> SlowPool {
        let lane = Arc::new(Lane { size, state: Mutex::default(), changed: Condvar::new() });
        for _ in 0..size.slots {
            let works_off = lane.clone();
            let thread = thread::Builder::new().name("slow".to_owned());
            let work = move || {
                begin();
                works_off.work_off();
            };
            if let Err(error) = thread.spawn(work) {
                tracing::error!(?error, "a thread for slow work could not be started");
            }
        }
        SlowPool { lane }
    }

    /// Runs `work` when it is its turn. A caller who goes away does not stop it once it has begun, so the place is
    /// taken until it is done, not until nobody waits for it.
    pub async fn run<T: Send + 'static>(
        &self,
        owner: &WorkOwner,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let (done, answer) = oneshot::channel();
        let job = move || -> Delivery {
            if done.is_closed() {
                return Box::new(|| ());
            }
            let outcome = catch_unwind(AssertUnwindSafe(work)).map_err(|_| "slow work panicked");
            Box::new(move || {
                let _ = done.send(outcome);
            })
        };
        self.lane.add(owner, Box::new(job))?;
        // A job that was dropped without an answer gave its place to another tenant, or to another person.
        answer.await.map_err(|_| busy())?.map_err(Error::internal)
    }

    /// A place in the lane when it is its turn, for work that is not done by its threads. It is free again when it is
    /// dropped.
    pub async fn place(&self, owner: &WorkOwner) -> Result<LanePlace> {
        let (begun, begins) = oneshot::channel();
        let job = move || -> Delivery {
            let (place, end) = mpsc::channel();
            if begun.send(LanePlace { _end: place }).is_ok() {
                // Nothing is ever sent: it ends when the place is dropped.
                let _ = end.recv();
            }
            Box::new(|| ())
        };
        self.lane.add(owner, Box::new(job))?;
        begins.await.map_err(|_| busy())
    }

    /// Jobs that wait.
    pub fn waiting(&self) -> usize {
        self.lane.state().waiting
    }
}

/// A place in a lane, taken until this is dropped.
pub struct LanePlace {
    _end: mpsc::Sender<()>,
}

impl Drop for SlowPool {
    fn drop(&mut self) {
        self.lane.state().is_closed = true;
        self.lane.changed.notify_all();
    }
}

fn busy() -> Error {
    Error::new(Code::ServiceUnavailable)
        .saying("Too much slow work is under way. Try again in a second.")
        .retry_after(1)
}

struct Lane {
    size: LaneSize,
    state: Mutex<LaneState>,
    changed: Condvar,
}

#[derive(Default)]
struct LaneState {
    /// Tenants that have jobs.
    tenants: HashMap<String, TenantJobs>,
    /// Tenants with jobs that wait, in the order of their turns.
    turns: VecDeque<String>,
    /// Jobs that wait, of all tenants.
    waiting: usize,
    is_closed: bool,
}

#[derive(Default)]
struct TenantJobs {
    /// People who have jobs.
    people: HashMap<Worker, PersonJobs>,
    /// People with jobs that wait, in the order of their turns.
    turns: VecDeque<Worker>,
    /// Jobs that wait, of all people.
    waiting: usize,
}

#[derive(Default)]
struct PersonJobs {
    waiting: VecDeque<Job>,
    running: usize,
}

impl Lane {
    fn state(&self) -> MutexGuard<'_, LaneState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, owner: &WorkOwner, job: Job) -> Result<()> {
        let mut state = self.state();
        let (of_tenant, of_person) = state.count(owner);
        if of_person >= self.size.most_of(&owner.worker) {
            return Err(busy());
        }
        if of_tenant >= self.size.per_tenant && !state.displace_within(&owner.tenant, of_person) {
            return Err(busy());
        }
        if state.waiting >= self.size.waiting && !state.displace(of_tenant) {
            return Err(busy());
        }
        state.push(owner, job);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    fn work_off(&self) {
        while let Some((owner, job)) = self.next() {
            let delivery = job();
            self.state().finish(&owner);
            delivery();
        }
    }

    /// Waits for the next job; `None` when the pool has gone.
    fn next(&self) -> Option<(WorkOwner, Job)> {
        let mut state = self.state();
        loop {
            if state.is_closed {
                return None;
            }
            match state.take() {
                Some(next) => return Some(next),
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl LaneState {
    /// How many jobs of a tenant wait, and how many its person has that wait or run.
    fn count(&self, owner: &WorkOwner) -> (usize, usize) {
        let Some(jobs) = self.tenants.get(&owner.tenant) else { return (0, 0) };
        let person = jobs.people.get(&owner.worker).map(|jobs| jobs.waiting.len() + jobs.running);
        (jobs.waiting, person.unwrap_or_default())
    }

    fn push(&mut self, owner: &WorkOwner, job: Job) {
        let jobs = self.tenants.entry(owner.tenant.clone()).or_default();
        if jobs.waiting == 0 {
            self.turns.push_back(owner.tenant.clone());
        }
        jobs.push(&owner.worker, job);
        self.waiting += 1;
    }

    /// Takes a job away from the tenant with most of them, if one that has `mine` would still have fewer.
    fn displace(&mut self, mine: usize) -> bool {
        let longest = self.tenants.values_mut().max_by_key(|jobs| jobs.waiting);
        // It keeps at least one, and with it its turn.
        let Some(jobs) = longest.filter(|jobs| jobs.waiting > mine + 1) else { return false };
        let is_displaced = jobs.drop_newest(0);
        self.waiting -= usize::from(is_displaced);
        is_displaced
    }

    /// Takes a job away from the person of a tenant with most of them, if one that has `mine` would still have fewer.
    fn displace_within(&mut self, tenant: &str, mine: usize) -> bool {
        let Some(jobs) = self.tenants.get_mut(tenant) else { return false };
        let is_displaced = jobs.drop_newest(mine + 1);
        self.waiting -= usize::from(is_displaced);
        is_displaced
    }

    /// A job of the tenant whose turn it is; its next turn comes after all others.
    fn take(&mut self) -> Option<(WorkOwner, Job)> {
        let tenant = self.turns.pop_front()?;
        let jobs = self.tenants.get_mut(&tenant)?;
        let (worker, job) = jobs.take()?;
        self.waiting -= 1;
        if jobs.waiting > 0 {
            self.turns.push_back(tenant.clone());
        }
        Some((WorkOwner { tenant, worker }, job))
    }

    fn finish(&mut self, owner: &WorkOwner) {
        let Some(jobs) = self.tenants.get_mut(&owner.tenant) else { return };
        jobs.finish(&owner.worker);
        if jobs.people.is_empty() {
            self.tenants.remove(&owner.tenant);
        }
    }
}

impl TenantJobs {
    fn push(&mut self, worker: &Worker, job: Job) {
        let jobs = self.people.entry(worker.clone()).or_default();
        if jobs.waiting.is_empty() {
            self.turns.push_back(worker.clone());
        }
        jobs.waiting.push_back(job);
        self.waiting += 1;
    }

    /// The first job of the person whose turn it is; their next turn comes after all others.
    fn take(&mut self) -> Option<(Worker, Job)> {
        let worker = self.turns.pop_front()?;
        let jobs = self.people.get_mut(&worker)?;
        let job = jobs.waiting.pop_front()?;
        jobs.running += 1;
        self.waiting -= 1;
        if !jobs.waiting.is_empty() {
            self.turns.push_back(worker.clone());
        }
        Some((worker, job))
    }

    /// Drops the newest job of the person with most that wait, if those are more than `more_than`.
    fn drop_newest(&mut self, more_than: usize) -> bool {
        let longest = self.people.iter_mut().max_by_key(|(_, jobs)| jobs.waiting.len());
        let Some((worker, jobs)) = longest.filter(|(_, jobs)| jobs.waiting.len() > more_than) else {
            return false;
        };
        jobs.waiting.pop_back();
        if jobs.waiting.is_empty() {
            let worker = worker.clone();
            self.turns.retain(|other| *other != worker);
            self.forget_idle(&worker);
        }
        self.waiting -= 1;
        true
    }

    fn finish(&mut self, worker: &Worker) {
        if let Some(jobs) = self.people.get_mut(worker) {
            jobs.running -= 1;
        }
        self.forget_idle(worker);
    }

    /// Remembers nothing of a person without jobs.
    fn forget_idle(&mut self, worker: &Worker) {
        if self.people.get(worker).is_some_and(|jobs| jobs.running == 0 && jobs.waiting.is_empty()) {
            self.people.remove(worker);
        }
    }
}

/// Without it the kernel lets whoever computes go on for some milliseconds while others wait.
fn step_back() {
    // On Linux this is about the calling thread; elsewhere it would be about the whole server.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::warn!(?error, "a thread for slow work keeps its priority");
    }
}

#[cfg(test)]
mod tests;
