//! Signing in and up by an account at another provider: where the browser is sent, and what is kept until it is back.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::BoxFuture;
use latchkey_base::kinds::SessionId;
use latchkey_base::{Code, Error, Result, rng};
use latchkey_db::Tx;
use latchkey_door::redirects;
use latchkey_door::visitor::Visitor;
use latchkey_flows::strategies::{
    FirstFactor, ProofPurpose, ProofRequest, ProofVerdict, RETURN_NONCE, ShownProof,
};
use latchkey_jose::digest::constant_time_eq;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::links::digest;
use latchkey_people::challenges::model::{Challenge, Newcomer};
use latchkey_people::users::model::User;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use url::{ParseError, Url};

use super::connecting;
use super::protocol::{self, AuthorizeRequest, Connection, PendingVisit};
use super::providers::profiles;
use super::verdicts::{self, AccountProof};

/// How long somebody may take at the provider.
const MINUTES: i64 = 10;
/// How long a URL may be that is meant on a page.
const RELATIVE_URL_BYTES: usize = 4096;
/// What is kept of an attempt is sealed for this.
const SEALED_FOR: &str = "oauth_attempt";

/// What is kept until the browser comes back.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct KeptAttempt {
    pub(super) pending: PendingVisit,
    /// Where the provider sends the browser, as it was told.
    pub(super) redirect_uri: String,
    /// Where the browser goes if anything is left to do.
    pub(super) redirect_url: String,
    /// Where it goes if nothing is.
    pub(super) complete_url: String,
    /// Whether a native app began: it opens a browser that does not have its client.
    pub(super) is_native: bool,
    /// Whether that app shows a nonce before it goes on from signing in to signing up, or back, as clerk-js does. Other SDKs take
    /// a nonce for the end of the attempt.
    #[serde(default)]
    pub(super) shows_every_nonce: bool,
    /// The session in which somebody began to connect an account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<SessionId>,
}

/// What is asked of a provider.
pub(super) struct ProofOrder<'a> {
    /// What the answer is for: the id of the attempt, or of the user who connects an account.
    pub(super) owner: &'a str,
    pub(super) redirect_url: Option<&'a str>,
    pub(super) complete_url: Option<&'a str>,
    pub(super) additional_scopes: &'a [String],
    pub(super) login_hint: Option<&'a str>,
    pub(super) prompt: Option<&'a str>,
    /// The session of whoever connects an account.
    pub(super) session: Option<&'a SessionId>,
}

/// Begins a proof: the page of the provider, and what is kept.
pub(super) async fn begin(
    cx: &Cx,
    visitor: &Visitor,
    connection: &Connection,
    order: ProofOrder<'_>,
) -> Result<Challenge> {
    let site = &visitor.site;
    let given = |url: Option<&str>| url.filter(|url| !url.is_empty()).map(str::to_owned);
    let missing = || Error::param(Code::FormParamMissing, "redirect_url");
    let redirect_url = absolute(given(order.redirect_url).ok_or_else(missing)?, &visitor.page());
    redirects::allowed(cx, site, Some(&redirect_url)).await?;
    let complete_url = given(order.complete_url).unwrap_or_else(|| redirect_url.clone());
    let complete_url = absolute(complete_url, &redirect_url);
    redirects::allowed(cx, site, Some(&complete_url)).await?;
    let state = format!("{}.{}", order.owner, URL_SAFE_NO_PAD.encode(rng::bytes::<24>(&*cx.app.rng)));
    let redirect_uri = format!("{}/v1/oauth_callback", site.base_url);
    let request = AuthorizeRequest {
        state: &state,
        redirect_uri: &redirect_uri,
        additional_scopes: order.additional_scopes,
        login_hint: order.login_hint.filter(|hint| !hint.is_empty()),
        prompt: order.prompt.filter(|prompt| !prompt.is_empty()),
    };
    let (url, pending) = protocol::authorize(cx, connection, request).await?;
    // An app is told by an address of its own. Pages of the web have cookies by which they are known.
    let is_native = visitor.is_native && [&redirect_url, &complete_url].iter().all(|url| !is_of_web(url));
    let (session, shows_every_nonce) = (order.session.cloned(), visitor.is_clerk_js);
    let kept = KeptAttempt {
        pending,
        redirect_uri,
        redirect_url,
        complete_url,
        is_native,
        shows_every_nonce,
        session,
    };
    let details = json!({ "external_verification_redirect_url": url });
    Ok(Challenge {
        secret: Some(digest(&state)),
        sealed: Some(seal(&visitor.act(cx), &kept)?),
        expire_at: Some(cx.now.plus_ms(MINUTES * 60_000)),
        verified_at: None,
        details: details.as_object().cloned().unwrap_or_default(),
        ..Challenge::proven(connection.strategy(), cx.now)
    })
}

