//! Short ways to what many tests do: make a user, look at the events, read a table.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use latchkey_base::time::Clock;
use latchkey_db::Value as Param;
use latchkey_events::courier::{Courier, EVENTS_AT_ONCE};
use latchkey_kernel::bell::Bell;
use latchkey_kernel::environment::Environment;
use latchkey_kernel::events::Event;
use latchkey_kernel::instances::store::save_settings;
use latchkey_kernel::jobs::JobParts;
use latchkey_kernel::settings::Settings;
use latchkey_messaging::post::Post;
use latchkey_outbound::client::Options;
use serde_json::{Value, json};

use crate::server::{Answer, Tenant, TestServer, client};

/// An event as the outbox table holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    pub id: String,
    /// Such as `user.created`.
    pub kind: String,
    /// Whom it is about.
    pub subject: String,
    /// What is delivered.
    pub data: Value,
}

impl Answer {
    /// Code and parameter of every error, in order; an error without parameter has an empty one.
    pub fn problems(&self) -> Vec<(&str, &str)> {
        let errors = self.json["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        errors
            .iter()
            .map(|error| {
                (
                    error["code"].as_str().unwrap_or_default(),
                    error["meta"]["param_name"].as_str().unwrap_or_default(),
                )
            })
            .collect()
    }

    /// Checks that it is this one error, about this parameter.
    #[track_caller]
    pub fn is_problem(&self, status: u16, code: &str, param: &str) {
        assert_eq!((self.status, self.problems()), (status, vec![(code, param)]), "{:#}", self.json);
    }
}

impl TestServer {
    /// A new user of the development instance.
    pub async fn user(&self, body: Value) -> Value {
        self.post("/v1/users", body).await.ok()
    }

    /// A new user of the development instance with a single e-mail address; returns the user's id.
    pub async fn user_with_email(&self, address: &str) -> String {
        let user = self.user(json!({ "email_address": [address] })).await;
        user["id"].as_str().unwrap().to_owned()
    }

    /// A user of the development instance as `GET` shows them.
    pub async fn shown(&self, id: &str) -> Value {
        self.get(&format!("/v1/users/{id}")).await.ok()
    }

    /// A request of the development instance in a given API version.
    pub async fn call_version(&self, version: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("clerk-api-version", version)
            .header("authorization", format!("Bearer {}", self.tenant.key))
            .header("content-type", "application/json");
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        self.send(request.body(body).unwrap()).await
    }

    /// One more instance on the same server.
    pub async fn new_tenant(&self, environment: Environment, settings: Settings) -> Tenant {
        self.make_tenant(environment, settings).await
    }

    /// The events of the development instance that endpoints can ask for, oldest first.
    pub async fn events(&self) -> Vec<EventRow> {
        let mut tx = self.db().read().await.unwrap();
        let sql =
            "SELECT id, kind, subject_id, data, data_sealed FROM events WHERE instance_id = $1 ORDER BY seq";
        let read = |row: &latchkey_db::Row<'_>| {
            let sealed = row.maybe_bytes(4)?;
            Ok((row.text(0)?, row.text(1)?, row.text(2)?, row.text(3)?, sealed))
        };
        let rows = tx.all(&[sql], &[(&self.tenant.id).into()], read).await.unwrap();
        let open = |(id, kind, subject, data, sealed): (String, String, String, String, Option<Vec<u8>>)| {
            let data = sealed.map_or(data.into_bytes(), |sealed| self.master().open(&id, &sealed).unwrap());
            EventRow { data: serde_json::from_slice(&data).unwrap(), id, kind, subject }
        };
        rows.into_iter().map(open).filter(|event| !Event::is_feed_only(&event.kind)).collect()
    }

    /// The messages in the inbox of the development instance, newest first.
    pub async fn inbox(&self) -> Vec<Value> {
        self.get("/dev/inbox").await.ok()["data"].as_array().unwrap().clone()
    }

