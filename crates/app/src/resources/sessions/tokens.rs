//! The tokens a session gives out: short-lived, signed, checked by apps without asking anybody.

use latchkey_base::rng::{self, Rng};
use latchkey_base::{Code, Error, Result, Time};
use latchkey_jose::digest::hex;
use latchkey_jose::jwk::Jwk;
use latchkey_jose::jwt;
use latchkey_web::version::Version;
use serde::Serialize;
use serde_json::{Map, Value};

use super::model::{Session, Status};
use crate::keyring::{Category, Signer};

/// How far back a token is valid, for readers whose clocks are behind.
const SKEW_SECONDS: i64 = 10;

/// What a token depends on besides its session.
pub struct Minting<'a> {
    /// When.
    pub now: Time,
    /// Who vouches for it: the Frontend API of the instance.
    pub issuer: &'a str,
    /// The origin of the page that asked, if one did.
    pub origin: Option<&'a str>,
    /// How long it is good for.
    pub lifetime_seconds: i64,
    /// The API version asked for, which decides the form of the claims.
    pub version: Version,
    /// Claims the application adds to every session token.
    pub custom: Map<String, Value>,
}

#[derive(Serialize)]
struct Claims<'a> {
    #[serde(flatten)]
    custom: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    act: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    azp: Option<&'a str>,
    exp: i64,
    fva: [i64; 2],
    iat: i64,
    iss: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    jti: Option<String>,
    nbf: i64,
    sid: &'a str,
    sts: &'static str,
    sub: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    v: Option<i64>,
}

/// Mints a token for a session.
pub fn mint(session: &Session, minting: &Minting<'_>, signer: &Signer, rng: &dyn Rng) -> Result<String> {
    let iat = minting.now.seconds();
    let is_second_form = minting.version >= Version::V2025_04_10;
    let claims = Claims {
        custom: &minting.custom,
        act: session.actor.as_ref(),
        azp: minting.origin,
        exp: iat + minting.lifetime_seconds,
        fva: session.factor_ages(minting.now),
        iat,
        iss: minting.issuer,
        jti: is_second_form.then(|| token_id(rng)),
        nbf: iat - SKEW_SECONDS,
        sid: session.id.as_str(),
        sts: if session.status == Status::Pending { "pending" } else { "active" },
        sub: session.user.as_str(),
        v: is_second_form.then_some(2),
    };
    signer.sign(Category::Session, &claims)
}

/// The id of a token: 20 hexadecimal digits.
pub fn token_id(rng: &dyn Rng) -> String {
    hex(&rng::bytes::<10>(rng))
}

/// Checks that a token is one of this session and good at the moment.
pub fn check(session: &Session, token: &str, keys: &[Jwk], now: Time) -> Result<()> {
    let invalid = || Error::new(Code::InvalidSessionToken);
    let verified = jwt::verify(keys, token).map_err(|_| invalid())?;
    let seconds = |claim: &str| verified.claims[claim].as_i64();
    let is_current = seconds("exp").is_some_and(|exp| exp > now.seconds())
        && seconds("nbf").is_some_and(|nbf| nbf <= now.seconds());
    let is_own = Category::Session.is_of(&verified.header) && verified.claims["sid"] == session.id.as_str();
    match is_own && is_current {
        true => Ok(()),
        false => Err(invalid()),
    }
}
