//! The server under test.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request};
use http_body_util::BodyExt;
use latchkey_app::bell::Bell;
use latchkey_app::jobs::Counts;
use latchkey_app::limits::RateLimits;
use latchkey_app::resources::instances::model::Environment;
use latchkey_app::resources::instances::{keys, rules, store};
use latchkey_app::settings::Settings;
use latchkey_app::{Parts, Routers, document, frontend_document, routers};
use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_base::rng::{Rng, SeededRng};
use latchkey_base::time::ManualClock;
use latchkey_db::{Db, Location};
use latchkey_jose::digest::sha256;
use latchkey_jose::rsa::SigningKey;
use latchkey_jose::seal::MasterKey;
use latchkey_outbound::client::{Client, Options};
use serde_json::Value;
use tower::ServiceExt;

use crate::checker::Checker;
use crate::database::{self, Database};
use crate::schema::{Table, tables};

/// When tests take place: 2026-01-01T00:00:00Z.
const START: Time = Time::from_ms(1_767_225_600_000);
const API_URL: &str = "http://127.0.0.1:3400";
const FRONTEND_URL: &str = "http://localhost:3401";

/// A server in the process, with a development and a production instance.
pub struct TestServer {
    /// The clock all requests see.
    pub clock: Arc<ManualClock>,
    /// A development instance.
    pub tenant: Tenant,
    /// A production instance that must never see anything of the other.
    pub other: Tenant,
    /// Seals secrets.
    pub master: Arc<MasterKey>,
    router: Router,
    pub(crate) frontend: Router,
    rng: Arc<dyn Rng>,
    /// What the jobs of this server count, so that its metrics show it.
    pub(crate) counts: Arc<Counts>,
    database: Database,
}

/// An instance and a secret key of it.
#[derive(Clone)]
pub struct Tenant {
    /// The instance.
    pub id: InstanceId,
    /// A secret key.
    pub key: String,
    /// The host of its Frontend API.
    pub frontend_api: String,
}

/// What the server answered.
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// The body as JSON, or null.
    pub json: Value,
    /// The body as it came.
    pub bytes: Vec<u8>,
}

impl Answer {
    /// The first error code.
    pub fn code(&self) -> &str {
        self.json["errors"][0]["code"].as_str().unwrap_or_default()
    }

    /// The parameter the first error is about.
    pub fn param(&self) -> &str {
        self.json["errors"][0]["meta"]["param_name"].as_str().unwrap_or_default()
    }

    /// The body of a success.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{:#}", self.json);
        self.json
    }

    /// A header, or nothing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Checks that it is this error.
    #[track_caller]
    pub fn is_error(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.code()), (status, code), "{:#}", self.json);
    }
}

impl TestServer {
    /// A server without rate limits.
    pub async fn start() -> TestServer {
        TestServer::start_with(RateLimits::Off, Settings::default()).await
    }

    /// A server with these rate limits, whose development instance has these settings.
    pub async fn start_with(rate_limits: RateLimits, settings: Settings) -> TestServer {
        let database = database::fresh().await;
        let clock = Arc::new(ManualClock::new(START));
        let rng: Arc<dyn Rng> = Arc::new(SeededRng::new(42));
        let master = Arc::new(MasterKey::from_bytes([7; 32]));
        let counts = Arc::<Counts>::default();
        let tenant = make_tenant(&database.db, Environment::Development, settings, &*rng, &master).await;
        let other =
            make_tenant(&database.db, Environment::Production, Settings::default(), &*rng, &master).await;
        let Routers { backend: router, frontend } = routers(Parts {
            db: database.db.clone(),
            clock: clock.clone(),
            rng: rng.clone(),
            master: master.clone(),
            rate_limits,
            trusted_proxies: Vec::new(),
            api_url: API_URL.to_owned(),
            frontend_url: FRONTEND_URL.to_owned(),
            frontend_api: tenant.frontend_api.clone(),
            scripts_dir: None,
            slow_slots: 2,
            bell: Bell::default(),
            outbound: Client::new(Options::default()).unwrap(),
            counts: counts.clone(),
        });
        TestServer { clock, tenant, other, master, router, frontend, rng, counts, database }
    }

    pub(crate) async fn make_tenant(&self, environment: Environment, settings: Settings) -> Tenant {
        make_tenant(self.db(), environment, settings, &*self.rng, &self.master).await
    }

    pub(crate) fn master(&self) -> &MasterKey {
        &self.master
    }

    pub(crate) fn rng(&self) -> Arc<dyn Rng> {
        self.rng.clone()
    }

    /// The database, to look behind the API.
    pub fn db(&self) -> &Db {
        &self.database.db
    }

