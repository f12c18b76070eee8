//! How a factor looks on the wire.

use latchkey_base::kinds::{IdentificationId, TrustedDeviceId};
use latchkey_kernel::strategy::Strategy;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::Factor;
use crate::users::model::ContactKind;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SignInFactor")]
pub struct FactorView {
    strategy: Strategy,
    #[serde(skip_serializing_if = "Option::is_none")]
    safe_identifier: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email_address_id: Option<IdentificationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone_number_id: Option<IdentificationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    web3_wallet_id: Option<IdentificationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trusted_device_id: Option<TrustedDeviceId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    primary: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<bool>,
}

pub fn factor(factor: &Factor) -> FactorView {
    let recipient = factor.recipient.as_ref();
    let id = |kind: ContactKind| {
        recipient.filter(|recipient| recipient.kind == kind).and_then(|found| found.id.clone())
    };
    FactorView {
        strategy: factor.strategy,
        safe_identifier: recipient.map(|recipient| recipient.safe_identifier.clone()),
        email_address_id: id(ContactKind::Email),
        phone_number_id: id(ContactKind::Phone),
        web3_wallet_id: id(ContactKind::Wallet),
        trusted_device_id: factor.device.clone(),
        primary: recipient.and_then(|recipient| recipient.is_primary),
        default: recipient.filter(|recipient| recipient.is_default).map(|_| true),
    }
}
