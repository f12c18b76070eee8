//! The tokens of providers: sealed at rest, renewed when a backend asks for them.

use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_app::people::challenges::account::ProvenAccount;
use latchkey_app::people::external_accounts::model::ExternalAccount;
use latchkey_app::people::external_accounts::store;
use latchkey_app::people::users::model::User;
use latchkey_app::people::users::store as users;
use latchkey_base::kinds::{ExternalAccountId, UserId};
use latchkey_base::{Code, Error, Result, Time};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::wire::{ListView, MaybePaginated, PageQuery};
use latchkey_kernel::{AppState, object};
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
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    token_secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    id_token: Option<String>,
}

/// What tokens are sealed for: one account at one provider.
fn sealed_for(account: &ProvenAccount) -> String {
    format!("provider_tokens:{}:{}", account.provider, account.provider_user_id)
}

/// Tokens as they lie in the database.
pub fn seal(master: &MasterKey, account: &ProvenAccount, tokens: &ProviderTokens) -> Result<String> {
    let plain = serde_json::to_vec(tokens).map_err(Error::internal)?;
    let sealed = master.seal(&sealed_for(account), &plain).map_err(Error::internal)?;
    Ok(URL_SAFE_NO_PAD.encode(sealed))
}

fn open(act: &Act, account: &ProvenAccount, sealed: &str) -> Result<ProviderTokens> {
    let sealed = URL_SAFE_NO_PAD.decode(sealed).map_err(Error::internal)?;
    let plain = act.master.open(&sealed_for(account), &sealed).map_err(Error::internal)?;
    serde_json::from_slice(&plain).map_err(Error::internal)
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
    let is_name = provider.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name || !provider.starts_with("oauth_") {
        return Err(Error::new(Code::OauthTokenProviderNotEnabled).into());
    }
    let is_asked = |held: &&ExternalAccount| held.is_verified() && held.account.provider == provider;
    let mut shown = Vec::new();
    for held in user.external_accounts.iter().filter(is_asked) {
        shown.push(current(&cx, &act, &key, &user, held).await?);
    }
    let total_count = shown.len() as i64;
    let data: Vec<_> =
        shown.into_iter().skip(page.paging.offset as usize).take(page.paging.limit as usize).collect();
    cx.reply(&match page.paginated {
        true => MaybePaginated::Paginated(ListView { data, total_count }),
        false => MaybePaginated::Bare(data),
    })
}

/// The token of an account, renewed if its time is over.
async fn current(
    cx: &Cx,
    act: &Act,
    key: &SecretKey,
    user: &User,
    held: &ExternalAccount,
) -> Result<OauthAccessTokenView> {
    let missing = || Error::new(Code::OauthMissingAccessToken);
    let sealed = store::find(&mut cx.app.db.read().await?, &act.instance, &held.id).await?;
    let tokens = open(act, &held.account, &sealed.clone().ok_or_else(missing)?)?;
    let is_over = tokens.expires_at.is_some_and(|end| end <= cx.now.plus_ms(NEARLY_OVER_MS));
    let tokens = match is_over {
        true => renewed(cx, act, key, user, held, tokens, sealed).await?,
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
        token_secret: tokens.token_secret,
        id_token: tokens.id_token,
    })
}

/// Renews tokens at the provider. Some give a refresh token that is good once: whoever was faster has the good ones.
async fn renewed(
    cx: &Cx,
    act: &Act,
    key: &SecretKey,
    user: &User,
    held: &ExternalAccount,
    tokens: ProviderTokens,
    before: Option<String>,
) -> Result<ProviderTokens> {
    if tokens.refresh_token.is_none() {
        return Err(Error::new(Code::OauthMissingRefreshToken));
    }
    let connection = protocol::find(act, key.environment, &held.account.provider)?;
    let renewed = match protocol::refresh(cx, &connection, &tokens).await {
        Ok(renewed) => renewed,
        Err(error) => {
            let now = store::find(&mut cx.app.db.read().await?, &act.instance, &held.id).await?;
            return match now.filter(|now| Some(now) != before.as_ref()) {
                Some(now) => open(act, &held.account, &now),
                None => Err(error),
            };
        }
    };
    let sealed = seal(&act.master, &held.account, &renewed)?;
    let (instance, user, id) = (act.instance.clone(), user.id.clone(), held.id.clone());
    cx.write(move |tx| Box::pin(async move { store::put(tx, &instance, &user, &id, &sealed).await })).await?;
    Ok(renewed)
}
