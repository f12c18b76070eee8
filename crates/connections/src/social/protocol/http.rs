//! Requests to a provider. Whatever comes back is bounded, and errors say nothing of it: an answer may repeat a token.

use std::fmt;

use latchkey_outbound::client::{Answer, Client, Request};
use latchkey_outbound::reach::Reach;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::DEADLINE;

/// The largest answer that is read.
const BODY_BYTES: usize = 1024 * 1024;
const AGENT: &str = concat!("Latchkey/", env!("CARGO_PKG_VERSION"));
/// Errors of providers are words such as `invalid_grant`; anything longer is not repeated.
const WORD_CHARS: usize = 64;

/// Why a provider gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::social) enum CallFailure {
    /// There was no answer, or none that can be read.
    Unusable(String),
    /// It refused, with this status and the word for it, if it had one.
    Refused(u16, Option<String>),
}

impl CallFailure {
    /// Whether the word of the refusal is one of these.
    pub(in crate::social) fn is_one_of(&self, words: &[&str]) -> bool {
        matches!(self, CallFailure::Refused(_, Some(word)) if words.contains(&word.as_str()))
    }
}

impl fmt::Display for CallFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallFailure::Unusable(why) => formatter.write_str(why),
            CallFailure::Refused(status, Some(word)) => write!(formatter, "it answered {status} {word}"),
            CallFailure::Refused(status, None) => write!(formatter, "it answered {status}"),
        }
    }
}

/// Sends requests to one provider.
pub(in crate::social) struct Caller<'a> {
    pub(in crate::social) client: &'a Client,
    pub(in crate::social) reach: Reach,
}

/// What a request carries.
pub(in crate::social) enum Payload {
    None,
    Form(Vec<(&'static str, String)>),
    Json(Value),
}

impl Caller<'_> {
    /// Asks with a GET.
    pub(in crate::social) async fn get(
        &self,
        url: &str,
        headers: Vec<(&str, String)>,
    ) -> Result<Value, CallFailure> {
        read(self.client.get(self.request(url, headers, Payload::None)).await)
    }

    /// Asks with a POST.
    pub(in crate::social) async fn post(
        &self,
        url: &str,
        headers: Vec<(&str, String)>,
        payload: Payload,
    ) -> Result<Value, CallFailure> {
        read(self.client.post(self.request(url, headers, payload)).await)
    }

    fn request<'u>(
        &self,
        url: &'u str,
        mut headers: Vec<(&'u str, String)>,
        payload: Payload,
    ) -> Request<'u> {
        headers.push(("accept", "application/json".to_owned()));
        headers.push(("user-agent", AGENT.to_owned()));
        let body = match payload {
            Payload::None => String::new(),
            Payload::Form(fields) => {
                headers.push(("content-type", "application/x-www-form-urlencoded".to_owned()));
                form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
            }
            Payload::Json(value) => {
                headers.push(("content-type", "application/json".to_owned()));
                value.to_string()
            }
        };
        Request { url, headers, body: body.into(), reach: self.reach, timeout: DEADLINE, keep: BODY_BYTES }
    }
}

/// The answer as an object or a list. Redirects are not followed: whoever can make a provider redirect would see what is
/// sent there.
fn read(outcome: Result<Answer, latchkey_outbound::failure::Failure>) -> Result<Value, CallFailure> {
    // What the client says names the host at most, never the path.
    let answer = outcome.map_err(|failure| CallFailure::Unusable(failure.to_string()))?;
    if answer.is_truncated {
        return Err(CallFailure::Unusable("its answer is too large or broke off".to_owned()));
    }
    let value = parsed(&answer.body);
    let word = value.as_ref().and_then(refusal);
    match (answer.status, value) {
        (200..=299, Some(value)) if word.is_none() => Ok(value),
        (200..=299, None) => Err(CallFailure::Unusable("its answer is neither JSON nor a form".to_owned())),
        (status, _) => Err(CallFailure::Refused(status, word.flatten())),
    }
}

