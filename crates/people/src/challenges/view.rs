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
    #[schemars(skip)]
    details: Map<String, Value>,
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

/// What verifications by a registered strategy are called.
pub fn registered_object(name: &str) -> &'static str {
    match name {
        "passkey" => "verification_passkey",
        "trusted_device" => "verification_trusted_device",
        "google_one_tap" => "verification_google_one_tap",
        _ if name.starts_with("web3_") => "verification_web3",
        _ if name.starts_with("from_oauth_") => "verification_from_oauth",
        _ if name.starts_with("oauth_") => "verification_oauth",
        _ => "verification",
    }
}

pub fn verification(challenge: &Challenge, now: Time) -> ChallengeView {
    let is_phone = matches!(challenge.strategy, Strategy::PhoneCode | Strategy::ResetPasswordPhoneCode);
    ChallengeView {
        object: match challenge.strategy {
            Strategy::Admin => "verification_admin",
            Strategy::BackupCode => "verification_backup_code",
            Strategy::EmailLink => "verification_email_link",
            Strategy::Password => "verification_password",
            Strategy::Registered(name) => registered_object(name.as_str()),
            Strategy::Ticket => "verification_ticket",
            Strategy::Totp => "verification_totp",
            Strategy::EmailCode
            | Strategy::PhoneCode
            | Strategy::ResetPasswordEmailCode
            | Strategy::ResetPasswordPhoneCode => "verification_otp",
        },
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
