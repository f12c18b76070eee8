//! What backends do with domains.

use latchkey_kernel::settings::{EnrollmentMode, Settings};
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::{domain, events, id, organization};

#[tokio::test]
async fn a_domain_is_verified_unless_told_otherwise() {
    let t = TestServer::start().await;
    let acme = organization(&t, "Acme").await;
    let made = domain(&t, &acme, json!({"name": " ACME.example ", "enrollment_mode": "manual_invitation"}));
    let made = made.await.ok();
    assert_eq!((&made["object"], &made["name"]), (&json!("organization_domain"), &json!("acme.example")));
    assert_eq!(made["organization_id"], json!(acme));
    assert_eq!(made["public_organization_data"]["name"], json!("Acme"));
    let verification = json!({"status": "verified", "strategy": "admin", "attempts": null, "expire_at": null, "verified_at": null});
    assert_eq!((&made["verification"], &made["affiliation_verification"]), (&verification, &verification));
    assert_eq!(
        (&made["ownership_verification"], &made["affiliation_email_address"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        (&made["total_pending_invitations"], &made["total_pending_suggestions"]),
        (&json!(0), &json!(0))
    );
    let unverified = domain(&t, &acme, json!({"name": "acme.test", "verified": false})).await.ok();
    assert_eq!(
        (&unverified["verification"], &unverified["enrollment_mode"]),
        (&Value::Null, &json!("manual_invitation"))
    );
    let kinds: Vec<String> = events(&t).await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["created", "created"]);
    assert_eq!(events(&t).await[0].1, made);
}

#[tokio::test]
async fn names_of_public_providers_and_what_is_no_name_are_refused() {
    let t = TestServer::start().await;
    let acme = organization(&t, "Acme").await;
    for (name, code) in [
        ("gmail.com", "organization_domain_common"),
        ("Yahoo.co.uk", "organization_domain_common"),
        ("mailinator.com", "organization_domain_blocked"),
        ("sub.mailinator.com", "organization_domain_blocked"),
        ("localhost", "form_param_format_invalid"),
        ("co.uk", "form_param_format_invalid"),
        ("a@b.com", "form_param_format_invalid"),
        ("", "form_param_format_invalid"),
    ] {
        domain(&t, &acme, json!({"name": name})).await.is_problem(422, code, "name");
    }
    let bad = domain(&t, &acme, json!({"name": "acme.test", "enrollment_mode": "sometimes"})).await;
    bad.is_problem(422, "form_param_value_invalid", "enrollment_mode");
    domain(&t, &acme, json!({})).await.is_problem(422, "form_param_missing", "name");
    assert!(events(&t).await.is_empty());
}

#[tokio::test]
async fn a_name_is_verified_for_one_organization_and_named_once_by_each() {
    let t = TestServer::start().await;
    let (acme, other) = (organization(&t, "Acme").await, organization(&t, "Other").await);
    let first = id(&domain(&t, &acme, json!({"name": "acme.test"})).await.ok());
    let again = domain(&t, &acme, json!({"name": "Acme.Test", "verified": false})).await;
    again.is_error(422, "organization_domain_already_exists_same_organization");
    domain(&t, &other, json!({"name": "acme.test"}))
        .await
        .is_error(422, "organization_domain_already_exists");
    // One that is not verified claims nothing.
    let second = id(&domain(&t, &other, json!({"name": "acme.test", "verified": false})).await.ok());
    let path = format!("/v1/organizations/{other}/domains/{second}");
    t.patch(&path, json!({"verified": true})).await.is_error(422, "organization_domain_already_exists");
    t.patch(&format!("/v1/organizations/{acme}/domains/{first}"), json!({"verified": false})).await.ok();
    let taken = t.patch(&path, json!({"verified": true})).await.ok();
    assert_eq!(taken["verification"]["status"], json!("verified"));
    // Another instance has names of its own.
    let made = t.call(Some(&t.other), "POST", "/v1/organizations", Some(json!({"name": "Far"}))).await.ok();
    let path = format!("/v1/organizations/{}/domains", id(&made));
    t.call(Some(&t.other), "POST", &path, Some(json!({"name": "acme.test"}))).await.ok();
}

#[tokio::test]
async fn an_organization_has_at_most_ten_domains() {
    let t = TestServer::start().await;
    let acme = organization(&t, "Acme").await;
    for number in 0..10 {
        domain(&t, &acme, json!({"name": format!("d{number}.test"), "verified": number % 2 == 0})).await.ok();
    }
    domain(&t, &acme, json!({"name": "more.test"})).await.is_error(403, "organization_domain_quota_exceeded");
}

#[tokio::test]
async fn domains_and_modes_must_be_enabled() {
    let t = TestServer::start().await;
    let settings = |domains, modes: &[EnrollmentMode]| {
        let mut settings = Settings::default();
        settings.organizations.enabled = true;
        settings.organizations.domains = domains;
        settings.organizations.domain_enrollment_modes = modes.to_vec();
        settings
    };
    let acme = organization(&t, "Acme").await;
    t.set_settings(settings(false, &[])).await;
    let path = format!("/v1/organizations/{acme}/domains");
    let one = format!("{path}/orgdmn_000000000000000000000000000");
    for (method, path, body) in [
        ("POST", path.as_str(), Some(json!({"name": "acme.test"}))),
        ("GET", &path, None),
        ("GET", "/v1/organization_domains", None),
        ("PATCH", &one, Some(json!({"verified": true}))),
        ("DELETE", &one, None),
        ("POST", &format!("{one}/verify_ownership"), None),
    ] {
        t.call(Some(&t.tenant), method, path, body).await.is_error(403, "organization_domains_not_enabled");
    }
    t.set_settings(settings(true, &[EnrollmentMode::AutomaticSuggestion])).await;
    let refused =
        domain(&t, &acme, json!({"name": "acme.test", "enrollment_mode": "automatic_invitation"})).await;
    refused.is_error(403, "organization_domain_enrollment_mode_not_enabled");
    let made =
        domain(&t, &acme, json!({"name": "acme.test", "enrollment_mode": "automatic_suggestion"})).await;
    let path = format!("{path}/{}", id(&made.ok()));
    let refused = t.patch(&path, json!({"enrollment_mode": "automatic_invitation"})).await;
    refused.is_error(403, "organization_domain_enrollment_mode_not_enabled");
}

#[tokio::test]
async fn a_domain_is_changed_and_deleted_with_events_only_where_something_changes() {
    let t = TestServer::start().await;
    let acme = organization(&t, "Acme").await;
    let made = id(&domain(&t, &acme, json!({"name": "acme.test"})).await.ok());
    let path = format!("/v1/organizations/{acme}/domains/{made}");
    t.clock.advance_ms(1000);
    let same = t.patch(&path, json!({"verified": true, "enrollment_mode": null})).await.ok();
    assert_eq!(same["created_at"], same["updated_at"]);
    let changed = t.patch(&path, json!({"enrollment_mode": "enterprise_sso", "verified": null})).await.ok();
    assert_eq!(
        (&changed["enrollment_mode"], &changed["verification"]["status"]),
        (&json!("enterprise_sso"), &json!("verified"))
    );
    assert_ne!(changed["created_at"], changed["updated_at"]);
    let unverified = t.patch(&path, json!({"verified": false})).await.ok();
    assert_eq!(unverified["verification"], Value::Null);
    t.patch(&path, json!({"enrollment_mode": "x"})).await.is_error(422, "form_param_value_invalid");
    let gone = t.delete(&path).await.ok();
    assert_eq!(gone, json!({"object": "organization_domain", "id": made, "deleted": true}));
    t.delete(&path).await.is_error(404, "resource_not_found");
    t.patch(&path, json!({"verified": true})).await.is_error(404, "resource_not_found");
    let told = events(&t).await;
    let kinds: Vec<&str> = told.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["created", "updated", "updated", "deleted"]);
    assert_eq!((&told[1].1, &told[3].1), (&changed, &gone));
}

