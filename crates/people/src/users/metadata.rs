//! Metadata: JSON objects an application keeps on users, organizations and memberships.

use latchkey_base::{Code, Error, Problem, Result};
use latchkey_kernel::limits::METADATA_BYTES;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::input::Metadata;
use super::model::User;

/// What becomes of the metadata that was there before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Objects are merged at every depth; null removes a key.
    Merge,
    /// What is given takes the place of what was there.
    Replace,
}

/// Changes the kinds of metadata that are given.
pub fn apply(mut user: User, metadata: Metadata, mode: Mode) -> Result<User> {
    let Metadata { public_metadata, private_metadata, unsafe_metadata } = metadata;
    let mut problems = Vec::new();
    for (param, field, given) in [
        ("public_metadata", &mut user.public_metadata, public_metadata),
        ("private_metadata", &mut user.private_metadata, private_metadata),
        ("unsafe_metadata", &mut user.unsafe_metadata, unsafe_metadata),
    ] {
        if let Some(given) = given {
            *field = changed(param, field, given, mode, &mut problems)?;
        }
    }
    Error::collect(problems)?;
    Ok(user)
}

/// One kind of metadata after a change. What is too large is added to `problems`.
pub fn changed(
    param: &str,
    old: &RawValue,
    given: Map<String, Value>,
    mode: Mode,
    problems: &mut Vec<Problem>,
) -> Result<Box<RawValue>> {
    stored(param, next(param, old, given, mode)?, problems)
}

fn next(param: &str, old: &RawValue, given: Map<String, Value>, mode: Mode) -> Result<Map<String, Value>> {
    match mode {
        Mode::Replace => Ok(given),
        Mode::Merge => {
            let unreadable = |_| {
                Error::param(Code::FormParamValueInvalid, param)
                    .saying(format!("The stored `{param}` cannot be merged with. Replace it as a whole."))
            };
            let mut merged = serde_json::from_str(old.get()).map_err(unreadable)?;
            merge(&mut merged, given);
            Ok(merged)
        }
    }
}

/// The stored form of metadata. One that is too large is added to `problems`.
pub fn stored(
    param: &str,
    metadata: Map<String, Value>,
    problems: &mut Vec<Problem>,
) -> Result<Box<RawValue>> {
    let raw = to_raw_value(&metadata).map_err(Error::internal)?;
    if raw.get().len() > METADATA_BYTES {
        problems.push(
            Problem::of(Code::FormParamExceedsAllowedSize, param)
                .saying(format!("`{param}` may have at most {METADATA_BYTES} bytes.")),
        );
    }
    Ok(raw)
}

fn merge(target: &mut Map<String, Value>, given: Map<String, Value>) {
    for (key, value) in given {
        match (target.get_mut(&key), value) {
            (_, Value::Null) => _ = target.remove(&key),
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            // A new object may carry nulls of its own, which mean the same here: not there.
            (_, Value::Object(new)) => {
                let mut fresh = Map::new();
                merge(&mut fresh, new);
                target.insert(key, Value::Object(fresh));
            }
            (_, value) => _ = target.insert(key, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(old: Value, given: Value) -> Value {
        let (Value::Object(mut old), Value::Object(given)) = (old, given) else { unreachable!() };
        merge(&mut old, given);
        Value::Object(old)
    }

    #[test]
    fn objects_merge_deeply_null_deletes_and_lists_are_replaced() {
        let old = json!({"a": {"b": 1, "c": {"d": 2}}, "list": [1, 2], "gone": true});
        let given =
            json!({"a": {"c": {"d": null, "e": 3}}, "list": [3], "gone": null, "new": {"x": null, "y": 1}});
        assert_eq!(merged(old, given), json!({"a": {"b": 1, "c": {"e": 3}}, "list": [3], "new": {"y": 1}}));
    }

    #[test]
    fn merging_nothing_changes_nothing_and_merging_twice_is_merging_once() {
        let old = json!({"a": {"b": 1}, "c": [1]});
        let given = json!({"a": {"z": {"q": 1}}, "c": null});
        assert_eq!(merged(old.clone(), json!({})), old);
        let once = merged(old, given.clone());
        assert_eq!(merged(once.clone(), given), once);
    }

    #[test]
    fn metadata_over_eight_kilobytes_is_refused() {
        let large = json!({"a": "x".repeat(METADATA_BYTES)});
        let mut problems = Vec::new();
        stored("public_metadata", large.as_object().unwrap().clone(), &mut problems).unwrap();
        assert_eq!(problems[0].code, Code::FormParamExceedsAllowedSize);
    }
}
