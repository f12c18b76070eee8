//! The tokens of providers: sealed at rest, renewed when a backend asks for them.

use axum::response::Response;
use latchkey_base::kinds::{ExternalAccountId, UserId};
use latchkey_base::{Code, Error, Result, Time};
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::wire::{ListView, MaybePaginated, PageQuery};
use latchkey_kernel::{AppState, object};
use latchkey_people::external_accounts::model::ExternalAccount;
use latchkey_people::external_accounts::store;
use latchkey_people::external_accounts::tokens::open;
pub use latchkey_people::external_accounts::tokens::seal;
use latchkey_people::users::store as users;
use latchkey_web::api::Api;
use latchkey_web::input::Path;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::protocol::{self, ProviderTokens};

/// A token that ends so soon is renewed: whoever asks wants to use it.
const NEARLY_OVER_MS: i64 = 60_000;

pub(super) fn routes(api: &mut Api<AppState>) {
    api.group("Users");
    api.get("/users/{user_id}/oauth_access_tokens/{provider}", "GetOAuthAccessToken", list)
        .summary("List the access tokens of a user at a provider")
        .returns::<MaybePaginated<OauthAccessTokenView>>()
        .errors(&[400, 422]);
}

object!(OauthAccessTokenObject, "oauth_access_token");

/// An access token at a provider.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OAuthAccessToken")]
struct OauthAccessTokenView {
    object: OauthAccessTokenObject,
    external_account_id: ExternalAccountId,
    provider_user_id: String,
    token: String,
    expires_at: Option<Time>,
    provider: String,
    public_metadata: Map<String, Value>,
    label: Option<String>,
    scopes: Vec<String>,
    /// Only the older protocol (OAuth 1.0a) has one, which no provider is spoken to by.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    token_secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    id_token: Option<String>,
}

async fn list(
    cx: Cx,
    key: SecretKey,
    Path((id, provider)): Path<(UserId, String)>,
    Query(page): Query<PageQuery>,
) -> Result<Response, Failure> {
    let act = cx.act(&key);
    let found = users::find(&mut cx.app.db.read().await?, &key.instance, &id).await?;
    let user = found.ok_or_else(|| Error::not_found("user", &id))?;
    let provider = strategy_of(&provider)?;
    let is_asked = |held: &&ExternalAccount| held.is_verified() && held.account.provider == provider;
    let mut shown = Vec::new();
    for held in user.external_accounts.iter().filter(is_asked) {
        shown.push(current(&cx, &act, &key, held).await?);
    }
    let total_count = shown.len() as i64;
    let data: Vec<_> =
        shown.into_iter().skip(page.paging.offset as usize).take(page.paging.limit as usize).collect();
    cx.reply(&match page.paginated {
        true => MaybePaginated::Paginated(ListView { data, total_count }),
        false => MaybePaginated::Bare(data),
    })
}

/// The strategy of a provider that is named by it, or without what it begins with: `oauth_google` for both.
fn strategy_of(provider: &str) -> Result<String> {
    let key = provider.strip_prefix("oauth_").unwrap_or(provider);
    let is_name = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match is_name && !key.is_empty() {
        true => Ok(format!("oauth_{key}")),
        false => Err(Error::new(Code::OauthTokenProviderNotEnabled)),
    }
}

/// The token of an account, renewed if its time is over.
async fn current(
    cx: &Cx,
    act: &Act,
    key: &SecretKey,
    held: &ExternalAccount,
) -> Result<OauthAccessTokenView> {
    let missing = || Error::new(Code::OauthMissingAccessToken);
    let sealed = stored(cx, act, held).await?.ok_or_else(missing)?;
    let tokens = open(&act.master, &held.account, &sealed)?;
    let is_over = tokens.expires_at.is_some_and(|end| end <= cx.now.plus_ms(NEARLY_OVER_MS));
    let tokens = match is_over {
        true => renewed(cx, act, key, held, tokens, sealed).await?,
        false => tokens,
    };
    Ok(OauthAccessTokenView {
        object: OauthAccessTokenObject::It,
        external_account_id: held.id.clone(),
        provider_user_id: held.account.provider_user_id.clone(),
        token: tokens.access_token.ok_or_else(missing)?,
        expires_at: tokens.expires_at,
        provider: held.account.provider.clone(),
        public_metadata: Map::new(),
        label: held.account.label.clone(),
        scopes: held.account.approved_scopes.split_whitespace().map(str::to_owned).collect(),
        token_secret: None,
        id_token: tokens.id_token,
    })
}

/// What lies there for an account by now.
async fn stored(cx: &Cx, act: &Act, held: &ExternalAccount) -> Result<Option<String>> {
    store::find(&mut cx.app.db.read().await?, &act.instance, &held.id).await
}

/// Renews tokens at the provider. That takes a while: whoever was faster has the good ones, because some providers give a
/// refresh token that is good once; and what was forgotten meanwhile does not come back.
async fn renewed(
    cx: &Cx,
    act: &Act,
    key: &SecretKey,
    held: &ExternalAccount,
    tokens: ProviderTokens,
    before: String,
) -> Result<ProviderTokens> {
    if tokens.refresh_token.is_none() {
        return Err(Error::new(Code::OauthMissingRefreshToken));
    }
    let connection = protocol::find(act, key.environment, &held.account.provider)?;
    let refused = match protocol::refresh(cx, &connection, &tokens).await {
        Ok(renewed) if kept(cx, act, held, before.clone(), &renewed).await? => return Ok(renewed),
        Ok(_) => Error::new(Code::OauthMissingAccessToken),
        Err(error) => error,
    };
    match stored(cx, act, held).await?.filter(|now| *now != before) {
        Some(now) => open(&act.master, &held.account, &now),
        None => Err(refused),
    }
}

/// Keeps renewed tokens, if those that they renew are still there. Says whether they were.
async fn kept(
    cx: &Cx,
    act: &Act,
    held: &ExternalAccount,
    before: String,
    renewed: &ProviderTokens,
) -> Result<bool> {
    let sealed = seal(&act.master, &held.account, renewed)?;
    let (instance, id) = (act.instance.clone(), held.id.clone());
    cx.write(move |tx| Box::pin(async move { store::replace(tx, &instance, &id, &before, &sealed).await }))
        .await
}
