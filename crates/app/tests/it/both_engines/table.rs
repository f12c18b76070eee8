//! Every operation of both APIs, taken from the same rows the router, the limits and the contract are made from: whom
//! it serves, who may not call it, which ids it does not know, which bodies it refuses, and how often it answers.
//!
//! An operation that is added is tested here without a line; what its owner would send is asked for by a panic.
//! The operations are called one by one, never in pairs. A test that needs something to change makes one of everything
//! (`testkit/person.rs`) for every operation it calls: that grows with the operations and with the kinds of things.

mod backend;
mod frontend;
mod notations;
mod rates;
mod readable;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::OnceLock;

use latchkey_app::GROUPS;
use latchkey_app::{document, frontend_document, frontend_operations, operations};
use latchkey_testkit::Answer;
use latchkey_web::api::{Credential, Operation, PathPart};
use latchkey_web::throttle::Per;
use serde_json::{Value, json};

use crate::architecture::sources;
use crate::layers::product_crates;

/// One operation.
struct Row {
    operation: Operation,
    /// The document it stands in.
    document: &'static Value,
    /// Its entry there.
    entry: &'static Value,
}

impl Deref for Row {
    type Target = Operation;

    fn deref(&self) -> &Operation {
        &self.operation
    }
}

/// The operations of the Backend API.
fn backend() -> Vec<Row> {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    rows(operations(GROUPS), DOCUMENT.get_or_init(|| document("", GROUPS)))
}

/// The operations of the Frontend API.
fn frontend() -> Vec<Row> {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    rows(frontend_operations(GROUPS), DOCUMENT.get_or_init(|| frontend_document("", GROUPS)))
}

fn rows(operations: Vec<Operation>, document: &'static Value) -> Vec<Row> {
    let row = |operation: Operation| {
        let entry = &document["paths"][&operation.path][operation.method.as_str().to_lowercase()];
        Row { operation, document, entry }
    };
    operations.into_iter().map(row).collect()
}

impl Row {
    /// The path parameters, in order.
    fn parameters(&self) -> Vec<&str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect()
    }

    /// The path with every parameter filled by `fill`.
    fn filled(&self, fill: impl Fn(&str) -> String) -> String {
        let part = |part: &str| match part.strip_prefix('{') {
            Some(name) => fill(name.trim_end_matches('}')),
            None => part.to_owned(),
        };
        self.path.split('/').map(part).collect::<Vec<_>>().join("/")
    }

    /// An id of the right shape that nothing has. Where the handler takes any text, the shape is that of `own`.
    fn unknown(&self, parameter: &str, own: &str) -> String {
        let index = self.parameters().iter().position(|name| *name == parameter).unwrap();
        let prefix = match self.in_path.get(index) {
            Some(PathPart::Id(prefix)) => prefix,
            _ => own.rsplit_once('_').map_or("unknown", |(prefix, _)| prefix),
        };
        format!("{prefix}_{}", "0".repeat(27))
    }

    /// The schema of its body of this type, with references followed.
    fn schema(&self, content_type: &str) -> Option<Value> {
        let schema = self.entry["requestBody"]["content"][content_type].get("schema")?;
        match schema.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.document.pointer(reference.trim_start_matches('#')).cloned(),
            None => Some(schema.clone()),
        }
    }

    /// The query parameters that are no texts.
    fn typed_query(&self) -> Vec<&'static str> {
        let parameters = self.entry["parameters"].as_array().unwrap().iter();
        let is_text = |schema: &Value| schema["type"] == "string" || schema["type"] == "array";
        parameters
            .filter(|parameter| parameter["in"] == "query" && !is_text(&parameter["schema"]))
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect()
    }
}

/// Whether a value has the JSON type a schema asks for.
fn fits(schema: &Value, value: &Value) -> bool {
    let name = match value {
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "boolean",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Null => "null",
    };
    let named = |kind: &Value| kind == name;
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(named) && name != "array",
        kind => named(kind) && name != "array",
    }
}

/// The fields an answer says are missing, where that is all it says.
#[track_caller]
fn missing(answer: &Answer) -> BTreeSet<&str> {
    let problems = answer.problems();
    assert!(problems.iter().all(|(code, _)| *code == "form_param_missing"), "{:#}", answer.json);
    problems.into_iter().map(|(_, name)| name).collect()
}

fn texts<'a>(values: impl Iterator<Item = &'a Value>) -> BTreeSet<&'a str> {
    values.map(|value| value.as_str().unwrap()).collect()
}

#[test]
fn every_operation_is_named_once_and_stands_in_the_contract() {
    for (file, rows) in [("backend", backend()), ("frontend", frontend())] {
        let path = format!("{}/../../contract/{file}.json", env!("CARGO_MANIFEST_DIR"));
        let contract: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let mut names = BTreeSet::new();
        for row in &rows {
            let method = row.method.as_str().to_lowercase();
            let stored = &contract["paths"][&row.path][method]["operationId"];
            assert_eq!(*stored, json!(row.id), "{} is not in contract/{file}.json: `make contract`", row.id);
            assert!(names.insert(row.id), "{} twice", row.id);
            assert!(!row.summary.is_empty(), "{} says nothing", row.id);
            assert!(!row.tag.is_empty(), "{} has no group", row.id);
        }
    }
}

/// A handler that reads less than the path has forgets whom it is about; one that reads more never answers.
#[test]
fn every_handler_reads_all_parts_of_its_path() {
    for row in backend().iter().chain(&frontend()) {
        match row.in_path[..] {
            [PathPart::All] => assert!(row.parameters().len() > 1, "{}", row.id),
            _ => assert_eq!(row.in_path.len(), row.parameters().len(), "{}", row.id),
        }
    }
}

#[test]
fn everything_that_writes_without_a_credential_is_limited_by_address() {
    for row in backend().iter().chain(&frontend()).filter(|row| row.writes_for_anybody()) {
        assert_eq!(row.rate.map(|rate| rate.per), Some(Per::Address), "{}", row.id);
    }
}

#[test]
fn the_backend_writes_for_nobody_without_a_key() {
    let open: Vec<_> = backend()
        .into_iter()
        .filter(|row| row.credential != Credential::SecretKey)
        .map(|row| row.id)
        .collect();
    // A page for browsers, which says nothing that is not public.
    assert_eq!(open, ["GetPublicInterstitial"]);
}

/// Whoever wants to know something of an operation asks its row: a list of names beside the table is out of date the
/// day an operation is added.
#[test]
fn no_operation_is_named_anywhere_but_in_its_row() {
    let crates = product_crates().chain(["server", "web"]);
    let texts: String = crates.flat_map(sources).map(|(_, text)| text).collect();
    let mut named = BTreeMap::<String, usize>::new();
    for row in backend() {
        *named.entry(row.id.to_owned()).or_default() += 1;
        *named.entry(row.path.trim_start_matches("/v1").to_owned()).or_default() += 1;
    }
    for row in frontend() {
        *named.entry(row.id.to_owned()).or_default() += 1;
        *named.entry(row.path.clone()).or_default() += 1;
    }
    for (name, count) in named {
        assert_eq!(texts.matches(&format!("\"{name}\"")).count(), count, "{name} is named elsewhere");
    }
}
