//! ID tokens: whether one is from the provider, for this application, and still good.
//!
//! They come with the answer of a provider, or from a page or app that got one by itself (`google_one_tap`,
//! `oauth_token_apple`).

use std::fmt;

use latchkey_base::{Code, Error, Result, Time};
use latchkey_jose::foreign::{self, TokenHead};
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::environment::Environment;
use latchkey_kernel::strategy::Strategy;
use serde_json::Value;

use super::connection::provider_of_tokens;
use super::exchange::check_hosted_domain;
use super::{Caller, Connection, Profile, caller, endpoints, find, in_time, is_issuer, jwks};
use crate::social::providers::ProviderAnswers;

/// Clocks differ.
const LEEWAY_SECONDS: i64 = 60;
const AHEAD_SECONDS: i64 = 5 * 60;
/// The longest token that is looked at.
const TOKEN_BYTES: usize = 32 * 1024;

/// What a token must say.
pub(super) struct Expected<'a> {
    /// Where the keys are.
    pub(super) jwks: &'a str,
    pub(super) issuer: &'a str,
    /// For whom it may be.
    pub(super) audiences: &'a [String],
    pub(super) nonce: Option<&'a str>,
}

/// Why a token is refused; for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenFault {
    Malformed,
    Signature,
    NoKeys,
    Issuer,
    Audience,
    Expired,
    Early,
    Nonce,
    Subject,
}

impl fmt::Display for TokenFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            TokenFault::Malformed => "it cannot be read",
            TokenFault::Signature => "no key of the provider signed it",
            TokenFault::NoKeys => "the keys of the provider cannot be read",
            TokenFault::Issuer => "it is from somebody else",
            TokenFault::Audience => "it is for another application",
            TokenFault::Expired => "it has expired",
            TokenFault::Early => "it is from the future",
            TokenFault::Nonce => "it belongs to another sign-in",
            TokenFault::Subject => "it does not say about whom it is",
        })
    }
}

/// Who somebody is by an ID token that a page or an app brings: the provider of the account, and what the token says.
pub async fn id_token(
    cx: &Cx,
    act: &Act,
    environment: Environment,
    strategy: &str,
    token: &str,
) -> Result<(Connection, Profile)> {
    let key = provider_of_tokens(strategy).ok_or_else(|| Error::new(Code::OauthUnsupportedProvider))?;
    let connection = find(act, environment, &format!("oauth_{key}"))?;
    let invalid = || match strategy == Strategy::ONE_TAP.name() {
        true => Error::new(Code::GoogleOneTapTokenInvalid),
        false => Error::param(Code::FormParamValueInvalid, "token"),
    };
    let late = || {
        tracing::warn!("{} took too long", connection.key);
        invalid()
    };
    let work = async {
        let endpoints = endpoints(cx, &connection).await?;
        let (Some(jwks), Some(issuer)) = (&endpoints.jwks, &endpoints.issuer) else {
            return Err(Error::new(Code::OauthUnsupportedProvider));
        };
        let mut audiences = vec![connection.client_id.clone()];
        audiences.extend(connection.settings.more_client_ids.iter().cloned());
        let expected = Expected { jwks, issuer, audiences: &audiences, nonce: None };
        let caller = caller(cx, &connection);
        verified(cx, &connection, &caller, expected, token).await.map_err(|why| {
            tracing::info!("an ID token for {} is refused: {why}", connection.key);
            invalid()
        })
    };
    let claims = in_time(work, late).await?;
    check_hosted_domain(&connection, &claims)?;
    let nothing = &Value::Null;
    let said =
        ProviderAnswers { token: nothing, claims: &claims, user: nothing, emails: nothing, form: nothing };
    let mut profile = connection.profile(&said).ok_or_else(invalid)?;
    profile.approved_scopes = String::new();
    Ok((connection, profile))
}

/// The claims of a token, once everything about it was found right.
pub(super) async fn verified(
    cx: &Cx,
    connection: &Connection,
    caller: &Caller<'_>,
    expected: Expected<'_>,
    token: &str,
) -> Result<Value, TokenFault> {
    if token.len() > TOKEN_BYTES {
        return Err(TokenFault::Malformed);
    }
    let head = TokenHead::read(token).map_err(|_| TokenFault::Malformed)?;
    let is_shared = connection.row.id_token.is_some_and(|rules| rules.by_shared_secret);
    let claims = match (head.algorithm(), is_shared) {
        ("HS256", true) => foreign::verify_shared(connection.secret.expose().as_bytes(), token),
        _ => {
            let keys = jwks::keys(cx, caller, expected.jwks, head.kid()).await;
            let claims = foreign::verify(&*keys.map_err(|_| TokenFault::NoKeys)?, token);
            match claims {
                // The provider may have another key of the same name by now.
                Err(_) => match jwks::newer(cx, caller, expected.jwks).await {
                    Ok(Some(keys)) => foreign::verify(&keys, token),
                    _ => claims,
                },
                Ok(_) => claims,
            }
        }
    };
    let claims = claims.map_err(|_| TokenFault::Signature)?;
    let other = connection.row.id_token.and_then(|rules| rules.other_issuer);
    check(&claims, &expected, other, cx.now)?;
    Ok(claims)
}

