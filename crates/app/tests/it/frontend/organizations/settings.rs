//! What pages know of organizations before anybody does anything, and how developers turn them on.

use latchkey_base::time::Clock;
use latchkey_kernel::instances::store::{find, save_settings};
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::{EnrollmentMode, Settings};
use latchkey_organizations::access::store as access;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::{organization, role, settings};
use crate::me::support::me;

const ENABLE: &str = "/v1/dev_tools/enable_environment_setting";

async fn shown(t: &TestServer) -> Value {
    t.browser().get("/v1/environment").await.ok()["organization_settings"].clone()
}

/// A server whose instance has no organizations.
async fn without() -> TestServer {
    let t = TestServer::start().await;
    t.set_settings(Settings::default()).await;
    t
}

#[tokio::test]
async fn pages_know_what_organizations_may_do() {
    let mut given = settings();
    given.organizations.max_allowed_memberships = 7;
    given.organizations.admin_delete = false;
    given.organizations.slugs = false;
    given.organizations.force_selection = true;
    given.organizations.creation_defaults = true;
    given.organizations.domains = true;
    given.organizations.domain_enrollment_modes = vec![EnrollmentMode::AutomaticSuggestion];
    given.actions.create_organizations_limit = Some(3);
    let t = TestServer::start().await;
    t.set_settings(given).await;
    let expected = json!({
        "enabled": true,
        "max_allowed_memberships": 7,
        "force_organization_selection": true,
        "actions": {"admin_delete": false},
        "domains": {
            "enabled": true, "enrollment_modes": ["manual_invitation", "automatic_suggestion"], "default_role": "org:member",
        },
        "slug": {"disabled": true},
        "organization_creation_defaults": {"enabled": true},
        "creator_role": "org:admin",
    });
    assert_eq!(shown(&t).await, expected);
    let actions = t.browser().get("/v1/environment").await.ok()["user_settings"]["actions"].clone();
    assert_eq!(actions["create_organization"], true);
    assert_eq!(actions["create_organizations_limit"], 3);
    // The roles are those of the role set that new organizations have.
    role(&t, "org:owner", &[]).await;
    let (instance, now) = (t.tenant.id.clone(), t.clock.now());
    let saved = t.db().write(move |tx| {
        Box::pin(async move {
            let mut held = access::lock(tx, &instance, now).await?;
            let owner = held.role_by_key("org:owner").unwrap().id.clone();
            (held.role_sets[0].creator_role, held.role_sets[0].default_role) = (owner.clone(), owner);
            access::save(tx, &held, now).await
        })
    });
    saved.await.unwrap();
    let seen = shown(&t).await;
    assert_eq!(
        (&seen["creator_role"], &seen["domains"]["default_role"]),
        (&json!("org:owner"), &json!("org:owner"))
    );
}

#[tokio::test]
async fn nothing_is_there_while_organizations_are_off() {
    let t = TestServer::start_with(RateLimits::Off, settings()).await;
    let mut me = me(&t).await;
    let id = organization(&t, &me.user).await;
    let instance = t.tenant.id.clone();
    let saved = t.db().write(move |tx| {
        Box::pin(async move {
            let mut settings = find(tx, &instance).await?.unwrap().settings;
            settings.organizations.enabled = false;
            save_settings(tx, &instance, &settings).await
        })
    });
    saved.await.unwrap();
    let off = "organization_not_enabled_in_instance";
    let path = format!("/v1/organizations/{id}");
    me.post("/v1/organizations", json!({"name": "Acme"})).await.is_error(403, off);
    me.get(&path).await.is_error(403, off);
    me.patch(&path, json!({"name": "New"})).await.is_error(403, off);
    me.delete(&path).await.is_error(403, off);
    super::upload(&mut me, &id).await.is_error(403, off);
    me.delete(&format!("{path}/logo")).await.is_error(403, off);
    me.get(&format!("{path}/roles")).await.is_error(403, off);
    let members = format!("{path}/memberships");
    me.get(&members).await.is_error(403, off);
    me.post(&members, json!({"user_id": me.user, "role": "org:member"})).await.is_error(403, off);
    let mine = format!("{members}/{}", me.user);
    me.patch(&mine, json!({"role": "org:member"})).await.is_error(403, off);
    me.delete(&mine).await.is_error(403, off);
    me.get("/v1/me/organization_memberships").await.is_error(403, off);
    me.delete(&format!("/v1/me/organization_memberships/{id}")).await.is_error(403, off);
    me.get("/v1/me/organization_creation_defaults").await.is_error(403, off);
}

#[tokio::test]
async fn a_page_turns_organizations_on_in_development_and_nowhere_else() {
    let t = without().await;
    assert_eq!(shown(&t).await["enabled"], false);
    let mut browser = t.browser();
    let refused = browser.patch(ENABLE, json!({"enable_organizations": "false"})).await;
    refused.is_problem(422, "form_param_value_invalid", "enable_organizations");
    browser.patch(ENABLE, json!({})).await.is_problem(422, "form_param_missing", "enable_organizations");
    assert_eq!(shown(&t).await["enabled"], false);
    // As the component asks: with personal accounts off unless they are chosen.
    let form = json!({"enable_organizations": "true", "organization_allow_personal_accounts": "false"});
    let answer = browser.patch(ENABLE, form.clone()).await.ok();
    assert_eq!(
        answer["organization_settings"],
        shown(&t).await,
        "the answer is the environment as it is now"
    );
    assert!(answer["auth_config"].is_object() && answer["display_config"].is_object());
    assert_eq!(answer["organization_settings"]["enabled"], true);
    assert_eq!(answer["organization_settings"]["force_organization_selection"], true);
    let form = json!({"enable_organizations": "true", "organization_allow_personal_accounts": "true"});
    browser.post(ENABLE, form).await.ok();
    assert_eq!(shown(&t).await["force_organization_selection"], true, "what is on already stays as it is");
    let mut other = t.browser_at(&t.other);
    other.origin = Some(format!("https://{}", t.other.frontend_api.trim_start_matches("clerk.")));
    let before = other.get("/v1/environment").await.ok()["organization_settings"].clone();
    let refused = other.patch(ENABLE, json!({"enable_organizations": "true"})).await;
    refused.is_error(403, "feature_not_enabled");
    assert_eq!(other.get("/v1/environment").await.ok()["organization_settings"], before);
}