    /// Does what the server does in the background now and then.
    pub async fn run_jobs(&self) {
        latchkey_app::jobs::run_once(self.db(), latchkey_app::GROUPS, self.clock.now()).await.unwrap();
    }

    /// Something that sends messages of this server, with an authority to trust.
    pub fn post_office(&self, extra_roots: Option<PathBuf>) -> Arc<Post> {
        Arc::new(
            Post::new(&self.jobs_with(Options::default()), self.counts.messages.clone(), extra_roots)
                .unwrap(),
        )
    }

    /// Something that sends events of this server to endpoints, with requests that leave in this way.
    pub fn courier(&self, outbound: Options) -> Courier {
        self.courier_of(&self.jobs_with(outbound))
    }

    /// The same, made of other parts.
    pub fn courier_of(&self, parts: &JobParts) -> Courier {
        Courier::new(parts, self.counts.deliveries.clone())
    }

    /// What the jobs of this server are made of.
    pub fn jobs_with(&self, outbound: Options) -> JobParts {
        JobParts {
            db: self.db().clone(),
            clock: self.clock.clone(),
            rng: self.rng(),
            master: self.master.clone(),
            bell: Bell::default(),
            outbound: client(outbound),
            answer_timeout: Duration::from_secs(2),
            events_at_once: EVENTS_AT_ONCE,
        }
    }

    /// Gives the development instance these settings, as they are.
    pub async fn set_settings(&self, settings: Settings) {
        self.set_settings_of(&self.tenant, settings).await;
    }

    /// The same for another instance.
    pub async fn set_settings_of(&self, tenant: &Tenant, settings: Settings) {
        let id = tenant.id.clone();
        let save =
            self.db().write(move |tx| Box::pin(async move { save_settings(tx, &id, &settings).await }));
        save.await.unwrap();
    }

    /// How many rows of all instances a table has.
    pub async fn count_rows(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        let mut tx = self.db().read().await.unwrap();
        tx.maybe(&[&sql], &[], |row| row.int(0)).await.unwrap().unwrap()
    }

    /// How many events of a kind there were in all instances.
    pub async fn count_events(&self, kind: &str) -> i64 {
        let mut tx = self.db().read().await.unwrap();
        let sql = "SELECT count(*) FROM events WHERE kind = $1";
        tx.maybe(&[sql], &[kind.into()], |row| row.int(0)).await.unwrap().unwrap()
    }

    /// Runs a statement on the database, behind the server's back.
    pub async fn run_sql(&self, sql: &'static str, params: Vec<Param>) -> u64 {
        let work = self.db().write(move |tx| Box::pin(async move { Ok(tx.run(&[sql], &params).await?) }));
        work.await.unwrap()
    }

    /// Changes the stored document of a user behind the server's back, for what no operation can make
    /// yet (connected accounts, passkeys, devices).
    pub async fn edit_document(&self, id: &str, edit: impl FnOnce(&mut Value)) {
        let mut tx = self.db().read().await.unwrap();
        let params = [(&self.tenant.id).into(), id.into()];
        let sql = "SELECT document FROM users WHERE instance_id = $1 AND id = $2";
        let text = tx.maybe(&[sql], &params, |row| row.text(0)).await.unwrap().unwrap();
        drop(tx);
        let mut document = serde_json::from_str(&text).unwrap();
        edit(&mut document);
        let params = vec![(&self.tenant.id).into(), id.into(), document.to_string().into()];
        self.run_sql("UPDATE users SET document = $3 WHERE instance_id = $1 AND id = $2", params).await;
    }
}

/// Waits until a condition holds. Fails the test after a minute, because a busy machine may need long.
pub async fn until(is_so: impl Fn() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came to be");
}

/// Waits until a request or a statement says that a condition holds. Fails the test after a minute.
pub async fn until_answered(is_so: impl AsyncFn() -> bool) {
    for _ in 0..6000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came to be");
}
