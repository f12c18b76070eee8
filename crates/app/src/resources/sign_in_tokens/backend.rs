//! Routes and handlers of the backend API.

use axum::response::Response;
use latchkey_base::kinds::{SignInTokenId, UserId};
use latchkey_base::{Error, Id, Result};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::reply::Failure;

use super::input::CreateSignInToken;
use super::model::SignInToken;
use super::view::{self, SignInTokenView};
use super::{CODES, store};
use crate::AppState;
use crate::auth::SecretKey;
use crate::cx::Cx;
use crate::limits::SIGN_IN_TOKEN_SECONDS;
use crate::resources::instances::store as instances;
use crate::resources::tickets::model::Source;
use crate::resources::tickets::rules;
use crate::resources::users::change::Target;

type Answer = Result<Response, Failure>;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Sign-in Tokens");
    api.post("/sign_in_tokens", "CreateSignInToken", create)
        .summary("Create a sign-in token")
        .body::<CreateSignInToken>()
        .returns::<SignInTokenView>()
        .errors(&[404]);
    api.post("/sign_in_tokens/{sign_in_token_id}/revoke", "RevokeSignInToken", revoke)
        .summary("Revoke a sign-in token that was not used")
        .returns::<SignInTokenView>();
}

async fn create(cx: Cx, key: SecretKey, Input(input): Input<CreateSignInToken>) -> Answer {
    let user: UserId = Id::parse(&input.user_id).ok_or_else(|| Error::not_found("user", &input.user_id))?;
    if let Some(organization) = &input.org_id {
        return Err(Error::not_found("organization", organization).into());
    }
    let mut tx = cx.app.db.read().await?;
    let signer = cx.app.signer(&mut tx, &key.instance, cx.now).await?;
    let host = instances::frontend_api(&mut tx, &key.instance).await?.unwrap_or_default();
    drop(tx);
    let id = SignInTokenId::new(cx.now, &*cx.app.rng);
    let lifetime = input.expires_in_seconds.unwrap_or(SIGN_IN_TOKEN_SECONDS);
    let source = Source::SignInToken(id.clone());
    let (grant, ticket) = rules::issue(&signer, &key.instance, &source, user.clone(), lifetime, cx.now)?;
    let (token, act) = (SignInToken { id, grant }, cx.act(&key));
    let token = cx
        .write(move |tx| {
            Box::pin(async move {
                Target::User(user).lock(tx, &act).await?;
                store::insert(tx, &token).await?;
                Ok(token)
            })
        })
        .await?;
    let url = rules::url(&cx.app.public_url(&host), &ticket);
    cx.reply(&view::sign_in_token(&token, Some(&ticket), Some(url)))
}

async fn revoke(cx: Cx, key: SecretKey, Path(id): Path<SignInTokenId>) -> Answer {
    let act = cx.act(&key);
    let token = cx
        .write(move |tx| {
            Box::pin(async move {
                let found = store::lock(tx, &act.instance, &id).await?;
                let mut token = found.ok_or_else(|| Error::not_found("sign-in token", &id))?;
                token.grant = rules::revoke(token.grant, &CODES, act.now)?;
                store::save(tx, &token).await?;
                Ok(token)
            })
        })
        .await?;
    cx.reply(&view::sign_in_token(&token, None, None))
}
