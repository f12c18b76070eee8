//! The public keys with which tokens of an instance are verified.

use axum::response::Response;
use latchkey_base::{Error, Result};
use latchkey_jose::jwk::{Jwk, Jwks};
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::instances::store;
use latchkey_web::api::Api;
use latchkey_web::reply::Failure;

pub fn routes(api: &mut Api<AppState>) {
    api.group("JWKS");
    api.get("/jwks", "GetJWKS", get)
        .summary("Get the JSON Web Key Set of the instance")
        .returns::<Jwks>()
        .uncounted();
}

async fn get(cx: Cx, key: SecretKey) -> Result<Response, Failure> {
    let mut tx = cx.app.db.read().await?;
    let stored = store::public_keys(&mut tx, &key.instance, cx.now).await?;
    let keys = stored.iter().map(|jwk| serde_json::from_str::<Jwk>(jwk).map_err(Error::internal));
    cx.reply(&Jwks { keys: keys.collect::<Result<_>>()? })
}
