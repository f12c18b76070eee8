//! Testing tokens: automated tests show one to pass checks that tell people from programs. There are no
//! such checks here, so a token is only made, in the published form, and nothing has to know it again.

use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::{Result, rng};
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::limits::TESTING_TOKEN_SECONDS;
use latchkey_kernel::{AppState, object};
use latchkey_web::api::Api;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Serialize;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Testing Tokens");
    api.post("/testing_tokens", "CreateTestingToken", create)
        .summary("Create a testing token")
        .returns::<TestingTokenView>();
}

object!(TestingTokenObject, "testing_token");

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
