//! What events cost: delivered to a receiver beside a bare loop that posts the same, the time from an answer to
//! its event, and what the numbered row adds to a write.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::Result;
use crate::api::Api;
use crate::labour::Labour;
use crate::load::Outcome;
use crate::outbox::Outbox;
use crate::poster;
use crate::receiver::Receiver;
use crate::report::{Goal, Load, millis, number};
use crate::scenarios::Subject;

/// Events that wait when the endpoint is enabled, in each round: enough that beginning and end do not count.
const BACKLOG: u64 = 20_000;
/// Events whose way is timed one by one.
const SINGLE: u64 = 200;
/// Between two of them: longer than anything about the one before lasts.
const REST: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(120);

/// Everything about events.
pub(crate) async fn measure(
    subject: &Subject<'_>,
    outbox: &Arc<Outbox>,
    loads: &mut Vec<Load>,
) -> Result<()> {
    let mut receiver = Receiver::start().await?;
    let endpoint = Endpoint::create(subject, &receiver).await?;
    loads.push(deliveries(subject, &endpoint, &mut receiver).await?);
    loads.push(lag(subject, &endpoint, &mut receiver).await?);
    loads.push(outbox_cost(subject, outbox).await?);
    Ok(())
}

/// An endpoint of the server under test, disabled at first.
struct Endpoint {
    api: Arc<Api>,
    path: String,
    /// Numbers of the users whose creation makes the events.
    next: Arc<AtomicU64>,
}

impl Endpoint {
    async fn create(subject: &Subject<'_>, receiver: &Receiver) -> Result<Endpoint> {
        let (api, mut request) = (subject.api.clone(), Vec::new());
        let body = format!(
            r#"{{"url":"http://{}/events","event_types":["user.created"],"disabled":true}}"#,
            receiver.address
        );
        api.send(&mut request, "POST", "/webhooks/endpoints", &body);
        let mut connection = api.connect().await?;
        let made: Value = serde_json::from_slice(api.once(&mut connection, &request).await?.body)?;
        let id = made["id"].as_str().ok_or("an endpoint without id")?;
        Ok(Endpoint { path: format!("/webhooks/endpoints/{id}"), api, next: Arc::default() })
    }

    async fn set_disabled(&self, disabled: bool) -> Result<()> {
        let mut request = Vec::new();
        self.api.send(&mut request, "PATCH", &self.path, &format!(r#"{{"disabled":{disabled}}}"#));
        self.api.once(&mut self.api.connect().await?, &request).await?;
        Ok(())
    }

    /// Makes users, one event each.
    async fn make(&self, users: u64, connections: usize) -> Result<()> {
        let (left, mut tasks) = (Arc::new(AtomicU64::new(users)), JoinSet::new());
        for _ in 0..connections {
            let (api, next, left) = (self.api.clone(), self.next.clone(), left.clone());
            tasks.spawn(async move {
                let (mut connection, mut request) = (api.connect().await?, Vec::new());
                while left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
                    create_user(&api, &next, &mut request);
                    api.once(&mut connection, &request).await?;
                }
                Result::Ok(())
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        Ok(())
    }
}

fn create_user(api: &Api, next: &AtomicU64, request: &mut Vec<u8>) {
    let number = next.fetch_add(1, Relaxed);
    let body = format!(
        r#"{{"email_address":["person{number:07}@event.example.com"],"first_name":"Ada","last_name":"Okafor","skip_password_requirement":true}}"#
    );
    request.clear();
    api.send(request, "POST", "/users", &body);
}

/// A backlog delivered beside the bare loop.
async fn deliveries(subject: &Subject<'_>, endpoint: &Endpoint, receiver: &mut Receiver) -> Result<Load> {
    let (mut ours, mut bare) = (Outcome::new(), Labour::default());
    let body_file = subject.body_file.with_extension("event");
    for round in 0..subject.options.rounds {
        endpoint.set_disabled(true).await?;
        endpoint.make(BACKLOG, subject.options.connections).await?;
        let before = receiver.count().await?;
        let began = Instant::now();
        endpoint.set_disabled(false).await?;
        let arrived = timeout(PATIENCE, receiver.wait(before + BACKLOG)).await;
        ours.window += began.elapsed();
        ours.completed += arrived.map_err(|_| "the backlog was not delivered in time")?? - before;
        // What is noted of the last ones is noted now, not while the bare loop runs.
        sleep(Duration::from_millis(500)).await;
        if receiver.count().await? != before + BACKLOG {
            ours.fail("an event came twice though nothing failed".to_owned());
        }
        if round == 0 {
            fs::write(&body_file, receiver.last().await?)?;
        }
        bare.then(poster::run(receiver.address, &body_file, subject.options.window()).await?);
        let (ours, bare) = (number(ours.rate()), number(bare.rate()));
        subject.say(&format!("events delivered: {ours}/s, bare posts {bare}/s"));
    }
    Ok(Load {
        scenario: "events delivered to one endpoint".to_owned(),
        engine: subject.engine,
        connections: poster::AT_ONCE,
        against: format!("bare posts {}/s", number(bare.rate())),
        ratio: Some(ours.rate() / bare.rate()),
        goal: Some(Goal::AtLeast(0.5)),
        outcome: ours,
    })
}

/// From the answer of a create to the arrival of its event, with nothing else going on.
async fn lag(subject: &Subject<'_>, endpoint: &Endpoint, receiver: &mut Receiver) -> Result<Load> {
    endpoint.set_disabled(false).await?;
    let (api, mut outcome, mut request) = (&endpoint.api, Outcome::new(), Vec::new());
    let mut connection = api.connect().await?;
    let before = receiver.count().await?;
    let began = Instant::now();
    for nth in 1..=SINGLE {
        create_user(api, &endpoint.next, &mut request);
        api.once(&mut connection, &request).await?;
        let answered = Instant::now();
        let arrived = timeout(PATIENCE, receiver.wait(before + nth)).await;
        arrived.map_err(|_| "an event was not delivered in time")??;
        outcome.latencies.record(answered.elapsed());
        sleep(REST).await;
    }
    outcome.elapsed = began.elapsed();
    let [p50, p99] = [outcome.p50(), outcome.p99()].map(millis);
    subject.say(&format!("from an answer to its event: p50 {p50} ms, p99 {p99} ms"));
    Ok(Load {
        scenario: "from an answer to its event".to_owned(),
        engine: subject.engine,
        connections: 1,
        against: "-".to_owned(),
        ratio: None,
        goal: None,
        outcome,
    })
}

/// Writes of users with the event and without.
async fn outbox_cost(subject: &Subject<'_>, outbox: &Arc<Outbox>) -> Result<Load> {
    let (connections, window) = (subject.options.connections, subject.options.window());
    let (mut with, mut without) = (Outcome::new(), Outcome::new());
    for _ in 0..subject.options.rounds {
        without.then(outbox.run(connections, window, false).await?);
        with.then(outbox.run(connections, window, true).await?);
        let (with, without) = (number(with.rate()), number(without.rate()));
        subject.say(&format!("writes of a user: {with}/s with the event, {without}/s without"));
    }
    Ok(Load {
        scenario: "writes of a user with its event".to_owned(),
        engine: subject.engine,
        connections,
        against: format!("the same without {}/s", number(without.rate())),
        ratio: Some(with.rate() / without.rate()),
        goal: Some(Goal::AtLeast(0.8)),
        outcome: with,
    })
}
