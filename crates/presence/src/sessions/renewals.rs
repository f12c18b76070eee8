//! Which expired tokens a backend may have renewed. Every refusal has a code of its own, and tells the
//! backend to send the browser through a handshake instead.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_jose::digest::{constant_time_eq, hmac_sha256, sha256};
use latchkey_jose::jwk::Jwk;
use latchkey_jose::jwt::{self, Verified};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::keyring::Category;
use latchkey_kernel::limits::RENEWAL_MS;
use latchkey_kernel::origins::origin;
use serde_json::Value;

use super::model::Session;

/// An expired token of a session that was told to be renewed for the same app.
#[derive(Debug, PartialEq)]
pub struct Renewal {
    /// Tells the token from others; it is renewed once.
    pub digest: [u8; 32],
    /// When the token has become too old anyway.
    pub too_old_at: Time,
    /// Who vouched for it: each domain of an instance has its own name.
    pub issuer: String,
}

/// What a backend asks for.
pub struct Request<'a> {
    /// The session in the path.
    pub session: &'a str,
    /// The token that has expired.
    pub token: &'a str,
    /// The origin of the app.
    pub origin: &'a str,
}

/// Checks all that can be told from the token.
pub fn check(request: &Request<'_>, keys: &[Jwk], now: Time) -> Result<Renewal> {
    if origin(request.origin) != Some(request.origin) {
        return Err(refusal(Code::RefreshRequestOriginInvalid));
    }
    let verified = jwt::verify(keys, request.token).map_err(|_| refusal(Code::ExpiredSessionTokenInvalid))?;
    if !Category::Session.is_of(&verified.header) {
        return Err(refusal(Code::SessionRefreshSessionTokenIneligible));
    }
    let session = text(&verified, "sid").ok_or_else(|| refusal(Code::ExpiredSessionTokenMissingSid))?;
    let app = text(&verified, "azp").ok_or_else(|| refusal(Code::ExpiredSessionTokenMissingAzp))?;
    number(&verified, "iat").ok_or_else(|| refusal(Code::SessionRefreshExpiredSessionTokenMissingIat))?;
    let ended = number(&verified, "exp").ok_or_else(|| refusal(Code::ExpiredSessionTokenInvalid))?;
    if session != request.session {
        return Err(refusal(Code::RefreshSidMismatch));
    }
    if app != request.origin {
        return Err(refusal(Code::RefreshRequestOriginAzpMismatch));
    }
    let issuer = text(&verified, "iss").unwrap_or_default().to_owned();
    let too_old_at = Time::from_ms(ended.saturating_mul(1000)).plus_ms(RENEWAL_MS);
    match too_old_at <= now {
        true => Err(refusal(Code::SessionRefreshExpiredSessionTokenTooOld)),
        false => Ok(Renewal { digest: sha256(request.token.as_bytes()), too_old_at, issuer }),
    }
}

/// Checks the session: it must still count, and the backend must show the secret its app has for it.
pub fn check_session(session: &Session, shown: &Secret, expected: &Secret, now: Time) -> Result<()> {
    if !session.is_live(now) {
        return Err(refusal(Code::SessionRefreshInactiveSession));
    }
    match constant_time_eq(expected.expose().as_bytes(), shown.expose().as_bytes()) {
        true => Ok(()),
        false => Err(refusal(Code::RefreshTokenNotFound)),
    }
}

/// The secret that lets the backend of the app at an origin renew tokens of a session. Every app has its own, and
/// keeps it as long as the session lasts: a handshake for one takes nothing from another.
pub fn secret(master: &MasterKey, session: &Session, origin: &str) -> Secret {
    let key = master.derive(&format!("session refresh:{}", session.instance));
    let made_from = [session.id.as_str().as_bytes(), &[0], origin.as_bytes()].concat();
    Secret::new(URL_SAFE_NO_PAD.encode(hmac_sha256(&key, &made_from)))
}

