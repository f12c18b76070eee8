//! Requests for tokens, and their answers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_jose::custom::{self, Algorithm, CustomKey};
use latchkey_kernel::settings::social::TokenAuth;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use super::http::{CallFailure, Caller, Payload};
use super::{Connection, Endpoints, ProviderTokens};
use crate::social::providers::ClientAuth;

/// How long what Apple is shown is good.
const APPLE_SECRET_SECONDS: i64 = 5 * 60;
/// The longest token that is kept.
const TOKEN_BYTES: usize = 32 * 1024;
/// Refusals that are about this server and not about whoever came: credentials, addresses, rights of the application.
const ABOUT_US: [&str; 7] = [
    "bad_client_id",
    "incorrect_client_credentials",
    "invalid_client",
    "invalid_client_id",
    "bad_client_secret",
    "redirect_uri_mismatch",
    "unauthorized_client",
];

/// Asks for tokens, proving who this server is in the way of the provider.
pub(super) async fn request(
    caller: &Caller<'_>,
    connection: &Connection,
    endpoints: &Endpoints,
    mut fields: Vec<(&'static str, String)>,
    now: Time,
) -> Result<Value> {
    let (id, secret) = (connection.client_id.clone(), connection.secret.expose());
    let auth = match endpoints.token_auth {
        Some(TokenAuth::ClientSecretBasic) => ClientAuth::Basic,
        Some(TokenAuth::ClientSecretPost) => ClientAuth::Post,
        None => connection.row.client_auth,
    };
    let mut headers = Vec::new();
    match auth {
        ClientAuth::Basic | ClientAuth::BasicJson => headers.push(("authorization", basic(&id, secret))),
        ClientAuth::Post => fields.extend([("client_id", id), ("client_secret", secret.to_owned())]),
        ClientAuth::PostKey => fields.extend([("client_key", id), ("client_secret", secret.to_owned())]),
        ClientAuth::AppleJwt => {
            let secret = apple_secret(connection, now)?;
            fields.extend([("client_id", id), ("client_secret", secret)]);
        }
    }
    let payload = match auth {
        ClientAuth::BasicJson => {
            headers.extend(connection.row.headers.iter().map(|(name, value)| (*name, (*value).to_owned())));
            let object: Map<String, Value> =
                fields.into_iter().map(|(name, value)| (name.to_owned(), Value::String(value))).collect();
            Payload::Json(Value::Object(object))
        }
        _ => Payload::Form(fields),
    };
    let answer = caller.post(&endpoints.token, headers, payload).await;
    answer.map_err(|failure| refused(connection, &failure))
}

/// RFC 6749, section 2.3.1: both are written as in a form first.
fn basic(id: &str, secret: &str) -> String {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret))))
}

/// What Apple takes for a secret: a token that says who asks, signed with the key of the team.
fn apple_secret(connection: &Connection, now: Time) -> Result<String> {
    let settings = &connection.settings;
    let wrong =
        |_| Error::new(Code::MisconfiguredOauthProvider).saying("The private key for Apple cannot be used.");
    let key = CustomKey::parse(Algorithm::Es256, connection.secret.expose()).map_err(wrong)?;
    let header = json!({ "alg": "ES256", "kid": settings.key_id });
    let claims = json!({
        "iss": settings.team_id,
        "iat": now.seconds(),
        "exp": now.seconds() + APPLE_SECRET_SECONDS,
        "aud": "https://appleid.apple.com",
        "sub": connection.client_id,
    });
    custom::token(&key, &header, &claims).map_err(wrong)
}

fn refused(connection: &Connection, failure: &CallFailure) -> Error {
    tracing::warn!("{} gave no tokens: {failure}", connection.key);
    match failure.is_one_of(&ABOUT_US) {
        true => Error::new(Code::MisconfiguredOauthProvider),
        false => Error::new(Code::OauthTokenExchangeError),
    }
}

