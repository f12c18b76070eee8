//! How a user looks on the wire, in the newest version.

use latchkey_base::Time;
use latchkey_base::kinds::{IdentificationId, TrustedDeviceId, UserId};
use latchkey_kernel::cx::Act;
use latchkey_kernel::object;
use latchkey_kernel::settings::Settings;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::model::{TrustedDevice, User};
use super::passkeys::{self, FrontendPasskeyView, PasskeyView, passkey};
use super::rules;
use crate::external_accounts::view::{ExternalAccountView, external_account};
use crate::identifications::view as contact;
use crate::identifications::view::{EmailAddressView, PhoneNumberView, WalletView};
use crate::images::drawn_url;

/// What the view of a user depends on besides the user.
#[derive(Clone, Copy)]
pub struct ViewContext<'a> {
    pub now: Time,
    pub settings: &'a Settings,
    pub api_url: &'a str,
    /// The domain whose passkeys can be used where it is shown; none where nobody signs in.
    pub relying_party: Option<&'a str>,
}

impl<'a> ViewContext<'a> {
    /// How a request sees users.
    pub fn of(act: &'a Act) -> ViewContext<'a> {
        ViewContext { now: act.now, settings: &act.settings, api_url: &act.api_url, relying_party: None }
    }
}

/// A user as backends see them.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "User")]
pub struct UserView<'a> {
    #[serde(flatten)]
    shared: SharedView<'a>,
    passkeys: Vec<PasskeyView<'a>>,
    create_organizations_limit: Option<i64>,
    /// Left out of users without one, because the published description does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    timezone: Option<&'a str>,
    #[schemars(with = "Map<String, Value>")]
    private_metadata: &'a RawValue,
}

/// A user as they see themselves, with their memberships in organizations.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FrontendUser")]
pub struct FrontendUserView<'a, M> {
    #[serde(flatten)]
    shared: SharedView<'a>,
    passkeys: Vec<FrontendPasskeyView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    create_organizations_limit: Option<i64>,
    organization_memberships: Vec<M>,
}

/// What both see.
#[derive(Serialize, JsonSchema)]
struct SharedView<'a> {
    id: &'a UserId,
    object: UserObject,
    username: Option<&'a str>,
    first_name: Option<&'a str>,
    last_name: Option<&'a str>,
    locale: Option<&'a str>,
    image_url: String,
    has_image: bool,
    primary_email_address_id: Option<&'a IdentificationId>,
    primary_phone_number_id: Option<&'a IdentificationId>,
    primary_web3_wallet_id: Option<&'a IdentificationId>,
    password_enabled: bool,
    two_factor_enabled: bool,
    totp_enabled: bool,
    backup_code_enabled: bool,
    email_addresses: Vec<EmailAddressView<'a>>,
    phone_numbers: Vec<PhoneNumberView<'a>>,
    web3_wallets: Vec<WalletView<'a>>,
    external_accounts: Vec<ExternalAccountView<'a>>,
    /// Accounts at SAML connections.
    saml_accounts: Vec<Map<String, Value>>,
    /// Accounts at enterprise connections.
    enterprise_accounts: Vec<Map<String, Value>>,
    password_last_updated_at: Option<Time>,
    #[schemars(with = "Map<String, Value>")]
    public_metadata: &'a RawValue,
    #[schemars(with = "Map<String, Value>")]
    unsafe_metadata: &'a RawValue,
    external_id: Option<&'a str>,
    last_sign_in_at: Option<Time>,
    banned: bool,
    locked: bool,
    deprovisioned: bool,
    lockout_expires_in_seconds: Option<i64>,
    verification_attempts_remaining: Option<i64>,
    created_at: Time,
    updated_at: Time,
    delete_self_enabled: bool,
    create_organization_enabled: bool,
    last_active_at: Option<Time>,
    mfa_enabled_at: Option<Time>,
    mfa_disabled_at: Option<Time>,
    legal_accepted_at: Option<Time>,
    bypass_client_trust: bool,
    profile_image_url: String,
}

object!(UserObject, "user");
object!(TrustedDeviceObject, "trusted_device");
object!(TotalCountObject, "total_count");

pub fn user<'a>(user: &'a User, context: ViewContext<'_>) -> UserView<'a> {
    UserView {
        shared: shared(user, context),
        passkeys: user.passkeys.iter().map(passkey).collect(),
        create_organizations_limit: rules::organizations_limit(user, context.settings),
        timezone: user.timezone.as_deref(),
        private_metadata: &user.private_metadata,
    }
}

pub fn frontend<'a, M>(
    user: &'a User,
    organization_memberships: Vec<M>,
    context: ViewContext<'_>,
) -> FrontendUserView<'a, M> {
    FrontendUserView {
        shared: shared(user, context),
        passkeys: user.passkeys.iter().map(passkeys::frontend).collect(),
        create_organizations_limit: rules::organizations_limit(user, context.settings),
        organization_memberships,
    }
}

