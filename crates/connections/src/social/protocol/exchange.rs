//! Learning who somebody is who comes back from a provider.

use latchkey_base::{Code, Error, Result};
use latchkey_jose::digest::{hex, hmac_sha256};
use latchkey_kernel::cx::Cx;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::http::{CallFailure, Caller, Payload};
use super::id_tokens::{self, Expected};
use super::{
    Connection, Endpoints, Granted, PendingVisit, Profile, ProviderTokens, caller, discovery, in_time,
    is_issuer, tokens,
};
use crate::social::mock;
use crate::social::providers::{ProviderAnswers, UserSource};

/// Words by which providers say that somebody did not want to.
const DENIALS: [&str; 5] =
    ["access_denied", "user_denied", "user_cancelled_login", "user_cancelled_authorize", "user_cancelled"];
/// The longest code; Apple's and Microsoft's are long.
const CODE_BYTES: usize = 8 * 1024;
/// Apple's field with the name.
const FORM_BYTES: usize = 8 * 1024;

/// What somebody comes back with. Anybody can write it.
#[derive(Clone, Default)]
pub struct CallbackParams {
    pub code: Option<String>,
    pub error: Option<String>,
    /// Who says so (RFC 9207).
    pub iss: Option<String>,
    pub scope: Option<String>,
    /// Apple's field with the name, as JSON.
    pub user: Option<String>,
}

/// Exchanges the code for tokens and asks who somebody is.
pub async fn exchange(
    cx: &Cx,
    connection: &Connection,
    pending: &PendingVisit,
    params: &CallbackParams,
    redirect_uri: &str,
) -> Result<Granted> {
    if pending.version != connection.version() {
        return Err(Error::new(Code::OauthTokenExchangeError)
            .saying("The configuration of the provider has changed meanwhile. Begin again."));
    }
    check_origin(pending, params)?;
    let code = code(params)?;
    if connection.is_mock() {
        let (profile, tokens) = mock::granted(cx, &pending.state_digest, &pending.scopes, code)?;
        return Ok(Granted { profile, tokens });
    }
    let late = || {
        tracing::warn!("{} took too long", connection.key);
        Error::new(Code::OauthTokenExchangeError)
    };
    let visit = Visit { cx, connection, endpoints: &pending.endpoints, caller: caller(cx, connection) };
    in_time(visit.granted(pending, params, code, redirect_uri), late).await
}

/// New tokens for old ones. What the provider does not renew stays.
pub async fn refresh(cx: &Cx, connection: &Connection, old: &ProviderTokens) -> Result<ProviderTokens> {
    let missing = || Error::new(Code::OauthMissingRefreshToken);
    if !connection.row.has_refresh {
        return Err(missing());
    }
    let refresh_token = old.refresh_token.clone().ok_or_else(missing)?;
    let late = || Error::new(Code::OauthTokenExchangeError);
    in_time(
        async {
            let endpoints = discovery::endpoints(cx, connection).await?;
            let caller = caller(cx, connection);
            let fields = vec![("grant_type", "refresh_token".to_owned()), ("refresh_token", refresh_token)];
            let answer = tokens::request(&caller, connection, &endpoints, fields, cx.now).await?;
            Ok(tokens::read(&answer, cx.now)?.instead_of(old.clone()))
        },
        late,
    )
    .await
}

/// Refuses an answer of another provider than the one that was asked: a code of an honest one must not be given to
/// another (RFC 9207, mix-up).
fn check_origin(pending: &PendingVisit, params: &CallbackParams) -> Result<()> {
    let Some(said) = &params.iss else { return Ok(()) };
    let is_right = match &pending.endpoints.issuer {
        Some(issuer) => is_issuer(issuer, said, None),
        None => url::Url::parse(said)
            .is_ok_and(|url| url.origin().ascii_serialization() == pending.endpoints.origin),
    };
    match is_right {
        true => Ok(()),
        false => Err(Error::new(Code::OauthCallbackInvalid)
            .saying("The answer is from another provider than the one that was asked.")),
    }
}

/// The code, unless the provider says why there is none.
fn code(params: &CallbackParams) -> Result<&str> {
    match (params.error.as_deref(), params.code.as_deref()) {
        (Some(error), _) if DENIALS.contains(&error) => Err(Error::new(Code::OauthAccessDenied)),
        (Some("invalid_client" | "unauthorized_client" | "redirect_uri_mismatch" | "invalid_scope"), _) => {
            Err(Error::new(Code::MisconfiguredOauthProvider))
        }
        (Some(_), _) | (None, None | Some("")) => Err(Error::new(Code::OauthTokenExchangeError)),
        (None, Some(code)) if code.len() > CODE_BYTES => Err(Error::new(Code::OauthTokenExchangeError)),
        (None, Some(code)) => Ok(code),
    }
}

/// One visit of somebody at a provider.
struct Visit<'a> {
    cx: &'a Cx,
    connection: &'a Connection,
    endpoints: &'a Endpoints,
    caller: Caller<'a>,
}

