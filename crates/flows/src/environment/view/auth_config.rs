//! `auth_config`: how people identify themselves, in the older form that native SDKs read.

use latchkey_kernel::environment::Environment;
use latchkey_kernel::object;
use latchkey_kernel::settings::{Attribute, Attributes, Settings};
use latchkey_kernel::strategy::Strategy;
use latchkey_people::factors::rules::resets;
use latchkey_web::version::Version;
use schemars::JsonSchema;
use serde::Serialize;

use super::{EnvironmentSource, part_id};

object!(component AuthConfigObject, "auth_config");

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AuthConfig")]
pub(super) struct AuthConfigView {
    object: AuthConfigObject,
    id: String,
    first_name: Usage,
    last_name: Usage,
    email_address: Usage,
    phone_number: Usage,
    username: Usage,
    password: Usage,
    identification_requirements: Vec<Vec<&'static str>>,
    identification_strategies: Vec<String>,
    first_factors: Vec<String>,
    second_factors: Vec<String>,
    email_address_verification_strategies: Vec<String>,
    single_session_mode: bool,
    enhanced_email_deliverability: bool,
    test_mode: bool,
    cookieless_dev: bool,
    url_based_session_syncing: bool,
    claimed_at: Option<i64>,
    reverification: bool,
    session_minter: bool,
    preferred_channels: Option<()>,
    native_settings: NativeSettingsView,
}

/// Whether an attribute is in use.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Usage {
    On,
    Off,
    Required,
}

object!(component NativeSettingsObject, "native_settings");

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "NativeSettings")]
struct NativeSettingsView {
    object: NativeSettingsObject,
    api_enabled: bool,
    trusted_device_sign_in_enabled: bool,
    trusted_device_enrollment_prompt_after_sign_in_enabled: bool,
    trusted_device_enrollment_prompt_after_sign_up_enabled: bool,
}

pub(super) fn view(source: EnvironmentSource<'_>) -> AuthConfigView {
    let settings = source.settings;
    let (attributes, native) = (&settings.attributes, &settings.native_settings);
    let is_development = source.environment == Environment::Development;
    AuthConfigView {
        object: AuthConfigObject::It,
        id: part_id("aac", source.instance),
        first_name: usage(&attributes.first_name),
        last_name: usage(&attributes.last_name),
        email_address: usage(&attributes.email_address),
        phone_number: usage(&attributes.phone_number),
        username: usage(&attributes.username),
        password: usage(&attributes.password),
        identification_requirements: requirements(attributes),
        identification_strategies: identification_strategies(settings),
        first_factors: first_factors(settings),
        second_factors: second_factors(attributes, source.version),
        email_address_verification_strategies: names(enabled(&attributes.email_address, |it| {
            &it.verifications
        })),
        single_session_mode: settings.session.single_session,
        enhanced_email_deliverability: false,
        test_mode: settings.test_mode.unwrap_or(is_development),
        cookieless_dev: is_development,
        url_based_session_syncing: is_development,
        claimed_at: None,
        reverification: settings.session.reverification,
        session_minter: false,
        preferred_channels: None,
        native_settings: NativeSettingsView {
            object: NativeSettingsObject::It,
            api_enabled: true,
            trusted_device_sign_in_enabled: native.trusted_device_sign_in_enabled,
            trusted_device_enrollment_prompt_after_sign_in_enabled: native
                .trusted_device_enrollment_prompt_after_sign_in_enabled,
            trusted_device_enrollment_prompt_after_sign_up_enabled: native
                .trusted_device_enrollment_prompt_after_sign_up_enabled,
        },
    }
}

fn usage(attribute: &Attribute) -> Usage {
    match (attribute.enabled, attribute.is_required_at_sign_up()) {
        (false, _) => Usage::Off,
        (true, true) => Usage::Required,
        (true, false) => Usage::On,
    }
}

/// What says who signs in.
fn identifiers(attributes: &Attributes) -> impl Iterator<Item = (&'static str, &Attribute)> {
    // Nobody types a passkey.
    let typed = attributes.all().into_iter().filter(|(name, _)| *name != "passkey");
    typed.filter(|(_, attribute)| attribute.is_first_factor())
}

/// The same, and the providers that say it.
fn identification_strategies(settings: &Settings) -> Vec<String> {
    let own = identifiers(&settings.attributes).map(|(name, _)| name.to_owned());
    own.chain(settings.sign_in_providers().map(|(key, _)| format!("oauth_{key}"))).collect()
}

/// Everybody needs one of each list; the last one names what is left to choose.
fn requirements(attributes: &Attributes) -> Vec<Vec<&'static str>> {
    let required = identifiers(attributes).filter(|(_, attribute)| attribute.is_required_at_sign_up());
    let mut all: Vec<_> = required.map(|(name, _)| vec![name]).collect();
    all.push(Vec::new());
    all
}

fn first_factors(settings: &Settings) -> Vec<String> {
    let attributes = &settings.attributes;
    let contacts = [&attributes.email_address, &attributes.phone_number, &attributes.web3_wallet];
    let mut factors: Vec<Strategy> = contacts
        .into_iter()
        .filter(|contact| contact.is_first_factor())
        .flat_map(|contact| contact.first_factors.iter().copied())
        .collect();
    if attributes.password.enabled {
        factors.push(Strategy::Password);
    }
    let passkey = &attributes.passkey;
    if passkey.is_first_factor() {
        factors.extend(&passkey.first_factors);
    }
    factors.extend(resets(settings).map(|(_, reset)| reset));
    factors.push(Strategy::Ticket);
    factors.extend(settings.one_tap_client_id().map(|_| Strategy::ONE_TAP));
    factors.extend(settings.sign_in_providers().filter_map(|(key, _)| Strategy::by_account(key)));
    names(&factors)
}

fn second_factors(attributes: &Attributes, version: Version) -> Vec<String> {
    let used = attributes.all().into_iter().filter(|(_, attribute)| attribute.is_second_factor());
    let strategies = used.flat_map(|(_, attribute)| attribute.second_factors.iter().copied());
    let mut all: Vec<Strategy> = strategies.filter(|strategy| *strategy != Strategy::PASSKEY).collect();
    if attributes.has_second_passkey() && version >= Version::V2026_08_20 {
        all.push(Strategy::PASSKEY);
    }
    names(&all)
}

fn enabled<T>(attribute: &Attribute, part: fn(&Attribute) -> &Vec<T>) -> &[T] {
    match attribute.enabled {
        true => part(attribute),
        false => &[],
    }
}

/// The names of strategies, in the order of the alphabet.
fn names(strategies: &[Strategy]) -> Vec<String> {
    let mut names: Vec<String> = strategies.iter().copied().map(String::from).collect();
    names.sort_unstable();
    names.dedup();
    names
}
