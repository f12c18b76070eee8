//! Names, slugs, metadata, limits and lists of organizations.

use latchkey_kernel::settings::Settings;
use latchkey_testkit::TestServer;
use serde_json::json;

use super::{add, events, id, organization, user};

#[tokio::test]
async fn an_organization_is_created_with_its_creator_as_admin() {
    let t = TestServer::start().await;
    let ada = user(&t, "ada").await;
    let body = json!({"name": " Legend Systems ", "created_by": ada, "public_metadata": {"tier": 1}});
    let made = t.post("/v1/organizations", body).await.ok();
    assert_eq!((&made["name"], &made["created_by"]), (&json!("Legend Systems"), &json!(ada)));
    assert_eq!((&made["max_allowed_memberships"], &made["members_count"]), (&json!(0), &json!(1)));
    assert_eq!(
        (&made["admin_delete_enabled"], &made["role_set_key"]),
        (&json!(true), &json!("role_set:default"))
    );
    assert!(made["slug"].as_str().unwrap().starts_with("legend-systems-"), "{made:#}");
    let members = t.get(&format!("/v1/organizations/{}/memberships", id(&made))).await.ok();
    assert_eq!((&members["total_count"], &members["data"][0]["role"]), (&json!(1), &json!("org:admin")));
    assert_eq!(members["data"][0]["public_user_data"]["user_id"], json!(ada));
    assert_eq!(events(&t, &t.tenant).await, ["organization.created", "organizationMembership.created"]);
    let nobody = t.post("/v1/organizations", json!({"name": "Acme"})).await.ok();
    assert_eq!((&nobody["created_by"], &nobody["members_count"]), (&json!(""), &json!(0)));
}

