//! The shape of an input type, taken from the same JSON schema that the OpenAPI document shows.
//!
//! Checking input against it first gives every caller exact errors, all at once: which parameter is
//! unknown, missing, null, of the wrong type or outside its bounds. What passes is then read by serde.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use latchkey_base::{Code, Error, Problem, Result};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The shapes of all input types seen so far.
#[derive(Default)]
pub struct Shapes(RwLock<HashMap<TypeId, Arc<Shape>>>);

impl Shapes {
    /// The shape of `T`, worked out once.
    pub fn of<T: JsonSchema + 'static>(&self) -> Arc<Shape> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&TypeId::of::<T>()).cloned();
        known.unwrap_or_else(|| {
            let shape = Arc::new(Shape::of::<T>());
            self.0.write().unwrap_or_else(PoisonError::into_inner).insert(TypeId::of::<T>(), shape.clone());
            shape
        })
    }
}

/// What a type accepts.
pub struct Shape {
    fields: Vec<Field>,
    closed: bool,
}

/// One field of a shape.
pub struct Field {
    name: String,
    /// The JSON type.
    pub kind: Kind,
    pub(crate) nullable: bool,
    required: bool,
    rules: Rules,
    items: Option<(Kind, Rules)>,
}

/// A JSON type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "JSON's own names")]
pub enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
    Any,
}

/// Bounds of a value.
#[derive(Default)]
struct Rules {
    allowed: Vec<Value>,
    minimum: Option<i64>,
    maximum: Option<i64>,
    min_items: Option<usize>,
    max_items: Option<usize>,
    /// The list is what a bulk operation works on, whose refusal has a code of its own.
    is_bulk: bool,
}

impl Shape {
    fn of<T: JsonSchema>() -> Shape {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
        let required: Vec<&str> = strings(&schema["required"]).collect();
        let empty = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let field = |(name, schema): (&String, &Value)| Field {
            name: name.clone(),
            kind: kind(schema),
            nullable: allows_null(schema),
            required: required.contains(&name.as_str()),
            rules: Rules::of(schema),
            items: schema.get("items").map(|items| (kind(items), Rules::of(items))),
        };
        Shape {
            fields: properties.iter().map(field).collect(),
            closed: schema["additionalProperties"] == Value::Bool(false),
        }
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Checks an object and reads it as the type this shape was made of.
    pub fn read<T: DeserializeOwned>(&self, object: Map<String, Value>) -> Result<T> {
        Error::collect(self.problems(&object))?;
        serde_json::from_value(Value::Object(object)).map_err(|error| {
            Error::new(Code::RequestBodyInvalid).saying(format!("The request cannot be read: {error}."))
        })
    }

    fn problems(&self, object: &Map<String, Value>) -> Vec<Problem> {
        let unknown = object.iter().filter(|(name, _)| self.closed && self.field(name).is_none());
        let unknown = unknown.map(|(name, _)| {
            Problem::of(Code::FormParamUnknown, name)
                .saying(format!("`{name}` is not a parameter of this operation."))
        });
        let known = self.fields.iter().filter_map(|field| field.problem(object.get(&field.name)));
        unknown.chain(known).collect()
    }
}

impl Field {
    fn problem(&self, value: Option<&Value>) -> Option<Problem> {
        let name = &self.name;
        let say = |code: Code, text: String| Some(Problem::of(code, name).saying(text));
        let value = match value {
            None if self.required => return say(Code::FormParamMissing, format!("`{name}` is required.")),
            None => return None,
            Some(Value::Null) if self.nullable || self.kind == Kind::Any => return None,
            Some(Value::Null) => return say(Code::FormParamNil, format!("`{name}` must not be null.")),
            Some(value) => value,
        };
        if !self.kind.admits(value) {
            return say(Code::FormParamTypeInvalid, format!("`{name}` must be {}.", self.kind.text()));
        }
        if contains_nul(value) {
            return say(Code::FormParamValueInvalid, format!("`{name}` must not contain the character NUL."));
        }
        if let Some(problem) = self.rules.problem(name, value) {
            return Some(problem);
        }
        let (item_kind, item_rules) = self.items.as_ref()?;
        value.as_array()?.iter().find_map(|item| match item_kind.admits(item) {
            true => item_rules.problem(name, item),
            false => say(
                Code::FormParamTypeInvalid,
                format!("Every item of `{name}` must be {}.", item_kind.text()),
            ),
        })
    }
}

impl Rules {
    fn of(schema: &Value) -> Rules {
        let number = |key: &str| schema.get(key).and_then(Value::as_f64).map(|number| number as i64);
        let length = |key: &str| schema.get(key).and_then(Value::as_u64).map(|length| length as usize);
        Rules {
            allowed: allowed(schema),
            minimum: number("minimum"),
            maximum: number("maximum"),
            min_items: length("minItems"),
            max_items: length("maxItems"),
            is_bulk: schema.get("x-bulk").is_some(),
        }
    }

