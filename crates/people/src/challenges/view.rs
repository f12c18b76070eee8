//! How a challenge looks on the wire: as a verification.

use latchkey_base::Time;
use latchkey_base::kinds::ClientId;
use latchkey_kernel::strategy::Strategy;
use latchkey_kernel::word;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::model::{Challenge, State};

word!(State: Unverified, Verified, Transferable, Failed, Expired);

/// How far a proof has come: of an address, a factor or an account.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Verification")]
pub struct ChallengeView {
    object: &'static str,
    status: State,
    strategy: Strategy,
    attempts: Option<i64>,
    expire_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verified_at_client: Option<ClientId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureView>,
    #[serde(flatten)]
    #[schemars(with = "DetailsView")]
    details: Map<String, Value>,
}

/// What registered strategies show with their challenges. They write it themselves; this tells readers of the contract.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct DetailsView {
    /// Where the browser has to go, with accounts at other providers.
    #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
    external_verification_redirect_url: Option<String>,
    /// The options for the browser as a JSON text, with passkeys; what makes the text unique, with wallets.
    #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
    nonce: Option<String>,
    /// The text to sign, with wallets.
    #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// What a trusted device has to sign.
    #[schemars(with = "DeviceChallengeView", skip_serializing_if = "Option::is_none")]
    trusted_device_challenge: Option<DeviceChallengeView>,
}

#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
struct DeviceChallengeView {
    #[schemars(extend("enum" = ["trusted_device_challenge"]))]
    object: String,
    challenge: String,
    challenge_id: String,
    trusted_device_id: String,
    client_data: String,
    expires_at: Time,
    #[schemars(extend("enum" = ["ES256"]))]
    algorithm: String,
}

/// Why it failed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "VerificationError")]
struct FailureView {
    code: String,
    message: String,
    long_message: String,
    #[serde(skip_serializing_if = "Map::is_empty")]
    meta: Map<String, Value>,
}

pub fn verification(challenge: &Challenge, now: Time) -> ChallengeView {
    let is_phone = matches!(challenge.strategy, Strategy::PhoneCode | Strategy::ResetPasswordPhoneCode);
    ChallengeView {
        object: challenge.strategy.verification(),
        status: challenge.state(now),
        strategy: challenge.strategy,
        attempts: Some(challenge.attempts),
        expire_at: challenge.expire_at,
        verified_at_client: challenge.verified_at_client.clone(),
        channel: is_phone.then_some("sms"),
        error: challenge.failure.as_ref().map(|failure| FailureView {
            code: failure.code.clone(),
            message: failure.message.clone(),
            long_message: failure.long_message.clone(),
            meta: failure.meta.clone(),
        }),
        details: challenge.details.clone(),
    }
}