#[tokio::test]
async fn an_organization_is_found_by_its_id_and_by_its_slug() {
    let t = TestServer::start().await;
    let acme = organization(&t, json!({"name": "Acme", "slug": "acme"})).await;
    for path in [format!("/v1/organizations/{acme}"), "/v1/organizations/acme".to_owned()] {
        let found = t.get(&path).await.ok();
        assert_eq!(found["id"], json!(acme));
        assert_eq!(found.get("members_count"), None, "only when it is asked for");
    }
    let path = "/v1/organizations/acme?include_members_count=true&include_missing_member_with_elevated_permissions=true";
    let found = t.get(path).await.ok();
    assert_eq!(found["members_count"], json!(0));
    assert_eq!(found["missing_member_with_elevated_permissions"], json!(true));
    t.get("/v1/organizations/none").await.is_error(404, "resource_not_found");
    let other = t.call(Some(&t.other), "GET", "/v1/organizations/acme", None).await;
    other.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn slugs_are_unique_and_can_be_switched_off() {
    let t = TestServer::start().await;
    organization(&t, json!({"name": "Acme", "slug": "acme"})).await;
    let taken = t.post("/v1/organizations", json!({"name": "Acme", "slug": "acme"})).await;
    taken.is_error(422, "form_already_exists");
    assert_eq!(taken.param(), "slug");
    let beta = organization(&t, json!({"name": "Beta"})).await;
    let path = format!("/v1/organizations/{beta}");
    t.patch(&path, json!({"slug": "acme"})).await.is_error(422, "form_already_exists");
    for bad in ["Acme", "a b", "a_b", "a/b"] {
        t.patch(&path, json!({"slug": bad})).await.is_error(422, "form_param_format_invalid");
    }
    let mut settings = Settings::default();
    settings.organizations.enabled = true;
    settings.organizations.slugs = false;
    t.set_settings(settings).await;
    let refused = t.post("/v1/organizations", json!({"name": "Gamma", "slug": "gamma"})).await;
    refused.is_error(403, "organization_slugs_disabled");
    let made = t.post("/v1/organizations", json!({"name": "Gamma"})).await.ok();
    assert_eq!(made["slug"], json!(""));
}

#[tokio::test]
async fn nothing_about_organizations_answers_while_they_are_off() {
    let t = TestServer::start().await;
    let acme = organization(&t, json!({"name": "Acme"})).await;
    t.set_settings(Settings::default()).await;
    for path in ["/v1/organizations".to_owned(), format!("/v1/organizations/{acme}/memberships")] {
        t.get(&path).await.is_error(403, "organization_not_enabled_in_instance");
    }
    let refused = t.post("/v1/organizations", json!({"name": "Beta"})).await;
    refused.is_error(403, "organization_not_enabled_in_instance");
}

#[tokio::test]
async fn names_are_checked_and_everything_wrong_is_told_together() {
    let t = TestServer::start().await;
    for bad in ["", "  ", "<b>x</b>", "see https://evil.example", &"x".repeat(257)] {
        let answer = t.post("/v1/organizations", json!({"name": bad})).await;
        assert_eq!((answer.status, answer.param()), (422, "name"), "{bad}");
    }
    let body = json!({"name": "", "slug": "A B", "created_at": "tomorrow",
        "public_metadata": {"a": "x".repeat(9000)}});
    let answer = t.post("/v1/organizations", body).await;
    let params: Vec<_> = answer.problems().into_iter().map(|(_, param)| param).collect();
    assert_eq!(params, ["name", "slug", "created_at", "public_metadata"]);
    let unknown = t.post("/v1/organizations", json!({"name": "Acme", "created_by": "user_none"})).await;
    unknown.is_error(400, "organization_creator_not_found");
    let set = t.post("/v1/organizations", json!({"name": "Acme", "role_set_key": "role_set:none"})).await;
    set.is_error(422, "form_resource_not_found");
}

#[tokio::test]
async fn metadata_is_merged_replaced_and_in_old_versions_part_of_the_update() {
    let t = TestServer::start().await;
    let acme = organization(&t, json!({"name": "Acme", "public_metadata": {"a": {"b": 1}, "c": 2}})).await;
    let path = format!("/v1/organizations/{acme}");
    let metadata = format!("{path}/metadata");
    let merged = t.patch(&metadata, json!({"public_metadata": {"a": {"d": 3}, "c": null}})).await.ok();
    assert_eq!(merged["public_metadata"], json!({"a": {"b": 1, "d": 3}}));
    let replaced = t.put(&metadata, json!({"private_metadata": {"x": 1}})).await.ok();
    assert_eq!(replaced["public_metadata"], json!({"a": {"b": 1, "d": 3}}));
    assert_eq!(replaced["private_metadata"], json!({"x": 1}));
    let body = json!({"name": "Beta", "public_metadata": {"old": true}, "private_metadata": null});
    t.patch(&path, body.clone()).await.is_error(422, "form_param_unknown");
    let old = t.call_version("2025-11-10", "PATCH", &path, Some(body)).await.ok();
    assert_eq!((&old["name"], &old["public_metadata"]), (&json!("Beta"), &json!({"old": true})));
    assert_eq!(old["private_metadata"], json!({"x": 1}));
    assert_eq!(events(&t, &t.tenant).await.len(), 4, "one for each change");
    t.patch(&path, json!({"name": "Beta"})).await.ok();
    assert_eq!(events(&t, &t.tenant).await.len(), 4, "and none where nothing changed");
}

#[tokio::test]
async fn a_user_creates_as_many_organizations_as_they_may() {
    let t = TestServer::start().await;
    let ada = user(&t, "ada").await;
    t.patch(&format!("/v1/users/{ada}"), json!({"create_organizations_limit": 2})).await.ok();
    let create =
        async |name: &str| t.post("/v1/organizations", json!({"name": name, "created_by": ada})).await;
    create("One").await.ok();
    let two = id(&create("Two").await.ok());
    create("Three").await.is_error(403, "org_creation_limit_exceeded");
    t.delete(&format!("/v1/organizations/{two}")).await.ok();
    create("Three").await.ok();
    // Whether users create organizations themselves says nothing about backends.
    let off = json!({"create_organization_enabled": false, "create_organizations_limit": 0});
    t.patch(&format!("/v1/users/{ada}"), off).await.ok();
    create("Four").await.ok();
}

#[tokio::test]
async fn lists_are_filtered_ordered_and_counted() {
    let t = TestServer::start().await;
    let (ada, bob) = (user(&t, "ada").await, user(&t, "bob").await);
    let mut all = Vec::new();
    for name in ["Acme", "Beta 100%", "Gamma"] {
        all.push(organization(&t, json!({"name": name, "max_allowed_memberships": 0})).await);
        t.clock.advance_ms(1000);
    }
    add(&t, &all[0], &ada, "org:admin").await.ok();
    add(&t, &all[1], &ada, "org:admin").await.ok();
    add(&t, &all[1], &bob, "org:member").await.ok();
    let names = async |query: &str| {
        let page = t.get(&format!("/v1/organizations?{query}")).await.ok();
        let names = page["data"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned());
        (names.collect::<Vec<_>>(), page["total_count"].as_i64().unwrap())
    };
    let (acme, beta, gamma) = ("Acme", "Beta 100%", "Gamma");
    let plus = |id: &str| format!("%2B{id}");
    for (query, expected, total) in [
        (String::new(), vec![gamma, beta, acme], 3),
        ("order_by=name&limit=2".to_owned(), vec![acme, beta], 3),
        ("order_by=-members_count".to_owned(), vec![beta, acme, gamma], 3),
        ("order_by=%2Bcreated_at&offset=1".to_owned(), vec![beta, gamma], 3),
        (format!("user_id={ada}"), vec![beta, acme], 2),
        (format!("user_id={}&user_id=-{bob}", plus(&ada)), vec![acme], 1),
        (format!("user_id=-{ada}"), vec![gamma], 1),
        (format!("organization_id={}&organization_id={}", all[0], all[2]), vec![gamma, acme], 2),
        (format!("organization_id=-{}", all[0]), vec![gamma, beta], 2),
        ("query=100%25".to_owned(), vec![beta], 1),
        ("query=%25".to_owned(), vec![beta], 1),
        ("query=AMM".to_owned(), vec![gamma], 1),
        ("query=acme-".to_owned(), vec![acme], 1),
        (format!("query={}", all[1]), vec![beta], 1),
    ] {
        assert_eq!(
            names(&query).await,
            (expected.iter().map(|name| (*name).to_owned()).collect(), total),
            "{query}"
        );
    }
    t.get("/v1/organizations?order_by=size").await.is_error(422, "form_param_value_invalid");
    let counted = t.get("/v1/organizations?include_members_count=true&order_by=name").await.ok();
    let counts: Vec<_> =
        counted["data"].as_array().unwrap().iter().map(|it| it["members_count"].clone()).collect();
    assert_eq!(counts, [json!(1), json!(2), json!(0)]);
    let other = t.call(Some(&t.other), "GET", "/v1/organizations", None).await.ok();
    assert_eq!(other["total_count"], json!(0));
    // The number is kept by whoever makes or deletes one, also where the first slug was taken.
    t.delete(&format!("/v1/organizations/{}", all[1])).await.ok();
    assert_eq!(names("").await.1, 2);
    for _ in 0..2 {
        organization(&t, json!({"name": "Twins"})).await;
    }
    assert_eq!(names("").await.1, 4);
    assert_eq!(t.count_rows("organizations").await, 4);
}
