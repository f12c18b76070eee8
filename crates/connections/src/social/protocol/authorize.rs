//! Sending somebody to a provider.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::rng::{self, Rng};
use latchkey_base::{Code, Error, Result};
use latchkey_jose::digest::{hex, sha256};
use latchkey_kernel::cx::Cx;
use url::Url;

use super::{Connection, Endpoints, PendingVisit, discovery};
use crate::social::mock;
use crate::social::providers::ClientAuth;

const SCOPES: usize = 50;
const SCOPE_CHARS: usize = 256;
const HINT_CHARS: usize = 320;
/// What OpenID Connect and its providers know (Core, section 3.1.2.1).
const PROMPTS: [&str; 5] = ["none", "login", "consent", "select_account", "create"];

/// What somebody is sent to a provider with.
pub struct AuthorizeRequest<'a> {
    /// What tells the way back from others; it must be hard to guess.
    pub state: &'a str,
    /// Where the provider sends them back to.
    pub redirect_uri: &'a str,
    /// Scopes beside those that everybody is asked for.
    pub additional_scopes: &'a [String],
    /// Who they say they are.
    pub login_hint: Option<&'a str>,
    /// What the provider should ask them, such as `select_account`.
    pub prompt: Option<&'a str>,
}

/// The address to send somebody to, and what must be kept until they come back.
pub async fn authorize(
    cx: &Cx,
    connection: &Connection,
    request: AuthorizeRequest<'_>,
) -> Result<(String, PendingVisit)> {
    check(&request)?;
    let endpoints = discovery::endpoints(cx, connection).await?;
    let pending = pending(&*cx.app.rng, connection, endpoints, &request);
    match connection.is_mock() {
        true => Ok((mock::url(request.redirect_uri, request.state, request.login_hint)?, pending)),
        false => Ok((url(connection, &pending, &request)?, pending)),
    }
}

fn pending(
    rng: &dyn Rng,
    connection: &Connection,
    endpoints: Endpoints,
    request: &AuthorizeRequest<'_>,
) -> PendingVisit {
    let random = || URL_SAFE_NO_PAD.encode(rng::bytes::<32>(rng));
    let mut scopes = connection.scopes();
    for scope in request.additional_scopes {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    PendingVisit {
        version: connection.version(),
        verifier: connection.has_pkce().then(random),
        nonce: endpoints.jwks.is_some().then(random),
        endpoints,
        scopes,
        state_digest: hex(&sha256(request.state.as_bytes())),
    }
}

fn url(connection: &Connection, pending: &PendingVisit, request: &AuthorizeRequest<'_>) -> Result<String> {
    let broken = |_| Error::new(Code::MisconfiguredOauthProvider);
    let mut url = Url::parse(&pending.endpoints.authorize).map_err(broken)?;
    let row = connection.row;
    let id_name = if row.client_auth == ClientAuth::PostKey { "client_key" } else { "client_id" };
    let scope = pending.scopes.join(&row.scope_separator.to_string());
    let mut params: Vec<(&str, &str)> = vec![
        ("response_type", "code"),
        (id_name, &connection.client_id),
        ("redirect_uri", request.redirect_uri),
        ("state", request.state),
    ];
    if !scope.is_empty() {
        params.push(("scope", &scope));
    }
    if let Some(nonce) = &pending.nonce {
        params.push(("nonce", nonce));
    }
    let challenge =
        pending.verifier.as_ref().map(|verifier| URL_SAFE_NO_PAD.encode(sha256(verifier.as_bytes())));
    if let Some(challenge) = &challenge {
        params.extend([("code_challenge", challenge.as_str()), ("code_challenge_method", "S256")]);
    }
    if row.answers_by_form {
        params.push(("response_mode", "form_post"));
    }
    params.extend(request.login_hint.map(|hint| ("login_hint", hint)));
    params.extend(prompt(connection, request).map(|prompt| ("prompt", prompt)));
    // What the settings say counts more than the row.
    let own = &connection.settings.authorize_params;
    let own_params = own.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in own_params.chain(row.params.iter().copied()) {
        if !params.iter().any(|(known, _)| *known == name) {
            params.push((name, value));
        }
    }
    url.query_pairs_mut().extend_pairs(params);
    Ok(url.into())
}

/// What the provider should ask. Google gives a token to renew others with only when somebody agrees anew.
fn prompt<'a>(connection: &Connection, request: &AuthorizeRequest<'a>) -> Option<&'a str> {
    let has_more = !request.additional_scopes.is_empty();
    request.prompt.or((connection.key == "google" && has_more).then_some("consent"))
}

/// What comes from a browser must not become another parameter's business.
fn check(request: &AuthorizeRequest<'_>) -> Result<()> {
    let is_scope = |scope: &String| {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"\\,".contains(&byte);
        !scope.is_empty() && scope.len() <= SCOPE_CHARS && scope.bytes().all(is_plain)
    };
    if request.additional_scopes.len() > SCOPES || !request.additional_scopes.iter().all(is_scope) {
        return Err(Error::param(Code::FormParamFormatInvalid, "additional_scope"));
    }
    let is_hint = |hint: &str| hint.chars().count() <= HINT_CHARS && !hint.chars().any(char::is_control);
    if request.login_hint.is_some_and(|hint| !is_hint(hint)) {
        return Err(Error::param(Code::FormParamFormatInvalid, "identifier"));
    }
    let is_prompt = |text: &str| text.split(' ').all(|word| PROMPTS.contains(&word));
    match request.prompt {
        Some(prompt) if !is_prompt(prompt) => Err(Error::param(Code::FormParamValueInvalid, "oidc_prompt")),
        _ => Ok(()),
    }
}
