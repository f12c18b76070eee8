//! What `POST /users` writes, through the database layer of the server and on its schema, with the numbered row
//! of the event or without. No HTTP, no rules but those that make the user.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use latchkey_base::kinds::InstanceId;
use latchkey_base::rng::SystemRng;
use latchkey_base::time::{Clock as _, SystemClock};
use latchkey_db::{Db, Location, Options};
use latchkey_kernel::events::Event;
use latchkey_kernel::migrations;
use latchkey_kernel::outbox;
use latchkey_kernel::outbox::Origin;
use latchkey_kernel::settings::Settings;
use latchkey_people::users::input::CreateUser;
use latchkey_people::users::model::User;
use latchkey_people::users::view;
use latchkey_people::users::view::ViewContext;
use latchkey_people::users::{rules, store};
use tokio::task::JoinSet;

use crate::Result;
use crate::load::{Clock, Outcome, Window};
use crate::people::People;

/// As the server opens it by default.
const CONNECTIONS: usize = 16;
const API_URL: &str = "http://127.0.0.1:3400";

/// A database of its own with one instance.
pub(crate) struct Outbox {
    db: Db,
    instance: InstanceId,
    people: People,
    next: AtomicU64,
}

impl Outbox {
    /// Makes the schema and an instance. `database` is as `LATCHKEY_DATABASE` has it.
    pub(crate) async fn open(database: &str, people: People) -> Result<Arc<Outbox>> {
        let options = Options {
            location: Location::parse(database)?,
            connections: CONNECTIONS,
            before_commit: migrations::BEFORE_COMMIT,
            numbering: outbox::NUMBERING,
        };
        let db = Db::open(&options)?;
        db.migrate(migrations::ALL).await?;
        let instance = InstanceId::new(SystemClock.now(), &SystemRng);
        let sql = "INSERT INTO instances (id, environment, frontend_api, settings, settings_revision, created_at) \
                   VALUES ($1, 'development', 'bench', '{}', 1, 0)";
        db.write_all(vec![(sql, vec![(&instance).into()])], Vec::new()).await?;
        Ok(Arc::new(Outbox { db, instance, people, next: AtomicU64::new(0) }))
    }

    /// So many writers for one window, each with its next user as soon as the last one is on disk.
    pub(crate) async fn run(
        self: &Arc<Outbox>,
        writers: usize,
        window: Window,
        with_event: bool,
    ) -> Result<Outcome> {
        let (clock, mut tasks) = (Clock::start(window), JoinSet::new());
        for _ in 0..writers {
            let outbox = self.clone();
            tasks.spawn(async move {
                let mut outcome = Outcome::new();
                loop {
                    let began = Instant::now();
                    outbox.write(with_event).await?;
                    if !clock.count(began, &mut outcome) {
                        return Result::Ok(outcome);
                    }
                }
            });
        }
        let mut all = Outcome::new();
        while let Some(one) = tasks.join_next().await {
            all.beside(one??);
        }
        Ok(all)
    }

    async fn write(&self, with_event: bool) -> Result<()> {
        let (now, settings) = (SystemClock.now(), Settings::default());
        let user = self.user(&settings)?;
        let mut events = Vec::new();
        if with_event {
            let shown = view::user(
                &user,
                ViewContext { now, settings: &settings, api_url: API_URL, relying_party: None },
            );
            let origin = Origin::server(&self.instance, now, &SystemRng);
            events.push(outbox::event(origin, Event::UserCreated, user.id.as_str(), &shown)?);
        }
        self.db.write_all(store::insert(&user)?, events).await?;
        Ok(())
    }

    fn user(&self, settings: &Settings) -> Result<User> {
        let body = self.people.person(self.next.fetch_add(1, Relaxed)).create_body();
        let (input, mut problems): (CreateUser, _) = (serde_json::from_str(&body)?, Vec::new());
        let setting =
            rules::Setting { instance: &self.instance, settings, now: SystemClock.now(), rng: &SystemRng };
        Ok(rules::create(&input, setting, &mut problems)?)
    }
}
