//! Creating organizations: who may, how many, and what they are called.

use latchkey_kernel::limits::RateLimits;
use latchkey_testkit::TestServer;
use serde_json::json;

use super::{organization, server, settings, text};
use crate::me::support::{me, somebody};

#[tokio::test]
async fn whoever_creates_an_organization_joins_it_with_the_role_of_creators() {
    let t = server().await;
    let mut me = me(&t).await;
    let before = t.events().await.len();
    let made = me.post("/v1/organizations", json!({"name": " Acme Tools ", "slug": "acme"})).await.ok();
    let made = &made["response"];
    for (name, value) in [
        ("object", json!("organization")),
        ("name", json!("Acme Tools")),
        ("slug", json!("acme")),
        ("members_count", json!(1)),
        ("pending_invitations_count", json!(0)),
        ("max_allowed_memberships", json!(0)),
        ("admin_delete_enabled", json!(true)),
        ("public_metadata", json!({})),
    ] {
        assert_eq!(made[name], value, "{name}");
    }
    assert_eq!(made.get("private_metadata"), None);
    let listed = me.get("/v1/me/organization_memberships?paginated=true").await.ok()["response"].clone();
    assert_eq!(listed["total_count"], 1);
    let membership = &listed["data"][0];
    assert_eq!(membership["organization"], *made);
    assert_eq!((&membership["role"], &membership["role_name"]), (&json!("org:admin"), &json!("Admin")));
    assert!(membership["permissions"].as_array().unwrap().contains(&json!("org:sys_profile:delete")));
    assert_eq!(membership["public_user_data"]["user_id"], me.user.as_str());
    assert_eq!(me.events_after(before).await, ["organization.created", "organizationMembership.created"]);
    let seen = t.get(&format!("/v1/organizations/{}", text(&made["id"]))).await.ok();
    assert_eq!(seen["created_by"], me.user.as_str());
}