fn text<'a>(verified: &'a Verified, claim: &str) -> Option<&'a str> {
    verified.claims.get(claim).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn number(verified: &Verified, claim: &str) -> Option<i64> {
    verified.claims.get(claim).and_then(Value::as_i64)
}

fn refusal(code: Code) -> Error {
    Error::new(code)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, OnceLock};

    use latchkey_jose::rsa::SigningKey;
    use latchkey_kernel::keyring::Signer;
    use serde_json::json;

    use super::*;

    const NOW: Time = Time::from_ms(1_000_000_000);
    const SESSION: &str = "sess_1";
    const ORIGIN: &str = "https://app.example.com";

    fn signer() -> Signer {
        static KEY: OnceLock<Arc<SigningKey>> = OnceLock::new();
        let key = KEY.get_or_init(|| Arc::new(SigningKey::generate().unwrap()));
        Signer { kid: "ins_1".into(), key: key.clone() }
    }

    fn claims() -> Value {
        json!({"sid": SESSION, "azp": ORIGIN, "iat": 999_900, "exp": 999_960})
    }

    fn tried(token: &str, session: &str, origin: &str, now: Time) -> Option<Code> {
        let keys = [signer().key.public_jwk("ins_1")];
        check(&Request { session, token, origin }, &keys, now).err().map(|error| error.code())
    }

    fn refused(claims: &Value) -> Option<Code> {
        tried(&signer().sign(Category::Session, claims).unwrap(), SESSION, ORIGIN, NOW)
    }

    #[test]
    fn an_expired_token_of_the_session_and_the_app_is_renewed() {
        assert_eq!(refused(&claims()), None);
    }

    #[test]
    fn each_claim_is_needed_and_must_fit() {
        let without = |claim: &str| {
            let mut claims = claims();
            claims.as_object_mut().unwrap().remove(claim);
            refused(&claims)
        };
        assert_eq!(without("sid"), Some(Code::ExpiredSessionTokenMissingSid));
        assert_eq!(without("azp"), Some(Code::ExpiredSessionTokenMissingAzp));
        assert_eq!(without("iat"), Some(Code::SessionRefreshExpiredSessionTokenMissingIat));
        assert_eq!(without("exp"), Some(Code::ExpiredSessionTokenInvalid));
        let token = signer().sign(Category::Session, &claims()).unwrap();
        assert_eq!(tried(&token, "sess_2", ORIGIN, NOW), Some(Code::RefreshSidMismatch));
        let other = "https://other.example.com";
        assert_eq!(tried(&token, SESSION, other, NOW), Some(Code::RefreshRequestOriginAzpMismatch));
        for origin in ["", "app.example.com", "https://app.example.com/", "javascript:1", "https://a@b"] {
            assert_eq!(tried(&token, SESSION, origin, NOW), Some(Code::RefreshRequestOriginInvalid));
        }
        let late = Time::from_ms(999_960_000).plus_ms(RENEWAL_MS);
        assert_eq!(tried(&token, SESSION, ORIGIN, late.plus_ms(-1)), None);
        assert_eq!(tried(&token, SESSION, ORIGIN, late), Some(Code::SessionRefreshExpiredSessionTokenTooOld));
    }

    #[test]
    fn tokens_of_another_class_or_key_are_not_renewed() {
        let template = signer().sign(Category::Template, &claims()).unwrap();
        let plain = signer().sign_plain(&claims()).unwrap();
        for token in [template, plain] {
            let expected = Some(Code::SessionRefreshSessionTokenIneligible);
            assert_eq!(tried(&token, SESSION, ORIGIN, NOW), expected);
        }
        let stranger = Signer { kid: "ins_1".into(), key: Arc::new(SigningKey::generate().unwrap()) };
        let forged = stranger.sign(Category::Session, &claims()).unwrap();
        for token in [forged.as_str(), "", "a.b.c"] {
            assert_eq!(tried(token, SESSION, ORIGIN, NOW), Some(Code::ExpiredSessionTokenInvalid));
        }
    }
}