/// A URL as it is meant on a page: components on production instances send `/`, and mean that of the application. A longer one
/// than pages have is not read, because the name of a host may take long; it is checked as it stands.
fn absolute(url: String, page: &str) -> String {
    if url.len() > RELATIVE_URL_BYTES {
        return url;
    }
    match Url::parse(&url) {
        Err(ParseError::RelativeUrlWithoutBase) => {
            Url::parse(page).and_then(|page| page.join(&url)).map_or(url, String::from)
        }
        _ => url,
    }
}

fn is_of_web(url: &str) -> bool {
    let scheme = url.split_once(':').map(|(scheme, _)| scheme).unwrap_or_default();
    ["http", "https", ""].iter().any(|web| scheme.eq_ignore_ascii_case(web))
}

fn seal(act: &Act, kept: &KeptAttempt) -> Result<String> {
    let plain = serde_json::to_vec(kept).map_err(Error::internal)?;
    Ok(URL_SAFE_NO_PAD.encode(act.master.seal(SEALED_FOR, &plain).map_err(Error::internal)?))
}

/// What was kept for a proof that was begun.
pub(super) fn kept(act: &Act, challenge: &Challenge) -> Result<KeptAttempt> {
    let invalid = || Error::new(Code::OauthCallbackInvalid);
    let sealed = challenge.sealed.as_deref().ok_or_else(invalid)?;
    let sealed = URL_SAFE_NO_PAD.decode(sealed).map_err(Error::internal)?;
    let plain = act.master.open(SEALED_FOR, &sealed).map_err(Error::internal)?;
    serde_json::from_slice(&plain).map_err(Error::internal)
}

/// A field of a form that is a text.
pub(super) fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Whether a strategy shows a token of the provider at once, instead of sending the browser there.
pub(super) fn is_by_token(name: &str) -> bool {
    name == Strategy::ONE_TAP.name() || name.starts_with("oauth_token_")
}

/// Accounts at other providers, as first factor.
pub(super) struct ProviderAccounts;

impl FirstFactor for ProviderAccounts {
    /// To all providers, also those that are not enabled: they are told apart by what they are refused with.
    fn answers_to(&self, name: &str, _: &Settings) -> bool {
        name.starts_with("oauth_") || name == Strategy::ONE_TAP.name()
    }

    fn is_account(&self) -> bool {
        true
    }

    fn is_shown_at_once(&self, name: &str) -> bool {
        is_by_token(name)
    }

    fn asks_for_new_password(&self, proof: &Value) -> bool {
        AccountProof::read(proof).is_ok_and(|proof| proof.is_taken_over)
    }

    fn adds_way_in(&self) -> bool {
        true
    }

    fn prepare<'a>(&'a self, cx: &'a Cx, asked: ProofRequest<'a>) -> BoxFuture<'a, Result<Challenge>> {
        Box::pin(async move {
            let (visitor, fields) = (asked.visitor, asked.fields);
            let connection = authenticatable(cx, visitor, asked.strategy)?;
            let order = ProofOrder {
                owner: asked.attempt,
                redirect_url: asked.redirect_url,
                complete_url: text(fields, "action_complete_redirect_url"),
                additional_scopes: &[],
                login_hint: text(fields, "oidc_login_hint").or(asked.identifier),
                prompt: text(fields, "oidc_prompt"),
                session: None,
            };
            begin(cx, visitor, &connection, order).await
        })
    }

    fn examine<'a>(&'a self, cx: &'a Cx, shown: ShownProof<'a>) -> BoxFuture<'a, Result<ProofVerdict>> {
        Box::pin(async move {
            let act = shown.visitor.act(cx);
            match (shown.challenge, shown.challenge.and_then(|asked| asked.newcomer.clone())) {
                // Somebody who wanted to sign up, and is a user already.
                (Some(_), Some(newcomer)) if shown.purpose == ProofPurpose::Transfer => {
                    if newcomer.is_unconfirmed {
                        verdicts::of_unconfirmed(cx, &act, *newcomer).await
                    } else {
                        verdicts::acted_on(cx, &act, *newcomer).await
                    }
                }
                (Some(asked), Some(newcomer)) if is_returned(asked, shown.fields) => {
                    let confirmed = Newcomer { is_unconfirmed: false, ..*newcomer };
                    judged(cx, &act, shown.purpose, confirmed).await
                }
                _ if is_by_token(shown.strategy.name()) => by_token(cx, &act, &shown).await,
                _ => Err(Error::param(Code::VerificationStrategyInvalid, "strategy")),
            }
        })
    }

    fn confirm<'a>(
        &'a self,
        cx: &'a Cx,
        visitor: &'a Visitor,
        user: &'a User,
        nonce: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(connecting::confirm(cx, visitor, user, nonce))
    }

    fn redeem<'a>(
        &'a self,
        tx: &'a mut Tx,
        act: &'a Act,
        user: User,
        proof: &'a Value,
    ) -> BoxFuture<'a, Result<User>> {
        Box::pin(async move { AccountProof::read(proof)?.redeem(tx, act, user).await })
    }
}

