//! Decisions about trusted devices. Pure: values in, values or refusals out.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::kinds::{TrustedDeviceChallengeId, TrustedDeviceId};
use latchkey_base::{Code, Error, Id, Result, Time};
use latchkey_flows::strategies::ProofPurpose;
use latchkey_jose::es256::P256Key;
use latchkey_kernel::limits::TRUSTED_DEVICES_PER_USER;
use latchkey_kernel::settings::Settings;
use latchkey_people::users::model::{TrustedDevice, User};
use serde::Deserialize;
use serde_json::json;

use super::model::{DeviceClaim, EnrollmentChallenge};

/// Longest name; apps show a part of it.
const NAME_CHARS: usize = 255;

/// Refuses where people do not sign in with devices.
pub fn check_enabled(settings: &Settings) -> Result<()> {
    match settings.native_settings.trusted_device_sign_in_enabled {
        true => Ok(()),
        false => {
            Err(Error::new(Code::FeatureNotEnabled)
                .saying("Signing in with trusted devices is switched off."))
        }
    }
}

/// What an app says of a device, if it may.
pub fn claim(
    platform: &str,
    app_identifier: String,
    name: Option<String>,
    jwk: &str,
    settings: &Settings,
) -> Result<DeviceClaim> {
    if !settings.native_settings.has_app(platform, &app_identifier) {
        return Err(Error::new(Code::TrustedDeviceAppIdentifierNotConfigured));
    }
    let invalid = |_| Error::param(Code::TrustedDeviceInvalidPublicKey, "public_key_jwk");
    let public_key = P256Key::from_jwk(jwk).map_err(invalid)?.text();
    let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    if name.as_ref().is_some_and(|name| name.chars().count() > NAME_CHARS) {
        let text = format!("A name has at most {NAME_CHARS} characters.");
        return Err(Error::param(Code::FormParamMaxLengthExceeded, "name").saying(text));
    }
    if name.as_ref().is_some_and(|name| name.chars().any(char::is_control)) {
        return Err(Error::param(Code::FormParamFormatInvalid, "name").saying("A name is one line."));
    }
    Ok(DeviceClaim { platform: platform.to_owned(), app_identifier, name, public_key })
}

/// A challenge as a text in base64url.
pub fn challenge(random: [u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(random)
}

/// The text a device signs to be enrolled. It names everything the challenge is for, so that a signature serves nothing
/// else, and keys of objects are in the order of the alphabet.
pub fn enrollment_text(
    id: &TrustedDeviceChallengeId,
    challenge: &str,
    user: &User,
    device: &DeviceClaim,
    expire_at: Time,
) -> String {
    json!({
        "algorithm": "ES256",
        "app_identifier": device.app_identifier,
        "challenge": challenge,
        "challenge_id": id.as_str(),
        "expires_at": expire_at.ms(),
        "instance_id": user.instance.as_str(),
        "platform": device.platform,
        "public_key": device.public_key,
        "type": "trusted_device.enrollment",
        "user_id": user.id.as_str(),
    })
    .to_string()
}

/// Returns the text that a device signs when a user signs in with it, or proves again who they are.
pub fn proof_text(
    purpose: ProofPurpose,
    id: &TrustedDeviceChallengeId,
    challenge: &str,
    user: &User,
    device: &TrustedDeviceId,
    expire_at: Time,
) -> String {
    let is_reverification = purpose == ProofPurpose::Reverification;
    json!({
        "algorithm": "ES256",
        "challenge": challenge,
        "challenge_id": id.as_str(),
        "expires_at": expire_at.ms(),
        "instance_id": user.instance.as_str(),
        "trusted_device_id": device.as_str(),
        "type": if is_reverification { "trusted_device.reverification" } else { "trusted_device.sign_in" },
    })
    .to_string()
}

/// Which challenge a text is of.
pub fn challenge_of(client_data: &str) -> Result<TrustedDeviceChallengeId> {
    #[derive(Deserialize)]
    struct Named {
        challenge_id: String,
    }
    let invalid = || Error::param(Code::TrustedDeviceInvalidClientData, "client_data");
    let named: Named = serde_json::from_str(client_data).map_err(|_| invalid())?;
    Id::parse(&named.challenge_id).ok_or_else(invalid)
}

/// Refuses what was signed unless it is the text of the challenge, by the device it was made for, and in time.
pub fn check_signed(
    challenge: &EnrollmentChallenge,
    device: &DeviceClaim,
    client_data: &str,
    signature: &str,
    now: Time,
) -> Result<()> {
    if challenge.expire_at <= now {
        return Err(Error::new(Code::TrustedDeviceChallengeExpired));
    }
    if client_data != challenge.client_data {
        return Err(Error::param(Code::TrustedDeviceInvalidClientData, "client_data"));
    }
    for (param, said, meant) in [
        ("platform", &device.platform, &challenge.device.platform),
        ("app_identifier", &device.app_identifier, &challenge.device.app_identifier),
        ("public_key_jwk", &device.public_key, &challenge.device.public_key),
    ] {
        if said != meant {
            return Err(Error::param(Code::TrustedDeviceBindingMismatch, param));
        }
    }
    verify(&challenge.device.public_key, client_data, signature)
}

/// Refuses a signature that a key did not make over a text.
pub fn verify(public_key: &str, text: &str, signature: &str) -> Result<()> {
    let key = P256Key::from_text(public_key).map_err(Error::internal)?;
    key.verify(text.as_bytes(), signature)
        .map_err(|_| Error::new(Code::TrustedDeviceSignatureVerificationFailed))
}

/// The devices of a user that were not revoked.
pub fn active(user: &User) -> impl Iterator<Item = &TrustedDevice> {
    user.trusted_devices.iter().filter(|device| device.revoked_at.is_none())
}

/// The device of this id, if it was not revoked.
pub fn find_active<'a>(user: &'a User, id: &TrustedDeviceId) -> Option<&'a TrustedDevice> {
    active(user).find(|device| device.id == *id)
}

