//! `display_config`: names, pictures and addresses that pages show and lead to.

use latchkey_kernel::environment::Environment;
use latchkey_kernel::object;
use latchkey_kernel::settings::{Display, PreferredStrategy, Settings};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{EnvironmentSource, part_id};

/// The versions of the browser script the hosted pages are written for.
pub const CLERK_JS_VERSION: &str = "6";

object!(component DisplayConfigObject, "display_config");

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DisplayConfig")]
pub(super) struct DisplayConfigView<'a> {
    object: DisplayConfigObject,
    id: String,
    instance_environment_type: &'static str,
    application_name: &'a str,
    theme: Value,
    preferred_sign_in_strategy: PreferredStrategy,
    logo_image_url: Option<&'a str>,
    favicon_image_url: Option<&'a str>,
    home_url: &'a str,
    sign_in_url: String,
    sign_up_url: String,
    user_profile_url: String,
    waitlist_url: String,
    /// Always empty: there is no such page.
    oauth_consent_url: &'static str,
    after_sign_in_url: String,
    after_sign_up_url: String,
    after_sign_out_one_url: String,
    after_sign_out_all_url: String,
    after_switch_session_url: String,
    after_join_waitlist_url: String,
    organization_profile_url: String,
    create_organization_url: String,
    after_leave_organization_url: String,
    after_create_organization_url: String,
    logo_link_url: String,
    support_email: Option<&'a str>,
    branded: bool,
    experimental_force_oauth_first: bool,
    clerk_js_version: Option<&'static str>,
    show_devmode_warning: bool,
    google_one_tap_client_id: Option<&'a str>,
    help_url: Option<&'a str>,
    privacy_policy_url: Option<&'a str>,
    terms_url: Option<&'a str>,
    logo_url: Option<&'a str>,
    favicon_url: Option<&'a str>,
    /// Always null: pictures are addresses.
    logo_image: Option<()>,
    /// Always null: pictures are addresses.
    favicon_image: Option<()>,
    captcha_public_key: Option<&'static str>,
    captcha_widget_type: Option<&'static str>,
    captcha_public_key_invisible: Option<&'static str>,
    captcha_provider: Option<&'static str>,
    captcha_oauth_bypass: Vec<&'static str>,
    captcha_heartbeat: Option<bool>,
}

