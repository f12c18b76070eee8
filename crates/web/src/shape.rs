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

/// Most parameters of one kind of mistake that an answer names: a body may have many thousands of them.
pub(crate) const PARAMS_NAMED: usize = 50;

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
    pub kind: JsonType,
    pub(crate) nullable: bool,
    required: bool,
    rules: Rules,
    items: Option<(JsonType, Rules)>,
}

/// A JSON type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "JSON's own names")]
pub enum JsonType {
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
    pub fn read<T: DeserializeOwned>(&self, mut object: Map<String, Value>) -> Result<T> {
        for field in &self.fields {
            if let Some(value) = object.get_mut(&field.name) {
                field.write_integers_plainly(value);
            }
        }
        Error::collect(self.problems(&object))?;
        serde_json::from_value(Value::Object(object)).map_err(|error| {
            Error::new(Code::RequestBodyInvalid).saying(format!("The request cannot be read: {error}."))
        })
    }

    fn problems(&self, object: &Map<String, Value>) -> Vec<Problem> {
        let unknown = object.iter().filter(|(name, _)| self.closed && self.field(name).is_none());
        let unknown = unknown.take(PARAMS_NAMED).map(|(name, _)| {
            Problem::of(Code::FormParamUnknown, name)
                .saying(format!("`{name}` is not a parameter of this operation."))
        });
        let known = self.fields.iter().filter_map(|field| field.problem(object.get(&field.name)));
        unknown.chain(known).collect()
    }
}

impl Field {
    /// Makes `10.0` the integer that it is, where integers are asked for. Clients whose language has only one kind of
    /// number send it so.
    fn write_integers_plainly(&self, value: &mut Value) {
        match (value, &self.items) {
            (Value::Array(items), Some((JsonType::Integer, _))) => items.iter_mut().for_each(write_plainly),
            (value, _) if self.kind == JsonType::Integer => write_plainly(value),
            _ => (),
        }
    }

    /// The complaint about a value of another type.
    pub(crate) fn wrong_type(&self) -> Problem {
        let Field { name, kind, .. } = self;
        Problem::of(Code::FormParamTypeInvalid, name).saying(format!("`{name}` must be {}.", kind.text()))
    }