/// The tokens of an answer. Without an access token there is none.
pub(super) fn read(answer: &Value, now: Time) -> Result<ProviderTokens> {
    let text = |name: &str| {
        let text = answer[name].as_str().filter(|text| !text.is_empty());
        match text {
            Some(text) if text.len() > TOKEN_BYTES || text.chars().any(char::is_control) => {
                Err(Error::new(Code::OauthTokenExchangeError))
            }
            text => Ok(text.map(str::to_owned)),
        }
    };
    let access_token = text("access_token")?;
    if access_token.is_none() {
        return Err(Error::new(Code::OauthTokenExchangeError));
    }
    let seconds = match &answer["expires_in"] {
        Value::Number(number) => {
            number.as_f64().filter(|seconds| *seconds < 1e9).map(|seconds| seconds as i64)
        }
        Value::String(text) => text.parse::<u32>().ok().map(i64::from),
        _ => None,
    };
    Ok(ProviderTokens {
        access_token,
        refresh_token: text("refresh_token")?,
        expires_at: seconds.filter(|seconds| *seconds > 0).map(|seconds| now.plus_ms(seconds * 1000)),
        id_token: text("id_token")?,
    })
}

/// The scopes somebody agreed to, with spaces between: what the answer says, or else what came with the browser, or
/// else what was asked for.
pub(super) fn scopes(answer: &Value, with_browser: Option<&str>, asked: &[String]) -> String {
    let said: Vec<&str> = match &answer["scope"] {
        Value::String(text) => words(text),
        Value::Array(list) => list.iter().filter_map(Value::as_str).flat_map(words).collect(),
        _ => Vec::new(),
    };
    let said = if said.is_empty() { with_browser.map(words).unwrap_or_default() } else { said };
    let all = if said.is_empty() { asked.iter().map(String::as_str).collect() } else { said };
    let mut scopes: Vec<&str> = Vec::new();
    for scope in all.into_iter().take(200) {
        let is_plain = scope.len() <= 256 && scope.bytes().all(|byte| byte.is_ascii_graphic());
        if is_plain && !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    scopes.join(" ")
}

fn words(text: &str) -> Vec<&str> {
    text.split([' ', ',']).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_have_spaces_between_whatever_the_provider_writes() {
        let asked = ["x".to_owned(), "y".to_owned()];
        for (answer, browser, expected) in [
            (json!({"scope": "a b"}), None, "a b"),
            (json!({"scope": "a,b,a"}), None, "a b"),
            (json!({"scope": ["a", "b"]}), Some("c"), "a b"),
            (json!({}), Some("c,d"), "c d"),
            (json!({"scope": ""}), None, "x y"),
            (json!({"scope": 7}), None, "x y"),
            (json!({"scope": "a \u{0} é b"}), None, "a b"),
        ] {
            assert_eq!(scopes(&answer, browser, &asked), expected, "{answer}");
        }
    }

    #[test]
    fn tokens_are_read_with_their_end() {
        let now = Time::from_ms(1_000_000);
        let tokens =
            read(&json!({"access_token": "a", "refresh_token": "r", "expires_in": 60}), now).unwrap();
        assert_eq!(tokens.expires_at, Some(Time::from_ms(1_060_000)));
        assert_eq!(tokens.refresh_token.as_deref(), Some("r"));
        let text = read(&json!({"access_token": "a", "expires_in": "60"}), now).unwrap();
        assert_eq!(text.expires_at, Some(Time::from_ms(1_060_000)));
        for end in [json!(-5), json!(0), json!(1e300), json!("soon"), json!(null), json!([1])] {
            assert_eq!(read(&json!({"access_token": "a", "expires_in": end}), now).unwrap().expires_at, None);
        }
        for bad in [
            json!({}),
            json!([]),
            json!({"access_token": ""}),
            json!({"access_token": 7}),
            json!({"access_token": "a\r\nx: y"}),
            json!({"access_token": "a".repeat(TOKEN_BYTES + 1)}),
        ] {
            assert!(read(&bad, now).is_err());
        }
    }

    #[test]
    fn credentials_are_written_as_in_a_form() {
        assert_eq!(basic("a:b", "c d"), format!("Basic {}", STANDARD.encode("a%3Ab:c+d")));
    }
}
