//! Query strings: strict decoding into pairs, then by the shape of a type into its fields.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use latchkey_base::{Code, Error, Result};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::reply::Failure;
use crate::shape::{JsonType, Shapes, integer};

/// The query of a request, read as a `T`. Parameters that `T` does not name are none of its business.
pub struct Query<T>(pub T);

impl<S, T> FromRequestParts<S> for Query<T>
where
    S: Send + Sync,
    Arc<Shapes>: FromRef<S>,
    T: DeserializeOwned + JsonSchema + 'static,
{
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let shapes = Arc::<Shapes>::from_ref(state);
        Ok(Query(read(&shapes, parts.uri.query().unwrap_or_default())?))
    }
}

fn read<T: DeserializeOwned + JsonSchema + 'static>(shapes: &Shapes, query: &str) -> Result<T> {
    let shape = shapes.of::<T>();
    let mut fields = Map::new();
    let mut problems = Vec::new();
    for (key, text) in pairs(query)? {
        let Some(field) = shape.field(&key) else { continue };
        match field.kind {
            JsonType::Array => match fields.entry(key).or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(items) => items.push(Value::String(text)),
                _ => continue,
            },
            // Of a single parameter given several times, the first counts.
            _ if fields.contains_key(&key) => continue,
            _ => {
                let value = scalar(field.kind, text);
                if value.is_none() {
                    problems.push(field.wrong_type());
                }
                fields.insert(key, value.unwrap_or_default());
            }
        }
    }
    Error::collect(problems)?;
    shape.read(fields)
}

fn scalar(kind: JsonType, text: String) -> Option<Value> {
    match kind {
        JsonType::Integer => integer(&text).map(Value::from),
        JsonType::Boolean => text.parse::<bool>().ok().map(Value::from),
        _ => Some(Value::String(text)),
    }
}

/// The decoded `key=value` pairs. Broken escapes, bytes that are not UTF-8, and NUL are refused.
pub fn pairs(query: &str) -> Result<Vec<(String, String)>> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            decode(key).zip(decode(value)).ok_or_else(|| Error::new(Code::MalformedRequestParameters))
        })
        .collect()
}

/// Decodes escapes, and `+` as a space. Nothing when they are broken, not UTF-8, or contain NUL.
pub fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let high = char::from(rest.next()?).to_digit(16)?;
                let low = char::from(rest.next()?).to_digit(16)?;
                (high * 16 + low) as u8
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_decoded_strictly() {
        let decoded = pairs("a=1&b=%2B+x&c&d=%C3%A9").unwrap();
        let expected = [("a", "1"), ("b", "+ x"), ("c", ""), ("d", "é")];
        assert_eq!(decoded, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        for bad in ["a=%", "a=%4", "a=%zz", "a=%FF", "a=%00"] {
            assert!(pairs(bad).is_err(), "{bad}");
        }
    }
}
