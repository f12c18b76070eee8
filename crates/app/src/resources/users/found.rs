//! The user a path names, read together with the key of the request.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use latchkey_base::kinds::UserId;
use latchkey_base::{Error, Result};
use latchkey_web::input::Path;
use latchkey_web::reply::Failure;

use super::model::User;
use super::store;
use crate::AppState;
use crate::auth::{SecretKey, admit, key_digest};

/// Proof of a secret key, and the user of its instance that the path names. Reading a user is what most
/// requests do, so this takes one statement instead of two.
pub struct Found {
    /// The proof.
    pub key: SecretKey,
    /// The user.
    pub user: User,
}

impl FromRequestParts<AppState> for Found {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Found, Failure> {
        let AppState(app) = state;
        let digest = key_digest(parts)?;
        let path = Path::<UserId>::from_request_parts(parts, state).await;
        // Whoever has no key learns nothing, not even that an id has the wrong shape.
        let id = path.as_ref().map(|Path(id)| id.as_str()).unwrap_or_default();
        let mut tx = app.db.read().await?;
        let (holder, user) = store::find_by_key(&mut tx, &digest, id).await?.unzip();
        let key = admit(app, &mut tx, parts, holder).await?;
        let Path(id) = path?;
        let user = user.flatten().ok_or_else(|| Error::not_found("user", &id))?;
        Ok(Found { key, user })
    }
}
