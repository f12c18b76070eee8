//! The operations on sign-in tokens, which stand here because a token may name an organization.

use latchkey_base::kinds::{SignInTokenId, UserId};
use latchkey_base::{Error, Id, Result};
use latchkey_db::Tx;
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::instances::store as instances;
use latchkey_kernel::limits::SIGN_IN_TOKEN_SECONDS;
use latchkey_people::tickets::model::{Grant, TicketSource};
use latchkey_people::tickets::rules;
use latchkey_people::tickets::sign_in_tokens::input::CreateSignInToken;
use latchkey_people::tickets::sign_in_tokens::model::SignInToken;
use latchkey_people::tickets::sign_in_tokens::view::{self, SignInTokenView};
use latchkey_people::tickets::sign_in_tokens::{CODES, store};
use latchkey_people::users::change::UserTarget;
use latchkey_presence::sessions::working;
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::reply::Reply;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Sign-in Tokens");
    api.post("/sign_in_tokens", "CreateSignInToken", create)
        .summary("Create a sign-in token")
        .returns::<SignInTokenView>()
        .errors(&[403, 404]);
    api.post("/sign_in_tokens/{sign_in_token_id}/revoke", "RevokeSignInToken", revoke)
        .summary("Revoke a sign-in token that was not used")
        .returns::<SignInTokenView>();
}

async fn create(cx: Cx, key: SecretKey, Input(input): Input<CreateSignInToken>) -> Reply {
    let requested = input.expires_in_seconds;
    let lifetime = rules::lifetime_seconds(requested, SIGN_IN_TOKEN_SECONDS, &key.settings.tickets)?;
    let user: UserId = Id::parse(&input.user_id).ok_or_else(|| Error::not_found("user", &input.user_id))?;
    let mut tx = cx.app.db.read().await?;
    let signer = cx.app.signer(&mut tx, &key.instance, cx.now).await?;
    let host = instances::frontend_api(&mut tx, &key.instance).await?.unwrap_or_default();
    drop(tx);
    let id = SignInTokenId::new(cx.now, &*cx.app.rng);
    let source = TicketSource::SignInToken(id.clone());
    let (grant, ticket) = rules::issue(&signer, &key, &source, user.clone(), lifetime, cx.now)?;
    let act = cx.act(&key);
    let created =
        cx.write(move |tx| Box::pin(async move { create_in(tx, &act, user, id, grant, input).await }));
    let token = created.await?;
    let url = rules::url(&cx.app.primary_url(&host, &key.settings), &ticket);
    cx.reply(&view::sign_in_token(&token, Some(&ticket), Some(url)))
}

async fn create_in(
    tx: &mut Tx,
    act: &Act,
    user: UserId,
    id: SignInTokenId,
    grant: Grant,
    input: CreateSignInToken,
) -> Result<SignInToken> {
    let user = UserTarget::User(user).lock(tx, act).await?;
    let organization = match input.org_id.filter(|id| !id.is_empty()) {
        Some(asked) => Some(working::required(tx, act, &user.id, &asked).await?),
        None => None,
    };
    let token = SignInToken { id, grant, organization };
    store::insert(tx, &token).await?;
    Ok(token)
}

async fn revoke(cx: Cx, key: SecretKey, Path(id): Path<SignInTokenId>) -> Reply {
    let act = cx.act(&key);
    let token = cx.write(move |tx| Box::pin(async move { revoke_in(tx, &act, &id).await })).await?;
    cx.reply(&view::sign_in_token(&token, None, None))
}

async fn revoke_in(tx: &mut Tx, act: &Act, id: &SignInTokenId) -> Result<SignInToken> {
    let found = store::lock(tx, &act.instance, id).await?;
    let mut token = found.ok_or_else(|| Error::not_found("sign-in token", id))?;
    token.grant = rules::revoke(token.grant, &CODES, act.now)?;
    store::save(tx, &token).await?;
    Ok(token)
}
