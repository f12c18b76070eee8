//! Routes and handlers of the backend API.
#![expect(missing_docs, reason = "wire fields, documented by the published description")]

use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::Result;
use latchkey_base::rng;
use latchkey_web::api::Api;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Serialize;

use crate::AppState;
use crate::auth::SecretKey;
use crate::cx::Cx;
use crate::limits::TESTING_TOKEN_SECONDS;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Testing Tokens");
    api.post("/testing_tokens", "CreateTestingToken", create)
        .summary("Create a testing token")
        .returns::<TestingTokenView>();
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub enum TestingTokenObject {
    #[serde(rename = "testing_token")]
    It,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TestingToken")]
pub struct TestingTokenView {
    object: TestingTokenObject,
    token: String,
    /// In seconds, unlike all other times.
    expires_at: i64,
}

async fn create(cx: Cx, _: SecretKey) -> Result<Response, Failure> {
    let now = cx.now.seconds();
    let secret = URL_SAFE_NO_PAD.encode(rng::bytes::<24>(&*cx.app.rng));
    cx.reply(&TestingTokenView {
        object: TestingTokenObject::It,
        token: format!("{now}-c_{secret}"),
        expires_at: now + TESTING_TOKEN_SECONDS,
    })
}
