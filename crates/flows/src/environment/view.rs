//! How an instance looks to browsers, in the newest version.
//!
//! Everything follows from the settings and roles. What does not exist here yet (billing, API keys)
//! is shown as switched off, because pages read these objects whole.

mod auth_config;
mod display_config;
mod features;
mod organizations;
mod social;
mod user_settings;

use auth_config::AuthConfigView;
use display_config::DisplayConfigView;
use features::{ApiKeysSettingsView, CommerceSettingsView, FraudSettingsView, ProtectConfigView};
use latchkey_base::kinds::InstanceId;
use latchkey_kernel::environment::Environment;
use latchkey_kernel::object;
use latchkey_kernel::settings::Settings;
use latchkey_web::version::Version;
use organizations::OrganizationSettingsView;
use schemars::JsonSchema;
use serde::Serialize;
use user_settings::UserSettingsView;

pub use display_config::{CLERK_JS_VERSION, Pages};
pub use organizations::{GivenRoles, enrollment_modes};

/// What the environment is derived from.
#[derive(Clone, Copy)]
pub struct EnvironmentSource<'a> {
    pub instance: &'a InstanceId,
    pub environment: Environment,
    pub settings: &'a Settings,
    pub roles: &'a GivenRoles,
    /// Where the hosted pages are, without a slash at the end.
    pub portal_url: &'a str,
    /// The origin of the application that the browser is on, or comes from. Only development instances have it: one
    /// instance often has several applications on this machine, and `display.home_url` names one of them.
    pub application_origin: Option<&'a str>,
    /// The version that the client asks for.
    pub version: Version,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Environment")]
pub struct EnvironmentView<'a> {
    auth_config: AuthConfigView,
    display_config: DisplayConfigView<'a>,
    user_settings: UserSettingsView<'a>,
    organization_settings: OrganizationSettingsView<'a>,
    fraud_settings: FraudSettingsView,
    commerce_settings: CommerceSettingsView,
    api_keys_settings: ApiKeysSettingsView,
    protect_config: ProtectConfigView,
    client_debug_mode: bool,
    partitioned_cookies: bool,
    maintenance_mode: bool,
}

