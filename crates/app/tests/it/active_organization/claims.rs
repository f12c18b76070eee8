//! What tokens say of an organization, in both forms, and what templates can say.

use axum::body::Body;
use axum::http::Request;
use latchkey_base::Id;
use latchkey_kernel::limits::MEMBERSHIPS_SHOWN;
use latchkey_kernel::settings::Settings;
use latchkey_organizations::orgs::entitlements;
use latchkey_people::users::entitlements as user_entitlements;
use latchkey_people::users::model::Entitlements;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::{At, claims, join, organization, permit, server, user};

/// A token of a session as a backend gets it, in the form of a version.
async fn minted(t: &TestServer, session: &str, version: &str) -> Value {
    let request = Request::post(format!("/v1/sessions/{session}/tokens"))
        .header("authorization", format!("Bearer {}", t.tenant.key))
        .header("clerk-api-version", version);
    let token = t.send(request.body(Body::empty()).unwrap()).await.ok();
    claims(token["jwt"].as_str().unwrap())
}

#[tokio::test]
async fn tokens_of_both_forms_name_the_organization_the_role_and_own_permissions() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let engines = organization(&t, "engines").await;
    permit(&t, "org:admin", &["org:teams:read", "org:dashboard:read", "org:dashboard:manage"]).await;
    join(&t, &engines, &ann, "org:admin").await;
    let mut at = At::new(&t, "ann@example.com").await;
    let second = json!({"id": engines, "slg": "engines", "rol": "admin", "per": "manage,read", "fpm": "3,2"});
    let told = at.token().await;
    assert_eq!((&told["v"], &told["o"], &told["fea"]), (&json!(2), &second, &json!("o:dashboard,o:teams")));
    assert!(told.get("org_id").is_none());
    let told = minted(&t, &at.session, "2025-04-10").await;
    assert_eq!(told["o"], second);
    let path = format!("/v1/client/sessions/{}/tokens?__clerk_api_version=2024-10-01", at.session);
    let first = at.browser.post(&path, json!({})).await.ok();
    let first = claims(first["jwt"].as_str().unwrap());
    for told in [first, minted(&t, &at.session, "2024-10-01").await] {
        assert!(told.get("o").is_none() && told.get("fea").is_none() && told.get("v").is_none());
        assert_eq!(
            (&told["org_id"], &told["org_slug"], &told["org_role"]),
            (&json!(engines), &json!("engines"), &json!("org:admin"))
        );
        let permissions = json!(["org:dashboard:manage", "org:dashboard:read", "org:teams:read"]);
        assert_eq!(told["org_permissions"], permissions);
    }
}

#[tokio::test]
async fn what_an_organization_may_use_comes_before_what_the_user_may() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let engines = organization(&t, "engines").await;
    permit(&t, "org:member", &["org:teams:read", "org:reports:read"]).await;
    join(&t, &engines, &ann, "org:member").await;
    let (act, id, user) = (t.act(&t.tenant), engines.clone(), ann["id"].as_str().unwrap().to_owned());
    let written = t.db().write(move |tx| {
        Box::pin(async move {
            let bought = Entitlements { plan: Some("team".into()), features: vec!["teams".into()] };
            entitlements::write(tx, &act, &Id::parse(&id).unwrap(), bought).await?;
            let own = Entitlements { plan: Some("free".into()), features: vec!["chat".into()] };
            user_entitlements::write(tx, &act, &Id::parse(&user).unwrap(), own).await
        })
    });
    written.await.unwrap();
    let mut at = At::new(&t, "ann@example.com").await;
    let told = at.token().await;
    assert_eq!((&told["fea"], &told["pla"]), (&json!("o:teams,u:chat"), &json!("o:team,u:free")));
    assert_eq!((&told["o"]["per"], &told["o"]["fpm"]), (&json!("read"), &json!("1")));
    // Working for oneself, only one's own count.
    let told = at.token_for(json!({ "organization_id": "" })).await;
    assert_eq!((&told["fea"], &told["pla"]), (&json!("u:chat"), &json!("u:free")));
}

/// Posts JSON to an operation of the session.
async fn post_json(
    t: &TestServer,
    at: &mut At<'_>,
    operation: &str,
    body: Value,
) -> latchkey_testkit::Answer {
    let path = format!("/v1/client/sessions/{}/{operation}?__clerk_api_version=2026-05-12", at.session);
    let cookies: Vec<String> =
        at.browser.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let request = Request::post(&path)
        .header("host", &t.tenant.frontend_api)
        .header("origin", "http://localhost:3000")
        .header("cookie", cookies.join("; "))
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    at.browser.send("POST", &path, request).await
}

#[tokio::test]
async fn null_instead_of_an_organization_means_oneself_as_an_empty_text_does() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let engines = organization(&t, "engines").await;
    join(&t, &engines, &ann, "org:member").await;
    let mut at = At::new(&t, "ann@example.com").await;
    at.touch(&engines).await.ok();
    let minted = post_json(&t, &mut at, "tokens", json!({ "organization_id": null })).await.ok();
    assert!(claims(minted["jwt"].as_str().unwrap()).get("o").is_none());
    assert_eq!(at.token().await["o"]["id"], json!(engines));
    post_json(&t, &mut at, "touch", json!({ "active_organization_id": null })).await.ok();
    assert!(at.token().await.get("o").is_none());
}

