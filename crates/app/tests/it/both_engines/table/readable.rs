//! What is stored can be read: whatever an operation accepts is listed, shown in every version, told in the feed and
//! sent to endpoints. The server of a test fails it at any answer of 500 or that breaks the contract.

use latchkey_base::rng::{Rng, SeededRng};
use latchkey_outbound::client::Options;
use latchkey_testkit::{Person, Receiver, TestServer, escape};
use latchkey_web::depth::JSON_DEPTH;
use latchkey_web::version::Version;
use serde_json::{Map, Value, json};

use super::frontend::{FORM, JSON, Sent, Somebody, somebody, trusting};
use super::{Row, backend, frontend};

/// Texts that somebody may send, as JSON.
fn texts() -> Vec<String> {
    let written = [
        r#""""#,
        r#""\u0000""#,
        r#""a\u0000b""#,
        r#""\ud800""#,
        r#""\udfff\ud800""#,
        r#""\ud83d\ude00""#,
        r#""\u202e\u200b\ufeff﷽é""#,
        r#""__proto__""#,
        r#""'; DROP TABLE users; --""#,
        r#""{{user.id}}""#,
        r#""\u0000kept 0""#,
        r#""null""#,
        r#""\\\"\u001f\u007f\u0085\u2028""#,
        r#""a@ｂücher。example""#,
    ];
    written.into_iter().map(str::to_owned).chain([json!("x".repeat(300)).to_string()]).collect()
}