#[tokio::test]
async fn names_and_slugs_are_checked_and_slugs_are_made_from_names() {
    let t = server().await;
    let mut me = me(&t).await;
    let path = "/v1/organizations";
    me.post(path, json!({})).await.is_problem(422, "form_param_missing", "name");
    me.post(path, json!({"name": "  "})).await.is_problem(422, "form_param_nil", "name");
    let long = json!({"name": "x".repeat(257)});
    assert_eq!(me.post(path, long).await.status, 422);
    for slug in ["Acme", "a b", "a_b", "org_1", "ä"] {
        let answer = me.post(path, json!({"name": "Acme", "slug": slug})).await;
        assert_eq!((answer.status, answer.param()), (422, "slug"), "{slug}: {:#}", answer.json);
    }
    let made = me.post(path, json!({"name": "Acme & Söhne"})).await.ok();
    let slug = text(&made["response"]["slug"]);
    assert!(slug.starts_with("acme-s-hne-"), "{slug}");
    let again = me.post(path, json!({"name": "Other", "slug": slug})).await;
    again.is_problem(422, "form_already_exists", "slug");
    assert_eq!(me.get("/v1/me/organization_memberships").await.ok()["response"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn slugs_that_are_off_can_neither_be_given_nor_are_made() {
    let mut settings = settings();
    settings.organizations.slugs = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let given = me.post("/v1/organizations", json!({"name": "Acme", "slug": "acme"})).await;
    given.is_error(403, "organization_slugs_disabled");
    let made = me.post("/v1/organizations", json!({"name": "Acme"})).await.ok();
    assert_eq!(made["response"]["slug"], "");
    let path = format!("/v1/organizations/{}", text(&made["response"]["id"]));
    me.patch(&path, json!({"slug": "acme"})).await.is_error(403, "organization_slugs_disabled");
    assert_eq!(me.patch(&path, json!({"name": "Acme 2"})).await.ok()["response"]["name"], "Acme 2");
}

#[tokio::test]
async fn the_instance_and_the_user_limit_how_many_are_created() {
    let mut settings = settings();
    settings.actions.create_organizations_limit = Some(2);
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let form = || json!({"name": "Acme"});
    t.clock.advance_ms(1000);
    let first = me.post("/v1/organizations", form()).await.ok();
    t.clock.advance_ms(1000);
    me.post("/v1/organizations", form()).await.ok();
    t.clock.advance_ms(1000);
    me.post("/v1/organizations", form()).await.is_error(403, "org_creation_limit_exceeded");
    // The limit of the user goes before that of the instance.
    let path = format!("/v1/users/{}", me.user);
    t.patch(&path, json!({"create_organizations_limit": 3})).await.ok();
    me.post("/v1/organizations", form()).await.ok();
    t.clock.advance_ms(1000);
    me.post("/v1/organizations", form()).await.is_error(403, "org_creation_limit_exceeded");
    // One that was deleted counts no more.
    me.delete(&format!("/v1/organizations/{}", text(&first["response"]["id"]))).await.ok();
    me.post("/v1/organizations", form()).await.ok();
    t.patch(&path, json!({"create_organization_enabled": false, "create_organizations_limit": 0})).await.ok();
    me.post("/v1/organizations", form()).await.is_error(403, "user_create_organization_not_enabled");
}

#[tokio::test]
async fn an_instance_can_keep_people_from_creating_organizations() {
    let mut settings = settings();
    settings.actions.create_organization = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let refused = me.post("/v1/organizations", json!({"name": "Acme"})).await;
    refused.is_error(403, "user_create_organization_not_enabled");
    // What is said of the user goes before it.
    t.patch(&format!("/v1/users/{}", me.user), json!({"create_organization_enabled": true})).await.ok();
    me.post("/v1/organizations", json!({"name": "Acme"})).await.ok();
    // Backends create them for people all the same.
    organization(&t, &me.user).await;
}

#[tokio::test]
async fn forms_begin_with_what_the_address_tells() {
    let mut settings = settings();
    settings.organizations.creation_defaults = true;
    settings.organizations.domains = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let path = "/v1/me/organization_creation_defaults";
    let mut ann = somebody(&t, "ann@mail.acme-tools.com").await;
    let shown = ann.get(path).await.ok()["response"].clone();
    let form = json!({"name": "Acme Tools", "slug": "acme-tools", "logo": null, "blur_hash": null});
    assert_eq!(shown, json!({"advisory": null, "form": form}));
    // Everybody can have an address there.
    let mut bob = somebody(&t, "bob@gmail.com").await;
    let form = json!({"name": "", "slug": "", "logo": null, "blur_hash": null});
    assert_eq!(bob.get(path).await.ok()["response"], json!({"advisory": null, "form": form}));
    // A slug that is taken is not offered.
    let other = organization(&t, &bob.user).await;
    t.patch(&format!("/v1/organizations/{other}"), json!({"slug": "acme-tools"})).await.ok();
    let offered = text(&ann.get(path).await.ok()["response"]["form"]["slug"]);
    assert!(offered.starts_with("acme-tools-"), "{offered}");
    // The people of the domain have an organization already.
    let sql = "INSERT INTO organization_domains (instance_id, id, organization_id, name, claim, enrollment_mode, \
         verified, document, created_at) VALUES ($1, 'orgdmn_1', $2, 'mail.acme-tools.com', '', 'manual_invitation', TRUE, '{}', 0)";
    t.run_sql(sql, vec![t.tenant.id.as_str().into(), other.as_str().into()]).await;
    let advisory = ann.get(path).await.ok()["response"]["advisory"].clone();
    let meta = json!({"organization_name": "Acme", "organization_domain": "mail.acme-tools.com"});
    let expected = json!({"code": "organization_already_exists", "severity": "warning", "meta": meta});
    assert_eq!(advisory, expected);
    super::add(&t, &other, &ann.user, "org:member").await;
    assert_eq!(ann.get(path).await.ok()["response"]["advisory"], json!(null));
}

#[tokio::test]
async fn without_the_setting_forms_begin_empty_and_nobody_may_ask() {
    let t = server().await;
    t.set_settings(settings()).await;
    let mut me = me(&t).await;
    me.get("/v1/me/organization_creation_defaults").await.is_error(403, "feature_not_enabled");
}
