//! How a challenge looks on the wire: as a verification.
#![expect(missing_docs, reason = "wire fields, documented by the published description")]

use latchkey_base::Time;
use latchkey_base::kinds::ClientId;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::{Challenge, State};
use crate::resources::users::model::Strategy;
use crate::words::word;

word!(State: Unverified, Verified, Transferable, Failed, Expired);

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Verification")]
pub struct VerificationView {
    object: &'static str,
    status: State,
    strategy: Strategy,
    attempts: Option<i64>,
    expire_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verified_at_client: Option<ClientId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<&'static str>,
}

pub fn verification(challenge: &Challenge, now: Time) -> VerificationView {
    let is_phone = matches!(challenge.strategy, Strategy::PhoneCode | Strategy::ResetPasswordPhoneCode);
    VerificationView {
        object: match challenge.strategy {
            Strategy::Admin => "verification_admin",
            Strategy::BackupCode => "verification_backup_code",
            Strategy::EmailLink => "verification_email_link",
            Strategy::Password => "verification_password",
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
    }
}
