//! The OpenAPI document, made from the operation table and the types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::api::{Body, Credential, MakeSchema, Operation};
use crate::shape::allows_null;

/// What the error body looks like.
#[derive(JsonSchema)]
#[schemars(rename = "Errors")]
#[expect(dead_code, reason = "only its schema is used")]
struct ErrorsView {
    errors: Vec<ErrorView>,
    /// Quote this when asking for help.
    clerk_trace_id: String,
}

#[derive(JsonSchema)]
#[schemars(rename = "Error")]
#[expect(dead_code, reason = "only its schema is used")]
struct ErrorView {
    message: String,
    long_message: String,
    code: String,
    #[schemars(skip_serializing_if = "Map::is_empty")]
    meta: Map<String, Value>,
}

/// Statuses any operation may answer: no credential, over the limit, or a server in trouble.
const COMMON_ERRORS: [u16; 6] = [400, 401, 408, 429, 500, 503];
/// Statuses any operation with a body may answer.
const BODY_ERRORS: [u16; 3] = [413, 415, 422];

/// What a document says about itself.
pub struct About<'a> {
    /// The name of the API.
    pub title: &'a str,
    /// Its newest version.
    pub version: &'a str,
    /// What it is for.
    pub description: &'a str,
    /// Where it is reached.
    pub server: &'a str,
    /// The groups of its reference in the order of their reader; others follow.
    pub groups: &'a [&'a str],
    /// What callers show.
    pub security: Security,
}

/// What callers of an API show: what OpenAPI calls `security` and `securitySchemes`.
pub struct Security {
    /// The ways to do it, of which a caller chooses one.
    pub ways: Value,
    /// What each name in them means.
    pub schemes: Value,
}

impl Security {
    /// Whether to show nothing is one of the ways.
    fn is_optional(&self) -> bool {
        self.ways.as_array().is_some_and(|ways| ways.contains(&json!({})))
    }
}

/// The whole document.
pub fn document(operations: &[Operation], about: &About<'_>) -> Value {
    let About { title, version, description, server, groups, security } = about;
    let mut operations: Vec<&Operation> = operations.iter().collect();
    operations.sort_by_key(|operation| {
        groups.iter().position(|group| *group == operation.tag).unwrap_or(groups.len())
    });
    let mut schemas = Schemas::new();
    let errors = schemas.given.subschema_for::<ErrorsView>().to_value();
    let mut paths = Map::new();
    for operation in operations {
        let mut described = describe(operation, &mut schemas, &errors);
        if operation.credential == Credential::None && !security.is_optional() {
            described["security"] = json!([]);
        }
        let path = paths.entry(operation.path.clone()).or_insert_with(|| json!({}));
        path[operation.method.as_str().to_lowercase()] = described;
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "description": description,
            "version": version,
        },
        "servers": [{ "url": server }],
        "security": security.ways,
        "paths": paths,
        "components": { "securitySchemes": security.schemes, "schemas": schemas.definitions() },
    });
    tidy(&mut document);
    document
}

/// What a field carries that callers must send although the server reads a request without it: it answers with a page,
/// or with an error of its own.
const WANTED: &str = "x-wanted";

/// What a form carries whose further fields are read by the strategies that are registered: texts about them, by name.
const OF_STRATEGIES: &str = "x-fields-of-strategies";
/// What such a field carries in the document. It is not checked before its strategy reads it.
const OF_STRATEGY: &str = "x-field-of-strategies";

/// Writes schemas as their readers expect them: all fields stand in `properties`, `required` names what is
/// wanted too, and no default is null where null is not taken.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(tidy);
            describe_fields_of_strategies(fields);
            require_what_is_wanted(fields);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => return,
    }
    if value.get("default").is_some_and(Value::is_null) && value.get("type").is_some() && !allows_null(value)
    {
        value.as_object_mut().map(|fields| fields.remove("default"));
    }
}

fn describe_fields_of_strategies(schema: &mut Map<String, Value>) {
    let Some(Value::Object(texts)) = schema.remove(OF_STRATEGIES) else { return };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let field =
            |text: Value| json!({ "type": ["string", "null"], "description": text, OF_STRATEGY: true });
        properties.extend(texts.into_iter().map(|(name, text)| (name, field(text))));
    }
}

fn require_what_is_wanted(schema: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    let wanted = properties.iter_mut().filter_map(|(name, property)| {
        property.as_object_mut()?.remove(WANTED)?;
        Some(Value::String(name.clone()))
    });
    let wanted: Vec<Value> = wanted.collect();
    if wanted.is_empty() {
        return;
    }
    if let Value::Array(required) = schema.entry("required").or_insert_with(|| json!([])) {
        required.extend(wanted);
    }
}

/// What is taken may leave out optional fields; what is given has them all, as null if need be.
struct Schemas {
    taken: SchemaGenerator,
    given: SchemaGenerator,
}

impl Schemas {
    fn new() -> Schemas {
        let settings = SchemaSettings::draft2020_12()
            .with(|settings| settings.definitions_path = "/components/schemas".into());
        let given = SchemaGenerator::new(settings.clone().for_serialize());
        Schemas { taken: SchemaGenerator::new(settings), given }
    }

    fn definitions(mut self) -> Map<String, Value> {
        let mut definitions = self.taken.take_definitions(true);
        definitions.extend(self.given.take_definitions(true));
        definitions
    }
}

