//! Which native apps belong to the application, and what they offer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::Faults;

/// Apps of one application; every one is compared with each passkey that comes from an app.
const APPS: usize = 50;
const FINGERPRINTS: usize = 20;
const NAME_CHARS: usize = 255;

/// Which native apps belong to the application, and what they offer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NativeSettings {
    /// People sign in to native apps with a key that their device keeps for them, behind a fingerprint or a face.
    pub trusted_device_sign_in_enabled: bool,
    /// Native apps ask for it after somebody has signed in.
    pub trusted_device_enrollment_prompt_after_sign_in_enabled: bool,
    /// Native apps ask for it after somebody has signed up.
    pub trusted_device_enrollment_prompt_after_sign_up_enabled: bool,
    /// Apps for Apple's devices that may use passkeys of the Frontend API's host, such as `A1B2C3D4E5.com.example.app`.
    pub apple_app_ids: Vec<String>,
    /// Apps for Android that may use passkeys of the Frontend API's host.
    pub android_apps: Vec<AndroidApp>,
}

/// An app for Android.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AndroidApp {
    /// Such as `com.example.app`.
    pub package_name: String,
    /// The SHA-256 fingerprints of the certificates it is signed with: 32 bytes in upper-case hex, separated by colons.
    pub sha256_cert_fingerprints: Vec<String>,
}

impl AndroidApp {
    /// The fingerprints of its certificates, as bytes.
    pub fn certificates(&self) -> impl Iterator<Item = [u8; 32]> {
        self.sha256_cert_fingerprints.iter().filter_map(|print| fingerprint(print))
    }
}

impl NativeSettings {
    /// Whether an app is one of the application's, by the name its platform gives it.
    pub fn has_app(&self, platform: &str, identifier: &str) -> bool {
        let bundle = |id: &String| id.split_once('.').is_some_and(|(_, bundle)| bundle == identifier);
        match platform {
            "ios" => self.apple_app_ids.iter().any(bundle),
            "android" => self.android_apps.iter().any(|app| app.package_name == identifier),
            _ => false,
        }
    }

    pub(super) fn check(&self, faults: &mut Faults) {
        for (path, is_on) in [
            (
                "native_settings.trusted_device_enrollment_prompt_after_sign_in_enabled",
                self.trusted_device_enrollment_prompt_after_sign_in_enabled,
            ),
            (
                "native_settings.trusted_device_enrollment_prompt_after_sign_up_enabled",
                self.trusted_device_enrollment_prompt_after_sign_up_enabled,
            ),
        ] {
            if is_on && !self.trusted_device_sign_in_enabled {
                faults.add(path, "It needs native_settings.trusted_device_sign_in_enabled.");
            }
        }
        for (path, count) in [
            ("native_settings.apple_app_ids", self.apple_app_ids.len()),
            ("native_settings.android_apps", self.android_apps.len()),
        ] {
            if count > APPS {
                faults.add(path, format!("There may be at most {APPS}."));
            }
        }
        for id in self.apple_app_ids.iter().filter(|id| !is_apple_app_id(id)) {
            let text = format!("`{id}` is not a team id of ten letters and digits, a dot and a bundle id.");
            faults.add("native_settings.apple_app_ids", text);
        }
        for app in &self.android_apps {
            if !is_dotted_name(&app.package_name) {
                let text = format!("`{}` is not the name of a package.", app.package_name);
                faults.add("native_settings.android_apps", text);
            }
            let prints = &app.sha256_cert_fingerprints;
            if prints.is_empty() || prints.len() > FINGERPRINTS {
                let text = format!("An app has 1 to {FINGERPRINTS} fingerprints of its certificates.");
                faults.add("native_settings.android_apps", text);
            }
            for print in prints.iter().filter(|print| fingerprint(print).is_none()) {
                let text = format!("`{print}` is not 32 bytes in upper-case hex, separated by colons.");
                faults.add("native_settings.android_apps", text);
            }
        }
    }
}

/// The bytes of a fingerprint.
fn fingerprint(text: &str) -> Option<[u8; 32]> {
    let parts: Vec<&str> = text.split(':').collect();
    let byte = |part: &&str| {
        let is_hex =
            part.len() == 2 && part.bytes().all(|c| c.is_ascii_digit() || (b'A'..=b'F').contains(&c));
        is_hex.then(|| u8::from_str_radix(part, 16).ok()).flatten()
    };
    let bytes: Option<Vec<u8>> = parts.iter().map(byte).collect();
    bytes?.try_into().ok()
}

fn is_apple_app_id(id: &str) -> bool {
    let Some((team, bundle)) = id.split_once('.') else { return false };
    let is_team = team.len() == 10 && team.bytes().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase());
    is_team && is_dotted_name(bundle)
}

fn is_dotted_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-')
    };
    name.len() <= NAME_CHARS && name.contains('.') && name.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apps_are_named_as_their_platforms_name_them() {
        for good in ["A1B2C3D4E5.com.example.app", "0123456789.org.example-app"] {
            assert!(is_apple_app_id(good), "{good}");
        }
        for bad in ["com.example.app", "a1b2c3d4e5.com.example", "A1B2C3D4E5.", "A1B2C3D4E5.app", ""] {
            assert!(!is_apple_app_id(bad), "{bad}");
        }
        let good = ["AB"; 32].join(":");
        assert_eq!(fingerprint(&good), Some([0xAB; 32]));
        for bad in
            [good.to_lowercase(), ["AB"; 31].join(":"), good.replace(':', ""), good.replacen("AB", "+1", 1)]
        {
            assert_eq!(fingerprint(&bad), None, "{bad}");
        }
    }
}
