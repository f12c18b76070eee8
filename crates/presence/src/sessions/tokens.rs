//! The tokens a session gives out: short-lived, signed, checked by apps without asking anybody.

use std::borrow::Cow;

use latchkey_base::rng::{self, Rng};
use latchkey_base::{Code, Error, Result, Time};
use latchkey_jose::digest::{hex, sha256};
use latchkey_jose::jwk::Jwk;
use latchkey_jose::jwt;
use latchkey_kernel::App;
use latchkey_kernel::keyring::{Category, Signer};
use latchkey_kernel::recent_tokens::RecentToken;
use latchkey_organizations::memberships::model::ActiveMembership;
use latchkey_people::users::model::Entitlements;
use latchkey_web::version::Version;
use serde::Serialize;
use serde_json::{Map, Value};

use super::model::{Session, SessionStatus};
use super::organization_claims::{self, OrganizationClaim};

/// How far back a token is valid, for readers whose clocks are behind.
const SKEW_SECONDS: i64 = 10;

/// What a token depends on besides its session.
pub struct Minting<'a> {
    pub now: Time,
    /// Who vouches for it: the Frontend API of the instance.
    pub issuer: &'a str,
    /// The origin of the page that asked, if one did.
    pub origin: Option<&'a str>,
    pub lifetime_seconds: i64,
    /// The API version asked for, which decides the form of the claims.
    pub version: Version,
    /// Claims the application adds to every session token.
    pub custom: Map<String, Value>,
    /// What the user may use.
    pub entitlements: &'a Entitlements,
    /// The membership in the organization that the token is for.
    pub active: Option<&'a ActiveMembership>,
}

#[derive(Serialize)]
struct Claims<'a> {
    #[serde(flatten)]
    custom: Cow<'a, Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    act: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    azp: Option<&'a str>,
    exp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fea: Option<String>,
    fva: [i64; 2],
    iat: i64,
    iss: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    jti: Option<String>,
    nbf: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    o: Option<OrganizationClaim<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pla: Option<String>,
    sid: &'a str,
    sts: &'static str,
    sub: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    v: Option<i64>,
}

/// Mints a token for a session.
pub fn mint(session: &Session, minting: &Minting<'_>, signer: &Signer, rng: &dyn Rng) -> Result<String> {
    claims(session, minting).signed(minting, signer, rng)
}

/// The token of a session that comes along with its client: one signed a moment ago, if it says the same. Backends
/// refuse a token that is older than the last change of the client, so that is part of it.
pub fn mint_or_reuse(
    session: &Session,
    client_updated_at: Time,
    minting: &Minting<'_>,
    signer: &Signer,
    app: &App,
) -> Result<RecentToken> {
    let claims = claims(session, minting);
    let said = serde_json::to_vec(&(&*signer.kid, client_updated_at, &claims));
    let statement = sha256(&said.map_err(Error::internal)?);
    let sign = || claims.signed(minting, signer, &*app.rng);
    app.recent_tokens.get_or_sign(statement, minting.now, sign)
}

/// What a token says, but for its own times and id.
fn claims<'a>(session: &'a Session, minting: &'a Minting<'_>) -> Claims<'a> {
    let is_second_form = minting.version >= Version::V2025_04_10;
    Claims {
        custom: custom(minting, is_second_form),
        act: session.actor.as_ref(),
        azp: minting.origin,
        exp: minting.lifetime_seconds,
        fea: is_second_form.then(|| features(minting)).flatten(),
        fva: session.factor_ages(minting.now),
        iat: 0,
        iss: minting.issuer,
        jti: None,
        nbf: -SKEW_SECONDS,
        o: minting.active.filter(|_| is_second_form).map(organization_claims::second_form),
        pla: is_second_form.then(|| plans(minting)).flatten(),
        sid: session.id.as_str(),
        sts: if session.status == SessionStatus::Pending { "pending" } else { "active" },
        sub: session.user.as_str(),
        v: is_second_form.then_some(2),
    }
}

impl Claims<'_> {
    fn signed(mut self, minting: &Minting<'_>, signer: &Signer, rng: &dyn Rng) -> Result<String> {
        let now = minting.now.seconds();
        self.iat += now;
        self.exp += now;
        self.nbf += now;
        self.jti = self.v.map(|_| token_id(rng));
        signer.sign(Category::Session, &self)
    }
}

/// The claims the application adds, in tokens of the first form with those about the organization, which nothing else
/// may be taken for.
fn custom<'a>(minting: &'a Minting<'_>, is_second_form: bool) -> Cow<'a, Map<String, Value>> {
    let Some(active) = minting.active.filter(|_| !is_second_form) else {
        return Cow::Borrowed(&minting.custom);
    };
    let mut claims = minting.custom.clone();
    claims.extend(organization_claims::first_form(active));
    Cow::Owned(claims)
}

/// Features as tokens list them, each with whose it is. Those of the organization come first: the numbers in its claim
/// belong to features by their place, and some SDKs count all of them, others only those of the organization.
fn features(minting: &Minting<'_>) -> Option<String> {
    let organization = minting.active.map(organization_claims::features).unwrap_or_default();
    let organization = organization.into_iter().map(|slug| format!("o:{slug}"));
    let user = minting.entitlements.features.iter().map(|slug| format!("u:{slug}"));
    let named: Vec<String> = organization.chain(user).collect();
    (!named.is_empty()).then(|| named.join(","))
}

/// The plans of the organization and of the user, the same way.
fn plans(minting: &Minting<'_>) -> Option<String> {
    let organization = minting.active.and_then(|active| active.organization.entitlements.plan.as_ref());
    let organization = organization.map(|plan| format!("o:{plan}"));
    let user = minting.entitlements.plan.as_ref().map(|plan| format!("u:{plan}"));
    let named: Vec<String> = organization.into_iter().chain(user).collect();
    (!named.is_empty()).then(|| named.join(","))
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
