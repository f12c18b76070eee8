//! The user a path names, read together with the key of the request.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use latchkey_base::kinds::UserId;
use latchkey_base::{Error, Result};
use latchkey_kernel::AppState;
use latchkey_kernel::auth::{SecretKey, admit, key_digest};
use latchkey_web::api::Operation;
use latchkey_web::input::Path;
use latchkey_web::reply::Failure;
use latchkey_web::signature::Argument;

use super::model::User;
use super::store;

/// Proof of a secret key, and the user of its instance that the path names. Reading a user is what most
/// requests do, so this takes one statement instead of two.
pub struct FoundUser {
    pub key: SecretKey,
    pub user: User,
}

impl Argument for FoundUser {
    fn describe(row: &mut Operation) {
        SecretKey::describe(row);
        Path::<UserId>::describe(row);
    }
}

impl FromRequestParts<AppState> for FoundUser {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<FoundUser, Failure> {
        let AppState(app) = state;
        let digest = key_digest(parts)?;
        let path = Path::<UserId>::from_request_parts(parts, state).await;
        // Whoever has no key learns nothing, not even that an id has the wrong shape.
        let id = path.as_ref().map(|Path(id)| id.as_str()).unwrap_or_default();
        let mut tx = app.db.read().await?;
        let (holder, user) = store::find_by_key(&mut tx, &digest, id).await?.unzip();
        let key = admit(app, &mut tx, parts, holder).await?;
        app.callers.learn_backend(&parts.headers, &key.instance);
        let Path(id) = path?;
        let user = user.flatten().ok_or_else(|| Error::not_found("user", &id))?;
        Ok(FoundUser { key, user })
    }
}