impl Visit<'_> {
    async fn granted(
        &self,
        pending: &PendingVisit,
        params: &CallbackParams,
        code: &str,
        redirect_uri: &str,
    ) -> Result<Granted> {
        let mut fields = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.to_owned()),
            ("redirect_uri", redirect_uri.to_owned()),
        ];
        fields.extend(pending.verifier.clone().map(|verifier| ("code_verifier", verifier)));
        let now = self.cx.now;
        let answer = tokens::request(&self.caller, self.connection, self.endpoints, fields, now).await?;
        let tokens = tokens::read(&answer, now)?;
        let claims = self.claims(pending, &tokens).await?;
        let form = params.user.as_deref().filter(|text| text.len() <= FORM_BYTES);
        let form = form.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null);
        let (user, emails) = self.user(&tokens).await?;
        let said =
            ProviderAnswers { token: &answer, claims: &claims, user: &user, emails: &emails, form: &form };
        let mut profile = self.profile(&said)?;
        profile.approved_scopes = tokens::scopes(&answer, params.scope.as_deref(), &pending.scopes);
        Ok(Granted { profile, tokens })
    }

    /// The claims of the ID token, checked; null where there is none and none is needed.
    async fn claims(&self, pending: &PendingVisit, tokens: &ProviderTokens) -> Result<Value> {
        let (Some(jwks), Some(issuer)) = (&self.endpoints.jwks, &self.endpoints.issuer) else {
            return Ok(Value::Null);
        };
        let Some(token) = &tokens.id_token else {
            // One that says elsewhere who somebody is may leave it out, if it was not asked to speak OpenID Connect.
            let is_asked = pending.scopes.iter().any(|scope| scope == "openid");
            return match self.endpoints.user.is_some() && !is_asked {
                true => Ok(Value::Null),
                false => Err(Error::new(Code::OauthFetchUserError)),
            };
        };
        let expected = Expected {
            jwks,
            issuer,
            audiences: std::slice::from_ref(&self.connection.client_id),
            nonce: pending.nonce.as_deref(),
        };
        let claims = id_tokens::verified(self.cx, self.connection, &self.caller, expected, token).await;
        claims.map_err(|why| {
            tracing::warn!("the ID token of {} is refused: {why}", self.connection.key);
            Error::new(Code::OauthFetchUserError)
        })
    }

    /// What the provider says about somebody, and about their addresses.
    async fn user(&self, tokens: &ProviderTokens) -> Result<(Value, Value)> {
        let token = tokens.access_token.as_deref().unwrap_or_default();
        let source = if self.connection.is_custom() { None } else { Some(self.connection.row.user) };
        let Some(url) = &self.endpoints.user else { return Ok((Value::Null, Value::Null)) };
        let user = match source {
            Some(UserSource::Post(_)) => self.caller.post(url, self.headers(token), Payload::None).await,
            Some(UserSource::GraphQl(_, query)) => {
                self.caller.post(url, self.headers(token), Payload::Json(json!({ "query": query }))).await
            }
            Some(UserSource::TokenInPath(_)) => {
                let escaped: String = form_urlencoded::byte_serialize(token.as_bytes()).collect();
                self.caller.get(&format!("{url}{escaped}"), Vec::new()).await
            }
            Some(UserSource::GetWithProof(_)) => {
                let proof = hex(&hmac_sha256(self.connection.secret.expose().as_bytes(), token.as_bytes()));
                let url = format!("{url}&appsecret_proof={proof}");
                self.caller.get(&url, self.headers(token)).await
            }
            _ => self.caller.get(url, self.headers(token)).await,
        };
        let user = user.map_err(|failure| self.unknown(&failure))?;
        let emails = match &self.endpoints.emails {
            Some(url) => self.caller.get(url, self.headers(token)).await,
            None => Ok(Value::Null),
        };
        // An application that may not read addresses still learns who somebody is.
        let emails = match emails {
            Err(CallFailure::Refused(403 | 404, _)) => Value::Null,
            emails => emails.map_err(|failure| self.unknown(&failure))?,
        };
        Ok((user, emails))
    }

    fn headers(&self, token: &str) -> Vec<(&'static str, String)> {
        let own = self.connection.row.headers.iter().map(|(name, value)| (*name, (*value).to_owned()));
        own.chain([("authorization", format!("Bearer {token}"))]).collect()
    }

    fn unknown(&self, failure: &CallFailure) -> Error {
        tracing::warn!("{} does not say who somebody is: {failure}", self.connection.key);
        Error::new(Code::OauthFetchUserError)
    }

    fn profile(&self, said: &ProviderAnswers<'_>) -> Result<Profile> {
        self.check_same_user(said)?;
        check_hosted_domain(self.connection, said.claims)?;
        let found = self.connection.profile(said);
        found.ok_or_else(|| self.unknown(&CallFailure::Unusable("there is no usable id".to_owned())))
    }

    /// OpenID Connect Core, section 5.3.2: what is said about another user than the ID token is about must not be used.
    fn check_same_user(&self, said: &ProviderAnswers<'_>) -> Result<()> {
        match (said.claims["sub"].as_str(), said.user["sub"].as_str()) {
            (Some(one), Some(other)) if one != other => {
                Err(self.unknown(&CallFailure::Unusable("it speaks of two users".to_owned())))
            }
            (Some(_), None) if self.connection.is_openid() && said.user.is_object() => {
                Err(self
                    .unknown(&CallFailure::Unusable("it does not say of which user it speaks".to_owned())))
            }
            _ => Ok(()),
        }
    }
}

/// Where the settings ask Google for one domain, the claim `hd` says whether somebody is of it; the text of an address
/// proves nothing.
pub(in crate::social) fn check_hosted_domain(connection: &Connection, claims: &Value) -> Result<()> {
    let wanted = connection.settings.authorize_params.get("hd").filter(|_| connection.key == "google");
    let Some(wanted) = wanted else { return Ok(()) };
    let is_right = match claims["hd"].as_str() {
        Some(domain) => wanted == "*" || domain.eq_ignore_ascii_case(wanted),
        None => false,
    };
    match is_right {
        true => Ok(()),
        false => Err(Error::new(Code::OauthAccessDenied)
            .saying("Only accounts of the application's own organization at Google may be used.")),
    }
}
