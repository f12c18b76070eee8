//! Which pages and apps may use the passkeys of a domain.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_door::gate;
use latchkey_door::site::Site;
use latchkey_kernel::domains::rules as domains;
use latchkey_kernel::settings::{RelyingPartyId, Settings};
use latchkey_kernel::{hosts, origins};

/// How Android names an app: by the digest of the certificate it is signed with.
const ANDROID: &str = "android:apk-key-hash:";

/// Whether an answer may come from this origin, given that the passkey belongs to this domain. Browsers have compared
/// the two already; apps and whoever else writes such answers have not.
pub fn is_expected(site: &Site, rp_id: &str, origin: &str) -> bool {
    if let Some(digest) = origin.strip_prefix(ANDROID) {
        return is_android_app(&site.settings, digest);
    }
    if origins::canonical(origin).as_deref() != Some(origin) {
        return false;
    }
    let is_below = hosts::is_within(hosts::name(hosts::authority(origin)), rp_id);
    let is_related =
        || is_related_by_settings(&site.settings) && related(site).iter().any(|one| one == origin);
    match site.is_development() {
        true => is_below || is_related(),
        false => gate::is_own(site, origin) && (is_below || is_related_by_settings(&site.settings)),
    }
}

/// The origins that browsers may use passkeys of the Frontend API's host on: the pages of the application as far as they
/// can be listed. Others below its domain are listed by the setting `allowed_origins`.
pub fn related(site: &Site) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |origin: Option<String>| {
        if let Some(origin) = origin.filter(|origin| !all.contains(origin)) {
            all.push(origin);
        }
    };
    add(origins::canonical(&site.base_url));
    if !site.is_development() {
        let name = domains::name(&site.frontend_api);
        add(origins::canonical(&format!("https://{name}")));
        add(origins::canonical(&format!("https://accounts.{name}")));
    }
    for satellite in &site.settings.satellites {
        add(origins::canonical(&format!("https://{}", satellite.name)));
    }
    for origin in &site.settings.allowed_origins {
        add(origins::canonical(origin));
    }
    all
}

/// Whether origins use passkeys of a host that is not theirs.
pub fn is_related_by_settings(settings: &Settings) -> bool {
    settings.passkey_settings.rp_id == RelyingPartyId::AuthHost
}

fn is_android_app(settings: &Settings, digest: &str) -> bool {
    let Ok(digest) = URL_SAFE_NO_PAD.decode(digest) else { return false };
    let mut apps = settings.native_settings.android_apps.iter();
    apps.any(|app| app.certificates().any(|certificate| certificate.as_slice() == digest))
}
