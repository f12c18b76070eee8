//! What is kept of trusted devices beside what their users see.

use latchkey_base::Time;
use latchkey_base::kinds::{ClientId, InstanceId, TrustedDeviceChallengeId, TrustedDeviceId, UserId};

/// The key of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustedDeviceKey {
    pub instance: InstanceId,
    pub id: TrustedDeviceId,
    pub user: UserId,
    /// As `P256Key::text` writes it.
    pub public_key: String,
    pub created_at: Time,
}

/// What a device must sign to be enrolled.
#[derive(Clone, Debug, PartialEq)]
pub struct EnrollmentChallenge {
    pub instance: InstanceId,
    pub id: TrustedDeviceChallengeId,
    pub user: UserId,
    /// The app it was asked for by.
    pub client: ClientId,
    pub device: DeviceClaim,
    /// The text to sign.
    pub client_data: String,
    pub expire_at: Time,
}

/// What an app says of the device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceClaim {
    /// `ios` or `android`.
    pub platform: String,
    /// The bundle id or the name of the package.
    pub app_identifier: String,
    pub name: Option<String>,
    /// As `P256Key::text` writes it.
    pub public_key: String,
}