#[tokio::test]
async fn a_domain_of_another_organization_is_not_found() {
    let t = TestServer::start().await;
    let (acme, other) = (organization(&t, "Acme").await, organization(&t, "Other").await);
    let made = id(&domain(&t, &acme, json!({"name": "acme.test"})).await.ok());
    let path = format!("/v1/organizations/{other}/domains/{made}");
    t.patch(&path, json!({"verified": false})).await.is_error(404, "resource_not_found");
    t.delete(&path).await.is_error(404, "resource_not_found");
    t.post(&format!("{path}/verify_ownership"), json!({})).await.is_error(404, "resource_not_found");
    assert_eq!(events(&t).await.len(), 1);
}

#[tokio::test]
async fn ownership_is_overridden_once() {
    let t = TestServer::start().await;
    let acme = organization(&t, "Acme").await;
    let made = id(&domain(&t, &acme, json!({"name": "acme.test", "verified": false})).await.ok());
    let path = format!("/v1/organizations/{acme}/domains/{made}/verify_ownership");
    let owned = t.call(Some(&t.tenant), "POST", &path, None).await.ok();
    let proof = &owned["ownership_verification"];
    assert_eq!((&proof["status"], &proof["strategy"]), (&json!("verified"), &json!("manual_override")));
    assert_eq!(proof["verified_at"], owned["updated_at"]);
    // It is another proof than that of the affiliation.
    assert_eq!(owned["verification"], Value::Null);
    t.clock.advance_ms(5000);
    assert_eq!(t.call(Some(&t.tenant), "POST", &path, None).await.ok(), owned);
    let kinds: Vec<String> = events(&t).await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["created", "updated"]);
}

