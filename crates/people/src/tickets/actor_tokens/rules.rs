//! Who may be an actor.

use latchkey_base::{Code, Error, Problem, Result};
use latchkey_kernel::limits::ACTOR_BYTES;
use serde_json::{Map, Value};

/// Checks what is said about an actor: at least who it is, and no more than fits into every token.
pub fn check_actor(actor: &Map<String, Value>) -> Result<()> {
    let sub = actor.get("sub").and_then(Value::as_str).unwrap_or_default();
    let problem = |code: Code, text: String| Error::from(Problem::of(code, "actor").saying(text));
    if sub.is_empty() {
        let code =
            if actor.contains_key("sub") { Code::FormParamValueInvalid } else { Code::FormParamMissing };
        return Err(problem(code, "`actor.sub` must be the id of whoever acts.".to_owned()));
    }
    match serde_json::to_string(actor).map_err(Error::internal)?.len() > ACTOR_BYTES {
        true => Err(problem(
            Code::FormParamExceedsAllowedSize,
            format!("`actor` goes into every token and may have at most {ACTOR_BYTES} bytes."),
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(actor: Value) -> Option<Code> {
        check_actor(actor.as_object().unwrap()).err().map(|error| error.code())
    }

    #[test]
    fn an_actor_is_somebody() {
        assert_eq!(refusal(json!({"sub": "user_1", "iss": "https://admin.example.com"})), None);
        assert_eq!(refusal(json!({})), Some(Code::FormParamMissing));
        for sub in [json!(""), json!(1), json!(null), json!({"id": 1})] {
            assert_eq!(refusal(json!({ "sub": sub })), Some(Code::FormParamValueInvalid));
        }
        let long = "x".repeat(ACTOR_BYTES);
        assert_eq!(refusal(json!({ "sub": long })), Some(Code::FormParamExceedsAllowedSize));
    }
}
