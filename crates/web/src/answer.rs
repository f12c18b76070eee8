//! JSON as a value: a written answer, taken apart to be changed and written again; and what comes in.
//!
//! What applications keep in our objects stays the text it is, and so does everything nested more deeply than our
//! own objects are: it may be of any depth, nothing in it is an object of ours, and not a digit of its numbers
//! changes.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// Levels that are taken apart: more than any answer has of its own, few enough for any stack.
const LEVELS: usize = 24;
/// What a text begins with that stands for something kept. A text of the answer that begins so is kept itself.
const MARK: &str = "\0kept ";

/// An answer in parts.
pub(crate) struct Answer {
    /// Our own objects.
    pub(crate) value: Value,
    kept: Vec<Box<RawValue>>,
}

impl Answer {
    /// Takes an answer apart. The values of fields named in `opaque` are kept as they are.
    pub(crate) fn read(text: &str, opaque: &[&str]) -> serde_json::Result<Answer> {
        let mut kept = Vec::new();
        let reader = Reader { kept: Some(&mut kept), opaque, levels: LEVELS };
        let value = reader.deserialize(&mut serde_json::Deserializer::from_str(text))?;
        Ok(Answer { value, kept })
    }

    /// The answer as it is now.
    pub(crate) fn write(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Writer { value: &self.value, kept: &self.kept })
    }
}

/// Reads JSON of others, as deep as `serde_json` reads. It takes every key for what it is, while `Value` takes some
/// for names of its own: what stands behind `$serde_json::private::RawValue` it would read as JSON once more, with
/// as many levels again.
pub(crate) fn read_value(json: &[u8]) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = Reader { kept: None, opaque: &[], levels: 0 }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Reads one value.
struct Reader<'a> {
    /// Where what is not taken apart goes; nothing if all is.
    kept: Option<&'a mut Vec<Box<RawValue>>>,
    opaque: &'a [&'a str],
    /// How many levels from here on are taken apart.
    levels: usize,
}

impl Reader<'_> {
    /// The reader of a value inside of this one.
    fn inner(&mut self, is_opaque: bool) -> Reader<'_> {
        let levels = if is_opaque { 0 } else { self.levels.saturating_sub(1) };
        Reader { kept: self.kept.as_deref_mut(), opaque: self.opaque, levels }
    }
}

/// Keeps a value, and says what stands for it.
fn keep(kept: &mut Vec<Box<RawValue>>, raw: Box<RawValue>) -> Value {
    kept.push(raw);
    Value::String(format!("{MARK}{}", kept.len() - 1))
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.kept {
            Some(kept) if self.levels == 0 => Ok(keep(kept, Box::deserialize(deserializer)?)),
            kept => deserializer.deserialize_any(Reader { kept, ..self }),
        }
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        match self.kept {
            Some(kept) if text.starts_with(MARK) => Ok(keep(kept, to_raw_value(text).map_err(E::custom)?)),
            _ => Ok(Value::String(text.to_owned())),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.inner(false))? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let is_opaque = self.opaque.contains(&name.as_str());
            object.insert(name, fields.next_value_seed(self.inner(is_opaque))?);
        }
        Ok(Value::Object(object))
    }
}

/// Writes one value, with what was kept in its place.
struct Writer<'a> {
    value: &'a Value,
    kept: &'a [Box<RawValue>],
}

impl Writer<'_> {
    fn kept_for(&self, text: &str) -> Option<&RawValue> {
        let index: usize = text.strip_prefix(MARK)?.parse().ok()?;
        self.kept.get(index).map(|raw| &**raw)
    }
}

impl Serialize for Writer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let inner = |value| Writer { value, kept: self.kept };
        match self.value {
            Value::String(text) => match self.kept_for(text) {
                Some(raw) => raw.serialize(serializer),
                None => serializer.serialize_str(text),
            },
            Value::Array(items) => serializer.collect_seq(items.iter().map(inner)),
            Value::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(name, field)| (name, inner(field))))
            }
            scalar => scalar.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPAQUE: [&str; 1] = ["theirs"];

    #[track_caller]
    fn comes_back(text: &str) {
        let written = Answer::read(text, &OPAQUE).unwrap().write().unwrap();
        assert!(written == text.as_bytes(), "{:.200}", String::from_utf8_lossy(&written));
    }

    #[test]
    fn an_answer_comes_back_as_it_was() {
        comes_back(r#"{"a":null,"b":[true,1,-1,18446744073709551615,1.5,"é\u0000\""],"c":{"d":{}}}"#);
        comes_back(r#"{"theirs":{"z": 1.10, "a":1e400, "n":-0, "same":1, "same":2}}"#);
    }

    #[test]
    fn what_is_nested_more_deeply_than_a_stack_bears_comes_back() {
        let (open, close) = ("[".repeat(1_000_000), "]".repeat(1_000_000));
        comes_back(&format!(r#"{{"theirs":{open}{close}}}"#));
        comes_back(&format!(r#"{{"ours":{open}{close}}}"#));
    }

    #[test]
    fn what_comes_in_is_taken_for_what_it_is() {
        let magic = r#"{"$serde_json::private::RawValue":"[1]"}"#;
        assert_eq!(read_value(magic.as_bytes()).unwrap().to_string(), magic);
        assert_eq!(
            serde_json::from_str::<Value>(magic).unwrap().to_string(),
            "[1]",
            "why there is a reader of our own"
        );
        let text = r#"{"a":[null,true,-1,1.5,"\u0000kept 0"],"b":{}}"#;
        assert_eq!(read_value(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        for bad in ["", "{", "{} {}", "1e400", r#""\ud800""#, &"[".repeat(200_000)] {
            assert!(read_value(bad.as_bytes()).is_err(), "{bad:.20}");
        }
    }

    #[test]
    fn a_text_cannot_stand_for_what_was_kept() {
        comes_back(r#"{"a":"\u0000kept 0","b":"\u0000kept 9","theirs":"secret","z":["\u0000kept x"]}"#);
    }
}
