//! What the operations on trusted devices take.

use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `prepareTrustedDevice`.
#[derive(Deserialize, JsonSchema)]
pub struct PrepareTrustedDevice {
    pub platform: DevicePlatform,
    /// The bundle id or the name of the package of the app.
    pub app_identifier: String,
    /// What people call the device.
    pub name: Option<String>,
    pub algorithm: DeviceAlgorithm,
    /// The public key of the device, as a JWK.
    pub public_key_jwk: String,
}

/// Body of `attemptTrustedDevice`.
#[derive(Deserialize, JsonSchema)]
pub struct AttemptTrustedDevice {
    pub platform: DevicePlatform,
    /// The bundle id or the name of the package of the app.
    pub app_identifier: String,
    /// What people call the device.
    pub name: Option<String>,
    pub algorithm: DeviceAlgorithm,
    /// The public key of the device, as a JWK.
    pub public_key_jwk: String,
    /// The text of the challenge.
    pub client_data: String,
    /// The signature over it: 64 bytes in base64url.
    pub signature: String,
}

/// Body of `validateTrustedDevice`.
#[derive(Deserialize, JsonSchema)]
pub struct ValidateTrustedDevice {
    /// The device that the app remembers.
    pub trusted_device_id: String,
}

/// The platforms that have such keys.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum DevicePlatform {
    Ios,
    Android,
}

impl DevicePlatform {
    pub fn name(self) -> &'static str {
        match self {
            DevicePlatform::Ios => "ios",
            DevicePlatform::Android => "android",
        }
    }
}

/// The algorithms they sign with.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum DeviceAlgorithm {
    #[serde(rename = "ES256")]
    Es256,
}