/// The whole environment of an instance.
pub fn environment(source: EnvironmentSource<'_>) -> EnvironmentView<'_> {
    EnvironmentView {
        auth_config: auth_config::view(source),
        display_config: display_config::view(source),
        user_settings: user_settings::view(source),
        organization_settings: organizations::view(&source.settings.organizations, source.roles),
        fraud_settings: features::fraud(),
        commerce_settings: features::commerce(),
        api_keys_settings: features::api_keys(),
        protect_config: features::protect(source.instance),
        client_debug_mode: false,
        partitioned_cookies: false,
        maintenance_mode: false,
    }
}

object!(component AccountPortalObject, "account_portal");

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AccountPortal")]
pub struct AccountPortalView {
    object: AccountPortalObject,
    allowed: bool,
    enabled: bool,
    internal_linking: bool,
    after_sign_in_url: String,
    after_sign_up_url: String,
    after_join_waitlist_url: String,
    after_create_organization_url: String,
    after_leave_organization_url: String,
    logo_link_url: String,
    customization: Customization,
}

/// Colours of the hosted pages; always those of the components.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AccountPortalCustomization")]
struct Customization {
    appearance: Option<&'static str>,
    background_color_dark: Option<&'static str>,
    background_color_light: Option<&'static str>,
    primary_color_dark: Option<&'static str>,
    primary_color_light: Option<&'static str>,
}

/// The settings of the hosted pages.
pub fn account_portal(source: EnvironmentSource<'_>) -> AccountPortalView {
    let pages = Pages::of(source);
    AccountPortalView {
        object: AccountPortalObject::It,
        allowed: true,
        enabled: true,
        internal_linking: true,
        after_sign_in_url: pages.after_sign_in,
        after_sign_up_url: pages.after_sign_up,
        after_join_waitlist_url: pages.after_join_waitlist,
        after_create_organization_url: pages.after_create_organization,
        after_leave_organization_url: pages.after_leave_organization,
        logo_link_url: pages.logo_link,
        customization: Customization {
            appearance: None,
            background_color_dark: None,
            background_color_light: None,
            primary_color_dark: None,
            primary_color_light: None,
        },
    }
}

/// The id of a part of an instance's configuration. There is one of each, so it needs none of its own.
fn part_id(prefix: &str, instance: &InstanceId) -> String {
    let id = instance.as_str();
    format!("{prefix}_{}", id.split_once('_').map_or(id, |(_, own)| own))
}

#[cfg(test)]
mod tests {
    use latchkey_base::Time;
    use latchkey_base::rng::SeededRng;
    use latchkey_kernel::settings::Attribute;
    use latchkey_kernel::strategy::Strategy;
    use serde_json::{Value, json};

    use super::*;

    fn shown(environment: Environment, change: fn(&mut Settings)) -> Value {
        shown_in(Version::NEWEST, environment, change)
    }

    fn shown_in(version: Version, environment: Environment, change: fn(&mut Settings)) -> Value {
        let mut settings = Settings::default();
        change(&mut settings);
        let instance = &InstanceId::new(Time::from_ms(0), &SeededRng::new(1));
        let portal_url = "http://localhost:3401";
        let roles = &GivenRoles::default();
        let application_origin = None;
        let source = EnvironmentSource {
            instance,
            environment,
            settings: &settings,
            roles,
            portal_url,
            application_origin,
            version,
        };
        serde_json::to_value(super::environment(source)).unwrap()
    }

    #[test]
    fn attributes_that_are_off_are_wholly_off() {
        let seen = shown(Environment::Development, |settings| {
            settings.attributes.phone_number.enabled = false;
            settings.attributes.password.enabled = false;
        });
        let phone = &seen["user_settings"]["attributes"]["phone_number"];
        let off = serde_json::to_value(user_settings::attribute(&Attribute::default())).unwrap();
        assert_eq!(*phone, off);
        assert_eq!(seen["auth_config"]["phone_number"], "off");
        assert_eq!(seen["auth_config"]["password"], "off");
        assert_eq!(seen["display_config"]["preferred_sign_in_strategy"], "otp");
        assert_eq!(seen["auth_config"]["first_factors"], json!(["email_code", "ticket"]));
    }

    #[test]
    fn what_sign_up_requires_is_shown_as_required() {
        let seen = shown(Environment::Production, |settings| {
            settings.attributes.phone_number.required = true;
            settings.attributes.email_address.verifications = vec![Strategy::EmailLink];
        });
        let attributes = &seen["user_settings"]["attributes"];
        for (name, required) in
            [("email_address", true), ("password", true), ("phone_number", true), ("username", false)]
        {
            assert_eq!(attributes[name]["required"], required, "{name}");
        }
        assert_eq!(attributes["email_address"]["verifications"], json!(["email_link"]));
        assert_eq!(
            seen["auth_config"]["identification_requirements"],
            json!([["email_address"], ["phone_number"], []])
        );
    }

    #[test]
    fn newer_providers_and_second_factors_are_shown_to_newer_clients_only() {
        let seen = |version| {
            shown_in(version, Environment::Development, |settings| {
                settings.attributes.passkey.enabled = true;
                settings.attributes.passkey.second_factors = vec![Strategy::PASSKEY];
            })
        };
        let (older, newest) = (seen(Version::V2026_05_12), seen(Version::V2026_08_20));
        for (shown, used, factors) in [(&older, false, json!([])), (&newest, true, json!(["passkey"]))] {
            let passkey = &shown["user_settings"]["attributes"]["passkey"];
            assert_eq!(
                (&passkey["used_for_second_factor"], &passkey["second_factors"]),
                (&json!(used), &factors)
            );
            assert_eq!(passkey["first_factors"], json!(["passkey"]));
            let listed = shown["auth_config"]["second_factors"].as_array().unwrap();
            assert_eq!(listed.contains(&json!("passkey")), used);
            let social = shown["user_settings"]["social"].as_object().unwrap();
            assert_eq!(social.contains_key("oauth_vercel"), used);
        }
    }

    #[test]
    fn resets_are_shown_wherever_they_are_offered() {
        let factors = |change| shown(Environment::Development, change)["auth_config"]["first_factors"].take();
        let without_codes = factors(|settings| {
            settings.attributes.email_address.first_factors.clear();
            settings.attributes.phone_number.enabled = false;
        });
        assert_eq!(without_codes, json!(["password", "reset_password_email_code", "ticket"]));
        let by_phone = factors(|settings| settings.attributes.email_address.used_for_first_factor = false);
        assert_eq!(by_phone, json!(["password", "phone_code", "reset_password_phone_code", "ticket"]));
    }

    #[test]
    fn what_organizations_would_have_is_shown_as_off_without_them() {
        use latchkey_kernel::settings::EnrollmentMode;

        let seen = |change| shown(Environment::Development, change)["organization_settings"].take();
        let off = seen(|settings| {
            settings.organizations.creation_defaults = true;
            settings.organizations.domain_enrollment_modes = vec![EnrollmentMode::AutomaticInvitation];
        });
        assert_eq!(off["organization_creation_defaults"]["enabled"], false);
        assert_eq!(off["domains"]["enrollment_modes"], json!([]));
        let on = seen(|settings| {
            settings.organizations.enabled = true;
            settings.organizations.domains = true;
            settings.organizations.creation_defaults = true;
            settings.organizations.domain_enrollment_modes = vec![EnrollmentMode::AutomaticInvitation];
        });
        assert_eq!(on["organization_creation_defaults"]["enabled"], true);
        assert_eq!(on["domains"]["enrollment_modes"], json!(["manual_invitation", "automatic_invitation"]));
    }

    #[test]
    fn providers_are_shown_whether_they_are_enabled_or_not() {
        use latchkey_kernel::settings::SocialProvider;

        let enable = |settings: &mut Settings| {
            let provider = |key: &str| SocialProvider {
                enabled: true,
                client_id: Some(format!("{key}-client")),
                ..SocialProvider::default()
            };
            settings.social.insert("google".into(), provider("google"));
            settings
                .social
                .insert("slack".into(), SocialProvider { authenticatable: false, ..provider("slack") });
            let acme = SocialProvider {
                name: Some("Acme".into()),
                logo_url: Some("https://acme.example/logo.png".into()),
                ..provider("acme")
            };
            settings.social.insert("custom_acme".into(), acme);
        };
        let seen = shown(Environment::Development, enable);
        let social = &seen["user_settings"]["social"];
        assert_eq!(social.as_object().unwrap().len(), 32);
        let google = json!({
            "enabled": true, "required": false, "authenticatable": true, "block_email_subaddresses": true,
            "strategy": "oauth_google", "not_selectable": false, "deprecated": false, "name": "Google",
            "logo_url": null,
        });
        assert_eq!(social["oauth_google"], google);
        assert_eq!(social["oauth_slack"]["authenticatable"], false);
        assert_eq!(social["oauth_github"]["enabled"], false);
        assert_eq!(social["oauth_instagram"]["not_selectable"], true);
        assert_eq!(social["oauth_twitter"]["deprecated"], true);
        assert_eq!(social["oauth_linkedin"]["deprecated"], true);
        let acme = &social["oauth_custom_acme"];
        assert_eq!(
            (&acme["name"], &acme["logo_url"]),
            (&json!("Acme"), &json!("https://acme.example/logo.png"))
        );
        assert_eq!(seen["display_config"]["google_one_tap_client_id"], "google-client");
        let config = &seen["auth_config"];
        for name in ["first_factors", "identification_strategies"] {
            let list = config[name].as_array().unwrap();
            assert!(
                list.contains(&json!("oauth_google")) && list.contains(&json!("oauth_custom_acme")),
                "{list:?}"
            );
            assert!(!list.contains(&json!("oauth_slack")), "{list:?}");
        }
        assert!(config["first_factors"].as_array().unwrap().contains(&json!("google_one_tap")));
        let production = shown(Environment::Production, |_| ());
        assert!(production["user_settings"]["social"]["oauth_mock"].is_null(), "nobody can enable it there");
        assert!(production["display_config"]["google_one_tap_client_id"].is_null());
    }

    #[test]
    fn development_shows_that_it_is_and_production_does_not() {
        let development = shown(Environment::Development, |_| ());
        let production = shown(Environment::Production, |_| ());
        let config = |seen: &Value, name: &str| seen["display_config"][name].clone();
        assert_eq!(config(&development, "instance_environment_type"), "development");
        assert_eq!(config(&development, "show_devmode_warning"), true);
        assert_eq!(config(&production, "show_devmode_warning"), false);
        assert_eq!(development["auth_config"]["test_mode"], true);
        assert_eq!(production["auth_config"]["test_mode"], false);
    }

    #[test]
    fn pages_are_the_hosted_ones_unless_others_are_set() {
        let seen = shown(Environment::Development, |settings| {
            settings.display.sign_in_url = Some("https://app.example.com/in".into());
            settings.display.home_url = Some("https://app.example.com".into());
            settings.display.after_sign_up_url = Some("https://app.example.com/welcome".into());
            settings.display.create_organization_url = Some("https://app.example.com/found".into());
        });
        let config = &seen["display_config"];
        for (name, url) in [
            ("sign_in_url", "https://app.example.com/in"),
            ("sign_up_url", "http://localhost:3401/sign-up"),
            ("after_sign_in_url", "https://app.example.com"),
            ("after_sign_up_url", "https://app.example.com/welcome"),
            ("after_sign_out_one_url", "https://app.example.com/in/choose"),
            ("after_sign_out_all_url", "https://app.example.com/in"),
            ("organization_profile_url", "http://localhost:3401/organization"),
            ("create_organization_url", "https://app.example.com/found"),
            ("oauth_consent_url", ""),
            ("application_name", "Latchkey"),
        ] {
            assert_eq!(config[name], url, "{name}");
        }
        let plain = shown(Environment::Development, |_| ());
        assert_eq!(plain["display_config"]["home_url"], "");
        assert_eq!(plain["display_config"]["after_sign_in_url"], "http://localhost:3401/default-redirect");
    }
}
