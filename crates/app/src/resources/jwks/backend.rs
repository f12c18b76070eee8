//! Routes and handlers of the backend API.

use axum::response::Response;
use latchkey_base::{Error, Result};
use latchkey_jose::jwk::{Jwk, Jwks};
use latchkey_web::api::Api;
use latchkey_web::reply::Failure;

use crate::AppState;
use crate::auth::SecretKey;
use crate::cx::Cx;
use crate::resources::instances::store;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("JWKS");
    api.get("/jwks", "GetJWKS", get).summary("Get the JSON Web Key Set of the instance").returns::<Jwks>();
}

async fn get(cx: Cx, key: SecretKey) -> Result<Response, Failure> {
    let mut tx = cx.app.db.read().await?;
    let stored = store::public_keys(&mut tx, &key.instance, cx.now).await?;
    let keys = stored.iter().map(|jwk| serde_json::from_str::<Jwk>(jwk).map_err(Error::internal));
    cx.reply(&Jwks { keys: keys.collect::<Result<_>>()? })
}
