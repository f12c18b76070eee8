//! What browsers learn of an instance, against the published description and the settings.

use std::path::Path;

use latchkey_kernel::settings::{Settings, SignUpMode, SocialProvider, edit};
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

/// What newer browser scripts read and the published description does not know.
const UNPUBLISHED: [&str; 10] = [
    "/auth_config/preferred_channels",
    "/auth_config/session_minter",
    "/organization_settings/force_organization_selection",
    "/organization_settings/organization_creation_defaults",
    "/protect_config/id",
    "/protect_config/object",
    "/user_settings/attributes/phone_number/channels",
    "/user_settings/sign_in/second_factor/enabled",
    "/user_settings/sign_up/allowlist_only",
    "/user_settings/sign_up/mfa",
];

#[tokio::test]
async fn environment_is_as_published() {
    let t = TestServer::start().await;
    let Some(published) = published() else { return };
    for tenant in [&t.tenant, &t.other] {
        let mut browser = t.browser_at(tenant);
        browser.origin = None;
        let mut seen = browser.get("/v1/environment").await.ok();
        for path in UNPUBLISHED {
            remove(&mut seen, path);
        }
        assert_eq!(complaints(&published, "Client.Environment", &seen), [""; 0]);
        let portal = browser.get("/v1/account_portal").await.ok();
        assert_eq!(complaints(&published, "Client.AccountPortal", &portal), [""; 0]);
    }
}

/// Where the settings are that the environment calls otherwise. A name stands for everything below it.
const CALLED_OTHERWISE: [(&str, &str); 41] = [
    ("auth_config.native_settings", "native_settings"),
    ("auth_config.email_address_verification_strategies", "attributes.email_address.verifications"),
    ("auth_config.first_factors", "attributes.email_address.first_factors"),
    ("auth_config.identification_requirements", "attributes.email_address.required_at_sign_up"),
    ("auth_config.identification_strategies", "attributes.email_address.used_for_first_factor"),
    ("auth_config.reverification", "session.reverification"),
    ("auth_config.second_factors", "attributes.phone_number.second_factors"),
    ("auth_config.single_session_mode", "session.single_session"),
    ("auth_config.test_mode", "test_mode"),
    ("auth_config", "attributes"),
    ("display_config.favicon_url", "display.favicon_image_url"),
    ("display_config.google_one_tap_client_id", "social.google.client_id"),
    ("display_config.logo_url", "display.logo_image_url"),
    ("display_config.preferred_sign_in_strategy", "sign_in.preferred_strategy"),
    ("display_config", "display"),
    ("organization_settings.actions.admin_delete", "organizations.admin_delete"),
    ("organization_settings.domains.enabled", "organizations.domains"),
    ("organization_settings.domains.enrollment_modes", "organizations.domain_enrollment_modes"),
    ("organization_settings.force_organization_selection", "organizations.force_selection"),
    ("organization_settings.organization_creation_defaults.enabled", "organizations.creation_defaults"),
    ("organization_settings.slug.disabled", "organizations.slugs"),
    ("organization_settings", "organizations"),
    (
        "user_settings.attack_protection.email_link.require_same_client",
        "attack_protection.email_link_require_same_client",
    ),
    (
        "user_settings.attack_protection.enumeration_protection.enabled",
        "attack_protection.enumeration_protection",
    ),
    ("user_settings.attack_protection.pii.enabled", "attack_protection.pii"),
    ("user_settings.attack_protection.user_lockout.duration_in_minutes", "lockout.duration_minutes"),
    ("user_settings.attack_protection.user_lockout", "lockout"),
    ("user_settings.password_settings.disable_hibp", "password.allow_breached"),
    ("user_settings.password_settings.show_zxcvbn", "password.min_zxcvbn_strength"),
    ("user_settings.password_settings", "password"),
    ("user_settings.restrictions", "restrictions"),
    ("user_settings.sign_in.second_factor.enabled", "attributes.authenticator_app.used_for_second_factor"),
    ("user_settings.sign_in.second_factor.required", "sign_in.second_factor_required"),
    ("user_settings.sign_up.allowlist_only", "restrictions.allowlist"),
    ("user_settings.sign_up.legal_consent_enabled", "legal_consent_required"),
    ("user_settings.sign_up.mfa.required", "sign_up.mfa_required"),
    ("user_settings.social.oauth_google.enabled", "social.google.enabled"),
    ("user_settings.social.oauth_google", "social.google"),
    ("user_settings.sign_up", "sign_up"),
    ("user_settings.username_settings", "username"),
    ("user_settings", ""),
];

/// What cannot be set: names of things, what follows from something else, and what operations of the Backend API change
/// or refuse to.
const NO_SETTINGS: [&str; 15] = [
    "auth_config.claimed_at",
    "auth_config.cookieless_dev",
    "auth_config.id",
    "auth_config.native_settings.object",
    "auth_config.object",
    "auth_config.url_based_session_syncing",
    "display_config.branded",
    "display_config.clerk_js_version",
    "display_config.favicon_image",
    "display_config.id",
    "display_config.instance_environment_type",
    "display_config.logo_image",
    "display_config.object",
    "organization_settings.creator_role",
    "organization_settings.domains.default_role",
];

/// What is told of every provider and cannot be set: what it is called by, and what the server itself knows of it.
const TOLD_OF_PROVIDERS: [&str; 4] = ["deprecated", "not_selectable", "required", "strategy"];

