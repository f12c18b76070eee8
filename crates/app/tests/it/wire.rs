//! What every request and every answer has in common: credentials, versions, bodies, errors, headers.

use axum::body::Body;
use axum::http::Request;
use axum::http::header::{HeaderName, HeaderValue};
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

const VERSIONS: [&str; 5] = ["2021-02-05", "2024-10-01", "2025-04-10", "2025-11-10", "2026-05-12"];
const TEXT_MAX: usize = 256 * 1024;

/// A request with exactly these headers.
async fn send(
    t: &TestServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Answer {
    let mut request = Request::builder().method(method).uri(path).body(body.into()).unwrap();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        request.headers_mut().append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    t.send(request).await
}

fn bearer(t: &TestServer) -> String {
    format!("Bearer {}", t.tenant.key)
}

/// A JSON body sent as the development instance.
async fn post_raw(t: &TestServer, path: &str, body: impl Into<Body>) -> Answer {
    let key = bearer(t);
    send(t, "POST", path, &[("authorization", &key), ("content-type", "application/json")], body).await
}

/// A user with a name, made so that every snapshot sees the same ids.
async fn ada(t: &TestServer) -> String {
    let body = json!({
        "email_address": ["ada@example.com"], "phone_number": ["+14155550100"], "username": "countess",
        "first_name": "Ada", "last_name": "Lovelace", "public_metadata": {"role": "analyst"},
        "web3_wallet": ["0x71C7656EC7ab88b098defB751B7401B5f6d8976F"],
        "created_at": "2025-12-10T08:00:00.123Z", "external_id": "engine-1",
    });
    t.post("/v1/users", body).await.ok()["id"].as_str().unwrap().to_owned()
}

// Credentials.

async fn with_authorization(t: &TestServer, headers: &[&str]) -> Answer {
    let headers: Vec<_> = headers.iter().map(|value| ("authorization", *value)).collect();
    send(t, "GET", "/v1/users/count", &headers, "").await
}

#[tokio::test]
async fn request_without_credentials_could_not_be_authenticated() {
    let t = TestServer::start().await;
    with_authorization(&t, &[]).await.is_error(401, "could_not_authenticate_request");
}

#[tokio::test]
async fn authorization_header_that_is_not_bearer_and_a_key_has_a_wrong_format() {
    let t = TestServer::start().await;
    let (key, good) = (&t.tenant.key, bearer(&t));
    let bad = [
        "Basic x".to_owned(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer    ".to_owned(),
        String::new(),
        key.clone(),
        format!("Bearer{key}"),
        format!("Bearer {key} {key}"),
        format!("Bearer {}\u{a0}{}", &key[..20], &key[20..]),
        format!("Bearer {} {}", &key[..20], &key[20..]),
        format!("Bearer {}\t{}", &key[..20], &key[20..]),
        format!("Digest {key}"),
        format!("{good}, {good}"),
        format!("Bearer\t{key}"),
    ];
    for header in bad {
        let answer = with_authorization(&t, &[&header]).await;
        assert_eq!(
            (answer.status, answer.code()),
            (401, "authorization_header_format_invalid"),
            "{header:?}"
        );
    }
    let twice = with_authorization(&t, &[&good, &good]).await;
    twice.is_error(401, "authorization_header_format_invalid");
}

#[tokio::test]
async fn key_that_is_not_exactly_right_is_invalid() {
    let t = TestServer::start().await;
    let key = &t.tenant.key;
    let bad = [
        "sk_test_unknown".to_owned(),
        "x".to_owned(),
        key[..key.len() - 1].to_owned(),
        format!("{key}x"),
        key.to_uppercase(),
        key.replace("sk_test_", "sk_live_"),
        "x".repeat(8000),
    ];
    for key in bad {
        let answer = with_authorization(&t, &[&format!("Bearer {key}")]).await;
        assert_eq!((answer.status, answer.code()), (401, "clerk_key_invalid"), "{key}");
    }
}

#[tokio::test]
async fn scheme_is_read_in_any_case_and_spaces_around_the_key_are_ignored() {
    let t = TestServer::start().await;
    let key = &t.tenant.key;
    for header in [
        format!("Bearer {key}"),
        format!("bearer {key}"),
        format!("BEARER {key}"),
        format!("Bearer   {key}"),
        format!("Bearer {key}  "),
    ] {
        assert_eq!(with_authorization(&t, &[&header]).await.status, 200, "{header}");
    }
}

// Errors.

#[track_caller]
fn is_an_error_body(answer: &Answer) {
    let body = answer.json.as_object().unwrap();
    assert_eq!(body.keys().collect::<Vec<_>>(), ["clerk_trace_id", "errors"]);
    let errors = body["errors"].as_array().unwrap();
    assert!(!errors.is_empty());
    for error in errors {
        for field in ["message", "long_message", "code"] {
            assert!(error[field].as_str().is_some_and(|text| !text.is_empty()), "{error:#}");
        }
        let meta = error.get("meta").map(|meta| meta.as_object().unwrap());
        assert!(meta.is_none_or(|meta| !meta.is_empty()), "{error:#}");
        let known = ["message", "long_message", "code", "meta"];
        assert!(error.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{error:#}");
    }
    is_a_trace_id(body["clerk_trace_id"].as_str().unwrap());
    assert_eq!(answer.header("clerk-trace-id"), body["clerk_trace_id"].as_str().unwrap());
    assert_eq!(answer.header("content-type"), "application/json");
}

#[track_caller]
fn is_a_trace_id(text: &str) {
    assert_eq!(text.len(), 32, "{text}");
    assert!(text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)), "{text}");
}

#[tokio::test]
async fn every_error_has_the_same_body_and_its_trace_id_in_the_header() {
    let t = TestServer::start().await;
    let id = ada(&t).await;
    let answers = [
        t.call(None, "GET", "/v1/users", None).await,
        t.get("/v1/users/nobody").await,
        t.get("/v1/nowhere").await,
        t.delete("/v1/users").await,
        t.get("/v1/users?limit=0").await,
        t.get("/v1/users?limit=%zz").await,
        t.post("/v1/users", json!({})).await,
        t.post("/v1/users", json!({"surprise": 1, "username": 2, "banned": "no"})).await,
        t.post("/v1/users", json!({"username": "countess"})).await,
        post_raw(&t, "/v1/users", "{").await,
        post_raw(&t, "/v1/users", "x".repeat(TEXT_MAX + 1)).await,
        t.post(&format!("/v1/users/{id}/verify_password"), json!({"password": "x"})).await,
        t.get("/images/ins_0/img_0").await,
    ];
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [401, 404, 404, 405, 422, 400, 422, 422, 422, 400, 413, 400, 404]);
    answers.iter().for_each(is_an_error_body);
}

#[tokio::test]
async fn meta_is_left_out_when_there_is_nothing_to_say() {
    let t = TestServer::start().await;
    let unknown = t.get("/v1/users/nobody").await;
    assert_eq!(unknown.json["errors"][0].get("meta"), None);
    let invalid = t.get("/v1/users?limit=0").await;
    assert_eq!(invalid.json["errors"][0]["meta"], json!({"param_name": "limit"}));
}

#[tokio::test]
async fn all_problems_of_a_body_are_told_together() {
    let t = TestServer::start().await;
    let answer = t.post("/v1/users", json!({"surprise": 1, "username": 2, "banned": "no"})).await;
    assert_eq!(answer.json["errors"].as_array().unwrap().len(), 3, "{:#}", answer.json);
}

#[tokio::test]
async fn trace_ids_differ_and_are_on_successes_too() {
    let t = TestServer::start().await;
    let (first, second) = (t.get("/v1/users").await, t.get("/v1/users").await);
    is_a_trace_id(first.header("clerk-trace-id"));
    is_a_trace_id(second.header("clerk-trace-id"));
    assert_ne!(first.header("clerk-trace-id"), second.header("clerk-trace-id"));
}

#[tokio::test]
async fn content_type_is_exactly_application_json_whatever_is_asked_for() {
    let t = TestServer::start().await;
    let (id, key) = (ada(&t).await, bearer(&t));
    for accept in ["*/*", "application/json; charset=utf-8", "text/html", "application/xml"] {
        for path in [format!("/v1/users/{id}"), "/v1/users/nobody".to_owned(), "/v1/jwks".to_owned()] {
            let answer = send(&t, "GET", &path, &[("authorization", &key), ("accept", accept)], "").await;
            let types: Vec<_> = answer.headers.get_all("content-type").iter().collect();
            assert_eq!(types, ["application/json"], "{path} {accept}");
        }
    }
}

// Versions.

async fn versioned(t: &TestServer, path: &str, versions: &[&str]) -> Answer {
    let key = bearer(t);
    let mut headers = vec![("authorization", key.as_str())];
    headers.extend(versions.iter().map(|version| ("clerk-api-version", *version)));
    send(t, "GET", path, &headers, "").await
}

#[tokio::test]
async fn version_is_chosen_by_header_or_by_query() {
    let t = TestServer::start().await;
    for version in VERSIONS {
        versioned(&t, "/v1/users", &[version]).await.ok();
        versioned(&t, &format!("/v1/users?__clerk_api_version={version}"), &[]).await.ok();
    }
    versioned(&t, "/v1/users", &[]).await.ok();
}

#[tokio::test]
async fn unknown_version_is_refused() {
    let t = TestServer::start().await;
    let bad = ["", "v1", "latest", "2026-05-13", "2025-03-12", "2026-05-12T00:00:00Z", " 2026-05-12x"];
    for version in bad {
        versioned(&t, "/v1/users", &[version]).await.is_error(400, "api_version_invalid");
    }
    for version in ["", "v1", "2026-05-13", "2025-03-12", "2026-05-12%20"] {
        let path = format!("/v1/users?__clerk_api_version={version}");
        versioned(&t, &path, &[]).await.is_error(400, "api_version_invalid");
    }
}

#[tokio::test]
async fn version_given_twice_is_refused_even_when_both_agree() {
    let t = TestServer::start().await;
    let newest = "2026-05-12";
    let query = format!("/v1/users?__clerk_api_version={newest}");
    let twice = format!("{query}&__clerk_api_version={newest}");
    versioned(&t, "/v1/users", &[newest, newest]).await.is_error(400, "api_version_invalid");
    versioned(&t, "/v1/users", &[newest, "2021-02-05"]).await.is_error(400, "api_version_invalid");
    versioned(&t, &query, &[newest]).await.is_error(400, "api_version_invalid");
    versioned(&t, &twice, &[]).await.is_error(400, "api_version_invalid");
}

async fn patch_metadata(t: &TestServer, id: &str, version: Option<&str>) -> Answer {
    let key = bearer(t);
    let mut headers = vec![("authorization", key.as_str()), ("content-type", "application/json")];
    headers.extend(version.map(|version| ("clerk-api-version", version)));
    let body = json!({"first_name": "Augusta", "public_metadata": {"version": version}});
    send(t, "PATCH", &format!("/v1/users/{id}"), &headers, body.to_string()).await
}

#[tokio::test]
async fn update_of_a_user_takes_metadata_before_the_newest_version_only() {
    let t = TestServer::start().await;
    let id = ada(&t).await;
    for version in [None, Some("2021-02-05"), Some("2024-10-01"), Some("2025-04-10"), Some("2025-11-10")] {
        let updated = patch_metadata(&t, &id, version).await.ok();
        // Replaced, not merged: what was there before is gone.
        assert_eq!(updated["public_metadata"], json!({"version": version}));
    }
    let before = t.everything().await;
    let refused = patch_metadata(&t, &id, Some("2026-05-12")).await;
    refused.is_error(422, "form_param_unknown");
    assert_eq!(refused.param(), "public_metadata");
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn user_looks_in_every_version_as_on_record() {
    let t = TestServer::start().await;
    let path = format!("/v1/users/{}", ada(&t).await);
    for version in VERSIONS {
        let user = versioned(&t, &path, &[version]).await.ok();
        insta::assert_json_snapshot!(format!("user_{}", version.replace('-', "_")), user);
    }
    let default = versioned(&t, &path, &[]).await.ok();
    assert_eq!(default, versioned(&t, &path, &["2021-02-05"]).await.ok());
}

// Bodies.

#[tokio::test]
async fn empty_null_and_empty_object_bodies_mean_the_same() {
    let t = TestServer::start().await;
    let path = format!("/v1/users/{}/remove_password", ada(&t).await);
    let mut answers = Vec::new();
    for body in ["", "null", "{}", " \r\n\t", " null ", "\n{ }\n"] {
        answers.push(post_raw(&t, &path, body).await.ok());
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    // Without a body nothing needs to be said about its type.
    send(&t, "POST", &path, &[("authorization", &bearer(&t))], "").await.ok();
}

#[tokio::test]
async fn operation_without_a_body_does_not_mind_an_empty_one() {
    let t = TestServer::start().await;
    let path = format!("/v1/users/{}/ban", ada(&t).await);
    for body in ["", "null", "{}"] {
        post_raw(&t, &path, body).await.ok();
    }
}

#[tokio::test]
async fn body_without_the_json_content_type_is_refused() {
    let t = TestServer::start().await;
    let key = bearer(&t);
    let body = r#"{"username": "somebody"}"#;
    let without = send(&t, "POST", "/v1/users", &[("authorization", &key)], body).await;
    without.is_error(415, "unsupported_content_type");
    for bad in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json"]
    {
        let answer =
            send(&t, "POST", "/v1/users", &[("authorization", &key), ("content-type", bad)], body).await;
        answer.is_error(415, "unsupported_content_type");
    }
}

#[tokio::test]
async fn json_content_type_is_read_in_any_case_and_with_parameters() {
    let t = TestServer::start().await;
    let key = bearer(&t);
    let good =
        ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/json;x"];
    for (number, content_type) in good.into_iter().enumerate() {
        let headers = [("authorization", key.as_str()), ("content-type", content_type)];
        let body = json!({"username": format!("somebody-{number}")}).to_string();
        send(&t, "POST", "/v1/users", &headers, body).await.ok();
    }
}

#[tokio::test]
async fn picture_sent_as_anything_but_a_form_is_refused() {
    let t = TestServer::start().await;
    let path = format!("/v1/users/{}/profile_image", ada(&t).await);
    post_raw(&t, &path, "{}").await.is_error(415, "unsupported_content_type");
    let key = bearer(&t);
    for content_type in ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; x=y"]
    {
        let headers = [("authorization", key.as_str()), ("content-type", content_type)];
        send(&t, "POST", &path, &headers, "x").await.is_error(400, "request_body_invalid");
    }
}

#[tokio::test]
async fn body_over_256_kilobytes_is_too_large() {
    let t = TestServer::start().await;
    let padded = |length: usize| {
        let body = r#"{"username": "somebody"}"#;
        format!("{body}{}", " ".repeat(length - body.len()))
    };
    post_raw(&t, "/v1/users", padded(TEXT_MAX + 1)).await.is_error(413, "request_body_too_large");
    let key = bearer(&t);
    let declared = [
        ("authorization", key.as_str()),
        ("content-type", "application/json"),
        ("content-length", "999999999"),
    ];
    send(&t, "POST", "/v1/users", &declared, "{}").await.is_error(413, "request_body_too_large");
    post_raw(&t, "/v1/users", padded(TEXT_MAX)).await.ok();
}

#[tokio::test]
async fn deeply_nested_json_is_refused() {
    let t = TestServer::start().await;
    for depth in [300, 10_000, 60_000] {
        let (open, close) = (r#"{"a":"#.repeat(depth / 2), "}".repeat(depth / 2));
        let nested = format!(r#"{{"public_metadata": {open}1{close}}}"#);
        if nested.len() <= TEXT_MAX {
            post_raw(&t, "/v1/users", nested).await.is_error(400, "request_body_invalid");
        }
        let lists = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        post_raw(&t, "/v1/users", lists).await.is_error(400, "request_body_invalid");
    }
}

#[tokio::test]
async fn invalid_utf8_is_refused_in_bodies_queries_and_paths() {
    let t = TestServer::start().await;
    for bad in [&b"{\"username\": \"\xff\xfe\"}"[..], b"\xff", b"{\"\xc3\x28\": 1}"] {
        post_raw(&t, "/v1/users", bad.to_vec()).await.is_error(400, "request_body_invalid");
    }
    post_raw(&t, "/v1/users", r#"{"username": "\ud800"}"#).await.is_error(400, "request_body_invalid");
    t.get("/v1/users?query=%ff").await.is_error(400, "malformed_request_parameters");
    t.get("/v1/users?query=%").await.is_error(400, "malformed_request_parameters");
    t.get("/v1/users/%ff").await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn nul_is_refused_wherever_text_is_stored() {
    let t = TestServer::start().await;
    let id = ada(&t).await;
    for field in ["username", "first_name", "external_id", "password", "locale"] {
        let answer = t.post("/v1/users", json!({"username": "somebody", field: "a\u{0}b"})).await;
        answer.is_error(422, "form_param_value_invalid");
        assert_eq!(answer.param(), field);
        let path = format!("/v1/users/{id}");
        t.patch(&path, json!({field: "a\u{0}b"})).await.is_error(422, "form_param_value_invalid");
    }
    for field in ["email_address", "phone_number", "web3_wallet", "backup_codes"] {
        let answer = t.post("/v1/users", json!({"username": "somebody", field: ["a\u{0}b"]})).await;
        answer.is_error(422, "form_param_value_invalid");
        assert_eq!(answer.param(), field);
    }
    t.get("/v1/users?query=a%00b").await.is_error(400, "malformed_request_parameters");
    t.get("/v1/users?user_id=a%00b").await.is_error(400, "malformed_request_parameters");
}

#[tokio::test]
async fn nul_in_metadata_is_kept_as_it_is() {
    let t = TestServer::start().await;
    let path = format!("/v1/users/{}/metadata", ada(&t).await);
    let metadata = json!({"a\u{0}b": "c\u{0}d"});
    let answer = t.put(&path, json!({"private_metadata": metadata})).await.ok();
    assert_eq!(answer["private_metadata"], metadata);
}

#[tokio::test]
async fn repeated_field_counts_once_and_the_last_wins() {
    let t = TestServer::start().await;
    let answer = post_raw(&t, "/v1/users", r#"{"username": "first-one", "username": "second-one"}"#).await;
    assert_eq!(answer.ok()["username"], "second-one");
}

// Routes.

#[tokio::test]
async fn unknown_route_is_a_json_error_that_differs_from_an_unknown_id() {
    let t = TestServer::start().await;
    for path in ["/", "/v1", "/v1/", "/v1/nowhere", "/users", "/v2/users", "/v1/users/x/y/z", "/favicon.ico"]
    {
        let answer = t.get(path).await;
        assert_eq!((answer.status, answer.code()), (404, "route_not_found"), "{path}");
        is_an_error_body(&answer);
        // Also without credentials: a wrong address is the caller's first problem.
        t.call(None, "POST", path, None).await.is_error(404, "route_not_found");
    }
    t.get("/v1/users/user_000000000000000000000000000").await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn wrong_method_is_a_json_error_that_names_the_right_ones() {
    let t = TestServer::start().await;
    let id = ada(&t).await;
    let cases = [
        ("DELETE", "/v1/users".to_owned(), "GET,HEAD,POST"),
        ("POST", format!("/v1/users/{id}"), "DELETE,GET,HEAD,PATCH"),
        ("GET", format!("/v1/users/{id}/ban"), "POST"),
        ("POST", "/v1/jwks".to_owned(), "GET,HEAD"),
        ("PUT", "/healthz".to_owned(), "GET,HEAD"),
        ("OPTIONS", "/v1/users".to_owned(), "GET,HEAD,POST"),
        ("TRACE", "/v1/users".to_owned(), "GET,HEAD,POST"),
    ];
    for (method, path, allowed) in cases {
        let answer = t.call(Some(&t.tenant), method, &path, None).await;
        answer.is_error(405, "method_not_allowed");
        let mut methods: Vec<&str> = answer.header("allow").split(',').map(str::trim).collect();
        methods.sort_unstable();
        methods.dedup();
        assert_eq!(methods.join(","), allowed, "{method} {path}");
        is_an_error_body(&answer);
    }
}

#[tokio::test]
async fn head_answers_like_get_without_a_body() {
    let t = TestServer::start().await;
    let id = ada(&t).await;
    for path in [format!("/v1/users/{id}"), "/v1/users".to_owned(), "/v1/jwks".to_owned()] {
        let head = t.call(Some(&t.tenant), "HEAD", &path, None).await;
        assert_eq!((head.status, head.bytes.len()), (200, 0), "{path}");
        assert_eq!(head.header("content-type"), "application/json");
        let length = t.get(&path).await.bytes.len().to_string();
        assert_eq!(head.header("content-length"), length);
    }
    assert_eq!(t.call(Some(&t.tenant), "HEAD", "/v1/users/nobody", None).await.status, 404);
    assert_eq!(t.call(None, "HEAD", "/v1/users", None).await.status, 401);
}

#[tokio::test]
async fn fixed_paths_win_over_ids() {
    let t = TestServer::start().await;
    assert_eq!(t.get("/v1/users/count").await.ok(), json!({"object": "total_count", "total_count": 0}));
    t.get("/v1/users/ban").await.is_error(405, "method_not_allowed");
}

// Values.

/// Calls `visit` with every field of an object, at any depth.
fn walk(value: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                visit(name, field);
                walk(field, visit);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        _ => (),
    }
}

#[tokio::test]
async fn ids_are_a_prefix_and_27_characters() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let user = t.get(&format!("/v1/users/{}", person.user)).await.ok();
    let mut seen = 0;
    walk(&user, &mut |name, value| {
        let Some(id) = value.as_str().filter(|_| name == "id" || name.ends_with("_id")) else { return };
        if ["external_id", "provider_user_id"].contains(&name) {
            return;
        }
        let (prefix, digits) = id.split_once('_').unwrap();
        assert!(["user", "idn", "eac"].contains(&prefix), "{name} {id}");
        assert!(digits.len() == 27 && digits.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{name} {id}");
        seen += 1;
    });
    assert!(seen >= 10, "{seen} ids in {user:#}");
}

#[tokio::test]
async fn times_are_milliseconds() {
    let t = TestServer::start().await;
    let id = ada(&t).await;
    let user = t.get(&format!("/v1/users/{id}")).await.ok();
    assert_eq!(user["created_at"], 1_765_353_600_123_i64);
    assert_eq!(user["updated_at"], 1_767_225_600_000_i64);
    let person = t.person(&t.tenant, 1).await;
    let user = t.get(&format!("/v1/users/{}", person.user)).await.ok();
    let mut seen = 0;
    walk(&user, &mut |name, value| {
        if let Some(time) = value.as_i64().filter(|_| name.ends_with("_at")) {
            assert_eq!(time, 1_767_225_600_000, "{name}");
            seen += 1;
        }
    });
    assert!(seen >= 10, "{seen} times in {user:#}");
}

// What surrounds the API.

#[tokio::test]
async fn health_and_readiness_answer_without_credentials() {
    let t = TestServer::start().await;
    for (path, text) in [("/healthz", "ok"), ("/readyz", "ready")] {
        let answer = t.call(None, "GET", path, None).await;
        assert_eq!((answer.status, &answer.bytes[..]), (200, text.as_bytes()), "{path}");
    }
}

async fn metrics(t: &TestServer) -> String {
    let answer = t.call(None, "GET", "/metrics", None).await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").starts_with("text/plain"));
    String::from_utf8(answer.bytes).unwrap()
}

fn series(metrics: &str) -> Vec<&str> {
    let lines = metrics.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once(' ').unwrap().0).collect()
}

#[tokio::test]
async fn metrics_count_by_operation_and_status_class() {
    let t = TestServer::start().await;
    t.get("/v1/users").await.ok();
    t.get("/v1/users/nobody").await;
    t.call(Some(&t.tenant), "HEAD", "/v1/users", None).await;
    let text = metrics(&t).await;
    for line in [
        "latchkey_http_requests_total{operation=\"GetUserList\",status=\"2xx\"} 2",
        "latchkey_http_requests_total{operation=\"GetUser\",status=\"4xx\"} 1",
        "latchkey_http_request_duration_seconds_count{operation=\"GetUserList\"} 2",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
}

#[tokio::test]
async fn two_hundred_unknown_paths_add_no_series_to_the_metrics() {
    let t = TestServer::start().await;
    t.get("/v1/nowhere").await;
    t.get("/v1/users/nobody").await;
    t.call(Some(&t.tenant), "BREW", "/v1/users", None).await;
    metrics(&t).await;
    let before = metrics(&t).await;
    for number in 0..200 {
        t.get(&format!("/v1/nowhere/{number}")).await;
        t.get(&format!("/v1/users/user_{number:027}")).await;
        t.call(Some(&t.tenant), &format!("BREW{number}"), "/v1/users", None).await;
    }
    let after = metrics(&t).await;
    assert_eq!(series(&after), series(&before));
}

#[tokio::test]
async fn openapi_document_is_served_as_the_code_says() {
    let t = TestServer::start().await;
    let answer = t.call(None, "GET", "/openapi.json", None).await;
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.ok(), latchkey_app::document("http://127.0.0.1:3400"));
}

#[tokio::test]
async fn reference_is_a_page_that_needs_nothing_from_elsewhere() {
    let t = TestServer::start().await;
    let answer = t.call(None, "GET", "/reference", None).await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").starts_with("text/html"));
    let page = String::from_utf8(answer.bytes).unwrap();
    assert!(page.contains("/openapi.json"));
    for foreign in ["src=\"http", "href=\"http", "src=\"//", "@import", "url(http"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}
