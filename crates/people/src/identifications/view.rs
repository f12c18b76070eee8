//! How addresses, numbers, wallets and verifications look on the wire.

use latchkey_base::Time;
use latchkey_base::kinds::{IdentificationId, VerificationId};
use latchkey_kernel::object;
use latchkey_kernel::strategy::Strategy;
use schemars::JsonSchema;
use serde::Serialize;

use super::codes::{Code, CodeStatus};
use crate::challenges::model::State;
use crate::users::model::{Contact, ContactKind, LinkedAccount, SecondFactor, Verification};

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
    verification: Option<WalletVerificationView<'a>>,
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
    /// How the code was sent, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<&'static str>,
    attempts: Option<i64>,
    expire_at: Option<Time>,
}

/// How a wallet was verified.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WalletVerification")]
pub struct WalletVerificationView<'a> {
    object: WalletVerificationObject,
    status: CodeStatus,
    #[schemars(with = "String", extend("enum" = wallet_strategies()))]
    strategy: Strategy,
    /// What makes the text differ from every other.
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    /// The text that the wallet is to sign.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    attempts: Option<i64>,
    expire_at: Option<Time>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
enum WalletVerificationObject {
    #[serde(rename = "verification_admin")]
    Admin,
    #[serde(rename = "verification_web3")]
    Web3,
}

/// The ways in which a wallet is proven. Or the application said whose it is.
fn wallet_strategies() -> Vec<Strategy> {
    [&[Strategy::Admin], Strategy::WALLETS.as_slice()].concat()
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

object!(EmailAddressObject, "email_address");

object!(PhoneNumberObject, "phone_number");

object!(WalletObject, "web3_wallet");

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
enum VerificationObject {
    #[serde(rename = "verification_admin")]
    Admin,
    #[serde(rename = "verification_otp")]
    Otp,
    #[serde(rename = "verification_email_link")]
    LinkedAccount,
    #[serde(rename = "verification_ticket")]
    Ticket,
    #[serde(rename = "verification_from_oauth")]
    FromProvider,
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

/// A wallet as part of its user, without a text that it is to sign.
pub fn wallet(contact: &Contact, now: Time) -> WalletView<'_> {
    WalletView {
        id: &contact.id,
        object: WalletObject::It,
        web3_wallet: &contact.value,
        verification: verification(contact, now).map(of_wallet),
        created_at: contact.created_at,
        updated_at: contact.updated_at,
    }
}

/// A wallet as the answer to the request for the text that it is to sign shows it.
pub fn wallet_to_sign(contact: &Contact, now: Time) -> WalletView<'_> {
    // Nothing is left to sign once it is proven.
    let asked = contact.challenge.as_ref().filter(|_| contact.verification.is_none());
    let detail = |name: &str| asked?.details.get(name)?.as_str();
    let (nonce, message) = (detail("nonce"), detail("message"));
    let shown = wallet(contact, now);
    let verification = shown.verification.map(|shown| WalletVerificationView { nonce, message, ..shown });
    WalletView { verification, ..shown }
}

fn link(link: &LinkedAccount) -> LinkView<'_> {
    LinkView { kind: &link.kind, id: &link.id }
}

/// A kind of contact as the routes know it: they are the same but for the names and the view.
pub trait ContactResource: 'static {
    type View<'a>: Serialize + Send;
    const KIND: ContactKind;

    /// The contact, with the backup codes that were just made for it, which are shown this once.
    fn view(contact: &Contact, codes: Option<Vec<String>>, now: Time) -> Self::View<'_>;
}

pub enum EmailAddresses {}

impl ContactResource for EmailAddresses {
    type View<'a> = EmailAddressView<'a>;
    const KIND: ContactKind = ContactKind::Email;

    fn view(contact: &Contact, _: Option<Vec<String>>, now: Time) -> EmailAddressView<'_> {
        email_address(contact, now)
    }
}

pub enum PhoneNumbers {}

impl ContactResource for PhoneNumbers {
    type View<'a> = PhoneNumberView<'a>;
    const KIND: ContactKind = ContactKind::Phone;

    fn view(contact: &Contact, backup_codes: Option<Vec<String>>, now: Time) -> PhoneNumberView<'_> {
        PhoneNumberView { backup_codes, ..phone_number(contact, now) }
    }
}

pub enum Wallets {}

impl ContactResource for Wallets {
    type View<'a> = WalletView<'a>;
    const KIND: ContactKind = ContactKind::Wallet;

    fn view(contact: &Contact, _: Option<Vec<String>>, now: Time) -> WalletView<'_> {
        wallet(contact, now)
    }
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
    let (object, strategy, channel) = match strategy {
        Strategy::Admin => (PhoneVerificationObject::Admin, PhoneStrategyView::Admin, None),
        _ => (PhoneVerificationObject::Otp, PhoneStrategyView::PhoneCode, Some("sms")),
    };
    PhoneVerificationView { object, status, strategy, channel, attempts, expire_at }
}

fn of_wallet<'a>(shown: VerificationView) -> WalletVerificationView<'a> {
    let VerificationView { status, strategy, attempts, expire_at, .. } = shown;
    let object = match strategy.is_wallet() {
        true => WalletVerificationObject::Web3,
        false => WalletVerificationObject::Admin,
    };
    let (nonce, message) = (None, None);
    WalletVerificationView { object, status, strategy, nonce, message, attempts, expire_at }
}

fn object(strategy: Strategy) -> VerificationObject {
    match strategy {
        Strategy::Admin => VerificationObject::Admin,
        Strategy::EmailLink => VerificationObject::LinkedAccount,
        Strategy::Ticket => VerificationObject::Ticket,
        Strategy::Registered(_) => VerificationObject::FromProvider,
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

object!(CodeObject, "verification_otp");

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
