//! What must never be found in logs, errors and metrics: secrets, people's addresses, and whatever else
//! the caller sends.

use std::fmt::{Debug, Write};
use std::sync::{Mutex, OnceLock, PoisonError};

use axum::body::Body;
use axum::http::Request;
use latchkey_base::Error;
use latchkey_testkit::{Answer, Tenant, TestServer};
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Everything the process logs, at every level. Other tests log too, so each looks for texts that only
/// it uses.
struct Recorder;

static LOG: Mutex<String> = Mutex::new(String::new());

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

fn write(fields: impl FnOnce(&mut Line)) {
    let mut line = Line(String::new());
    fields(&mut line);
    let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    log.push_str(&line.0);
    log.push('\n');
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        write(|line| attributes.record(line));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        write(|line| values.record(line));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        write(|line| event.record(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// A server whose log is recorded.
async fn recorded() -> TestServer {
    record();
    TestServer::start().await
}

/// Records what is logged from now on.
pub(crate) fn record() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| tracing::subscriber::set_global_default(Recorder).unwrap());
}

/// What was logged.
pub(crate) fn log() -> String {
    LOG.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[track_caller]
fn found_nowhere(place: &str, text: &str, secrets: &[&str]) {
    for secret in secrets {
        assert!(!text.contains(secret), "{secret} in {place}");
    }
}

#[tokio::test]
async fn requests_are_logged_under_the_trace_id_the_caller_sees() {
    let t = recorded().await;
    for answer in [t.get("/v1/users").await, t.get("/v1/users/nobody").await] {
        let trace_id = answer.header("clerk-trace-id");
        assert!(log().lines().any(|line| line.contains(trace_id) && line.contains("operation=\"GetUser")));
    }
}

#[tokio::test]
async fn secrets_and_addresses_reach_neither_logs_nor_answers_nor_metrics() {
    let t = recorded().await;
    let secrets = [
        "canary-password-1",
        "canary-password-2",
        "canary-backup-code",
        "$2b$04$canarycanarycanarycaneBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe",
        "MNQW4YLSPEQGG33EMUQGC3TEEBUXI4ZA",
        "sk_test_canary",
        &t.tenant.key,
    ];
    let people = ["canary@example.com", "canary.new@example.com", "+4915377777777", "canary-agent"];
    let (answers, code) = busy_life(&t, secrets).await;
    let codes: Vec<&str> = code.iter().map(String::as_str).collect();
    assert!(answers.iter().any(|answer| answer.status == 200));
    for answer in &answers {
        let text = format!("{:?} {}", answer.headers, String::from_utf8_lossy(&answer.bytes));
        found_nowhere("an answer", &text, &secrets);
        found_nowhere("an answer", &text, &codes);
    }
    let log = log();
    let metrics = String::from_utf8(t.call(None, "GET", "/metrics", None).await.bytes).unwrap();
    for (place, text) in [("the log", &log), ("the metrics", &metrics)] {
        found_nowhere(place, text, &secrets);
        found_nowhere(place, text, &people);
        assert!(!text.contains("canary"), "something of the caller is in {place}");
    }
    // Six digits may be part of a trace id; as a word they are the code.
    let words: Vec<&str> = log.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    assert!(codes.iter().all(|code| !words.contains(code)));
}

/// Requests that carry secrets, some served and some refused; and the codes sent meanwhile.
async fn busy_life(t: &TestServer, secrets: [&str; 7]) -> (Vec<Answer>, Vec<String>) {
    let [password, wrong, backup_code, digest, totp_secret, wrong_key, _] = secrets;
    let body = json!({
        "email_address": ["canary@example.com"], "phone_number": ["+4915377777777"], "password": password,
        "totp_secret": totp_secret, "backup_codes": [backup_code],
    });
    let made = t.post("/v1/users", body.clone()).await;
    let user = format!("/v1/users/{}", made.json["id"].as_str().unwrap());
    let mut answers = vec![made];
    let mut keep = |answer: Answer| answers.push(answer);
    keep(t.post("/v1/users", body).await);
    keep(
        t.post("/v1/users", json!({"password": [wrong], "username": wrong, "email_address": password})).await,
    );
    keep(t.post(&format!("{user}/verify_password"), json!({"password": wrong})).await);
    keep(t.post(&format!("{user}/verify_password"), json!({"password": password})).await);
    keep(t.post(&format!("{user}/verify_totp"), json!({"code": wrong})).await);
    keep(t.post(&format!("{user}/verify_totp"), json!({"code": backup_code})).await);
    keep(t.patch(&user, json!({"password_digest": digest, "password_hasher": "md5"})).await);
    keep(t.patch(&user, json!({"password_digest": digest, "password_hasher": "bcrypt"})).await);
    keep(t.patch(&user, json!({"totp_secret": format!("{totp_secret}!")})).await);
    keep(t.get("/v1/users?email_address=canary@example.com&query=canary").await);
    keep(t.get("/v1/canary@example.com").await);
    keep(t.get("/v1/users/canary%0aoperation=forged").await);
    keep(t.call(Some(&t.tenant), "CANARY", "/v1/users", None).await);
    let stranger = Tenant { key: wrong_key.to_owned(), ..t.tenant.clone() };
    keep(t.call(Some(&stranger), "GET", "/v1/users", None).await);
    for (header, value) in
        [("authorization", wrong_key), ("user-agent", "canary-agent"), ("cookie", "canary")]
    {
        let request = Request::get("/v1/users").header(header, value).body(Body::empty()).unwrap();
        keep(t.send(request).await);
    }
    for broken in [format!("{{\"password\": \"{wrong}\""), format!("{{\"password\": {wrong}}}")] {
        let request = Request::post("/v1/users")
            .header("authorization", format!("Bearer {}", t.tenant.key))
            .header("content-type", "application/json");
        keep(t.send(request.body(Body::from(broken)).unwrap()).await);
    }
    let mut codes = Vec::new();
    let new = json!({"user_id": answers[0].json["id"], "email_address": "canary.new@example.com"});
    let address = t.post("/v1/email_addresses", new).await.ok();
    let path = format!("/v1/email_addresses/{}", address["id"].as_str().unwrap());
    let sent = t.post(&format!("{path}/prepare_verification"), json!({})).await;
    let code = t.inbox().await[0]["code"].as_str().unwrap().to_owned();
    let tried = |code: &str| json!({"verification_id": sent.json["id"], "code": code});
    answers.push(t.post(&format!("{path}/attempt_verification"), tried("canary")).await);
    answers.push(t.post(&format!("{path}/attempt_verification"), tried(&code)).await);
    answers.push(sent);
    codes.push(code);
    answers.push(t.delete(&user).await);
    (answers, codes)
}

#[tokio::test]
async fn damaged_record_is_a_failure_that_tells_nothing_of_its_content() {
    let t = recorded().await;
    let id =
        t.post("/v1/users", json!({"username": "somebody"})).await.ok()["id"].as_str().unwrap().to_owned();
    t.edit_document(&id, |document| document["email_addresses"] = json!("kanarie@example.com")).await;
    let request = Request::get(format!("/v1/users/{id}"))
        .header("authorization", format!("Bearer {}", t.tenant.key))
        .body(Body::empty());
    let answer = t.send_unchecked(request.unwrap()).await;
    answer.is_error(500, "internal_clerk_error");
    assert_eq!(answer.json["errors"].as_array().unwrap().len(), 1);
    assert!(!answer.json.to_string().contains("kanarie"));
    let log = log();
    assert!(
        log.lines().any(|line| line.contains("cause=") && line.contains(answer.header("clerk-trace-id")))
    );
    assert!(!log.contains("kanarie"));
}

#[tokio::test]
async fn failure_of_the_database_tells_nothing_of_the_data() {
    let t = recorded().await;
    let instance = t.tenant.id.clone();
    let broken = t.db().write(move |tx| {
        Box::pin(async move {
            // No such user: the foreign key refuses the row.
            let sql = "INSERT INTO credentials (instance_id, user_id, password_digest) VALUES ($1, $2, $3)";
            let params = [(&instance).into(), "kanarie@example.com".into(), "kanarie-digest".into()];
            Ok(tx.run(&[sql], &params).await?)
        })
    });
    let error = broken.await.unwrap_err();
    assert_eq!(error.status(), 500);
    assert!(!chain(&error).contains("kanarie"), "{}", chain(&error));
}

/// An error and everything behind it, as the log shows it.
fn chain(error: &Error) -> String {
    let mut text = String::new();
    let mut next: Option<&dyn std::error::Error> = error.cause().map(|cause| cause as _);
    while let Some(cause) = next {
        let _ = write!(text, "{cause}: ");
        next = cause.source();
    }
    text
}

#[tokio::test]
async fn events_carry_no_secrets() {
    let t = recorded().await;
    t.person(&t.tenant, 1).await;
    let user = json!({"username": "somebody", "password": "correct horse battery", "backup_codes": ["kanarie-code"]});
    t.post("/v1/users", user).await.ok();
    for event in t.events().await {
        let text = event.data.to_string();
        found_nowhere(
            "an event",
            &text,
            &["correct horse", "kanarie-code", "backup-0001", "digest", "argon2"],
        );
        assert!(event.data.get("private_metadata").is_none_or(Value::is_object));
    }
}
