//! Fills the server through its own API: slower than writing tables, but what is measured afterwards is what a
//! customer's import would have left, and the bench needs to know nothing of the schema.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::interval;

use crate::api::Api;
use crate::people::People;
use crate::report::number;
use crate::{Result, progress};

/// Enough ids that reads and updates spread over many pages of the store.
const KEPT_IDS: u64 = 10_000;
const SAY_EVERY: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(crate) struct Seeded {
    /// Evenly spread over all users created.
    pub(crate) ids: Vec<String>,
    pub(crate) users: u64,
    /// Without what was done between the parts.
    pub(crate) took: Duration,
}

/// Creates users until there are `wanted` or seeding has taken `limit` in all, whichever comes first. Goes on from
/// what was seeded `before`.
pub(crate) async fn seed(
    engine: &str,
    api: &Arc<Api>,
    people: People,
    before: &Seeded,
    wanted: u64,
    connections: usize,
    limit: Duration,
) -> Result<Seeded> {
    let began = Instant::now();
    let limit = limit.saturating_sub(before.took);
    let next = Arc::new(AtomicU64::new(before.users));
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        tasks.spawn(create(api.clone(), people, next.clone(), wanted, began + limit));
    }
    let mut created = Vec::new();
    let mut tick = interval(SAY_EVERY);
    tick.tick().await;
    loop {
        tokio::select! {
            one = tasks.join_next() => match one {
                Some(one) => created.extend(one??),
                None => break,
            },
            _ = tick.tick() => say(engine, before.users, next.load(Relaxed).min(wanted), wanted, began.elapsed()),
        }
    }
    // Tasks finish in any order, and the sequence of reads should not depend on it.
    created.sort_unstable();
    let thinner = usize::try_from(keep_every(wanted) / keep_every(before.users))?;
    let kept = before.ids.iter().step_by(thinner).cloned();
    let ids: Vec<String> = kept.chain(created.into_iter().map(|(_, id)| id)).collect();
    if ids.is_empty() {
        return Err("no user was seeded within the limit".into());
    }
    Ok(Seeded { ids, users: next.load(Relaxed).min(wanted), took: before.took + began.elapsed() })
}

/// Of how many users one id is kept.
fn keep_every(users: u64) -> u64 {
    (users / KEPT_IDS).max(1)
}

async fn create(
    api: Arc<Api>,
    people: People,
    next: Arc<AtomicU64>,
    wanted: u64,
    deadline: Instant,
) -> Result<Vec<(u64, String)>> {
    let keep_every = keep_every(wanted);
    let mut connection = api.connect().await?;
    let mut request = Vec::with_capacity(1024);
    let mut ids = Vec::new();
    while Instant::now() < deadline {
        let n = next.fetch_add(1, Relaxed);
        if n >= wanted {
            break;
        }
        request.clear();
        api.send(&mut request, "POST", "/users", &people.person(n).create_body());
        let reply = api.once(&mut connection, &request).await?;
        if n.is_multiple_of(keep_every) {
            let user: serde_json::Value = serde_json::from_slice(reply.body)?;
            ids.push((n, user["id"].as_str().ok_or("a created user without id")?.to_owned()));
        }
    }
    Ok(ids)
}

fn say(engine: &str, before: u64, done: u64, wanted: u64, elapsed: Duration) {
    let rate = (done - before) as f64 / elapsed.as_secs_f64();
    let left = (wanted - done) as f64 / rate.max(1.0);
    let (done, wanted) = (number(done as f64), number(wanted as f64));
    progress(engine, &format!("seeding {done} of {wanted} users, {}/s, {left:.0} s left", number(rate)));
}