#[tokio::test]
async fn domains_are_filtered_ordered_and_paged() {
    let t = TestServer::start().await;
    let (acme, other) = (organization(&t, "Acme").await, organization(&t, "Other").await);
    for (organization, name, mode, verified) in [
        (&acme, "b.test", "manual_invitation", true),
        (&acme, "a.test", "automatic_invitation", false),
        (&other, "c.example", "automatic_suggestion", true),
        (&other, "b.test", "enterprise_sso", false),
    ] {
        let body = json!({"name": name, "enrollment_mode": mode, "verified": verified});
        domain(&t, organization, body).await.ok();
        t.clock.advance_ms(1000);
    }
    let names = async |path: &str| {
        let page = t.get(path).await.ok();
        let all = page["data"].as_array().unwrap().iter();
        let names: Vec<String> = all.map(|it| it["name"].as_str().unwrap().to_owned()).collect();
        (names.join(" "), page["total_count"].as_i64().unwrap())
    };
    let all = async |query: &str| names(&format!("/v1/organization_domains?{query}")).await;
    let is = |text: &str, count| (text.to_owned(), count);
    assert_eq!(all("").await, is("b.test c.example a.test b.test", 4));
    assert_eq!(all("order_by=name").await, is("a.test b.test b.test c.example", 4));
    assert_eq!(all("order_by=-name&limit=1").await, is("c.example", 4));
    assert_eq!(all("order_by=%2Bcreated_at&offset=1&limit=2").await, is("a.test c.example", 4));
    assert_eq!(all("verified=true").await, is("c.example b.test", 2));
    assert_eq!(all("verified=false").await, is("b.test a.test", 2));
    assert_eq!(all("enrollment_mode=enterprise_sso").await, is("b.test", 1));
    assert_eq!(all("enrollment_mode=-enterprise_sso,-automatic_invitation").await, is("c.example b.test", 2));
    assert_eq!(
        all("enrollment_mode=enterprise_sso&enrollment_mode=manual_invitation").await,
        is("b.test b.test", 2)
    );
    assert_eq!(all("enrollment_mode=enterprise_sso,-enterprise_sso").await, is("", 0));
    assert_eq!(all(&format!("organization_id={acme}")).await, is("a.test b.test", 2));
    assert_eq!(all("organization_id=org_none").await, is("", 0));
    assert_eq!(all("query=.TES").await, is("b.test a.test b.test", 3));
    assert_eq!(all("query=b%25").await, is("", 0));
    assert_eq!(all(&format!("query={other}")).await, is("b.test c.example", 2));
    assert_eq!(all("query=org_x").await, is("", 0));
    assert_eq!(all("domains=A.test&domains=c.example").await, is("c.example a.test", 2));
    let own = |query: &str| format!("/v1/organizations/{acme}/domains?{query}");
    assert_eq!(names(&own("")).await, is("a.test b.test", 2));
    assert_eq!(names(&own("verified=true")).await, is("b.test", 1));
    assert_eq!(names(&own("enrollment_mode=-manual_invitation")).await, is("a.test", 1));
    assert_eq!(names(&own("limit=1&offset=1")).await, is("b.test", 2));
    for (query, param) in [
        ("query=", "query"),
        ("query=%20", "query"),
        ("order_by=size", "order_by"),
        ("enrollment_mode=x", "enrollment_mode"),
    ] {
        let refused = t.get(&format!("/v1/organization_domains?{query}")).await;
        refused.is_problem(422, "form_param_value_invalid", param);
    }
    t.get("/v1/organization_domains?verified=maybe").await.is_problem(
        422,
        "form_param_type_invalid",
        "verified",
    );
    t.get(&own("enrollment_mode=x")).await.is_problem(422, "form_param_value_invalid", "enrollment_mode");
    let unknown = t.get("/v1/organizations/org_000000000000000000000000000/domains").await;
    unknown.is_error(404, "resource_not_found");
}