    fn problem(&self, value: Option<&Value>) -> Option<Problem> {
        let name = &self.name;
        let say = |code: Code, text: String| Some(Problem::of(code, name).saying(text));
        let value = match value {
            None if self.required => return say(Code::FormParamMissing, format!("`{name}` is required.")),
            None => return None,
            Some(Value::Null) if self.nullable || self.kind == JsonType::Any => return None,
            Some(Value::Null) => return say(Code::FormParamNil, format!("`{name}` must not be null.")),
            Some(value) => value,
        };
        if !self.kind.admits(value) {
            return Some(self.wrong_type());
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

impl JsonType {
    fn admits(self, value: &Value) -> bool {
        match self {
            JsonType::String => value.is_string(),
            JsonType::Integer => value.is_i64(),
            JsonType::Number => value.is_number(),
            JsonType::Boolean => value.is_boolean(),
            JsonType::Array => value.is_array(),
            JsonType::Object => value.is_object(),
            JsonType::Any => true,
        }
    }

    fn text(self) -> &'static str {
        match self {
            JsonType::String => "a string",
            JsonType::Integer => "an integer",
            JsonType::Number => "a number",
            JsonType::Boolean => "true or false",
            JsonType::Array => "a list",
            JsonType::Object => "an object",
            JsonType::Any => "a value",
        }
    }
}

fn write_plainly(value: &mut Value) {
    // Every whole number up to here is a number of its own in this notation.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = |number: &f64| number.fract() == 0.0 && number.abs() <= EXACT;
    if value.is_f64()
        && let Some(number) = value.as_f64().filter(whole)
    {
        *value = Value::from(number as i64);
    }
}

/// Reads an integer in any notation that JSON has for it: `10`, `10.0`, `1e1`.
pub fn integer(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i16>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole.strip_prefix('-').unwrap_or(whole)) || !digits(fraction) {
        return None;
    }
    let all = [whole, fraction].concat();
    let significant = all.trim_end_matches('0');
    let zeros = (all.len() - significant.len()) as i64 - fraction.len() as i64 + i64::from(exponent);
    match significant {
        "" | "-" => Some(0),
        // An `i64` has at most 19 digits.
        _ if (0..19).contains(&zeros) => [significant, &"0".repeat(zeros as usize)].concat().parse().ok(),
        _ => None,
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
fn kind(schema: &Value) -> JsonType {
    let named = strings(&schema["type"]).find(|name| *name != "null");
    let variants = schema.get("anyOf").or(schema.get("oneOf")).and_then(Value::as_array);
    let of_variant = || variants.into_iter().flatten().find(|variant| variant["type"] != "null").map(kind);
    match named {
        Some("string") => JsonType::String,
        Some("integer") => JsonType::Integer,
        Some("number") => JsonType::Number,
        Some("boolean") => JsonType::Boolean,
        Some("array") => JsonType::Array,
        Some("object") => JsonType::Object,
        _ => of_variant().unwrap_or(JsonType::Any),
    }
}

pub(crate) fn allows_null(schema: &Value) -> bool {
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
    fn of_many_unknown_parameters_some_are_named() {
        let many: Map<String, Value> = (0..20_000).map(|number| (format!("k{number}"), json!(1))).collect();
        let found = codes(Value::Object(many));
        assert_eq!(found.iter().filter(|(code, _)| *code == Code::FormParamUnknown).count(), PARAMS_NAMED);
        assert!(found.contains(&(Code::FormParamMissing, "name".to_owned())));
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
    fn an_integer_is_read_in_any_notation() {
        let read =
            ["10", "10.0", "1e1", "1.0E+1", "100e-1", "0.1e2", "-0", "0e9", "-3.0", "9223372036854775807.00"];
        let expected = [10, 10, 10, 10, 10, 10, 0, 0, -3, i64::MAX];
        assert_eq!(read.map(integer), expected.map(Some));
        let refused = [
            "",
            "-",
            ".",
            "10.",
            ".5",
            "10.5",
            "1e-1",
            "10.00000000000000000000001",
            "1e19",
            "1e400",
            "1e99999",
            "e1",
            "1e",
            "1.0.0",
            "0x10",
            "inf",
            "NaN",
            "1 ",
            "--1",
            "9223372036854775808.0",
            "many",
        ];
        for text in refused {
            assert_eq!(integer(text), None, "{text}");
        }
    }

    #[test]
    fn a_whole_number_is_an_integer_and_another_is_not() {
        for count in ["1.0", "1e0", "50e-1"] {
            let count: Value = serde_json::from_str(count).unwrap();
            assert_eq!(codes(json!({"name": "a", "count": count})), [], "{count}");
        }
        assert_eq!(codes(json!({"name": "a", "count": 1.5})), [(Code::FormParamTypeInvalid, "count".into())]);
        assert_eq!(
            codes(json!({"name": "a", "count": 6.0})),
            [(Code::FormParamValueTooLarge, "count".into())]
        );
        assert_eq!(
            codes(json!({"name": "a", "count": 1e300})),
            [(Code::FormParamTypeInvalid, "count".into())]
        );
    }

    #[test]
    fn null_nul_and_long_lists_are_refused() {
        assert_eq!(codes(json!({"name": null})), [(Code::FormParamNil, "name".into())]);
        assert_eq!(codes(json!({"name": "a\u{0}b"})), [(Code::FormParamValueInvalid, "name".into())]);
        let three = json!({"name": "a", "statuses": ["verified", "verified", "verified"]});
        assert_eq!(codes(three), [(Code::FormParamArraySizeExceeded, "statuses".into())]);
    }
}
