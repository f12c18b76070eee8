//! How challenges for devices look on the wire, and what is said of a device that an app remembers.

use latchkey_base::Time;
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;

object!(TrustedDeviceChallengeObject, "trusted_device_challenge");
object!(TrustedDeviceValidationObject, "trusted_device_validation");

/// What a device must sign.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TrustedDeviceChallenge")]
pub struct TrustedDeviceChallengeView<'a> {
    object: TrustedDeviceChallengeObject,
    challenge: &'a str,
    challenge_id: &'a str,
    /// The device, when somebody signs in with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    trusted_device_id: Option<&'a str>,
    /// The text to sign.
    client_data: &'a str,
    expires_at: Time,
    #[schemars(extend("enum" = ["ES256"]))]
    algorithm: &'static str,
}

/// A challenge to be shown.
pub struct ShownChallenge<'a> {
    pub challenge: &'a str,
    pub id: &'a str,
    pub device: Option<&'a str>,
    pub client_data: &'a str,
    pub expire_at: Time,
}

pub fn challenge<'a>(shown: &ShownChallenge<'a>) -> TrustedDeviceChallengeView<'a> {
    TrustedDeviceChallengeView {
        object: TrustedDeviceChallengeObject::It,
        challenge: shown.challenge,
        challenge_id: shown.id,
        trusted_device_id: shown.device,
        client_data: shown.client_data,
        expires_at: shown.expire_at,
        algorithm: "ES256",
    }
}

/// Whether people can sign in with a device.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TrustedDeviceValidation")]
pub struct TrustedDeviceValidationView {
    object: TrustedDeviceValidationObject,
    valid: bool,
}

pub fn validation(valid: bool) -> TrustedDeviceValidationView {
    TrustedDeviceValidationView { object: TrustedDeviceValidationObject::It, valid }
}
