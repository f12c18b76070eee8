//! How large the tokens of a template get.
//!
//! A token that a browser keeps must fit into a cookie. Whether it does is found out when a template is
//! saved, by making the claims of the users with the largest documents, and not when the first of them
//! cannot sign in. What people write into their own `unsafe_metadata` does not count: anybody could keep a
//! template from being saved, and whoever writes too much there spoils nobody's tokens but their own.

use latchkey_base::kinds::UserId;
use latchkey_base::{Code, Error, Problem, Result, Time};
use latchkey_kernel::limits::{JWT_RENDERED_BYTES, JWT_TOKEN_BYTES};
use latchkey_people::users::model::User;

use super::model::JwtTemplate;
use super::rules;
use super::scope::ShortcodeScope;

/// What the size of a token depends on, beside the template and the user.
#[derive(Clone, Copy)]
pub struct Measure<'a> {
    pub now: Time,
    /// Where pictures are. Stands for the issuer and the origin, too, which are about as long.
    pub api_url: &'a str,
    /// How long a signature is.
    pub signature_bytes: usize,
}

/// How many bytes the largest token has; an error when that is more than a cookie has room for.
pub fn check(template: &JwtTemplate, users: &[User], measure: Measure<'_>) -> Result<usize> {
    let least = (bytes(template, &ShortcodeScope::of_nobody(), &UserId::unset(), measure), None);
    let (largest, whose) = users.iter().fold(least, |largest, user| {
        let given = User { unsafe_metadata: Box::default(), ..user.clone() };
        let size = bytes(template, &ShortcodeScope::of(&given, measure.api_url), &user.id, measure);
        if size > largest.0 { (size, Some(&user.id)) } else { largest }
    });
    if largest <= JWT_TOKEN_BYTES {
        return Ok(largest);
    }
    let problem = Problem::of(Code::FormParamExceedsAllowedSize, "claims").with("token_bytes", largest);
    let room = format!("A cookie has room for {JWT_TOKEN_BYTES}.");
    let problem = match whose {
        None => problem.saying(format!("Every token would have {largest} bytes or more. {room}")),
        Some(user) => problem.with("user_id", user.as_str()).saying(format!(
            "The token of user {user} would have {largest} bytes or more. {room} Refer to single fields of \
             metadata rather than to all of it."
        )),
    };
    Err(Error::from(problem))
}

/// How many bytes a token has. Claims too large to be made count as large as they may be.
fn bytes(template: &JwtTemplate, scope: &ShortcodeScope<'_>, sub: &UserId, measure: Measure<'_>) -> usize {
    let Measure { now, api_url, signature_bytes } = measure;
    let jti = "0".repeat(20);
    let claims = rules::claims(template, scope, now, api_url, sub, Some(api_url), jti);
    let claims = claims.map_or(JWT_RENDERED_BYTES, |claims| serde_json::json!(claims).to_string().len());
    let kid = (!template.signing.is_custom()).then(|| template.instance.as_str());
    let header = rules::header(template, kid).to_string().len();
    [header, claims, signature_bytes].into_iter().map(encoded).sum::<usize>() + 2
}

/// How many letters of base64url so many bytes take.
fn encoded(bytes: usize) -> usize {
    (bytes * 4).div_ceil(3)
}

#[cfg(test)]
mod tests {
    use latchkey_jose::custom::{Algorithm, CustomKey};
    use latchkey_jose::rsa::SigningKey;
    use serde_json::{Value, json};

    use super::super::model::Signing;
    use super::super::rules::TemplateSigner;
    use super::super::tests::{API_URL, NOW, template, user};
    use super::*;

    const MEASURE: Measure<'_> = Measure { now: NOW, api_url: API_URL, signature_bytes: 256 };

    fn metadata(bytes: usize) -> User {
        user(json!({"public_metadata": {"a": "x".repeat(bytes)}}))
    }

    fn refusal(claims: Value, users: &[User]) -> Problem {
        check(&template(claims), users, MEASURE).unwrap_err().problems()[0].clone()
    }

    #[test]
    fn the_size_is_that_of_the_signed_token() {
        let template = template(json!({"name": "{{user.public_metadata}}", "aud": "ü"}));
        let large = metadata(500);
        let scope = ShortcodeScope::of(&large, API_URL);
        let jti = "0".repeat(20);
        let claims = rules::claims(&template, &scope, NOW, API_URL, &large.id, Some(API_URL), jti).unwrap();
        let key = SigningKey::generate().unwrap();
        let signed =
            rules::sign(&template, TemplateSigner::Instance(&key, template.instance.as_str()), &claims)
                .unwrap();
        assert_eq!(check(&template, &[metadata(1), large], MEASURE).unwrap(), signed.len());

        let secret = CustomKey::parse(Algorithm::Hs384, &"s".repeat(48)).unwrap();
        let signing = Signing::Custom { algorithm: Algorithm::Hs384, key_sealed: Vec::new() };
        let template = JwtTemplate { signing, ..template };
        let signed = rules::sign(&template, TemplateSigner::Template(&secret), &claims).unwrap();
        let measure = Measure { signature_bytes: secret.signature_bytes(), ..MEASURE };
        assert_eq!(check(&template, &[metadata(500)], measure).unwrap(), signed.len());
    }

    #[test]
    fn the_user_whose_token_fits_no_cookie_is_named() {
        let claims = json!({"all": "{{user.public_metadata}}"});
        assert!(check(&template(claims.clone()), &[metadata(10), metadata(1000)], MEASURE).is_ok());
        let problem = refusal(claims, &[metadata(10), metadata(8000), metadata(10)]);
        assert_eq!(problem.code, Code::FormParamExceedsAllowedSize);
        assert_eq!(problem.meta["user_id"], json!(metadata(1).id));
        assert!(problem.meta["token_bytes"].as_u64().unwrap() > 10_000, "{problem:?}");
        assert!(problem.detail.unwrap().contains(metadata(1).id.as_str()));
        // What people say themselves keeps nobody from saving a template.
        let claims = json!({"theme": "{{user.unsafe_metadata.theme}}"});
        let own = user(json!({"unsafe_metadata": {"theme": "x".repeat(8000)}}));
        assert!(check(&template(claims), &[own], MEASURE).is_ok());
        // What the template does not refer to costs nothing.
        let claims = json!({"plan": "{{user.public_metadata.plan}}"});
        assert!(check(&template(claims), &[metadata(8000)], MEASURE).is_ok());
    }

    #[test]
    fn claims_that_never_fit_are_refused_without_any_user() {
        let problem = refusal(json!({"text": "x".repeat(4000)}), &[]);
        assert_eq!(problem.code, Code::FormParamExceedsAllowedSize);
        assert_eq!(problem.meta.get("user_id"), None);
    }

    #[test]
    fn claims_that_cannot_be_made_count_as_too_large() {
        let claims = json!({"text": "{{user.public_metadata}}".repeat(100)});
        assert_eq!(refusal(claims, &[metadata(8000)]).meta["user_id"], json!(metadata(1).id));
    }
}
