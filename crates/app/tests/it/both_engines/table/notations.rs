//! Ways in which official clients write what means the same: the Go client sends `null` where there are no parameters,
//! the Java client writes integers as `10.0`.

use axum::http::Method;
use latchkey_testkit::{Person, TestServer};
use latchkey_web::depth::JSON_DEPTH;
use serde_json::{Map, Value, json};

use super::frontend::{Cookies, FORM, JSON, Sent, form_text, somebody, trusting};
use super::{Row, backend, frontend};

/// The kinds of a schema, null left out.
fn kinds(schema: &Value) -> Vec<&str> {
    let all = schema["type"].as_array().into_iter().flatten().chain([&schema["type"]]);
    all.filter_map(Value::as_str).filter(|kind| *kind != "null").collect()
}

/// The names of the fields of a kind.
fn fields_of<'a>(schema: &'a Value, kind: &str) -> Vec<&'a str> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.filter(|(_, field)| kinds(field).contains(&kind)).map(|(name, _)| name.as_str()).collect()
}

/// The integers of a query.
fn integers(row: &Row) -> Vec<&'static Value> {
    let parameters = row.entry["parameters"].as_array().unwrap().iter();
    parameters.filter(|it| it["in"] == "query" && kinds(&it["schema"]).contains(&"integer")).collect()
}

/// An integer that a schema allows, as a digit and zeros to write it in other ways.
fn allowed(schema: &Value) -> i64 {
    let (least, most) = (schema["minimum"].as_i64().unwrap_or(0), schema["maximum"].as_i64().unwrap_or(100));
    [100, 30, 10, 1].into_iter().find(|number| (least..=most).contains(number)).unwrap_or(least)
}

fn with(path: &str, name: &str, value: &str) -> String {
    format!("{path}{}{name}={value}", if path.contains('?') { '&' } else { '?' })
}

#[tokio::test]
async fn every_operation_without_parameters_takes_null_as_body() {
    let t = TestServer::start().await;
    let (mut number, reader) = (1, t.person(&t.tenant, 1).await);
    // What is written may be what others read.
    let (reads, writes): (Vec<_>, Vec<_>) = backend().into_iter().partition(|row| row.method == Method::GET);
    for row in reads.iter().chain(&writes).filter(|row| !row.takes_a_file() && !row.takes_a_list()) {
        let schema = row.body_schema().unwrap_or_default();
        if schema["required"].as_array().is_some_and(|required| !required.is_empty()) {
            continue;
        }
        let fresh = match row.method == Method::GET {
            true => None,
            false => Some(t.person(&t.tenant, number + 1).await),
        };
        if fresh.is_some() {
            number += 1;
            t.clock.advance_ms(30_000);
        }
        if row.id == "CreateSvixApp" {
            t.delete("/v1/webhooks/svix").await;
        }
        let path = row.path_of(fresh.as_ref().unwrap_or(&reader));
        // What can be done only once is refused afterwards, but not for its body.
        for (body, is_first) in [("null", true), (" null\n", false), ("{}", false), ("", false)] {
            let answer = row.send(&t, &path, body).await;
            assert!(!is_first || schema.is_object() || answer.status < 300, "{}: {:#}", row.id, answer.json);
            let refused = ["request_body_invalid", "unsupported_content_type"].contains(&answer.code());
            assert!(!refused, "{} {body}: {:#}", row.id, answer.json);
        }
    }
}

#[tokio::test]
async fn every_frontend_operation_takes_null_like_an_empty_object() {
    let t = trusting().await;
    let person = somebody(&t, &t.tenant, 1).await;
    for row in frontend().iter().filter(|row| row.schema(FORM).is_some()) {
        let mut answers = Vec::new();
        for body in ["null", "{}"] {
            let sent = Sent::Text(JSON, body.to_owned());
            let none = Cookies::new();
            let answer = row.send_as(&t, &person.tenant, &none, &row.path_to(&person), sent).await;
            answers.push((answer.status, answer.code().to_owned()));
        }
        assert_eq!(answers[0], answers[1], "{}", row.id);
    }
}

