//! How addresses, numbers, wallets and verifications look on the wire.
#![expect(missing_docs, reason = "wire fields, documented by the published description")]

use latchkey_base::Time;
use latchkey_base::kinds::{IdentificationId, VerificationId};
use schemars::JsonSchema;
use serde::Serialize;

use super::codes::{Code, CodeStatus};
use crate::resources::challenges::model::State;
use crate::resources::users::model::{Contact, Link, SecondFactor, Strategy, Verification};

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EmailAddress")]
pub struct EmailAddressView<'a> {
    id: &'a IdentificationId,
    object: EmailAddressObject,
    email_address: &'a str,
    reserved: bool,
    verification: Option<VerificationView>,
    linked_to: Vec<LinkView<'a>>,
    matches_sso_connection: bool,
    created_at: Time,
    updated_at: Time,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PhoneNumber")]
pub struct PhoneNumberView<'a> {
    id: &'a IdentificationId,
    object: PhoneNumberObject,
    phone_number: &'a str,
    reserved_for_second_factor: bool,
    default_second_factor: bool,
    reserved: bool,
    verification: Option<PhoneVerificationView>,
    linked_to: Vec<LinkView<'a>>,
    backup_codes: Option<Vec<String>>,
    created_at: Time,
    updated_at: Time,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Web3Wallet")]
pub struct WalletView<'a> {
    id: &'a IdentificationId,
    object: WalletObject,
    web3_wallet: &'a str,
    verification: Option<VerificationView>,
    created_at: Time,
    updated_at: Time,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "IdentificationLink")]
pub struct LinkView<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    id: &'a IdentificationId,
}

/// How an identification was verified.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Verification")]
pub struct VerificationView {
    object: VerificationObject,
    status: CodeStatus,
    strategy: Strategy,
    attempts: Option<i64>,
    expire_at: Option<Time>,
}

/// How a phone number was verified: fewer ways lead there.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PhoneVerification")]
pub struct PhoneVerificationView {
    object: PhoneVerificationObject,
    status: CodeStatus,
    strategy: PhoneStrategyView,
    attempts: Option<i64>,
    expire_at: Option<Time>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
enum PhoneVerificationObject {
    #[serde(rename = "verification_admin")]
    Admin,
    #[serde(rename = "verification_otp")]
    Otp,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum PhoneStrategyView {
    Admin,
    PhoneCode,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
enum EmailAddressObject {
    #[serde(rename = "email_address")]
    It,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
enum PhoneNumberObject {
    #[serde(rename = "phone_number")]
    It,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
enum WalletObject {
    #[serde(rename = "web3_wallet")]
    It,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
enum VerificationObject {
    #[serde(rename = "verification_admin")]
    Admin,
    #[serde(rename = "verification_otp")]
    Otp,
    #[serde(rename = "verification_email_link")]
    Link,
    #[serde(rename = "verification_ticket")]
    Ticket,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum StrategyView {
    EmailCode,
    PhoneCode,
}

pub fn email_address(contact: &Contact, now: Time) -> EmailAddressView<'_> {
    EmailAddressView {
        id: &contact.id,
        object: EmailAddressObject::It,
        email_address: &contact.value,
        reserved: contact.reserved,
        verification: verification(contact, now),
        linked_to: contact.linked_to.iter().map(link).collect(),
        matches_sso_connection: false,
        created_at: contact.created_at,
        updated_at: contact.updated_at,
    }
}

pub fn phone_number(contact: &Contact, now: Time) -> PhoneNumberView<'_> {
    PhoneNumberView {
        id: &contact.id,
        object: PhoneNumberObject::It,
        phone_number: &contact.value,
        reserved_for_second_factor: contact.second_factor != SecondFactor::None,
        default_second_factor: contact.second_factor == SecondFactor::Default,
        reserved: contact.reserved,
        verification: verification(contact, now).map(of_phone),
        linked_to: contact.linked_to.iter().map(link).collect(),
        backup_codes: None,
        created_at: contact.created_at,
        updated_at: contact.updated_at,
    }
}

pub fn wallet(contact: &Contact, now: Time) -> WalletView<'_> {
    WalletView {
        id: &contact.id,
        object: WalletObject::It,
        web3_wallet: &contact.value,
        verification: verification(contact, now),
        created_at: contact.created_at,
        updated_at: contact.updated_at,
    }
}

fn link(link: &Link) -> LinkView<'_> {
    LinkView { kind: &link.kind, id: &link.id }
}

/// The same number with the backup codes that were just made, which are shown this once.
pub fn phone_number_with_codes(
    contact: &Contact,
    codes: Option<Vec<String>>,
    now: Time,
) -> PhoneNumberView<'_> {
    PhoneNumberView { backup_codes: codes, ..phone_number(contact, now) }
}

/// How a contact was verified, or how far that has come.
fn verification(contact: &Contact, now: Time) -> Option<VerificationView> {
    if let Some(Verification { strategy, attempts, expire_at }) = contact.verification {
        let (object, status) = (object(strategy), CodeStatus::Verified);
        return Some(VerificationView { object, status, strategy, attempts, expire_at });
    }
    let challenge = contact.challenge.as_ref()?;
    Some(VerificationView {
        object: object(challenge.strategy),
        status: match challenge.state(now) {
            State::Unverified => CodeStatus::Unverified,
            State::Verified | State::Transferable => CodeStatus::Verified,
            State::Failed => CodeStatus::Failed,
            State::Expired => CodeStatus::Expired,
        },
        strategy: challenge.strategy,
        attempts: Some(challenge.attempts),
        expire_at: challenge.expire_at,
    })
}

fn of_phone(verification: VerificationView) -> PhoneVerificationView {
    let VerificationView { status, strategy, attempts, expire_at, .. } = verification;
    let (object, strategy) = match strategy {
        Strategy::Admin => (PhoneVerificationObject::Admin, PhoneStrategyView::Admin),
        _ => (PhoneVerificationObject::Otp, PhoneStrategyView::PhoneCode),
    };
    PhoneVerificationView { object, status, strategy, attempts, expire_at }
}

fn object(strategy: Strategy) -> VerificationObject {
    match strategy {
        Strategy::Admin => VerificationObject::Admin,
        Strategy::EmailLink => VerificationObject::Link,
        Strategy::Ticket => VerificationObject::Ticket,
        _ => VerificationObject::Otp,
    }
}

/// A code that was sent, and how trying it goes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CodeVerification")]
pub struct CodeView {
    object: CodeObject,
    id: VerificationId,
    status: CodeStatus,
    strategy: StrategyView,
    attempts: Option<i64>,
    expire_at: Option<Time>,
    channel: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
enum CodeObject {
    #[serde(rename = "verification_otp")]
    It,
}

pub fn code(code: &Code, now: Time) -> CodeView {
    let (strategy, channel) = match code.strategy {
        Strategy::PhoneCode => (StrategyView::PhoneCode, Some("sms")),
        _ => (StrategyView::EmailCode, None),
    };
    CodeView {
        object: CodeObject::It,
        id: code.id.clone(),
        status: code.status(now),
        strategy,
        attempts: Some(code.attempts),
        expire_at: Some(code.expire_at),
        channel,
    }
}
