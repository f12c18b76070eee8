//! The server under test.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, Response};
use http_body_util::BodyExt;
use latchkey_app::GROUPS;
use latchkey_app::jobs::JobCounts;
use latchkey_app::{Routers, document, frontend_document, routers};
use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_base::rng::{Rng, SeededRng};
use latchkey_base::time::ManualClock;
use latchkey_db::Db;
use latchkey_jose::digest::sha256;
use latchkey_jose::rsa::SigningKey;
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::bell::Bell;
use latchkey_kernel::environment::Environment;
use latchkey_kernel::group::Group;
use latchkey_kernel::instances::{keys, rules, store};
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::{EnrollmentMode, Settings};
use latchkey_kernel::{App, AppParts, MetricsAccess};
use latchkey_outbound::client::{Client, Options, Trust};
use serde_json::Value;
use tower::ServiceExt;

use crate::checker::Checker;
use crate::database::Database;
use crate::schema::{Table, tables};

/// When tests take place: 2026-01-01T00:00:00Z.
const START: Time = Time::from_ms(1_767_225_600_000);
const API_URL: &str = "http://127.0.0.1:3400";
const FRONTEND_URL: &str = "http://localhost:3401";
/// The other host of the development instance.
pub const LOCAL_HOST: &str = "latchkey.localhost:3401";
/// On how many threads it hashes.
pub const HASH_THREADS: usize = 2;

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
    /// The state behind the routers, to see what no answer tells.
    pub app: Arc<App>,
    rng: Arc<dyn Rng>,
    /// What the jobs of this server count, so that its metrics show it.
    pub(crate) counts: JobCounts,
    /// Whether answers are checked against the contract.
    pub(crate) is_checked: bool,
    database: Database,
}

/// An instance and a secret key of it.
#[derive(Clone)]
pub struct Tenant {
    pub id: InstanceId,
    /// A secret key.
    pub key: String,
    /// The host of its Frontend API.
    pub frontend_api: String,
}

/// What the server answered.
pub struct Answer {
    pub status: u16,
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

    /// The same server, whose answers are not compared with the OpenAPI document: some are nested too deeply for those
    /// who read it.
    pub fn unchecked(mut self) -> TestServer {
        self.is_checked = false;
        self
    }

    /// A server with these rate limits, whose development instance has these settings.
    pub async fn start_with(rate_limits: RateLimits, settings: Settings) -> TestServer {
        TestServer::start_above(&[], rate_limits, settings).await
    }

    /// A server with groups of the test's own above those of the product. The contract does not know what they do,
    /// so answers are not checked against it.
    pub async fn start_with_groups(upper: &[Group]) -> TestServer {
        TestServer::start_with_groups_and(upper, Settings::default()).await
    }

    /// The same, whose development instance has these settings.
    pub async fn start_with_groups_and(upper: &[Group], settings: Settings) -> TestServer {
        TestServer::start_above(upper, RateLimits::Off, settings).await
    }

    async fn start_above(upper: &[Group], rate_limits: RateLimits, settings: Settings) -> TestServer {
        let database = Database::shared().await;
        let clock = Arc::new(ManualClock::new(START));
        let rng: Arc<dyn Rng> = Arc::new(SeededRng::new(42));
        let master = Arc::new(MasterKey::from_bytes([7; 32]));
        let counts = JobCounts::default();
        let tenant = make_tenant(&database.db, Environment::Development, settings, &*rng, &master).await;
        let other =
            make_tenant(&database.db, Environment::Production, Settings::default(), &*rng, &master).await;
        let Routers { backend: router, frontend, app, .. } = routers(
            AppParts {
                db: database.db.clone(),
                clock: clock.clone(),
                rng: rng.clone(),
                master: master.clone(),
                rate_limits,
                trusted_proxies: Vec::new(),
                metrics: MetricsAccess::default(),
                api_url: API_URL.to_owned(),
                frontend_url: FRONTEND_URL.to_owned(),
                frontend_api: tenant.frontend_api.clone(),
                local_host: Some(LOCAL_HOST.to_owned()),
                scripts_dir: None,
                slow_slots: HASH_THREADS,
                bell: Bell::default(),
                outbound: client(Options::default()),
                checks: client(Options::default()),
            },
            &counts,
            &[GROUPS, upper].concat(),
        );
        TestServer {
            clock,
            tenant,
            other,
            master,
            router,
            frontend,
            app,
            rng,
            counts,
            is_checked: upper.is_empty(),
            database,
        }
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
        self.upload_by("POST", tenant, path, file).await
    }

    /// The same by another method.
    pub async fn upload_by(&self, method: &str, tenant: &Tenant, path: &str, file: &[u8]) -> Answer {
        let mut form =
            b"--frame\r\nContent-Disposition: form-data; name=\"file\"; filename=\"blob\"\r\n\r\n".to_vec();
        form.extend(file);
        form.extend(b"\r\n--frame--\r\n");
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("clerk-api-version", "2026-05-12")
            .header("authorization", format!("Bearer {}", tenant.key))
            .header("content-type", "multipart/form-data; boundary=frame");
        self.send(request.body(Body::from(form)).unwrap()).await
    }

    /// A request with all its details. The answer is checked against the OpenAPI document.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let (method, path) = (request.method().to_string(), request.uri().to_string());
        let answer = self.send_unchecked(request).await;
        if self.is_checked {
            checker().check(&method, &path, answer.status, &answer.bytes);
        }
        answer
    }

    /// The answer to any request, of which nothing is read yet.
    pub async fn unread(&self, request: Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// A request that may fail.
    pub async fn send_unchecked(&self, request: Request<Body>) -> Answer {
        let (parts, body) = self.unread(request).await.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes().to_vec();
        let json = serde_json::from_slice(&bytes).unwrap_or_default();
        Answer { status: parts.status.as_u16(), headers: parts.headers, json, bytes }
    }
}

/// A client that sends requests. Reading the authorities of the operating system takes longer than most tests; those
/// who trust no others share them.
pub(crate) fn client(options: Options) -> Client {
    static SYSTEM: OnceLock<Trust> = OnceLock::new();
    let trust = match &options.extra_roots {
        Some(_) => Trust::new(options.extra_roots.as_deref()).unwrap(),
        None => SYSTEM.get_or_init(|| Trust::new(None).unwrap()).clone(),
    };
    Client::trusting(trust, options.resolver)
}

/// Making the document and its validators takes longer than most tests, and they are the same for all.
fn checker() -> &'static Checker {
    static CHECKER: OnceLock<Checker> = OnceLock::new();
    CHECKER.get_or_init(|| Checker::new(document(API_URL, GROUPS)))
}

pub(crate) fn frontend_checker() -> &'static Checker {
    static CHECKER: OnceLock<Checker> = OnceLock::new();
    CHECKER.get_or_init(|| Checker::new(frontend_document(FRONTEND_URL, GROUPS)))
}

/// Settings with organizations, which are off by default: every operation must be reached. Tests of what is off switch it
/// off.
pub fn with_organizations(mut settings: Settings) -> Settings {
    let organizations = &mut settings.organizations;
    organizations.enabled = true;
    organizations.domains = true;
    organizations.creation_defaults = true;
    organizations.domain_enrollment_modes =
        vec![EnrollmentMode::AutomaticInvitation, EnrollmentMode::AutomaticSuggestion];
    settings
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
    instance.settings = with_organizations(settings);
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