#[tokio::test]
async fn every_integer_of_a_query_is_read_in_any_notation() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let mut tried = 0;
    for row in backend() {
        for parameter in integers(&row) {
            let (name, number) = (parameter["name"].as_str().unwrap(), allowed(&parameter["schema"]));
            let path = row.path_of(&person);
            let plain = row.call(&t, &t.tenant, &with(&path, name, &number.to_string()), &person).await;
            for written in [format!("{number}.0"), format!("{number}e0"), format!("{number}0e-1")] {
                let answer = row.call(&t, &t.tenant, &with(&path, name, &written), &person).await;
                let (got, expected) = ((answer.status, answer.code()), (plain.status, plain.code()));
                assert_eq!(got, expected, "{} {name}={written}: {:#}", row.id, answer.json);
                tried += 1;
            }
            for wrong in [format!("{number}.5"), "1e400".to_owned(), "1e-1".to_owned(), "0x1".to_owned()] {
                let answer = row.call(&t, &t.tenant, &with(&path, name, &wrong), &person).await;
                assert_eq!((answer.status, answer.param()), (row.status(422), name), "{} {wrong}", row.id);
            }
        }
    }
    assert!(tried > 20, "{tried}");
}

/// Its body with another value for a field, as a text.
fn with_field(row: &Row, t: &TestServer, person: &Person, name: &str, value: &str) -> String {
    let mut body: Map<String, Value> = row.body(t, person).unwrap().as_object().unwrap().clone();
    body.remove(name);
    let rest = Value::Object(body).to_string();
    let rest = rest.strip_prefix('{').unwrap();
    format!("{{{}:{value}{}{rest}", json!(name), if rest == "}" { "" } else { "," })
}

#[tokio::test]
async fn every_integer_of_a_body_is_read_in_any_notation() {
    let t = TestServer::start().await;
    let mut number = 0;
    for row in backend() {
        let Some(schema) = row.body_schema() else { continue };
        for name in fields_of(&schema, "integer") {
            let integer = allowed(&schema["properties"][name]);
            let mut plain = None;
            for written in [format!("{integer}"), format!("{integer}.0"), format!("{integer}e0")] {
                number += 1;
                let person = t.person(&t.tenant, number).await;
                let body = with_field(&row, &t, &person, name, &written);
                let answer = row.send(&t, &row.path_of(&person), body).await;
                let is_refused = answer.param() == name;
                assert_eq!(*plain.get_or_insert(is_refused), is_refused, "{} {name}={written}", row.id);
            }
            number += 1;
            let person = t.person(&t.tenant, number).await;
            let body = with_field(&row, &t, &person, name, &format!("{integer}.5"));
            let answer = row.send(&t, &row.path_of(&person), body).await;
            assert_eq!((answer.status, answer.param()), (row.status(422), name), "{}", row.id);
        }
    }
    assert!(number >= 15, "{number}");
}

#[tokio::test]
async fn every_parameter_nested_too_deeply_is_refused_by_name() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let browser = somebody(&t, &t.tenant, 2).await;
    let before = t.everything().await;
    for levels in [JSON_DEPTH + 1, 126, 127, 128, 5000] {
        let (open, close) = (r#"{"a":"#.repeat(levels - 1), "}".repeat(levels - 1));
        let deep = format!("{open}{{}}{close}");
        for row in backend() {
            let Some(schema) = row.body_schema() else { continue };
            for name in fields_of(&schema, "object") {
                let body = with_field(&row, &t, &person, name, &deep);
                let answer = row.send(&t, &row.path_of(&person), body).await;
                let got = (answer.status, answer.code(), answer.param());
                assert_eq!(got, (row.status(422), "form_param_value_invalid", name), "{} {levels}", row.id);
            }
        }
        for row in frontend() {
            let Some(schema) = row.schema(FORM) else { continue };
            for name in fields_of(&schema, "object") {
                let form = form_text(&json!({ name: deep }));
                for (kind, text) in [(FORM, form), (JSON, format!(r#"{{"{name}":{deep}}}"#))] {
                    let (cookies, sent) = (browser.cookies_for(&row), Sent::Text(kind, text));
                    let answer =
                        row.send_as(&t, &browser.tenant, cookies, &row.path_to(&browser), sent).await;
                    let got = (answer.status, answer.code(), answer.param());
                    assert_eq!(got, (row.status(422), "form_param_value_invalid", name), "{} {kind}", row.id);
                }
            }
        }
    }
    assert_eq!(t.everything().await, before);
}
