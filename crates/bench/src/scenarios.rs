//! What is measured on one engine, and against what. Subject and baseline take turns inside a scenario, so that
//! whatever else the machine does falls on both.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::api::Api;
use crate::args::Options;
use crate::bare::Bare;
use crate::http::Connection;
use crate::load::{self, Outcome, Requests};
use crate::people::{People, Rarity, mix};
use crate::report::{Goal, Load, millis, number};
use crate::seed::{Seeded, seed};
use crate::{Result, progress};

/// A seeded server and all that a scenario needs to load it.
pub(crate) struct Subject<'a> {
    pub(crate) engine: &'static str,
    pub(crate) options: &'a Options,
    pub(crate) api: Arc<Api>,
    pub(crate) people: People,
    pub(crate) seeded: Arc<Seeded>,
    pub(crate) body_file: PathBuf,
}

impl Subject<'_> {
    /// Goes on seeding until there are so many users, or the time for it is over.
    pub(crate) async fn seed(&mut self, wanted: u64) -> Result<()> {
        let options = self.options;
        self.say(&format!("seeding {} users through the API", number(wanted as f64)));
        let all = People::new(options.users);
        let (connections, limit) = (options.connections, options.seed_limit);
        let seeded = seed(self.engine, &self.api, all, &self.seeded, wanted, connections, limit).await?;
        let (users, seconds) = (number(seeded.users as f64), seeded.took.as_secs_f64());
        self.say(&format!("seeded {users} users in {seconds:.0} s"));
        // Search terms are drawn from the users that are really there.
        self.people = all.first(seeded.users);
        self.seeded = Arc::new(seeded);
        Ok(())
    }

    /// The four scenarios that have the bare handler for a baseline.
    pub(crate) async fn against_bare(&self, point_goal: f64, loads: &mut Vec<Load>) -> Result<()> {
        let goal = Some(Goal::AtLeast(point_goal));
        loads.push(self.compare("GET /users/{id}", self.point_reads(), goal).await?);
        loads.push(self.compare("GET /users?limit=100", self.gets("/users?limit=100"), None).await?);
        loads.push(self.compare("PATCH /users/{id}/metadata", self.patches(), None).await?);
        loads.push(self.compare("GET /jwks", self.gets("/jwks"), None).await?);
        Ok(())
    }

    /// Search beside the point read, both with few connections: a search is one person waiting, and at 64
    /// connections its latency would be the queue's.
    pub(crate) async fn search(&self, loads: &mut Vec<Load>) -> Result<()> {
        let kinds = [
            (Rarity::Rare, "search, 1 hit"),
            (Rarity::Medium, "search, 100 hits"),
            (Rarity::Common, "search, 1 in 8"),
        ];
        for (rarity, _) in kinds {
            self.check_search(rarity).await?;
        }
        for connections in [1, 8] {
            let point = self.point_reads();
            let searches = kinds.map(|(rarity, name)| (name, self.searches(rarity)));
            let mut base = Outcome::new();
            let mut found = kinds.map(|_| Outcome::new());
            for _ in 0..self.options.rounds {
                base.then(self.load(connections, &point).await?);
                for ((name, requests), total) in searches.iter().zip(&mut found) {
                    let one = self.load(connections, requests).await?;
                    let (p50, point) = (millis(one.p50()), millis(base.p50()));
                    self.say(&format!("{name}, at {connections}: p50 {p50} ms, point read {point} ms"));
                    total.then(one);
                }
            }
            for ((name, _), outcome) in searches.into_iter().zip(found) {
                let ratio = outcome.p50().zip(base.p50()).map(|(ours, point)| ours.div_duration_f64(point));
                loads.push(Load {
                    scenario: format!("{name}, of {}", number(self.seeded.users as f64)),
                    engine: self.engine,
                    connections,
                    outcome,
                    against: format!("point read p50 {} ms", millis(base.p50())),
                    ratio,
                    goal: Some(Goal::Below(50.0)),
                });
            }
        }
        Ok(())
    }

    /// Creates beside the raw inserts of the engine, given as a future per round.
    pub(crate) async fn creates<F>(&self, raw: impl Fn() -> F) -> Result<Load>
    where
        F: Future<Output = Result<Outcome>>,
    {
        let connections = self.options.connections;
        let requests = self.posts();
        let (mut ours, mut base) = (Outcome::new(), Outcome::new());
        for _ in 0..self.options.rounds {
            base.then(raw().await?);
            ours.then(self.load(connections, &requests).await?);
            let (raw, ours) = (number(base.rate()), number(ours.rate()));
            self.say(&format!("POST /users: {ours}/s, raw inserts {raw}/s"));
        }
        Ok(Load {
            scenario: "POST /users".to_owned(),
            engine: self.engine,
            connections,
            against: format!("raw inserts {}/s", number(base.rate())),
            ratio: Some(ours.rate() / base.rate()),
            goal: Some(Goal::AtLeast(0.5)),
            outcome: ours,
        })
    }

    async fn compare(&self, name: &str, requests: Requests, goal: Option<Goal>) -> Result<Load> {
        self.compare_at(self.api.address, name, requests, goal).await
    }

    /// One of the server's addresses beside the bare handler.
    pub(crate) async fn compare_at(
        &self,
        address: SocketAddr,
        name: &str,
        requests: Requests,
        goal: Option<Goal>,
    ) -> Result<Load> {
        let connections = self.options.connections;
        let mut request = Vec::new();
        requests(&mut request);
        let mut connection = Connection::open(address).await?;
        let reply = self.api.once(&mut connection, &request).await.map_err(|e| format!("{name}: {e}"))?;
        let bare = Bare::start(&self.body_file, &reply).await?;
        let (mut ours, mut base) = (Outcome::new(), Outcome::new());
        for _ in 0..self.options.rounds {
            base.then(load::run(bare.address, connections, self.options.window(), &requests).await?);
            ours.then(load::run(address, connections, self.options.window(), &requests).await?);
            self.say(&format!("{name}: {}/s, bare {}/s", number(ours.rate()), number(base.rate())));
        }
        if let Some(failure) = base.first_failure {
            return Err(format!("{name}: the bare handler failed: {failure}").into());
        }
        Ok(Load {
            scenario: name.to_owned(),
            engine: self.engine,
            connections,
            against: format!("bare axum {}/s", number(base.rate())),
            ratio: Some(ours.rate() / base.rate()),
            goal,
            outcome: ours,
        })
    }

    async fn load(&self, connections: usize, requests: &Requests) -> Result<Outcome> {
        load::run(self.api.address, connections, self.options.window(), requests).await
    }

    /// A fast wrong answer is no answer: the first search of each kind must find what the seed put there.
    async fn check_search(&self, rarity: Rarity) -> Result<()> {
        let term = self.people.term(rarity, 0);
        let mut request = Vec::new();
        self.api.get(&mut request, format_args!("/users?query={term}&limit=10"));
        let mut connection = self.api.connect().await?;
        let reply = self.api.once(&mut connection, &request).await?;
        let users: Vec<serde_json::Value> = serde_json::from_slice(reply.body)?;
        let right = users.iter().filter(|user| user.to_string().contains(&term)).count();
        let wanted = if rarity == Rarity::Rare { 1 } else { 10 };
        match (users.len(), right) == (wanted, wanted) {
            true => Ok(()),
            false => {
                Err(format!("search for {term}: {} users, {right} right, {wanted} wanted", users.len())
                    .into())
            }
        }
    }

    pub(crate) fn point_reads(&self) -> Requests {
        let (api, seeded, turn) = (self.api.clone(), self.seeded.clone(), AtomicU64::new(0));
        Arc::new(move |out| api.get(out, format_args!("/users/{}", any(&seeded.ids, &turn).1)))
    }

    fn gets(&self, path: &'static str) -> Requests {
        let api = self.api.clone();
        Arc::new(move |out| api.get(out, path))
    }

    fn patches(&self) -> Requests {
        let (api, seeded, turn) = (self.api.clone(), self.seeded.clone(), AtomicU64::new(0));
        Arc::new(move |out| {
            let (turn, id) = any(&seeded.ids, &turn);
            let body = format!(r#"{{"public_metadata":{{"plan":"team","visits":{turn}}}}}"#);
            api.send(out, "PATCH", format_args!("/users/{id}/metadata"), &body);
        })
    }

    fn searches(&self, rarity: Rarity) -> Requests {
        let (api, people, turn) = (self.api.clone(), self.people, AtomicU64::new(0));
        Arc::new(move |out| {
            let term = people.term(rarity, turn.fetch_add(1, Relaxed));
            api.get(out, format_args!("/users?query={term}&limit=10"));
        })
    }

    fn posts(&self) -> Requests {
        let (api, people) = (self.api.clone(), self.people);
        let next = AtomicU64::new(self.seeded.users);
        Arc::new(move |out| {
            let person = people.person(next.fetch_add(1, Relaxed));
            api.send(out, "POST", "/users", &person.create_body());
        })
    }

    pub(crate) fn say(&self, line: &str) {
        progress(self.engine, line);
    }
}

/// The next turn and the id it falls on, in no order that a page cache could like.
fn any<'a>(ids: &'a [String], turn: &AtomicU64) -> (u64, &'a str) {
    let turn = turn.fetch_add(1, Relaxed);
    (turn, &ids[(mix(turn) % ids.len() as u64) as usize])
}