#[tokio::test]
async fn every_name_in_the_environment_is_a_setting_or_refused_with_a_word() {
    let t = TestServer::start().await;
    let seen = t.browser().get("/v1/environment").await.ok();
    let mut usual = Settings::default();
    usual.social.insert("google".into(), SocialProvider::default());
    for path in leaves("", &seen) {
        let provider = path.strip_prefix("user_settings.social.").and_then(|rest| rest.split_once('.'));
        let is_told = provider.is_some_and(|(_, field)| TOLD_OF_PROVIDERS.contains(&field));
        if is_told || NO_SETTINGS.contains(&&*path) || path.starts_with("user_settings.attributes.ticket.") {
            continue;
        }
        // All providers have the same settings.
        let path = match provider {
            Some((_, field)) => format!("user_settings.social.oauth_google.{field}"),
            None => path,
        };
        let refused = edit::changed(&usual, &[(path.clone(), json!(true))]).unwrap_err();
        let below = |name: &str| match path.strip_prefix(name)? {
            "" => Some(String::new()),
            rest => rest.strip_prefix('.').map(str::to_owned),
        };
        let place = CALLED_OTHERWISE.iter().find_map(|(name, setting)| Some((setting, below(name)?)));
        let setting = place.map(|(group, rest)| match (group.is_empty(), rest.is_empty()) {
            (false, false) => format!("{group}.{}", rest.trim_end_matches(".enabled")),
            (true, _) => rest,
            (_, true) => (*group).to_owned(),
        });
        let is_setting = setting.is_some_and(|setting| !edit::below(&usual, &setting).unwrap().is_empty());
        assert!(is_setting || refused[0].text.starts_with("Latchkey does not have"), "{path}: {refused:?}");
    }
}

fn leaves(path: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let inner = |(name, value): (&String, &Value)| match path {
                "" => leaves(name, value),
                _ => leaves(&format!("{path}.{name}"), value),
            };
            fields.iter().flat_map(inner).collect()
        }
        _ => vec![path.to_owned()],
    }
}

#[tokio::test]
async fn environment_follows_the_settings_at_once() {
    let t = TestServer::start().await;
    let mut settings = Settings::default();
    settings.attributes.phone_number.enabled = false;
    settings.sign_up.mode = SignUpMode::Restricted;
    settings.session.single_session = false;
    settings.display.application_name = "Wonderland".to_owned();
    let before = t.browser().get("/v1/environment").await.ok();
    assert_eq!(before["auth_config"]["single_session_mode"], true);
    assert_eq!(before["display_config"]["captcha_provider"], "turnstile");
    let attributes = &before["user_settings"]["attributes"];
    assert_eq!(attributes["phone_number"]["channels"], json!(["sms"]));
    assert_eq!(attributes["email_address"].get("channels"), None);
    let id = t.tenant.id.clone();
    let save = t.db().write(move |tx| {
        Box::pin(async move { latchkey_kernel::instances::store::save_settings(tx, &id, &settings).await })
    });
    save.await.unwrap();
    let seen = t.browser().patch("/v1/environment", json!({})).await.ok();
    assert_eq!(seen["auth_config"]["single_session_mode"], false);
    assert_eq!(seen["user_settings"]["attributes"]["phone_number"]["enabled"], false);
    assert_eq!(seen["user_settings"]["sign_up"]["mode"], "restricted");
    assert_eq!(seen["display_config"]["application_name"], "Wonderland");
    let mut other = t.browser_at(&t.other);
    other.origin = None;
    let other = other.get("/v1/environment").await.ok();
    assert_eq!(other["display_config"]["application_name"], "Latchkey");
    assert_eq!(other["display_config"]["instance_environment_type"], "production");
}

fn remove(document: &mut Value, path: &str) {
    let (parent, name) = path.rsplit_once('/').unwrap();
    if let Some(Value::Object(fields)) = document.pointer_mut(parent) {
        fields.remove(name);
    }
}

#[tokio::test]
async fn what_the_description_requires_is_required() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    browser.get("/v1/proxy-health").await.is_problem(400, "form_param_missing", "domain_id");
    browser.get("/v1/proxy-health?domain_id=").await.is_problem(400, "form_param_missing", "domain_id");
    assert_eq!(browser.get("/v1/proxy-health?domain_id=dmn_1").await.ok()["status"], "unhealthy");
    browser.origin = None;
    browser.patch("/v1/environment", json!({})).await.is_error(400, "origin_missing");
    browser.get("/v1/environment").await.ok();
}

pub(crate) fn published() -> Option<Value> {
    described("fapi/2026-05-12.yml")
}

/// A published description as JSON schema, when it lies beside the repository.
pub(crate) fn described(name: &str) -> Option<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec").join(name);
    let text = std::fs::read_to_string(path).ok()?;
    let mut document = yaml_serde::from_str(&text).unwrap();
    modernize(&mut document);
    Some(document)
}

/// OpenAPI 3.0 says `nullable` where JSON schema has a type of its own.
fn modernize(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(modernize);
            if fields.remove("nullable") == Some(json!(true)) {
                let inner = std::mem::take(fields);
                fields.insert("anyOf".to_owned(), json!([{"type": "null"}, inner]));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(modernize),
        _ => (),
    }
}

fn complaints(published: &Value, name: &str, value: &Value) -> Vec<String> {
    let schema = json!({
        "$ref": format!("#/components/schemas/{name}"),
        "components": published["components"],
    });
    let validator = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&schema).unwrap();
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}