/// Values that may stand in JSON, as JSON.
fn values() -> Vec<String> {
    let nested =
        |open: &str, close: &str, levels: usize| [open.repeat(levels), close.repeat(levels)].concat();
    let mut all = texts();
    all.extend(
        [
            "null",
            "-0",
            "-0.0",
            "1e400",
            "-1e400",
            "1e308",
            "5e-324",
            "0.1",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775809",
            "12345678901234567890.123456789",
            "[]",
            "{}",
        ]
        .map(str::to_owned),
    );
    all.extend([nested("[", "]", JSON_DEPTH - 1), nested("[", "]", JSON_DEPTH), nested("[", "]", 126)]);
    let deepest = [r#"{"a":"#.repeat(JSON_DEPTH - 2), "{}".to_owned(), "}".repeat(JSON_DEPTH - 2)].concat();
    all.extend([deepest, nested("[[],", "]", 40).replace(",]", "]")]);
    all
}

/// Names that a field may have, as JSON.
const NAMES: [&str; 12] = [
    r#""a""#,
    r#""""#,
    r#""__proto__""#,
    r#""constructor""#,
    r#""$ref""#,
    r#""object""#,
    r#""\u0000""#,
    r#""$serde_json::private::RawValue""#,
    r#""$serde_json::private::Number""#,
    r#""public_metadata""#,
    r#""\ud83d\ude00.é""#,
    r#""a\"b""#,
];

/// Objects, as JSON: every value under some name, and some of several fields, also of the same name.
fn objects(rng: &dyn Rng) -> Vec<String> {
    let (values, mut all) = (values(), Vec::new());
    let pick = |count: usize| {
        let mut bytes = [0; 2];
        rng.fill(&mut bytes);
        usize::from(u16::from_le_bytes(bytes)) % count
    };
    for value in &values {
        all.push(format!("{{{}:{value}}}", NAMES[pick(NAMES.len())]));
    }
    for name in NAMES {
        all.push(format!(r#"{{{name}:"[1]"}}"#));
    }
    for _ in 0..10 {
        let field = |_| format!("{}:{}", NAMES[pick(NAMES.len())], values[pick(values.len())]);
        all.push(format!("{{{}}}", (0..4).map(field).collect::<Vec<_>>().join(",")));
    }
    all.extend([
        r#"{"a":1,"a":{"b":2}}"#.to_owned(),
        format!(r#"{{"{}":1}}"#, "k".repeat(7000)),
        r#"{"object":"session","status":"pending","tasks":[],"id":"\u0000kept 0"}"#.to_owned(),
        // What an actor needs.
        r#"{"sub":"\u0000kept 1","more":[[[[1.10]]]]}"#.to_owned(),
    ]);
    all
}

/// What may be tried for a field of this schema, as JSON.
fn tries(schema: &Value, rng: &dyn Rng) -> Vec<String> {
    let text = schema["type"].to_string();
    if schema.get("enum").is_some() {
        Vec::new()
    } else if text.contains("object") {
        objects(rng)
    } else if text.contains("array") {
        texts().iter().map(|text| format!("[{text}]")).collect()
    } else if text.contains("string") {
        texts()
    } else {
        Vec::new()
    }
}

/// A body with this field in it.
fn body_with(mut body: Map<String, Value>, name: &str, value: &str) -> String {
    body.remove(name);
    let rest = Value::Object(body).to_string();
    let rest = rest.strip_prefix('{').unwrap();
    format!("{{{}:{value}{}{rest}", json!(name), if rest == "}" { "" } else { "," })
}

/// Reads all that a backend can, in every version.
async fn read_everything(t: &TestServer, people: &[Person]) {
    let reads: Vec<Row> = backend().into_iter().filter(|row| row.method == "GET").collect();
    for (_, version) in Version::ALL {
        let read = async |path: &str| {
            let answer = t.call_version(version, "GET", path, None).await;
            assert!(matches!(answer.status, 200 | 404), "{version} {path}: {:#}", answer.json);
        };
        for row in reads.iter().filter(|row| row.returns.is_some()) {
            read(&row.path_of(people.last().unwrap())).await;
        }
        for person in people {
            read(&format!("/v1/users/{}", person.user)).await;
        }
        read("/v1/users?limit=500").await;
        let mut after = 0;
        loop {
            let path = format!("/v1/events?limit=500&after={after}");
            let page = t.call_version(version, "GET", &path, None).await.ok();
            after = page["last_seq"].as_i64().unwrap();
            if page["has_more"] == false {
                break;
            }
        }
    }
}

#[tokio::test]
async fn what_backends_may_send_can_be_read_in_every_version_and_is_delivered() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    t.post("/v1/webhooks/endpoints", json!({"url": receiver.url()})).await.ok();
    let rng = SeededRng::new(13);
    let (mut people, mut accepted) = (Vec::new(), 0);
    for (number, row) in (1..).zip(backend().iter().filter(|row| row.body_schema().is_some())) {
        let person = t.person(&t.tenant, number).await;
        let (schema, body) = (row.body_schema().unwrap(), row.body(&t, &person).unwrap());
        for (name, field) in schema["properties"].as_object().unwrap_or(&Map::new()) {
            for value in tries(field, &rng) {
                let sent = body_with(body.as_object().unwrap().clone(), name, &value);
                accepted += u32::from(row.send(&t, &row.path_of(&person), sent).await.status == 200);
            }
        }
        people.push(person);
    }
    assert!(accepted > 200, "{accepted}");
    read_everything(&t, &people).await;
    // Those that were made on the way lead nowhere, and would be waited for.
    for endpoint in t.get("/v1/webhooks/endpoints").await.ok()["data"].as_array().unwrap() {
        if endpoint["url"] != receiver.url() {
            t.delete(&format!("/v1/webhooks/endpoints/{}", endpoint["id"].as_str().unwrap())).await.ok();
        }
    }
    t.courier(Options::default()).run_once().await.unwrap();
    let arrivals = receiver.arrivals();
    assert!(arrivals.len() > 100, "{}", arrivals.len());
    assert!(arrivals.iter().all(|arrival| arrival.json()["data"].is_object()));
}

/// Reads what the browsers of somebody are shown, in every version. Says how often that was a client: one who signs in
/// gets another cookie.
async fn read_browsers(t: &TestServer, person: &Somebody) -> u32 {
    let mut shown = 0;
    for (_, version) in Version::ALL {
        for cookies in [&person.cookies, &person.attempting] {
            let mut browser = t.browser_at(&person.tenant);
            browser.origin = None;
            browser.cookies = cookies.clone();
            let client = browser.get(&format!("/v1/client?__clerk_api_version={version}")).await.ok();
            shown += u32::from(client["response"].is_object());
            let me = browser.get(&format!("/v1/me?__clerk_api_version={version}")).await;
            assert!(matches!(me.status, 200 | 401), "{version}: {:#}", me.json);
        }
    }
    shown
}

#[tokio::test]
async fn what_browsers_may_send_can_be_read_in_every_version() {
    let t = trusting().await;
    let rng = SeededRng::new(13);
    let (mut accepted, mut shown) = (0, 0);
    for (number, row) in (1..).zip(frontend().iter().filter(|row| row.schema(FORM).is_some())) {
        let person = somebody(&t, &t.tenant, number).await;
        let (schema, form) = (row.schema(FORM).unwrap(), row.form(&person).unwrap());
        for (name, field) in schema["properties"].as_object().unwrap_or(&Map::new()) {
            // Hashing takes long, and passwords are shown nowhere.
            let tried = if name.contains("password") { 3 } else { usize::MAX };
            for (number, value) in tries(field, &rng).into_iter().enumerate().take(tried) {
                let text = serde_json::from_str::<String>(&value).unwrap_or_else(|_| value.clone());
                let json = body_with(form.as_object().unwrap().clone(), name, &value);
                let (kind, sent) = match number % 2 {
                    0 => (FORM, format!("{name}={}", escape(&text))),
                    _ => (JSON, json),
                };
                let (path, cookies) = (row.path_to(&person), person.cookies_for(row));
                let answer = row.send_as(&t, &person.tenant, cookies, &path, Sent::Text(kind, sent)).await;
                assert!(answer.status < 500, "{} {name}={value}: {:#}", row.id, answer.json);
                accepted += u32::from(answer.status == 200);
            }
        }
        shown += read_browsers(&t, &person).await;
    }
    assert!(accepted > 100 && shown > 200, "{accepted} {shown}");
    t.get("/v1/users?limit=500").await.ok();
    t.get("/v1/events?limit=500").await.ok();
}

/// Servers before this limit stored up to 127 levels, and more by detours.
#[tokio::test]
async fn what_was_stored_more_deeply_than_is_accepted_is_still_answered() {
    for levels in [100, 126, 127, 200, 4000] {
        let t = TestServer::start().await.unchecked();
        let person = somebody(&t, &t.tenant, 1).await;
        let deep = format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        for (table, field) in
            [("users", "unsafe_metadata"), ("users", "public_metadata"), ("sign_ups", "unsafe_metadata")]
        {
            let (empty, full) = (format!(r#""{field}":{{}}"#), format!(r#""{field}":{deep}"#));
            let sql = match table {
                "users" => "UPDATE users SET document = replace(document, $1, $2)",
                _ => "UPDATE sign_ups SET document = replace(document, $1, $2)",
            };
            assert!(t.run_sql(sql, vec![empty.into(), full.into()]).await > 0, "{table}");
        }
        let sql = "SELECT id FROM users WHERE instance_id = $1";
        let mut tx = t.db().read().await.unwrap();
        let user = tx.maybe(&[sql], &[(&t.tenant.id).into()], |row| row.text(0)).await.unwrap().unwrap();
        drop(tx);
        for change in [json!({"first_name": "Ada"}), json!({"first_name": "Eve"})] {
            assert_eq!(t.patch(&format!("/v1/users/{user}"), change).await.status, 200, "{levels}");
        }
        for (_, version) in Version::ALL {
            for path in
                [format!("/v1/users/{user}"), "/v1/users".into(), "/v1/events".into(), "/v1/sessions".into()]
            {
                let path = if path == "/v1/sessions" { format!("{path}?user_id={user}") } else { path };
                let answer = t.call_version(version, "GET", &path, None).await;
                assert_eq!(answer.status, 200, "{levels} {version} {path}");
            }
            for cookies in [&person.cookies, &person.attempting] {
                let mut browser = t.browser_at(&person.tenant);
                browser.origin = None;
                browser.cookies = cookies.clone();
                let answer = browser.get(&format!("/v1/client?__clerk_api_version={version}")).await;
                assert_eq!(answer.status, 200, "{levels} {version}");
                assert!(answer.bytes.len() > 2 * levels, "{levels} {version}: it is shown");
                let refused = browser.post("/v1/client/sign_ins", json!({"strategy": "nothing"})).await;
                assert!(refused.status < 500, "{levels}: {:#}", refused.json);
            }
        }
        let path = format!("/v1/users/{user}/metadata");
        let merged = t.patch(&path, json!({"unsafe_metadata": {"b": 1}})).await;
        assert!(matches!(merged.status, 200 | 422), "{levels}: {:#}", merged.json);
        assert_eq!(t.put(&path, json!({"unsafe_metadata": {}, "public_metadata": {}})).await.status, 200);
    }
}
