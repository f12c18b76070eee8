//! Lanes with one thread, which is held by a gate while others queue.

use tokio::task::JoinHandle;

use super::*;

const SMALL: LaneSize = LaneSize { slots: 1, waiting: 8, per_tenant: 6, per_person: 2 };

fn owner(tenant: &str, person: Option<&str>) -> WorkOwner {
    let worker = person.map_or(Worker::Backend, |person| Worker::Person(person.to_owned()));
    WorkOwner { tenant: tenant.to_owned(), worker }
}

/// A lane whose only thread waits at a gate, on behalf of a tenant of its own.
struct Held {
    pool: Arc<SlowPool>,
    gate: mpsc::Sender<()>,
    holder: JoinHandle<Result<()>>,
    done: Arc<Mutex<Vec<String>>>,
}

impl Held {
    async fn new(size: LaneSize) -> Held {
        let pool = Arc::new(SlowPool::new(size));
        let (gate, opened) = mpsc::channel::<()>();
        let (begun, started) = oneshot::channel::<()>();
        let held = pool.clone();
        let holder = tokio::spawn(async move {
            let work = move || {
                begun.send(()).unwrap();
                let _ = opened.recv();
            };
            held.run(&owner("holder", None), work).await
        });
        started.await.unwrap();
        Held { pool, gate, holder, done: Arc::default() }
    }

    /// Adds a job that notes its tenant and person, and waits until it stands in the queue or was refused.
    async fn add(&self, owner: &WorkOwner) -> JoinHandle<Result<()>> {
        let (pool, done, owner) = (self.pool.clone(), self.done.clone(), owner.clone());
        let (queued, stands) = oneshot::channel();
        let job = tokio::spawn(async move {
            let name = match &owner.worker {
                Worker::Backend => owner.tenant.clone(),
                Worker::Person(person) => format!("{}/{person}", owner.tenant),
            };
            let mut run = Box::pin(pool.run(&owner, move || done.lock().unwrap().push(name)));
            let first =
                std::future::poll_fn(|context| std::task::Poll::Ready(run.as_mut().poll(context))).await;
            queued.send(()).unwrap();
            match first {
                std::task::Poll::Ready(outcome) => outcome,
                std::task::Poll::Pending => run.await,
            }
        });
        stands.await.unwrap();
        job
    }

    /// Lets the queue be worked off, and tells in which order.
    async fn order(self) -> Vec<String> {
        self.gate.send(()).unwrap();
        self.holder.await.unwrap().unwrap();
        while !self.pool.lane.state().tenants.is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        // The only thread may still be at the job it took last.
        self.pool.run(&owner("last", None), || ()).await.unwrap();
        let done = self.done.lock().unwrap();
        done.clone()
    }
}

fn is_busy(outcome: Result<()>) -> bool {
    outcome.is_err_and(|error| error.code() == Code::ServiceUnavailable)
}

#[tokio::test]
async fn tenants_take_turns_however_many_jobs_one_of_them_has() {
    let held = Held::new(LaneSize { waiting: 2000, per_tenant: 2000, ..SMALL }).await;
    for _ in 0..1000 {
        held.add(&owner("crowd", None)).await;
    }
    held.add(&owner("other", None)).await;
    held.add(&owner("other", None)).await;
    let order = held.order().await;
    assert_eq!(order[..5], ["crowd", "other", "crowd", "other", "crowd"]);
}

#[tokio::test]
async fn a_person_and_a_tenant_have_only_so_many_jobs() {
    let held = Held::new(SMALL).await;
    let (ada, bob) = (owner("a", Some("ada")), owner("a", Some("bob")));
    held.add(&ada).await;
    held.add(&ada).await;
    assert!(is_busy(held.add(&ada).await.await.unwrap()), "a third job of one person");
    held.add(&owner("b", Some("ada"))).await;
    held.add(&bob).await;
    let backend = owner("a", None);
    let mut of_backend = Vec::new();
    for _ in 0..3 {
        of_backend.push(held.add(&backend).await);
    }
    assert!(
        is_busy(held.add(&backend).await.await.unwrap()),
        "more than half of the tenant's for its backend"
    );
    held.add(&bob).await;
    assert!(is_busy(of_backend.pop().unwrap().await.unwrap()), "who has most gives a place to who has fewer");
    assert!(is_busy(held.add(&backend).await.await.unwrap()), "a seventh job of one tenant");
    assert_eq!(held.pool.lane.state().tenants["a"].waiting, SMALL.per_tenant);
    let pool = held.pool.clone();
    held.order().await;
    pool.run(&ada, || ()).await.unwrap();
    assert!(pool.lane.state().tenants.is_empty(), "nothing is remembered of those who have no jobs");
}

