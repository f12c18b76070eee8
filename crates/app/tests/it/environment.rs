//! What browsers learn of an instance, against the published description and the settings.

use std::path::Path;

use latchkey_kernel::settings::{Settings, SignUpMode};
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