/// JSON, or the form that some token endpoints answer with.
fn parsed(body: &[u8]) -> Option<Value> {
    match serde_json::from_slice(body) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => return Some(value),
        Ok(_) => return None,
        Err(_) => (),
    }
    let is_form = body.starts_with(b"access_token=") || body.starts_with(b"error=") || body.contains(&b'&');
    let fields = form_urlencoded::parse(body).filter(|(name, _)| !name.is_empty());
    let object: Map<String, Value> =
        fields.map(|(name, value)| (name.into_owned(), Value::String(value.into_owned()))).collect();
    let is_known = object.contains_key("access_token") || object.contains_key("error");
    (is_form && is_known).then_some(Value::Object(object))
}

/// Whether an answer is an error whatever its status, and the word for it. GitHub and Slack refuse with the status 200,
/// TikTok says `ok` as an error, GraphQL has a list.
fn refusal(value: &Value) -> Option<Option<String>> {
    let word = |value: &Value| value.as_str().filter(|text| is_word(text)).map(str::to_owned);
    match &value["error"] {
        Value::Null | Value::Bool(false) => (),
        Value::String(text) if text.is_empty() => (),
        Value::Object(fields) if fields.get("code").is_some_and(|code| code == "ok") => (),
        Value::Object(fields) => return Some(fields.get("code").and_then(word)),
        error => return Some(word(error)),
    }
    match (&value["ok"], &value["errors"]) {
        (Value::Bool(false), _) => Some(None),
        (_, Value::Array(errors)) if !errors.is_empty() => Some(None),
        _ => None,
    }
}

fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    text.len() <= WORD_CHARS && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answered(status: u16, body: &str) -> Result<Value, CallFailure> {
        read(Ok(Answer { status, body: body.as_bytes().to_vec(), is_truncated: false }))
    }

    #[test]
    fn json_and_forms_are_read() {
        assert_eq!(answered(200, r#"{"a":1}"#), Ok(json!({"a": 1})));
        assert_eq!(answered(200, "[1]"), Ok(json!([1])));
        let form = answered(200, "access_token=t%20x&scope=a%2Cb&token_type=bearer").unwrap();
        assert_eq!(form, json!({"access_token": "t x", "scope": "a,b", "token_type": "bearer"}));
        for nonsense in ["", "7", "\"text\"", "<html>access_token</html>", "a&b", "{\"a\":"] {
            assert!(matches!(answered(200, nonsense), Err(CallFailure::Unusable(_))), "{nonsense}");
        }
        let deep = "[".repeat(200_000);
        assert!(answered(200, &deep).is_err());
    }

    #[test]
    fn errors_with_the_status_of_a_success_are_errors() {
        for (body, word) in [
            (r#"{"error":"bad_verification_code"}"#, Some("bad_verification_code")),
            ("error=bad_verification_code&error_description=x", Some("bad_verification_code")),
            (r#"{"ok":false,"error":"invalid_auth"}"#, Some("invalid_auth")),
            (r#"{"ok":false}"#, None),
            (r#"{"errors":[{"message":"no"}]}"#, None),
            (r#"{"error":{"code":"access_token_invalid"}}"#, Some("access_token_invalid")),
            (r#"{"error":{"code":190,"message":"secret"}}"#, None),
            (r#"{"error":"Token ya29.secret is bad"}"#, None),
        ] {
            let failure = answered(200, body).unwrap_err();
            assert_eq!(failure, CallFailure::Refused(200, word.map(str::to_owned)), "{body}");
            assert!(!failure.to_string().contains("secret"));
        }
        assert!(answered(200, r#"{"error":{"code":"ok"},"data":{}}"#).is_ok());
        assert!(answered(200, r#"{"ok":true,"error":null}"#).is_ok());
    }

    #[test]
    fn a_redirect_is_no_answer() {
        assert_eq!(answered(302, "{}"), Err(CallFailure::Refused(302, None)));
        assert_eq!(answered(302, ""), Err(CallFailure::Refused(302, None)));
        assert_eq!(answered(500, "oops"), Err(CallFailure::Refused(500, None)));
    }
}
