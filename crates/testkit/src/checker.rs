//! Checks every answer of the API against our own OpenAPI document.

use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::{Value, json};

/// Validators by path, method and status.
pub(crate) struct Checker {
    paths: Vec<(Vec<String>, String)>,
    validators: HashMap<(String, String, String), Option<Validator>>,
}

impl Checker {
    pub(crate) fn new(document: &Value) -> Checker {
        let mut checker = Checker { paths: Vec::new(), validators: HashMap::new() };
        for (path, methods) in document["paths"].as_object().unwrap() {
            checker.paths.push((path.split('/').map(str::to_owned).collect(), path.clone()));
            for (method, operation) in methods.as_object().unwrap() {
                for (status, response) in operation["responses"].as_object().unwrap() {
                    let schema = response["content"]["application/json"].get("schema");
                    let validator = schema.map(|schema| validator(document, schema));
                    checker.validators.insert((path.clone(), method.clone(), status.clone()), validator);
                }
            }
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
        let validator = self
            .validators
            .get(&key)
            .unwrap_or_else(|| panic!("{method} {path}: {status} is not documented"));
        if method == "HEAD" {
            assert!(body.is_empty(), "{method} {path} answered a body");
            return;
        }
        let Some(validator) = validator else { return };
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
}

fn validator(document: &Value, schema: &Value) -> Validator {
    let whole = json!({ "allOf": [schema], "components": document["components"] });
    jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&whole).unwrap()
}