pub(super) fn view(source: EnvironmentSource<'_>) -> DisplayConfigView<'_> {
    let display = &source.settings.display;
    let pages = Pages::of(source);
    DisplayConfigView {
        object: DisplayConfigObject::It,
        id: part_id("display_config", source.instance),
        instance_environment_type: source.environment.name(),
        application_name: display.name(),
        theme: theme(),
        preferred_sign_in_strategy: preferred(source.settings),
        logo_image_url: display.logo_image_url.as_deref(),
        favicon_image_url: display.favicon_image_url.as_deref(),
        home_url: display.home_url.as_deref().unwrap_or_default(),
        sign_in_url: pages.sign_in,
        sign_up_url: pages.sign_up,
        user_profile_url: pages.user_profile,
        waitlist_url: pages.waitlist,
        oauth_consent_url: "",
        after_sign_in_url: pages.after_sign_in,
        after_sign_up_url: pages.after_sign_up,
        after_sign_out_one_url: pages.after_sign_out_one,
        after_sign_out_all_url: pages.after_sign_out_all,
        after_switch_session_url: pages.after_switch_session,
        after_join_waitlist_url: pages.after_join_waitlist,
        organization_profile_url: pages.organization_profile,
        create_organization_url: pages.create_organization,
        after_leave_organization_url: pages.after_leave_organization,
        after_create_organization_url: pages.after_create_organization,
        logo_link_url: pages.logo_link,
        support_email: display.support_email.as_deref(),
        branded: false,
        experimental_force_oauth_first: false,
        clerk_js_version: Some(CLERK_JS_VERSION),
        show_devmode_warning: display.show_devmode_warning && source.environment == Environment::Development,
        google_one_tap_client_id: source.settings.one_tap_client_id(),
        help_url: display.help_url.as_deref(),
        privacy_policy_url: display.privacy_policy_url.as_deref(),
        terms_url: display.terms_url.as_deref(),
        logo_url: display.logo_image_url.as_deref(),
        favicon_url: display.favicon_image_url.as_deref(),
        logo_image: None,
        favicon_image: None,
        captcha_public_key: None,
        captcha_widget_type: None,
        captcha_public_key_invisible: None,
        captcha_provider: Some("turnstile"),
        captcha_oauth_bypass: Vec::new(),
        captcha_heartbeat: Some(false),
    }
}

/// What pages ask for first: what is preferred, if people can have it.
fn preferred(settings: &Settings) -> PreferredStrategy {
    let has_password = settings.attributes.password.enabled;
    let contacts = [&settings.attributes.email_address, &settings.attributes.phone_number];
    let has_code =
        contacts.iter().any(|contact| contact.is_first_factor() && !contact.first_factors.is_empty());
    match settings.sign_in.preferred_strategy {
        PreferredStrategy::Password if !has_password => PreferredStrategy::Otp,
        PreferredStrategy::Otp if !has_code => PreferredStrategy::Password,
        preferred => preferred,
    }
}

/// Where pages lead: what the settings say, the origin of the application, the application's home, or a hosted page.
pub struct Pages {
    pub sign_in: String,
    pub sign_up: String,
    pub user_profile: String,
    pub waitlist: String,
    pub organization_profile: String,
    pub create_organization: String,
    pub after_sign_in: String,
    pub after_sign_up: String,
    pub after_sign_out_one: String,
    pub after_sign_out_all: String,
    pub after_switch_session: String,
    pub after_join_waitlist: String,
    pub after_create_organization: String,
    pub after_leave_organization: String,
    pub logo_link: String,
}

impl Pages {
    pub fn of(source: EnvironmentSource<'_>) -> Pages {
        let display: &Display = &source.settings.display;
        let hosted = |path: &str| format!("{}{path}", source.portal_url);
        let page = |own: &Option<String>, path: &str| own.clone().unwrap_or_else(|| hosted(path));
        let home = match source.application_origin {
            Some(origin) => format!("{origin}/"),
            None => page(&display.home_url, "/default-redirect"),
        };
        let after = |own: &Option<String>| own.clone().unwrap_or_else(|| home.clone());
        let sign_in = page(&display.sign_in_url, "/sign-in");
        let choose = format!("{}/choose", sign_in.trim_end_matches('/'));
        Pages {
            sign_up: page(&display.sign_up_url, "/sign-up"),
            user_profile: page(&display.user_profile_url, "/user"),
            waitlist: page(&display.waitlist_url, "/waitlist"),
            organization_profile: page(&display.organization_profile_url, "/organization"),
            create_organization: page(&display.create_organization_url, "/create-organization"),
            after_sign_in: after(&display.after_sign_in_url),
            after_sign_up: after(&display.after_sign_up_url),
            after_sign_out_one: display.after_sign_out_one_url.clone().unwrap_or(choose),
            after_sign_out_all: display.after_sign_out_all_url.clone().unwrap_or_else(|| sign_in.clone()),
            after_switch_session: after(&display.after_switch_session_url),
            after_join_waitlist: after(&display.after_join_waitlist_url),
            after_create_organization: after(&display.after_create_organization_url),
            after_leave_organization: after(&display.after_leave_organization_url),
            logo_link: after(&display.logo_link_url),
            sign_in,
        }
    }
}

/// Colours and fonts for components that know no better; the newer ones bring their own.
fn theme() -> Value {
    const FONT: &str = "\"Source Sans Pro\", sans-serif";
    json!({
        "buttons": { "font_color": "#ffffff", "font_family": FONT, "font_weight": "600" },
        "general": {
            "color": "#2f3037",
            "padding": "1em",
            "box_shadow": "0 2px 8px rgba(0, 0, 0, 0.2)",
            "font_color": "#151515",
            "font_family": FONT,
            "border_radius": "0.5em",
            "background_color": "#ffffff",
            "label_font_weight": "600",
        },
        "accounts": { "background_color": "#ffffff" },
    })
}
