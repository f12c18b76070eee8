//! `user_settings`: what users may or must have, and how they sign up and in.

use latchkey_kernel::settings::{Attribute, Attributes, Settings, SignUpMode};
use latchkey_kernel::strategy::Strategy;
use latchkey_passwords::special_characters;
use latchkey_web::version::Version;
use schemars::JsonSchema;
use serde::Serialize;

use super::EnvironmentSource;
use super::social::{self, SocialsView};

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettings")]
pub(super) struct UserSettingsView<'a> {
    attributes: AttributesView<'a>,
    /// Providers people sign in with, by strategy.
    social: SocialsView<'a>,
    saml: EnterpriseSsoView,
    enterprise_sso: EnterpriseSsoView,
    sign_in: SignInView,
    sign_up: SignUpView,
    restrictions: RestrictionsView,
    password_settings: PasswordSettingsView<'a>,
    username_settings: UsernameSettingsView,
    actions: ActionsView,
    attack_protection: AttackProtectionView,
    passkey_settings: PasskeySettingsView,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsAttributes")]
struct AttributesView<'a> {
    email_address: AttributeView<'a>,
    phone_number: AttributeView<'a>,
    username: AttributeView<'a>,
    web3_wallet: AttributeView<'a>,
    first_name: AttributeView<'a>,
    last_name: AttributeView<'a>,
    password: AttributeView<'a>,
    authenticator_app: AttributeView<'a>,
    ticket: AttributeView<'a>,
    backup_code: AttributeView<'a>,
    passkey: AttributeView<'a>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsAttribute")]
pub(super) struct AttributeView<'a> {
    enabled: bool,
    required: bool,
    used_for_first_factor: bool,
    first_factors: &'a [Strategy],
    used_for_second_factor: bool,
    second_factors: &'a [Strategy],
    verifications: &'a [Strategy],
    verify_at_sign_up: bool,
    immutable: bool,
    /// How codes reach a phone.
    #[serde(skip_serializing_if = "Option::is_none")]
    channels: Option<&'static [&'static str]>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsEnterpriseSSO")]
