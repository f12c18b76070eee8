//! How second factors and pictures look to their owner.

use latchkey_base::Time;
use latchkey_base::kinds::UserId;
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;

object!(TotpObject, "totp");
object!(BackupCodesObject, "backup_code");
object!(ImageObject, "image");

/// An authenticator app. Its secret is shown while it is set up, and never again.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TOTP")]
pub struct TotpView {
    object: TotpObject,
    id: String,
    secret: Option<String>,
    uri: Option<String>,
    verified: bool,
    backup_codes: Option<Vec<String>>,
    created_at: Time,
    updated_at: Time,
}

/// One that is being set up.
pub fn pending_totp(user: &UserId, secret: String, uri: String, now: Time) -> TotpView {
    TotpView { secret: Some(secret), uri: Some(uri), verified: false, ..totp(user, None, now) }
}

/// One that is set up, with the backup codes that were made for it.
pub fn totp(user: &UserId, backup_codes: Option<Vec<String>>, now: Time) -> TotpView {
    TotpView {
        object: TotpObject::It,
        id: totp_id(user),
        secret: None,
        uri: None,
        verified: true,
        backup_codes,
        created_at: now,
        updated_at: now,
    }
}

/// A user has one authenticator app at most, so it needs no id of its own.
pub fn totp_id(user: &UserId) -> String {
    owned("totp", user)
}

fn owned(prefix: &str, user: &UserId) -> String {
    let (_, rest) = user.as_str().rsplit_once('_').unwrap_or_default();
    format!("{prefix}_{rest}")
}

/// The backup codes of a user, shown this once.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BackupCodes")]
pub struct BackupCodesView {
    object: BackupCodesObject,
    id: String,
    codes: Vec<String>,
    created_at: Time,
    updated_at: Time,
}

pub fn backup_codes(user: &UserId, codes: Vec<String>, now: Time) -> BackupCodesView {
    let id = owned("backup_code", user);
    BackupCodesView { object: BackupCodesObject::It, id, codes, created_at: now, updated_at: now }
}

/// An uploaded picture.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Image")]
pub struct ImageView {
    object: ImageObject,
    id: String,
    name: String,
    public_url: String,
}

pub fn image(id: String, public_url: String) -> ImageView {
    ImageView { object: ImageObject::It, name: id.clone(), id, public_url }
}