#[tokio::test]
async fn people_of_a_tenant_and_its_backend_take_turns_however_many_jobs_one_of_them_has() {
    let held = Held::new(LaneSize { waiting: 64, per_tenant: 64, per_person: 16, ..SMALL }).await;
    let (crowd, ada) = (owner("a", Some("crowd")), owner("a", Some("ada")));
    let mut jobs = Vec::new();
    for (owner, count) in [(&crowd, 16), (&owner("a", None), 32), (&ada, 2), (&owner("b", None), 2)] {
        for _ in 0..count {
            jobs.push(held.add(owner).await);
        }
    }
    let done = held.done.clone();
    held.order().await;
    for job in jobs {
        job.await.unwrap().unwrap();
    }
    let order = done.lock().unwrap().clone();
    let of_a: Vec<&String> = order.iter().filter(|name| *name != "b").collect();
    assert_eq!(of_a[..6], ["a/crowd", "a", "a/ada", "a/crowd", "a", "a/ada"]);
    assert_eq!(order[..4], ["a/crowd", "b", "a", "b"]);
}

#[tokio::test]
async fn a_tenant_with_all_its_places_taken_still_has_one_for_a_person_who_has_none() {
    let held = Held::new(LaneSize { waiting: 64, per_tenant: 8, per_person: 2, ..SMALL }).await;
    let mut crowd = Vec::new();
    for person in ["1", "2", "3", "4"] {
        for _ in 0..2 {
            crowd.push(held.add(&owner("a", Some(person))).await);
        }
    }
    let newcomer = held.add(&owner("a", Some("ada"))).await;
    held.order().await;
    newcomer.await.unwrap().unwrap();
    let mut refused = 0;
    for job in crowd {
        refused += usize::from(is_busy(job.await.unwrap()));
    }
    assert_eq!(refused, 1);
}

#[tokio::test]
async fn a_full_lane_takes_a_place_from_the_tenant_with_most_jobs() {
    let held = Held::new(LaneSize { per_person: 6, ..SMALL }).await;
    let mut crowd = Vec::new();
    for _ in 0..6 {
        crowd.push(held.add(&owner("crowd", Some("ada"))).await);
    }
    held.add(&owner("b", None)).await;
    held.add(&owner("c", None)).await;
    held.add(&owner("newcomer", None)).await;
    assert!(is_busy(crowd.pop().unwrap().await.unwrap()), "the newest of the longest queue");
    assert_eq!(held.pool.waiting(), SMALL.waiting);
    let order = held.order().await;
    assert_eq!(order[..4], ["crowd/ada", "b", "c", "newcomer"]);
}

#[tokio::test]
async fn abandoned_work_keeps_its_place_until_it_is_done() {
    let held = Held::new(SMALL).await;
    let Held { pool, gate, holder, .. } = held;
    holder.abort();
    assert!(holder.await.is_err());
    assert_eq!(pool.lane.state().tenants["holder"].people[&Worker::Backend].running, 1);
    gate.send(()).unwrap();
    pool.run(&owner("next", None), || ()).await.unwrap();
    assert!(pool.lane.state().tenants.is_empty());
}

#[tokio::test]
async fn work_that_panics_is_an_error_and_takes_no_thread_along() {
    let (pool, somebody) = (SlowPool::new(SMALL), owner("a", Some("ada")));
    for _ in 0..3 {
        let error = pool.run(&somebody, || assert_eq!(1, 2)).await.unwrap_err();
        assert_eq!(error.code(), Code::Internal);
    }
    assert_eq!(pool.run(&somebody, || 3).await.unwrap(), 3);
}

#[test]
fn all_addresses_of_one_network_are_one_person() {
    let worker = |address: &str| {
        WorkOwner::network(&InstanceId::unset(), Network::of(address.parse().unwrap())).worker
    };
    assert_eq!(worker("2001:db8:1:2::1"), worker("2001:db8:1:2:ffff::2"));
    assert_ne!(worker("2001:db8:1:2::1"), worker("2001:db8:1:3::1"));
    assert_ne!(worker("192.0.2.1"), worker("192.0.2.2"));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn its_threads_step_back_and_others_do_not() {
    let niceness = || rustix::process::getpriority_process(None).unwrap();
    let before = niceness();
    assert_eq!(SlowPool::new(SMALL).run(&owner("a", None), niceness).await.unwrap(), NICENESS);
    assert_eq!(niceness(), before);
}

#[tokio::test]
async fn a_place_is_taken_until_it_is_dropped_and_given_in_turns() {
    let pool = Arc::new(SlowPool::new(LaneSize { waiting: 64, per_tenant: 64, ..SMALL }));
    let given = Arc::new(Mutex::new(Vec::new()));
    let first = pool.place(&owner("crowd", None)).await.unwrap();
    let mut waiting = Vec::new();
    for tenant in std::iter::repeat_n("crowd", 20).chain(["other"]) {
        let (queue, order) = (pool.clone(), given.clone());
        waiting.push(tokio::spawn(async move {
            let _place = queue.place(&owner(tenant, None)).await.unwrap();
            order.lock().unwrap().push(tenant);
        }));
        while pool.waiting() < waiting.len() {
            tokio::task::yield_now().await;
        }
    }
    // Whoever goes away while they wait leaves the place to the next.
    waiting[0].abort();
    assert!(given.lock().unwrap().is_empty());
    drop(first);
    for task in waiting.into_iter().skip(1) {
        task.await.unwrap();
    }
    let order = given.lock().unwrap();
    assert_eq!(order.len(), 20);
    assert!(order[..3].contains(&"other"), "{order:?}");
}
