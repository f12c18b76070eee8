//! How passkeys look on the wire: backends are told less of them than their owners.

use latchkey_base::Time;
use latchkey_base::kinds::IdentificationId;
use latchkey_kernel::object;
use latchkey_kernel::strategy::Strategy;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::Passkey;
use crate::challenges::model::State;

object!(PasskeyObject, "passkey");
object!(PasskeyVerificationObject, "verification_passkey");

/// A passkey as backends see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Passkey")]
pub struct PasskeyView<'a> {
    id: &'a IdentificationId,
    object: PasskeyObject,
    name: &'a str,
    /// When it was last used; if it never was, when it was registered.
    last_used_at: Time,
    verification: Option<VerifiedPasskeyView>,
}

/// How a passkey was registered.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "VerifiedPasskey")]
struct VerifiedPasskeyView {
    object: PasskeyVerificationObject,
    #[schemars(extend("enum" = ["verified"]))]
    status: &'static str,
    strategy: Strategy,
    attempts: Option<i64>,
    expire_at: Option<Time>,
}

/// A passkey as its owner sees it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FrontendPasskey")]
pub struct FrontendPasskeyView<'a> {
    id: &'a IdentificationId,
    object: PasskeyObject,
    name: &'a str,
    last_used_at: Option<Time>,
    verification: Option<PasskeyVerificationView<'a>>,
    created_at: Time,
    updated_at: Time,
}

/// How far the registration of a passkey has come.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PasskeyVerification")]
pub struct PasskeyVerificationView<'a> {
    object: PasskeyVerificationObject,
    status: State,
    strategy: Strategy,
    attempts: Option<i64>,
    expire_at: Time,
    /// The options of the registration under way, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    nonce: Option<&'a str>,
}

pub fn passkey(passkey: &Passkey) -> PasskeyView<'_> {
    PasskeyView {
        id: &passkey.id,
        object: PasskeyObject::It,
        name: &passkey.name,
        last_used_at: passkey.last_used_at.unwrap_or(passkey.created_at),
        verification: Some(VerifiedPasskeyView {
            object: PasskeyVerificationObject::It,
            status: "verified",
            strategy: passkey.verification.strategy,
            attempts: passkey.verification.attempts,
            expire_at: passkey.verification.expire_at,
        }),
    }
}

pub fn frontend(passkey: &Passkey) -> FrontendPasskeyView<'_> {
    FrontendPasskeyView {
        id: &passkey.id,
        object: PasskeyObject::It,
        name: &passkey.name,
        last_used_at: passkey.last_used_at,
        verification: Some(PasskeyVerificationView {
            object: PasskeyVerificationObject::It,
            status: State::Verified,
            strategy: passkey.verification.strategy,
            attempts: passkey.verification.attempts,
            expire_at: passkey.verification.expire_at.unwrap_or(passkey.created_at),
            nonce: None,
        }),
        created_at: passkey.created_at,
        updated_at: passkey.updated_at,
    }
}

/// What is known of a registration under way.
pub struct UnfinishedPasskey<'a> {
    pub id: &'a IdentificationId,
    pub name: &'a str,
    /// The options of the registration, as JSON.
    pub nonce: &'a str,
    pub status: State,
    pub attempts: i64,
    pub created_at: Time,
    pub expire_at: Time,
}

pub fn unfinished<'a>(passkey: &UnfinishedPasskey<'a>) -> FrontendPasskeyView<'a> {
    FrontendPasskeyView {
        id: passkey.id,
        object: PasskeyObject::It,
        name: passkey.name,
        last_used_at: None,
        verification: Some(PasskeyVerificationView {
            object: PasskeyVerificationObject::It,
            status: passkey.status,
            strategy: Strategy::PASSKEY,
            attempts: Some(passkey.attempts),
            expire_at: passkey.expire_at,
            nonce: Some(passkey.nonce),
        }),
        created_at: passkey.created_at,
        updated_at: passkey.created_at,
    }
}