fn describe(operation: &Operation, schemas: &mut Schemas, errors: &Value) -> Value {
    let mut described = json!({
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "parameters": parameters(operation, &mut schemas.taken),
        "responses": responses(operation, &mut schemas.given, errors),
    });
    if operation.deprecated {
        described["deprecated"] = json!(true);
    }
    match operation.body {
        Some(Body::Json(schema)) => {
            let schema = schema(&mut schemas.taken);
            let is_required = operation.wants_body || has_required(&schema, &schemas.taken);
            described["requestBody"] =
                json!({ "required": is_required, "content": { "application/json": { "schema": schema } } });
        }
        Some(Body::Form(schema)) => {
            let schema = schema(&mut schemas.taken);
            let is_required = operation.wants_body || has_required(&schema, &schemas.taken);
            described["requestBody"] = json!({ "required": is_required, "content": { "application/x-www-form-urlencoded": { "schema": schema } } });
        }
        Some(Body::File(part, texts)) => {
            let mut schema = json!({ "type": "object", "properties": { part: { "type": "string", "format": "binary" } }, "required": [part] });
            for text in texts {
                schema["properties"][text] = json!({ "type": "string" });
            }
            described["requestBody"] =
                json!({ "required": true, "content": { "multipart/form-data": { "schema": schema } } });
        }
        None => (),
    }
    described
}

/// Whether a type has fields that must be sent.
fn has_required(schema: &Schema, generator: &SchemaGenerator) -> bool {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    let schema = match name {
        Some(name) => generator.definitions().get(name),
        None => Some(schema.as_value()),
    };
    let mut schema = schema.cloned().unwrap_or_default();
    tidy(&mut schema);
    schema["required"].as_array().is_some_and(|fields| !fields.is_empty())
}

fn parameters(operation: &Operation, generator: &mut SchemaGenerator) -> Vec<Value> {
    let in_path = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = in_path
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    for header in &operation.headers {
        parameters.push(json!({
            "name": header.name,
            "in": "header",
            "required": header.required,
            "description": header.description,
            "schema": { "type": "string" },
        }));
    }
    let mut query =
        operation.query.map(|schema: MakeSchema| schema(generator).to_value()).unwrap_or_default();
    tidy(&mut query);
    for (name, schema) in query["properties"].as_object().into_iter().flatten() {
        let is_required = query["required"].as_array().is_some_and(|names| names.iter().any(|it| it == name));
        parameters.push(in_query(name, is_required, schema.clone()));
    }
    parameters
}

fn in_query(name: &str, is_required: bool, mut schema: Value) -> Value {
    let description = schema.as_object_mut().and_then(|fields| fields.remove("description"));
    without_null(&mut schema);
    tidy(&mut schema);
    let mut parameter = json!({ "name": name, "in": "query", "required": is_required, "schema": schema });
    if let Some(description) = description {
        parameter["description"] = description;
    }
    parameter
}

/// A query has no null: a parameter is there or it is not.
fn without_null(schema: &mut Value) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        let only = types.first().cloned().unwrap_or_default();
        schema["type"] = only;
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

fn responses(operation: &Operation, generator: &mut SchemaGenerator, errors: &Value) -> Value {
    let mut statuses: Vec<u16> = COMMON_ERRORS.into_iter().chain(operation.errors.iter().copied()).collect();
    if operation.body.is_some() {
        statuses.extend(BODY_ERRORS);
    }
    if operation.path.contains('{') {
        statuses.push(404);
    }
    if operation.query.is_some() {
        statuses.push(422);
    }
    statuses.iter_mut().for_each(|status| *status = operation.status(*status));
    statuses.sort_unstable();
    statuses.dedup();
    let mut responses = Map::new();
    let success = match operation.returns {
        Some(schema) => {
            json!({ "description": "Success", "content": { "application/json": { "schema": schema(generator) } } })
        }
        None => json!({ "description": "Success" }),
    };
    if operation.redirect.is_none() || operation.returns.is_some() {
        responses.insert(operation.success.to_string(), success);
    }
    if let Some(status) = operation.redirect {
        responses.insert(status.to_string(), json!({ "description": "Elsewhere" }));
    }
    for status in statuses {
        let refused =
            json!({ "description": "Refused", "content": { "application/json": { "schema": errors } } });
        responses.insert(status.to_string(), refused);
    }
    Value::Object(responses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_name_what_is_wanted_and_fields_of_strategies_and_their_defaults_fit() {
        let mut schema = json!({
            "properties": {
                "ticket": { "type": ["string", "null"], "x-wanted": true },
                "default": { "type": "string", "default": null },
                "note": { "type": ["string", "null"], "default": null },
                "any": { "default": null },
            },
            "required": ["any"],
            "x-fields-of-strategies": { "token": "The token." },
        });
        tidy(&mut schema);
        let expected = json!({
            "properties": {
                "ticket": { "type": ["string", "null"] },
                "default": { "type": "string" },
                "note": { "type": ["string", "null"], "default": null },
                "any": { "default": null },
                "token": {
                    "type": ["string", "null"],
                    "description": "The token.",
                    "x-field-of-strategies": true,
                },
            },
            "required": ["any", "ticket"],
        });
        assert_eq!(schema, expected);
    }

    #[test]
    fn a_parameter_of_a_query_has_no_null() {
        let schema =
            json!({ "type": ["string", "null"], "enum": ["a", null], "default": null, "description": "It." });
        let expected = json!({
            "name": "it",
            "in": "query",
            "required": true,
            "schema": { "type": "string", "enum": ["a"] },
            "description": "It.",
        });
        assert_eq!(in_query("it", true, schema), expected);
    }
}