fn shared<'a>(user: &'a User, context: ViewContext<'_>) -> SharedView<'a> {
    let image_url = image_url(user, context.api_url);
    let lockout = &context.settings.lockout;
    let is_locked = user.is_locked(context.now);
    let lock_ends = user.lock.as_ref().and_then(|lock| lock.until).filter(|_| is_locked);
    SharedView {
        id: &user.id,
        object: UserObject::It,
        username: user.username.as_ref().map(|username| username.value.as_str()),
        first_name: user.first_name.as_deref(),
        last_name: user.last_name.as_deref(),
        locale: user.locale.as_deref(),
        profile_image_url: image_url.clone(),
        image_url,
        has_image: user.image.is_some(),
        primary_email_address_id: user.email_addresses.primary.as_ref(),
        primary_phone_number_id: user.phone_numbers.primary.as_ref(),
        primary_web3_wallet_id: user.web3_wallets.primary.as_ref(),
        password_enabled: user.password.is_some(),
        two_factor_enabled: user.has_second_factor(),
        totp_enabled: user.totp_enabled,
        backup_code_enabled: user.backup_code_enabled,
        email_addresses: user
            .email_addresses
            .all
            .iter()
            .map(|held| contact::email_address(held, context.now))
            .collect(),
        phone_numbers: user
            .phone_numbers
            .all
            .iter()
            .map(|held| contact::phone_number(held, context.now))
            .collect(),
        web3_wallets: user.web3_wallets.all.iter().map(|held| contact::wallet(held, context.now)).collect(),
        external_accounts: user
            .external_accounts
            .iter()
            .map(|held| external_account(held, context.now))
            .collect(),
        saml_accounts: Vec::new(),
        enterprise_accounts: Vec::new(),
        password_last_updated_at: user.password.as_ref().map(|password| password.updated_at),
        public_metadata: &user.public_metadata,
        unsafe_metadata: &user.unsafe_metadata,
        external_id: user.external_id.as_deref(),
        last_sign_in_at: user.last_sign_in_at,
        banned: user.banned,
        locked: is_locked,
        // Directory synchronisation sets it, which does not exist yet.
        deprovisioned: false,
        lockout_expires_in_seconds: lock_ends.map(|until| until.ms_since(context.now).div_ceil_thousand()),
        verification_attempts_remaining: lockout
            .enabled
            .then(|| (lockout.max_attempts - user.failed_attempts).max(0)),
        created_at: user.created_at,
        updated_at: user.updated_at,
        delete_self_enabled: rules::may_delete_self(user, context.settings),
        create_organization_enabled: rules::may_create_organizations(user, context.settings),
        last_active_at: user.last_active_at,
        mfa_enabled_at: user.mfa_enabled_at,
        mfa_disabled_at: user.mfa_disabled_at,
        legal_accepted_at: user.legal_accepted_at,
        bypass_client_trust: user.bypass_client_trust,
    }
}

/// Milliseconds as whole seconds, rounded up, so that a lock with time left never shows zero.
trait DivCeilThousand {
    fn div_ceil_thousand(self) -> i64;
}

impl DivCeilThousand for i64 {
    fn div_ceil_thousand(self) -> i64 {
        (self + 999) / 1000
    }
}

/// The uploaded picture, or a drawn one with the user's initials.
pub fn image_url(user: &User, api_url: &str) -> String {
    if let Some(image) = &user.image {
        return format!("{api_url}/images/{}/{image}", user.instance);
    }
    let initials = latchkey_images::initials(user.first_name.as_deref(), user.last_name.as_deref());
    drawn_url(api_url, user.id.as_str(), initials)
}

/// What others may see of a user.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PublicUserData")]
pub struct PublicUserView<'a> {
    user_id: &'a UserId,
    first_name: Option<&'a str>,
    last_name: Option<&'a str>,
    image_url: String,
    has_image: bool,
    identifier: &'a str,
    username: Option<&'a str>,
    banned: bool,
    deprovisioned: bool,
    profile_image_url: String,
}

pub fn public<'a>(user: &'a User, context: ViewContext<'_>) -> PublicUserView<'a> {
    let image_url = image_url(user, context.api_url);
    PublicUserView {
        user_id: &user.id,
        first_name: user.first_name.as_deref(),
        last_name: user.last_name.as_deref(),
        profile_image_url: image_url.clone(),
        image_url,
        has_image: user.image.is_some(),
        identifier: user.identifier().unwrap_or_default(),
        username: user.username.as_ref().map(|username| username.value.as_str()),
        banned: user.banned,
        deprovisioned: false,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TrustedDevice")]
pub struct TrustedDeviceView<'a> {
    object: TrustedDeviceObject,
    id: &'a TrustedDeviceId,
    #[schemars(extend("enum" = ["ios", "android"]))]
    platform: &'a str,
    app_identifier: &'a str,
    name: Option<&'a str>,
    #[schemars(extend("enum" = ["ES256"]))]
    algorithm: &'static str,
    #[schemars(extend("enum" = ["active", "revoked"]))]
    status: &'static str,
    created_at: Time,
    updated_at: Time,
    last_used_at: Option<Time>,
    revoked_at: Option<Time>,
}

pub fn trusted_device(device: &TrustedDevice) -> TrustedDeviceView<'_> {
    TrustedDeviceView {
        object: TrustedDeviceObject::It,
        id: &device.id,
        platform: &device.platform,
        app_identifier: &device.app_identifier,
        name: device.name.as_deref(),
        algorithm: "ES256",
        status: if device.revoked_at.is_some() { "revoked" } else { "active" },
        created_at: device.created_at,
        updated_at: device.updated_at,
        last_used_at: device.last_used_at,
        revoked_at: device.revoked_at,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TotalCount")]
pub struct TotalCountView {
    object: TotalCountObject,
    total_count: i64,
}

pub fn total_count(total_count: i64) -> TotalCountView {
    TotalCountView { object: TotalCountObject::It, total_count }
}

/// Answer of the operations that take second factors away.
#[derive(Serialize, JsonSchema)]
pub struct UserIdView {
    pub user_id: UserId,
}

/// Answer of `VerifyPassword`.
#[derive(Serialize, JsonSchema)]
pub struct VerifiedView {
    pub verified: bool,
}

/// Answer of `VerifyTOTP`.
#[derive(Serialize, JsonSchema)]
pub struct VerifiedCodeView {
    pub verified: bool,
    pub code_type: CodeType,
}

/// Which kind of code was right.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum CodeType {
    Totp,
    BackupCode,
}
