//! What JSON that comes in must be like, so that it can be read again wherever it is stored and shown.

use std::collections::BTreeMap;

use latchkey_base::{Code, Error, Problem, Result};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::shape::PARAMS_NAMED;

/// How many levels of objects and lists the JSON of one parameter may have. Whatever is accepted must be readable
/// wherever it is shown later. Of the readers that official clients use, that of C# reads 64 levels, that of Ruby 100,
/// `serde_json` 127. Answers and events have at most 8 levels of their own around a parameter, which leaves some for
/// those to come; the claims of a token have 32 around it (`JWT_CLAIMS_DEPTH`).
pub const JSON_DEPTH: usize = 50;

/// How many levels of objects and lists a JSON text has. Of what is not JSON it says any number.
pub fn depth(json: &[u8]) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                while bytes
                    .next()
                    .is_some_and(|byte| *byte != b'"' && (*byte != b'\\' || bytes.next().is_some()))
                {
                }
            }
            b'{' | b'[' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => (),
        }
    }
    deepest
}

/// Whether the JSON text of one parameter is nested too deeply to be accepted.
pub fn is_too_deep(json: &str) -> bool {
    depth(json.as_bytes()) > JSON_DEPTH
}

/// The refusal of a parameter that is nested too deeply.
pub fn too_deep(param: &str) -> Problem {
    Problem::of(Code::FormParamValueInvalid, param)
        .saying(format!("`{param}` may have at most {JSON_DEPTH} levels of objects and lists."))
}

/// The parameters of an object. A value that is kept as text is scanned without recursion, however deep it is.
type Fields = BTreeMap<String, Box<RawValue>>;

/// Refuses a body with a parameter that is nested too deeply: an object of parameters, or a list of such objects. What is
/// neither passes; reading it fails.
pub(crate) fn check_body(body: &[u8]) -> Result<()> {
    // Nearly always the first look is enough. The body itself is one level.
    if depth(body) <= JSON_DEPTH + 1 {
        return Ok(());
    }
    let objects: Vec<Fields> = match serde_json::from_slice::<Fields>(body) {
        Ok(fields) => vec![fields],
        Err(_) => {
            let items: Vec<Box<RawValue>> = serde_json::from_slice(body).unwrap_or_default();
            items.iter().filter_map(|item| serde_json::from_str(item.get()).ok()).collect()
        }
    };
    let deep = objects.iter().flatten().filter(|(_, value)| is_too_deep(value.get()));
    Error::collect(deep.map(|(name, _)| too_deep(name)).take(PARAMS_NAMED).collect())
}

/// What names begin with that `serde_json` gives a meaning of its own, wherever it reads JSON.
const PRIVATE: &str = "$serde_json::private::";

/// Refuses a parameter with a name in it that would not be read again as what it is.
pub(crate) fn private_name(param: &str, value: &Value) -> Option<Problem> {
    has_private_name(value).then(|| {
        Problem::of(Code::FormParamValueInvalid, param)
            .saying(format!("`{param}` may have no names that begin with `{PRIVATE}`."))
    })
}

fn has_private_name(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_private_name),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| name.starts_with(PRIVATE) || has_private_name(value))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> String {
        ["[".repeat(levels), "]".repeat(levels)].concat()
    }

    #[test]
    fn levels_are_counted_outside_of_texts() {
        let expected = [
            ("1", 0),
            ("{}", 1),
            (r#"{"a":[1,{"b":2}],"c":{}}"#, 3),
            (r#"{"[[[":"{{{\"[[[\\"}"#, 1),
            (r#"["\\",[]]"#, 2),
            (r#""open"#, 0),
            (r#""\"#, 0),
        ];
        for (json, levels) in expected {
            assert_eq!(depth(json.as_bytes()), levels, "{json}");
        }
        assert_eq!(depth(nested(100_000).as_bytes()), 100_000);
    }

    #[test]
    fn every_parameter_that_is_too_deep_is_named_and_no_other() {
        let named = |body: &str| match check_body(body.as_bytes()) {
            Ok(()) => Vec::new(),
            Err(error) => {
                error.problems().iter().map(|problem| problem.meta["param_name"].to_string()).collect()
            }
        };
        let (most, more, far) = (nested(JSON_DEPTH), nested(JSON_DEPTH + 1), nested(50_000));
        assert_eq!(named(&format!(r#"{{"a":{most}}}"#)), [""; 0]);
        assert_eq!(named(&format!(r#"{{"a":{most},"b":{more},"c":{far},"d":1}}"#)), [r#""b""#, r#""c""#]);
        assert_eq!(named(&format!(r#"[{{"a":{most}}},{{"b":{more}}},1,{far}]"#)), [r#""b""#]);
        assert_eq!(named(&far), [""; 0], "a list of something else is no body; reading it says so");
    }
}