/// OpenID Connect Core, section 3.1.3.7.
fn check(
    claims: &Value,
    expected: &Expected<'_>,
    other_issuer: Option<&str>,
    now: Time,
) -> Result<(), TokenFault> {
    let issuer = claims["iss"].as_str().unwrap_or_default();
    let has_tenant = expected.issuer.contains("{tenantid}");
    let tenant = has_tenant.then(|| claims["tid"].as_str().unwrap_or_default());
    let is_issuer = is_issuer(expected.issuer, issuer, tenant) || Some(issuer) == other_issuer;
    let is_nonce = match expected.nonce {
        Some(nonce) => claims["nonce"].as_str() == Some(nonce),
        None => true,
    };
    let seconds = |name: &str| claims[name].as_f64();
    let now = now.seconds() as f64;
    let rules = [
        (is_issuer, TokenFault::Issuer),
        (is_for(claims, expected.audiences), TokenFault::Audience),
        (seconds("exp").is_some_and(|exp| exp + LEEWAY_SECONDS as f64 > now), TokenFault::Expired),
        (seconds("iat").is_none_or(|iat| iat < now + AHEAD_SECONDS as f64), TokenFault::Early),
        (seconds("nbf").is_none_or(|nbf| nbf < now + AHEAD_SECONDS as f64), TokenFault::Early),
        (is_nonce, TokenFault::Nonce),
        (claims["sub"].as_str().is_some_and(|sub| !sub.is_empty()), TokenFault::Subject),
    ];
    rules.into_iter().find(|(is_right, _)| !is_right).map_or(Ok(()), |(_, fault)| Err(fault))
}

/// Whether a token is for one of these. One that is for several must say which of them asked for it.
fn is_for(claims: &Value, audiences: &[String]) -> bool {
    let is_ours = |value: &Value| value.as_str().is_some_and(|text| audiences.iter().any(|own| own == text));
    match &claims["aud"] {
        Value::Array(list) if list.len() == 1 => is_ours(&list[0]),
        Value::Array(list) => list.iter().any(is_ours) && is_ours(&claims["azp"]),
        one => is_ours(one),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Time = Time::from_ms(1_767_225_600_000);

    fn fault(change: Value) -> Option<TokenFault> {
        let now = NOW.seconds();
        let mut claims = json!({"iss": "https://a.example", "aud": "me", "sub": "1", "exp": now + 60, "iat": now, "nonce": "n"});
        for (name, value) in change.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let audiences = ["me".to_owned(), "my-app".to_owned()];
        let expected =
            Expected { jwks: "", issuer: "https://a.example", audiences: &audiences, nonce: Some("n") };
        check(&claims, &expected, Some("a.example"), NOW).err()
    }

    #[test]
    fn every_claim_must_be_right() {
        let now = NOW.seconds();
        for good in [
            json!({}),
            json!({"iss": "a.example"}),
            json!({"aud": ["me"]}),
            json!({"aud": "my-app"}),
            json!({"aud": ["me", "other"], "azp": "me"}),
            json!({"exp": now - 30}),
            json!({"iat": now + 200}),
        ] {
            assert_eq!(fault(good.clone()), None, "{good}");
        }
        for (bad, expected) in [
            (json!({"iss": "https://b.example"}), TokenFault::Issuer),
            (json!({"iss": null}), TokenFault::Issuer),
            (json!({"iss": ["https://a.example"]}), TokenFault::Issuer),
            (json!({"aud": "other"}), TokenFault::Audience),
            (json!({"aud": "other", "azp": "me"}), TokenFault::Audience),
            (json!({"aud": ["me", "other"]}), TokenFault::Audience),
            (json!({"aud": ["me", "other"], "azp": "other"}), TokenFault::Audience),
            (json!({"aud": []}), TokenFault::Audience),
            (json!({"aud": null}), TokenFault::Audience),
            (json!({"aud": {"me": "me"}}), TokenFault::Audience),
            (json!({"exp": now - 90}), TokenFault::Expired),
            (json!({"exp": null}), TokenFault::Expired),
            (json!({"exp": "9999999999"}), TokenFault::Expired),
            (json!({"iat": now + 900}), TokenFault::Early),
            (json!({"nbf": now + 900}), TokenFault::Early),
            (json!({"nonce": "other"}), TokenFault::Nonce),
            (json!({"nonce": null}), TokenFault::Nonce),
            (json!({"sub": ""}), TokenFault::Subject),
            (json!({"sub": 7}), TokenFault::Subject),
        ] {
            assert_eq!(fault(bad.clone()), Some(expected), "{bad}");
        }
    }
}
