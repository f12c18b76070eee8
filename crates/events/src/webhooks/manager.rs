//! Who may manage webhooks: the holder of a secret key, or of a link to the page for it.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use latchkey_base::{Code, Error, Result};
use latchkey_kernel::auth::{self, SecretKey};
use latchkey_kernel::instances::store as instances;
use latchkey_kernel::{App, AppState};
use latchkey_web::api::Operation;
use latchkey_web::reply::Failure;
use latchkey_web::signature::Argument;

use super::{store, tokens};

/// Proof that the caller may manage the webhooks of an instance, and nothing else of it.
pub struct Manager(pub SecretKey);

impl Argument for Manager {
    fn describe(row: &mut Operation) {
        SecretKey::describe(row);
    }
}

impl FromRequestParts<AppState> for Manager {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Manager, Failure> {
        let token = auth::bearer(parts)?.to_owned();
        match token.starts_with(tokens::PASSES.prefix) {
            true => Ok(Manager(by_token(&state.0, parts, &token).await?)),
            false => SecretKey::from_request_parts(parts, state).await.map(Manager),
        }
    }
}

async fn by_token(app: &App, parts: &Parts, token: &str) -> Result<SecretKey> {
    let refused = || Error::new(Code::WebhookPortalTokenInvalid);
    let pass = tokens::read(token, &app.master, app.clock.now()).ok_or_else(refused)?;
    let mut tx = app.db.read().await?;
    let is_current = store::find_app(&mut tx, &pass.instance).await? == Some(pass.app_created_at);
    if !is_current || !instances::has_good_tickets(&mut tx, &pass.instance, &pass.key).await? {
        return Err(refused());
    }
    drop(tx);
    auth::admit_to(app, parts, &pass.instance, Some(pass.key)).await
}