/// Refuses one more device to somebody who has as many as one may have.
pub fn check_quota(user: &User) -> Result<()> {
    match active(user).count() < TRUSTED_DEVICES_PER_USER {
        true => Ok(()),
        false => Err(Error::new(Code::TrustedDeviceCredentialQuotaExceeded)),
    }
}

/// The user with one more device. Of those that were revoked the last few are remembered.
pub fn enrolled(mut user: User, id: &TrustedDeviceId, device: DeviceClaim, now: Time) -> Result<User> {
    check_quota(&user)?;
    let revoked = user.trusted_devices.iter().filter(|device| device.revoked_at.is_some()).count();
    let mut surplus = (revoked + 1).saturating_sub(TRUSTED_DEVICES_PER_USER);
    user.trusted_devices.retain(|device| {
        let is_dropped = surplus > 0 && device.revoked_at.is_some();
        surplus -= usize::from(is_dropped);
        !is_dropped
    });
    user.trusted_devices.push(TrustedDevice {
        id: id.clone(),
        platform: device.platform,
        app_identifier: device.app_identifier,
        name: device.name,
        created_at: now,
        updated_at: now,
        last_used_at: None,
        revoked_at: None,
    });
    Ok(user)
}

/// The user with a device that was revoked.
pub fn revoked(mut user: User, id: &TrustedDeviceId, now: Time) -> Result<User> {
    let mut devices = user.trusted_devices.iter_mut();
    let device = devices.find(|device| device.id == *id && device.revoked_at.is_none());
    let device = device.ok_or_else(|| Error::not_found("trusted device", id))?;
    device.revoked_at = Some(now);
    device.updated_at = now;
    Ok(user)
}

/// The user after one of their devices was used.
pub fn used(mut user: User, id: &TrustedDeviceId, now: Time) -> Result<User> {
    let mut devices = user.trusted_devices.iter_mut();
    let device = devices.find(|device| device.id == *id && device.revoked_at.is_none());
    device.ok_or_else(not_registered)?.last_used_at = Some(now);
    Ok(user)
}

/// The refusal of a device that is unknown or was revoked. Apps forget it then.
pub fn not_registered() -> Error {
    Error::param(Code::TrustedDeviceNotRegistered, "trusted_device_id")
}