/// What is shown says of somebody, for what it is shown for.
async fn judged(cx: &Cx, act: &Act, purpose: ProofPurpose, newcomer: Newcomer) -> Result<ProofVerdict> {
    match purpose {
        ProofPurpose::SignUp => Ok(ProofVerdict::Nobody(Box::new(newcomer))),
        ProofPurpose::Reverification | ProofPurpose::SecondFactor => verdicts::again(cx, act, newcomer).await,
        ProofPurpose::SignIn | ProofPurpose::Transfer => verdicts::acted_on(cx, act, newcomer).await,
    }
}

/// Whether a native app shows what its return URL said: only it knows that, and not whoever began the attempt elsewhere.
fn is_returned(asked: &Challenge, fields: &Map<String, Value>) -> bool {
    let nonce = text(fields, RETURN_NONCE).map(digest).unwrap_or_default();
    asked.secret.as_deref().is_some_and(|known| constant_time_eq(known.as_bytes(), nonce.as_bytes()))
}

/// A token that the provider gave to an app or a page.
async fn by_token(cx: &Cx, act: &Act, shown: &ShownProof<'_>) -> Result<ProofVerdict> {
    let missing = || Error::param(Code::FormParamMissing, "token");
    let token = text(shown.fields, "token").ok_or_else(missing)?;
    let name = shown.strategy.name();
    let environment = shown.visitor.site.environment;
    let (connection, mut profile) = protocol::id_token(cx, act, environment, name, token).await?;
    check_authenticatable(&connection)?;
    // Apple tells names to the app, once, and not in the token.
    let said = |param: &str| text(shown.fields, param).and_then(profiles::name);
    profile.first_name = profile.first_name.or_else(|| said("first_name"));
    profile.last_name = profile.last_name.or_else(|| said("last_name"));
    let newcomer = verdicts::newcomer(act, &connection, profile, None)?;
    match judged(cx, act, shown.purpose, newcomer).await? {
        // Pages go on to sign up by themselves.
        ProofVerdict::Nobody(_)
            if shown.strategy == Strategy::ONE_TAP && shown.purpose != ProofPurpose::SignUp =>
        {
            Ok(ProofVerdict::Refused(Error::new(Code::ExternalAccountNotFound)))
        }
        verdict => Ok(verdict),
    }
}

/// The connection of a strategy that signs people in.
pub(super) fn authenticatable(cx: &Cx, visitor: &Visitor, strategy: Strategy) -> Result<Connection> {
    let connection = protocol::find(&visitor.act(cx), visitor.site.environment, strategy.name())?;
    check_authenticatable(&connection)?;
    Ok(connection)
}

fn check_authenticatable(connection: &Connection) -> Result<()> {
    match connection.is_authenticatable() {
        true => Ok(()),
        false => Err(Error::param(Code::OauthNonAuthenticatableProvider, "strategy")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_meant_on_the_page_unless_they_are_too_long_to_read() {
        let page = "https://app.example.com/sign-in?a=b";
        let meant = |url: &str| absolute(url.to_owned(), page);
        assert_eq!(meant("/done?x=1"), "https://app.example.com/done?x=1");
        assert_eq!(meant("myapp://callback"), "myapp://callback");
        let longest = format!("/{}", "x".repeat(RELATIVE_URL_BYTES - 1));
        assert_eq!(meant(&longest), format!("https://app.example.com{longest}"));
        let longer = format!("{longest}x");
        assert_eq!(meant(&longer), longer);
    }
}
