//! What the operations take.

use latchkey_base::patch::Patch;
use latchkey_base::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("x-fields-of-strategies" = {
    "action_complete_redirect_url": "Where the browser goes at last when it was sent to another provider.",
    "oidc_login_hint": "Whom the other provider should expect.",
    "oidc_prompt": "What the other provider should ask, as OpenID Connect has it.",
    "token": "The ID token of another provider.",
    "trusted_device_id": "The device that will sign.",
}))]
pub struct CreateSignIn {
    pub strategy: Option<String>,
    #[serde(default)]
    pub identifier: Patch<String>,
    pub password: Option<Secret>,
    pub ticket: Option<Secret>,
    pub redirect_url: Option<String>,
    pub transfer: Option<bool>,
    pub sign_up_if_missing: Option<bool>,
    pub locale: Option<String>,
}

/// Query of the operations that show an attempt.
#[derive(Deserialize, JsonSchema)]
pub struct ReturnedApp {
    /// What a native app was told in its URL when somebody came back from another site.
    pub rotating_token_nonce: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("x-fields-of-strategies" = {
    "action_complete_redirect_url": "Where the browser goes at last when it was sent to another provider.",
    "oidc_login_hint": "Whom the other provider should expect.",
    "oidc_prompt": "What the other provider should ask, as OpenID Connect has it.",
    "passkey_id": "The passkey that will sign.",
    "trusted_device_id": "The device that will sign.",
}))]
pub struct PrepareFirstFactor {
    pub strategy: String,
    pub email_address_id: Option<String>,
    pub phone_number_id: Option<String>,
    pub web3_wallet_id: Option<String>,
    pub redirect_url: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct PrepareSecondFactor {
    pub strategy: Option<String>,
    pub email_address_id: Option<String>,
    pub phone_number_id: Option<String>,
    pub redirect_url: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("x-fields-of-strategies" = {
    "public_key_credential": "What the browser made with a passkey, as JSON.",
    "token": "The ID token of another provider.",
    "trusted_device_id": "The device that signed.",
    "client_data": "The text that the device signed.",
    "algorithm": "How the device signed: `ES256`.",
}))]
pub struct AttemptFirstFactor {
    pub strategy: String,
    pub code: Option<Secret>,
    pub password: Option<Secret>,
    pub ticket: Option<Secret>,
    pub signature: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct AttemptSecondFactor {
    pub strategy: String,
    pub code: Option<Secret>,
}

#[derive(Deserialize, JsonSchema)]
pub struct ResetPassword {
    pub password: Secret,
    pub sign_out_of_other_sessions: Option<bool>,
}
