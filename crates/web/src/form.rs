//! Bodies as browsers send them: forms, whose values are texts until a type says what they are.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequest, Request};
use latchkey_base::{Code, Error, Problem, Result};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::map::Entry;
use serde_json::{Map, Value};

use crate::answer::read_value;
use crate::depth::{is_too_deep, private_name, too_deep};
use crate::input::{self, JSON_MAX, is_content_type, read_body};
use crate::query::pairs;
use crate::reply::Failure;
use crate::shape::{Field, JsonType, Shape, Shapes, integer};

/// A form or a JSON object, read as a `T`. Scripts of other versions send more than `T` names; that is
/// none of its business.
pub struct Form<T>(pub T);

impl<S, T> FromRequest<S> for Form<T>
where
    S: Send + Sync,
    Arc<Shapes>: FromRef<S>,
    T: DeserializeOwned + JsonSchema + 'static,
{
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let OpenForm(read, _) = OpenForm::from_request(request, state).await?;
        Ok(Form(read))
    }
}

/// The same with the fields that `T` does not name, as they were sent: others may know what they are for.
pub struct OpenForm<T>(pub T, pub Map<String, Value>);

impl<S, T> FromRequest<S> for OpenForm<T>
where
    S: Send + Sync,
    Arc<Shapes>: FromRef<S>,
    T: DeserializeOwned + JsonSchema + 'static,
{
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let is_json = is_content_type(request.headers(), "application/json");
        let bytes = read_body(request, JSON_MAX).await?;
        let shape = Arc::<Shapes>::from_ref(state).of::<T>();
        let fields = match is_json {
            true => input::fields(&bytes)?,
            false => from_form(&shape, &bytes)?,
        };
        let (known, others) = fields.into_iter().partition(|(name, _)| shape.field(name).is_some());
        Ok(OpenForm(shape.read(known)?, others))
    }
}

fn from_form(shape: &Shape, bytes: &[u8]) -> Result<Map<String, Value>> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Error::new(Code::RequestBodyInvalid).saying("The body is not a form."))?;
    let mut fields = Map::new();
    let mut problems = Vec::new();
    let broken = |error: Error| error.saying("The form has broken escapes or the character NUL.");
    for (name, text) in pairs(text.trim_ascii()).map_err(broken)? {
        let Some(field) = shape.field(&name) else {
            fields.entry(name).or_insert(Value::String(text));
            continue;
        };
        if field.kind == JsonType::Array {
            let list = fields.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            // Components split a field at its commas, so an empty text comes from a comma at the end.
            if let Value::Array(items) = list
                && !text.trim().is_empty()
            {
                items.push(Value::String(text));
            }
            continue;
        }
        // Of a single field given several times, the first counts; so each has one mistake at most.
        let Entry::Vacant(place) = fields.entry(name.clone()) else { continue };
        let value = typed_value(field, &name, text);
        place.insert(value.unwrap_or_else(|problem| {
            problems.push(problem);
            Value::Null
        }));
    }
    Error::collect(problems)?;
    Ok(fields)
}

fn typed_value(field: &Field, name: &str, text: String) -> Result<Value, Problem> {
    if field.kind == JsonType::Object && is_too_deep(&text) {
        return Err(too_deep(name));
    }
    let value = typed(field, text).ok_or_else(|| field.wrong_type())?;
    match private_name(name, &value) {
        Some(problem) => Err(problem),
        None => Ok(value),
    }
}

/// A text as the type its field has. Forms write null as nothing at all.
fn typed(field: &Field, text: String) -> Option<Value> {
    match field.kind {
        _ if text.is_empty() && field.nullable => Some(Value::Null),
        JsonType::Integer => integer(text.trim()).map(Value::from),
        JsonType::Boolean => text.trim().parse::<bool>().ok().map(Value::from),
        JsonType::Object => read_value(text.as_bytes()).ok(),
        JsonType::String | JsonType::Number | JsonType::Array | JsonType::Any => Some(Value::String(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its shape is used")]
    struct Example {
        name: Option<String>,
        accepted: Option<bool>,
        metadata: Option<Map<String, Value>>,
        ids: Option<Vec<String>>,
    }

    fn read(text: &str) -> Result<Value, Code> {
        let shape = Shapes::default().of::<Example>();
        from_form(&shape, text.as_bytes()).map(Value::Object).map_err(|error| error.code())
    }

    #[test]
    fn texts_take_the_types_of_their_fields() {
        let form = "name=Ann+B&accepted=true&metadata=%7B%22a%22%3A1%7D&ids=x&ids=y&other=1&name=second";
        // What the type does not name stays as it was sent, for others to read.
        let expected =
            json!({"name": "Ann B", "accepted": true, "metadata": {"a": 1}, "ids": ["x", "y"], "other": "1"});
        assert_eq!(read(form), Ok(expected));
        assert_eq!(read("name="), Ok(json!({"name": null})));
        assert_eq!(read(""), Ok(json!({})));
    }

    #[test]
    fn list_skips_empty_texts() {
        assert_eq!(read("ids=&ids=x&ids=+&ids=y&ids="), Ok(json!({"ids": ["x", "y"]})));
        assert_eq!(read("ids="), Ok(json!({"ids": []})));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(read("accepted=maybe"), Err(Code::FormParamTypeInvalid));
        assert_eq!(read("metadata=%7B"), Err(Code::FormParamTypeInvalid));
        assert_eq!(read("name=%FF"), Err(Code::MalformedRequestParameters));
    }

    #[test]
    fn a_field_that_is_wrong_many_times_is_named_once() {
        let shape = Shapes::default().of::<Example>();
        let text = "accepted=x&metadata=x&".repeat(1000);
        assert_eq!(from_form(&shape, text.as_bytes()).unwrap_err().problems().len(), 2);
    }
}