struct EnterpriseSsoView {
    enabled: bool,
    self_serve_sso: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsSignIn")]
struct SignInView {
    second_factor: SecondFactorView,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsSecondFactor")]
struct SecondFactorView {
    required: bool,
    enabled: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsSignUp")]
struct SignUpView {
    captcha_enabled: bool,
    captcha_widget_type: &'static str,
    custom_action_required: bool,
    progressive: bool,
    mode: SignUpMode,
    legal_consent_enabled: bool,
    allowlist_only: bool,
    mfa: MfaView,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsMfa")]
struct MfaView {
    required: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsEnabled")]
struct Enabled {
    enabled: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsRestrictions")]
struct RestrictionsView {
    allowlist: Enabled,
    blocklist: Enabled,
    allowlist_blocklist_disabled_on_sign_in: Enabled,
    block_email_subaddresses: Enabled,
    block_disposable_email_domains: Enabled,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsPasswordSettings")]
struct PasswordSettingsView<'a> {
    disable_hibp: bool,
    disable_password_reverification: bool,
    min_length: usize,
    max_length: usize,
    require_special_char: bool,
    require_numbers: bool,
    require_uppercase: bool,
    require_lowercase: bool,
    show_zxcvbn: bool,
    min_zxcvbn_strength: u8,
    enforce_hibp_on_sign_in: bool,
    allowed_special_characters: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsUsernameSettings")]
struct UsernameSettingsView {
    min_length: usize,
    max_length: usize,
    allow_extended_special_characters: bool,
    allow_numeric_usernames: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsActions")]
struct ActionsView {
    delete_self: bool,
    create_organization: bool,
    create_organizations_limit: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsAttackProtection")]
struct AttackProtectionView {
    user_lockout: UserLockoutView,
    pii: Enabled,
    email_link: EmailLinkView,
    enumeration_protection: Enabled,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsUserLockout")]
struct UserLockoutView {
    enabled: bool,
    max_attempts: i64,
    /// 0 where only an operator ends a lock.
    duration_in_minutes: i64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsEmailLink")]
struct EmailLinkView {
    require_same_client: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UserSettingsPasskeySettings")]
struct PasskeySettingsView {
    allow_autofill: bool,
    show_sign_in_button: bool,
    satisfies_second_factor: bool,
}

pub(super) fn view(source: EnvironmentSource<'_>) -> UserSettingsView<'_> {
    let settings = source.settings;
    let no_sso = || EnterpriseSsoView { enabled: false, self_serve_sso: false };
    UserSettingsView {
        attributes: attributes(&settings.attributes, source.version),
        social: social::view(source),
        saml: no_sso(),
        enterprise_sso: no_sso(),
        sign_in: SignInView {
            second_factor: SecondFactorView {
                required: settings.is_second_factor_required(),
                enabled: settings.attributes.has_second_factor(),
            },
        },
        sign_up: sign_up(settings),
        restrictions: restrictions(settings),
        password_settings: password_settings(settings),
        username_settings: UsernameSettingsView {
            min_length: settings.username.min_length,
            max_length: settings.username.max_length,
            allow_extended_special_characters: false,
            allow_numeric_usernames: false,
        },
        actions: ActionsView {
            delete_self: settings.actions.delete_self,
            create_organization: settings.actions.create_organization,
            create_organizations_limit: settings.actions.create_organizations_limit,
        },
        attack_protection: attack_protection(settings),
        passkey_settings: PasskeySettingsView {
            allow_autofill: settings.passkey_settings.allow_autofill,
            show_sign_in_button: settings.passkey_settings.show_sign_in_button,
            satisfies_second_factor: settings.passkey_settings.satisfies_second_factor,
        },
    }
}

fn attributes(attributes: &Attributes, version: Version) -> AttributesView<'_> {
    AttributesView {
        email_address: attribute(&attributes.email_address),
        phone_number: phone_number(&attributes.phone_number),
        username: attribute(&attributes.username),
        web3_wallet: attribute(&attributes.web3_wallet),
        first_name: attribute(&attributes.first_name),
        last_name: attribute(&attributes.last_name),
        password: attribute(&attributes.password),
        authenticator_app: attribute(&attributes.authenticator_app),
        ticket: AttributeView { enabled: true, ..OFF },
        backup_code: attribute(&attributes.backup_code),
        passkey: passkey(attributes, version),
    }
}

const OFF: AttributeView<'_> = AttributeView {
    enabled: false,
    required: false,
    used_for_first_factor: false,
    first_factors: &[],
    used_for_second_factor: false,
    second_factors: &[],
    verifications: &[],
    verify_at_sign_up: false,
    immutable: false,
    channels: None,
};

/// Codes travel as text messages; there is no other way.
fn phone_number(number: &Attribute) -> AttributeView<'_> {
    AttributeView { channels: number.enabled.then_some(&["sms"]), ..attribute(number) }
}

/// Older clients offer every second factor that is listed, and do not know passkeys among them.
fn passkey(attributes: &Attributes, version: Version) -> AttributeView<'_> {
    let used_for_second_factor = attributes.has_second_passkey() && version >= Version::V2026_08_20;
    let second_factors = if used_for_second_factor { &attributes.passkey.second_factors[..] } else { &[] };
    AttributeView { used_for_second_factor, second_factors, ..attribute(&attributes.passkey) }
}

pub(super) fn attribute(attribute: &Attribute) -> AttributeView<'_> {
    if !attribute.enabled {
        return OFF;
    }
    AttributeView {
        enabled: true,
        required: attribute.is_required_at_sign_up(),
        used_for_first_factor: attribute.used_for_first_factor,
        first_factors: if attribute.used_for_first_factor { &attribute.first_factors } else { &[] },
        used_for_second_factor: attribute.used_for_second_factor,
        second_factors: if attribute.used_for_second_factor { &attribute.second_factors } else { &[] },
        verifications: &attribute.verifications,
        verify_at_sign_up: attribute.verify_at_sign_up,
        immutable: attribute.immutable,
        channels: None,
    }
}

fn sign_up(settings: &Settings) -> SignUpView {
    SignUpView {
        captcha_enabled: false,
        captcha_widget_type: "smart",
        custom_action_required: false,
        progressive: settings.sign_up.progressive,
        mode: settings.sign_up.mode,
        legal_consent_enabled: settings.legal_consent_required,
        allowlist_only: settings.has_allowlist(),
        mfa: MfaView { required: settings.is_second_factor_required() },
    }
}

fn restrictions(settings: &Settings) -> RestrictionsView {
    let restrictions = &settings.restrictions;
    let shown = |enabled: bool| Enabled { enabled };
    RestrictionsView {
        allowlist: shown(restrictions.allowlist),
        blocklist: shown(restrictions.blocklist),
        allowlist_blocklist_disabled_on_sign_in: shown(restrictions.allowlist_blocklist_disabled_on_sign_in),
        block_email_subaddresses: shown(restrictions.block_email_subaddresses),
        block_disposable_email_domains: shown(restrictions.block_disposable_email_domains),
    }
}

fn password_settings(settings: &Settings) -> PasswordSettingsView<'_> {
    let password = &settings.password;
    PasswordSettingsView {
        disable_hibp: password.allow_breached,
        disable_password_reverification: false,
        min_length: password.min_length,
        max_length: password.max_length,
        require_special_char: password.require_special_char,
        require_numbers: password.require_numbers,
        require_uppercase: password.require_uppercase,
        require_lowercase: password.require_lowercase,
        show_zxcvbn: password.min_zxcvbn_strength > 0,
        min_zxcvbn_strength: password.min_zxcvbn_strength,
        enforce_hibp_on_sign_in: false,
        allowed_special_characters: special_characters(&password.allowed_special_characters),
    }
}

fn attack_protection(settings: &Settings) -> AttackProtectionView {
    let protection = &settings.attack_protection;
    AttackProtectionView {
        user_lockout: UserLockoutView {
            enabled: settings.lockout.enabled,
            max_attempts: settings.lockout.max_attempts,
            duration_in_minutes: settings.lockout.duration_minutes.unwrap_or(0),
        },
        pii: Enabled { enabled: protection.pii },
        email_link: EmailLinkView { require_same_client: protection.email_link_require_same_client },
        enumeration_protection: Enabled { enabled: protection.enumeration_protection },
    }
}