    fn problem(&self, name: &str, value: &Value) -> Option<Problem> {
        let say = |code: Code, text: String| Some(Problem::of(code, name).saying(text));
        if !self.allowed.is_empty() && !self.allowed.contains(value) {
            let allowed: Vec<&str> = self.allowed.iter().filter_map(Value::as_str).collect();
            return say(
                Code::FormParamValueInvalid,
                format!("`{name}` must be one of: {}.", allowed.join(", ")),
            );
        }
        if let Some(number) = value.as_i64() {
            if let Some(minimum) = self.minimum.filter(|&minimum| number < minimum) {
                return say(Code::FormParamValueInvalid, format!("`{name}` must be at least {minimum}."));
            }
            if let Some(maximum) = self.maximum.filter(|&maximum| number > maximum) {
                return say(Code::FormParamValueTooLarge, format!("`{name}` must be at most {maximum}."));
            }
        }
        let length = value.as_array().map(Vec::len)?;
        if let Some(most) = self.max_items.filter(|&most| length > most) {
            let code = if self.is_bulk { Code::BulkSizeExceeded } else { Code::FormParamArraySizeExceeded };
            return say(code, format!("`{name}` may have at most {most} items."));
        }
        match self.min_items.filter(|&least| length < least) {
            Some(least) => {
                say(Code::FormParamValueInvalid, format!("`{name}` must have at least {least} items."))
            }
            None => None,
        }
    }
}

impl Kind {
    fn admits(self, value: &Value) -> bool {
        match self {
            Kind::String => value.is_string(),
            Kind::Integer => value.is_i64(),
            Kind::Number => value.is_number(),
            Kind::Boolean => value.is_boolean(),
            Kind::Array => value.is_array(),
            Kind::Object => value.is_object(),
            Kind::Any => true,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Kind::String => "a string",
            Kind::Integer => "an integer",
            Kind::Number => "a number",
            Kind::Boolean => "true or false",
            Kind::Array => "a list",
            Kind::Object => "an object",
            Kind::Any => "a value",
        }
    }
}

/// The values an enumeration allows. One whose values are described is written as a choice of constants,
/// and one that may be left out as a choice between that and null.
fn allowed(schema: &Value) -> Vec<Value> {
    let listed = schema.get("enum").and_then(Value::as_array).cloned();
    let variants = |key: &str| schema[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let constants = || variants("oneOf").iter().filter_map(|variant| variant.get("const").cloned()).collect();
    match variants("anyOf") {
        [only, null] if null["type"] == "null" => allowed(only),
        _ => listed.unwrap_or_else(constants),
    }
}

/// The first type of a schema that is not null.
fn kind(schema: &Value) -> Kind {
    let named = strings(&schema["type"]).find(|name| *name != "null");
    let variants = schema.get("anyOf").or(schema.get("oneOf")).and_then(Value::as_array);
    let of_variant = || variants.into_iter().flatten().find(|variant| variant["type"] != "null").map(kind);
    match named {
        Some("string") => Kind::String,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        Some("array") => Kind::Array,
        Some("object") => Kind::Object,
        _ => of_variant().unwrap_or(Kind::Any),
    }
}

fn allows_null(schema: &Value) -> bool {
    strings(&schema["type"]).any(|name| name == "null")
        || schema["anyOf"].as_array().into_iter().flatten().any(|variant| variant["type"] == "null")
}

/// A string, or the strings of a list.
fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_str().into_iter().chain(value.as_array().into_iter().flatten().filter_map(Value::as_str))
}

/// PostgreSQL cannot store NUL in a text, and nobody means it. Objects (metadata) are kept as JSON,
/// where it is written as an escape, so they are not searched.
fn contains_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(contains_nul),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use latchkey_base::patch::Patch;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[schemars(inline)]
    #[serde(rename_all = "snake_case")]
    enum Status {
        Verified,
        Reserved,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its shape is used")]
    struct Sample {
        name: String,
        #[serde(default)]
        note: Patch<String>,
        #[serde(default)]
        #[schemars(range(min = 1, max = 5))]
        count: Option<i64>,
        #[serde(default)]
        #[schemars(length(max = 2))]
        statuses: Vec<Status>,
        #[serde(default)]
        described: Option<Described>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[schemars(inline)]
    #[serde(rename_all = "snake_case")]
    enum Described {
        /// One.
        One,
        /// Two.
        Two,
    }

    fn codes(input: Value) -> Vec<(Code, String)> {
        let object = input.as_object().unwrap().clone();
        match Shape::of::<Sample>().read::<Sample>(object) {
            Ok(_) => Vec::new(),
            Err(error) => {
                let param = |problem: &Problem| problem.meta["param_name"].as_str().unwrap().to_owned();
                error.problems().iter().map(|problem| (problem.code, param(problem))).collect()
            }
        }
    }

    #[test]
    fn good_input_passes() {
        assert_eq!(codes(json!({"name": "a", "note": null, "count": 5, "statuses": ["verified"]})), []);
        assert_eq!(codes(json!({"name": "a", "described": "two"})), []);
        assert_eq!(codes(json!({"name": "a", "described": null})), []);
    }

    #[test]
    fn every_problem_is_named_with_its_parameter() {
        let statuses = ["verified", "other"];
        let found =
            codes(json!({"note": 1, "count": 6, "statuses": statuses, "described": "three", "extra": true}));
        let expected = [
            (Code::FormParamUnknown, "extra"),
            (Code::FormParamMissing, "name"),
            (Code::FormParamTypeInvalid, "note"),
            (Code::FormParamValueTooLarge, "count"),
            (Code::FormParamValueInvalid, "statuses"),
            (Code::FormParamValueInvalid, "described"),
        ];
        for (code, param) in expected {
            assert!(found.contains(&(code, param.to_owned())), "{code:?} {param} in {found:?}");
        }
        assert_eq!(found.len(), expected.len());
    }

    #[test]
    fn null_nul_and_long_lists_are_refused() {
        assert_eq!(codes(json!({"name": null})), [(Code::FormParamNil, "name".into())]);
        assert_eq!(codes(json!({"name": "a\u{0}b"})), [(Code::FormParamValueInvalid, "name".into())]);
        let three = json!({"name": "a", "statuses": ["verified", "verified", "verified"]});
        assert_eq!(codes(three), [(Code::FormParamArraySizeExceeded, "statuses".into())]);
    }
}
