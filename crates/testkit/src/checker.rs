//! Checks every answer of the API against our own OpenAPI document.

use std::collections::HashMap;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// Where the document keeps the schemas that others refer to.
const SCHEMAS: &str = "#/components/schemas/";

/// The schemas of answers by path, method and status.
pub(crate) struct Checker {
    paths: Vec<(Vec<String>, String)>,
    answers: HashMap<(String, String, String), Option<Expected>>,
    schemas: Map<String, Value>,
}

/// What an answer looks like. Few tests see more than a few of them, and each takes some milliseconds to build.
struct Expected {
    schema: Value,
    validator: OnceLock<Validator>,
}

impl Checker {
    pub(crate) fn new(mut document: Value) -> Checker {
        let mut checker = Checker { paths: Vec::new(), answers: HashMap::new(), schemas: Map::new() };
        for (path, methods) in document["paths"].as_object().unwrap() {
            checker.paths.push((path.split('/').map(str::to_owned).collect(), path.clone()));
            for (method, operation) in methods.as_object().unwrap() {
                for (status, response) in operation["responses"].as_object().unwrap() {
                    let schema = response["content"]["application/json"].get("schema");
                    let expected =
                        schema.map(|schema| Expected { schema: schema.clone(), validator: OnceLock::new() });
                    checker.answers.insert((path.clone(), method.clone(), status.clone()), expected);
                }
            }
        }
        if let Value::Object(schemas) = document["components"]["schemas"].take() {
            checker.schemas = schemas;
        }
        checker
    }

    /// Fails the test when an answer is not one the document describes.
    pub(crate) fn check(&self, method: &str, path: &str, status: u16, body: &[u8]) {
        assert!(status < 500, "{method} {path} answered {status}: {}", String::from_utf8_lossy(body));
        let Some(template) = self.template(path) else { return };
        if status == 405 {
            return;
        }
        // HEAD is GET without the body, and needs no description of its own.
        let documented = if method == "HEAD" { "get".to_owned() } else { method.to_lowercase() };
        let key = (template, documented, status.to_string());
        let expected =
            self.answers.get(&key).unwrap_or_else(|| panic!("{method} {path}: {status} is not documented"));
        if method == "HEAD" {
            assert!(body.is_empty(), "{method} {path} answered a body");
            return;
        }
        let Some(Expected { schema, validator }) = expected else { return };
        let validator = validator.get_or_init(|| self.validator(schema));
        let answer: Value =
            serde_json::from_slice(body).unwrap_or_else(|_| panic!("{method} {path}: not JSON"));
        let complaints: Vec<String> = validator
            .iter_errors(&answer)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(
            complaints.is_empty(),
            "{method} {path} {status} breaks the document: {complaints:?}\n{answer:#}"
        );
    }

    /// The documented path a request path belongs to; one without parameters wins.
    fn template(&self, path: &str) -> Option<String> {
        let parts: Vec<&str> = path.split('?').next().unwrap_or_default().split('/').collect();
        let fits = |template: &Vec<String>| {
            template.len() == parts.len()
                && template
                    .iter()
                    .zip(&parts)
                    .all(|(expected, part)| expected.starts_with('{') || expected == part)
        };
        let mut candidates: Vec<&(Vec<String>, String)> =
            self.paths.iter().filter(|(template, _)| fits(template)).collect();
        candidates.sort_by_key(|(template, _)| template.iter().filter(|part| part.starts_with('{')).count());
        candidates.first().map(|(_, path)| path.clone())
    }

    /// A validator of a schema, which comes with all that it refers to and nothing else.
    fn validator(&self, schema: &Value) -> Validator {
        let (mut needed, mut waiting) = (Map::new(), vec![schema]);
        while let Some(value) = waiting.pop() {
            match value {
                Value::Object(fields) => {
                    waiting.extend(fields.values());
                    let Some(Value::String(target)) = fields.get("$ref") else { continue };
                    let name = target.strip_prefix(SCHEMAS).unwrap();
                    if needed.insert(name.to_owned(), self.schemas[name].clone()).is_none() {
                        waiting.push(&self.schemas[name]);
                    }
                }
                Value::Array(items) => waiting.extend(items),
                _ => (),
            }
        }
        let whole = json!({ "allOf": [schema], "components": { "schemas": needed } });
        jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&whole).unwrap()
    }
}