    /// Every row of every table, as texts: what is not in here is not in the database. Two calls that
    /// return the same say that nothing was changed in between.
    pub async fn everything(&self) -> Vec<String> {
        let mut tx = self.database.db.read().await.unwrap();
        let mut rows = Vec::new();
        for Table { name, texts, bytes } in tables() {
            let columns: Vec<String> =
                texts.iter().map(|column| format!("coalesce(CAST({column} AS TEXT), '')")).collect();
            let sql = format!("SELECT {} FROM {name}", columns.join(" || '|' || "));
            let found = tx.all(&[&sql], &[], |row| row.text(0)).await.unwrap();
            rows.extend(found.into_iter().map(|row| format!("{name} {row}")));
            for column in bytes {
                let sql = format!("SELECT {column} FROM {name} WHERE {column} IS NOT NULL");
                let found = tx.all(&[&sql], &[], |row| row.bytes(0)).await.unwrap();
                let text = |bytes: Vec<u8>| format!("{name}.{column} {}", String::from_utf8_lossy(&bytes));
                rows.extend(found.into_iter().map(text));
            }
        }
        rows.sort();
        rows
    }

    /// Where the database lies.
    pub fn location(&self) -> &Location {
        &self.database.location
    }

    /// `GET` as the development instance.
    pub async fn get(&self, path: &str) -> Answer {
        self.call(Some(&self.tenant), "GET", path, None).await
    }

    /// `POST` as the development instance.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Some(&self.tenant), "POST", path, Some(body)).await
    }

    /// `PATCH` as the development instance.
    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.call(Some(&self.tenant), "PATCH", path, Some(body)).await
    }

    /// `PUT` as the development instance.
    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.call(Some(&self.tenant), "PUT", path, Some(body)).await
    }

    /// `DELETE` as the development instance.
    pub async fn delete(&self, path: &str) -> Answer {
        self.call(Some(&self.tenant), "DELETE", path, None).await
    }

    /// Any request, as a tenant or as nobody, in the newest version.
    pub async fn call(
        &self,
        tenant: Option<&Tenant>,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        let mut request =
            Request::builder().method(method).uri(path).header("clerk-api-version", "2026-05-12");
        if let Some(tenant) = tenant {
            request = request.header("authorization", format!("Bearer {}", tenant.key));
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        self.send(request.body(body).unwrap()).await
    }

    /// Sends a file in the part `file` of a form, with `POST`.
    pub async fn upload(&self, tenant: &Tenant, path: &str, file: &[u8]) -> Answer {
        let mut form =
            b"--frame\r\nContent-Disposition: form-data; name=\"file\"; filename=\"blob\"\r\n\r\n".to_vec();
        form.extend(file);
        form.extend(b"\r\n--frame--\r\n");
        let request = Request::post(path)
            .header("clerk-api-version", "2026-05-12")
            .header("authorization", format!("Bearer {}", tenant.key))
            .header("content-type", "multipart/form-data; boundary=frame");
        self.send(request.body(Body::from(form)).unwrap()).await
    }

    /// A request with all its details. The answer is checked against the OpenAPI document.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let (method, path) = (request.method().to_string(), request.uri().to_string());
        let answer = self.send_unchecked(request).await;
        checker().check(&method, &path, answer.status, &answer.bytes);
        answer
    }

    /// A request that may fail.
    pub async fn send_unchecked(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes().to_vec();
        let json = serde_json::from_slice(&bytes).unwrap_or_default();
        Answer { status: parts.status.as_u16(), headers: parts.headers, json, bytes }
    }
}

/// Building the validators takes longer than most tests, and they are the same for all.
fn checker() -> &'static Checker {
    static CHECKER: OnceLock<Checker> = OnceLock::new();
    CHECKER.get_or_init(|| Checker::new(&document(API_URL)))
}

pub(crate) fn frontend_checker() -> &'static Checker {
    static CHECKER: OnceLock<Checker> = OnceLock::new();
    CHECKER.get_or_init(|| Checker::new(&frontend_document(FRONTEND_URL)))
}

async fn make_tenant(
    db: &Db,
    environment: Environment,
    settings: Settings,
    rng: &dyn Rng,
    master: &MasterKey,
) -> Tenant {
    // Making an RSA key takes a while; tests share one.
    static KEY: OnceLock<SigningKey> = OnceLock::new();
    let mut instance = rules::create(environment, String::new(), START, rng);
    instance.frontend_api = format!("{}.example.test", instance.id).to_lowercase();
    instance.settings = settings;
    let key =
        rules::stored_key(KEY.get_or_init(|| SigningKey::generate().unwrap()), &instance.id, master).unwrap();
    let secret = keys::secret_key(environment, rng);
    let (digest, id, hint) =
        (sha256(secret.expose().as_bytes()), SecretKeyId::new(START, rng), keys::hint(&secret));
    let tenant = Tenant {
        id: instance.id.clone(),
        key: secret.expose().to_owned(),
        frontend_api: instance.frontend_api.clone(),
    };
    db.write(move |tx| {
        Box::pin(async move {
            store::insert(tx, &instance, &key).await?;
            store::insert_key(tx, &instance.id, &id, &digest, &hint, START).await
        })
    })
    .await
    .unwrap();
    tenant
}