#[tokio::test]
async fn a_token_for_another_organization_does_not_change_the_session() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let (engines, looms) = (organization(&t, "engines").await, organization(&t, "looms").await);
    join(&t, &engines, &ann, "org:admin").await;
    join(&t, &looms, &ann, "org:member").await;
    let mut at = At::new(&t, "ann@example.com").await;
    at.touch(&engines).await.ok();
    for asked in [looms.as_str(), "looms"] {
        let told = at.token_for(json!({ "organization_id": asked })).await;
        assert_eq!((&told["o"]["id"], &told["o"]["rol"]), (&json!(looms), &json!("member")));
    }
    for asked in [engines.as_str(), "engines"] {
        assert_eq!(at.token_for(json!({ "organization_id": asked })).await["o"]["id"], json!(engines));
    }
    assert!(at.token_for(json!({ "organization_id": "" })).await.get("o").is_none());
    assert_eq!(at.token().await["o"]["id"], json!(engines));
    assert_eq!(at.shown().await["last_active_organization_id"], json!(engines));
}

#[tokio::test]
async fn templates_and_added_claims_name_the_organization_and_all_of_them() {
    let added = json!({ "team": "{{org.name}}", "all": "{{user.organizations}}", "org_id": "mine" });
    let t = server(|settings| settings.session.token_claims = added.as_object().unwrap().clone()).await;
    let ann = user(&t, "ann@example.com").await;
    let (engines, looms) = (organization(&t, "engines").await, organization(&t, "looms").await);
    let metadata = json!({ "public_metadata": { "tier": 2 } });
    t.patch(&format!("/v1/organizations/{engines}/metadata"), metadata).await.ok();
    join(&t, &engines, &ann, "org:admin").await;
    join(&t, &looms, &ann, "org:member").await;
    let template = json!({ "name": "app", "claims": {
        "org": ["{{org.id}}", "{{org.slug}}", "{{org.role}}", "{{org.has_image}}", "{{org.public_metadata.tier}}"],
        "role": "{{org_membership.role}}",
        "may": "{{org_membership.permissions}}",
        "in": "{{user.organizations}}",
    }});
    t.post("/v1/jwt_templates", template).await.ok();
    let mut at = At::new(&t, "ann@example.com").await;
    let all = json!({ engines.clone(): "org:admin", looms.clone(): "org:member" });
    at.touch(&engines).await.ok();
    let told = at.token().await;
    assert_eq!((&told["team"], &told["all"]), (&json!("engines"), &all));
    // In the first form nothing the application adds can be taken for the organization.
    assert_eq!(minted(&t, &at.session, "2024-10-01").await["org_id"], json!(engines));
    let path = format!("/v1/client/sessions/{}/tokens/app", at.session);
    let token = at.browser.post(&path, json!({})).await.ok();
    let told = claims(token["jwt"].as_str().unwrap());
    assert_eq!(told["org"], json!([engines, "engines", "org:admin", false, 2]));
    assert_eq!((&told["role"], &told["in"]), (&json!("org:admin"), &all));
    assert!(told["may"].as_array().unwrap().contains(&json!("org:sys_memberships:manage")));
    let by_backend = t.post(&format!("/v1/sessions/{}/tokens/app", at.session), json!({})).await.ok();
    assert_eq!(claims(by_backend["jwt"].as_str().unwrap())["org"], told["org"]);
    at.touch("").await.ok();
    let token = at.browser.post(&path, json!({})).await.ok();
    let told = claims(token["jwt"].as_str().unwrap());
    assert_eq!((&told["role"], &told["in"]), (&Value::Null, &all));
}

#[tokio::test]
async fn a_claim_of_all_organizations_is_refused_where_it_cannot_name_them_all() {
    let added = json!({ "all": "{{user.organizations}}" });
    let t = server(|settings| settings.session.token_claims = added.as_object().unwrap().clone()).await;
    let ann = user(&t, "ann@example.com").await;
    let mut at = At::new(&t, "ann@example.com").await;
    t.post("/v1/jwt_templates", json!({ "name": "app", "claims": added })).await.ok();
    for number in 0..MEMBERSHIPS_SHOWN {
        join(&t, &organization(&t, &format!("organization-{number}")).await, &ann, "org:member").await;
    }
    let path = format!("/v1/client/sessions/{}/tokens", at.session);
    let by_template = format!("/v1/sessions/{}/tokens/app", at.session);
    let count =
        |token: Value| claims(token["jwt"].as_str().unwrap())["all"].as_object().unwrap().len() as i64;
    assert_eq!(count(at.browser.post(&path, json!({})).await.ok()), MEMBERSHIPS_SHOWN);
    assert_eq!(count(t.post(&by_template, json!({})).await.ok()), MEMBERSHIPS_SHOWN);
    assert_eq!(at.shown_token().await["all"].as_object().unwrap().len() as i64, MEMBERSHIPS_SHOWN);
    join(&t, &organization(&t, "one-more").await, &ann, "org:member").await;
    let refused =
        [at.browser.post(&path, json!({})).await, at.touch("").await, t.post(&by_template, json!({})).await];
    for answer in refused {
        answer.is_problem(422, "form_param_exceeds_allowed_size", "claims");
    }
}

#[tokio::test]
async fn claims_about_the_organization_are_not_the_applications_to_add() {
    for name in ["o", "org_id", "org_role", "org_slug", "org_permissions"] {
        let mut settings = Settings::default();
        settings.session.token_claims.insert(name.to_owned(), json!("mine"));
        let problems = settings.problems();
        assert!(problems.iter().any(|fault| fault.path.starts_with("session.token_claims")), "{name}");
    }
}
