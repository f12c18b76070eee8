//! Members: roles, limits, filters, and the rule that somebody can always manage an organization.

use latchkey_testkit::TestServer;
use serde_json::json;

use super::{add, events, id, organization, user};

#[tokio::test]
async fn a_member_is_added_once_with_a_role_of_the_organization() {
    let t = TestServer::start().await;
    let (ada, acme) = (user(&t, "ada").await, organization(&t, json!({"name": "Acme"})).await);
    let path = format!("/v1/organizations/{acme}/memberships");
    let body = json!({"user_id": ada, "role": "org:member", "public_metadata": {"seat": 1}});
    let made = t.post(&path, body).await.ok();
    assert_eq!((&made["role"], &made["role_name"]), (&json!("org:member"), &json!("Member")));
    assert_eq!(made["permissions"], json!(["org:sys_billing:read", "org:sys_memberships:read"]));
    assert_eq!(made["organization"]["id"], json!(acme));
    assert_eq!(made["public_metadata"], json!({"seat": 1}));
    add(&t, &acme, &ada, "org:admin").await.is_error(400, "already_a_member_in_organization");
    let bob = user(&t, "bob").await;
    add(&t, &acme, &bob, "org:king").await.is_error(422, "form_resource_not_found");
    add(&t, &acme, "user_none", "org:member").await.is_error(404, "resource_not_found");
    // Names from before there were keys of roles.
    assert_eq!(add(&t, &acme, &bob, "admin").await.ok()["role"], json!("org:admin"));
    let elsewhere =
        t.call(Some(&t.other), "POST", &path, Some(json!({"user_id": ada, "role": "org:admin"}))).await;
    elsewhere.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn an_organization_has_no_more_members_than_it_may() {
    let t = TestServer::start().await;
    let acme = organization(&t, json!({"name": "Acme", "max_allowed_memberships": 2})).await;
    for name in ["ada", "bob"] {
        let user = user(&t, name).await;
        add(&t, &acme, &user, "org:admin").await.ok();
    }
    let cleo = user(&t, "cleo").await;
    add(&t, &acme, &cleo, "org:admin").await.is_error(403, "organization_membership_quota_exceeded");
    t.patch(&format!("/v1/organizations/{acme}"), json!({"max_allowed_memberships": 0})).await.ok();
    add(&t, &acme, &cleo, "org:admin").await.ok();
}

#[tokio::test]
async fn somebody_who_may_manage_an_organization_always_stays() {
    let t = TestServer::start().await;
    let acme = organization(&t, json!({"name": "Acme"})).await;
    let (ada, bob) = (user(&t, "ada").await, user(&t, "bob").await);
    add(&t, &acme, &ada, "org:admin").await.ok();
    add(&t, &acme, &bob, "org:member").await.ok();
    let path = |user: &str| format!("/v1/organizations/{acme}/memberships/{user}");
    let demoted = t.patch(&path(&ada), json!({"role": "org:member"})).await;
    demoted.is_error(400, "organization_minimum_permissions_needed");
    t.delete(&path(&ada)).await.is_error(400, "organization_minimum_permissions_needed");
    t.patch(&path(&bob), json!({"role": "org:admin"})).await.ok();
    t.patch(&path(&ada), json!({"role": "org:member"})).await.ok();
    t.delete(&path(&bob)).await.is_error(400, "organization_minimum_permissions_needed");
    let gone = t.delete(&path(&ada)).await.ok();
    assert_eq!((&gone["object"], &gone["role"]), (&json!("organization_membership"), &json!("org:member")));
    t.delete(&path(&ada)).await.is_error(404, "resource_not_found");
    let kinds = events(&t, &t.tenant).await;
    let expected = ["created", "created", "updated", "updated", "deleted"]
        .map(|it| format!("organizationMembership.{it}"));
    assert_eq!(kinds[1..], expected);
}

/// Two admins who take each other's role at once: one of them keeps it.
#[tokio::test(flavor = "multi_thread")]
async fn two_admins_who_demote_each_other_leave_one() {
    let t = TestServer::start().await;
    for round in 0..8 {
        let acme = organization(&t, json!({"name": "Acme"})).await;
        let ada = user(&t, &format!("ada{round}")).await;
        let bob = user(&t, &format!("bob{round}")).await;
        add(&t, &acme, &ada, "org:admin").await.ok();
        add(&t, &acme, &bob, "org:admin").await.ok();
        let path = |user: &str| format!("/v1/organizations/{acme}/memberships/{user}");
        let (paths, body) = ([path(&ada), path(&bob)], json!({"role": "org:member"}));
        let (one, other) = tokio::join!(t.patch(&paths[0], body.clone()), t.patch(&paths[1], body));
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 400]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_organization_stays_full_when_many_join_at_once() {
    let t = TestServer::start().await;
    let acme = organization(&t, json!({"name": "Acme", "max_allowed_memberships": 3})).await;
    let mut users = Vec::new();
    for number in 0..12 {
        users.push(user(&t, &format!("user{number}")).await);
    }
    let joins = users.iter().map(|user| add(&t, &acme, user, "org:admin"));
    let answers = futures_util::future::join_all(joins).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 3);
    let found = t.get(&format!("/v1/organizations/{acme}?include_members_count=true")).await.ok();
    assert_eq!(found["members_count"], json!(3));
    let listed = t.get(&format!("/v1/organizations/{acme}/memberships")).await.ok();
    assert_eq!(listed["data"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn members_are_filtered_and_ordered_by_what_is_known_of_the_users() {
    let t = TestServer::start().await;
    let acme = organization(&t, json!({"name": "Acme", "max_allowed_memberships": 0})).await;
    let mut ids = Vec::new();
    for (name, address, role) in [
        ("ada", "Ada@a.example", "org:admin"),
        ("bob", "bob@b.example", "org:member"),
        ("cleo", "cleo@a.example", "org:member"),
    ] {
        let body = json!({"username": format!("{name}_x"), "first_name": name, "email_address": [address], "skip_password_requirement": true});
        let user = id(&t.post("/v1/users", body).await.ok());
        t.clock.advance_ms(1000);
        add(&t, &acme, &user, role).await.ok();
        ids.push(user);
    }
    let names = async |query: &str| {
        let page = t.get(&format!("/v1/organizations/{acme}/memberships?{query}")).await.ok();
        let data = page["data"].as_array().unwrap().clone();
        let names = data.iter().map(|it| it["public_user_data"]["first_name"].as_str().unwrap().to_owned());
        let names: Vec<_> = names.collect();
        (names.join(" "), page["total_count"].as_i64().unwrap())
    };
    for (query, expected, total) in [
        (String::new(), "cleo bob ada", 3),
        ("limit=1&offset=1".to_owned(), "bob", 3),
        ("order_by=created_at".to_owned(), "ada bob cleo", 3),
        ("order_by=-first_name&limit=2".to_owned(), "cleo bob", 3),
        ("order_by=email_address".to_owned(), "ada bob cleo", 3),
        ("role=org:member".to_owned(), "cleo bob", 2),
        ("role=org:member&role=org:admin".to_owned(), "cleo bob ada", 3),
        ("role=org:none".to_owned(), "", 0),
        (format!("user_id={}", ids[1]), "bob", 1),
        (format!("user_id=-{}", ids[1]), "cleo ada", 2),
        ("email_address=ada@a.example".to_owned(), "ada", 1),
        ("email_address_query=a.exam".to_owned(), "cleo ada", 2),
        ("username=bob_x".to_owned(), "bob", 1),
        ("query=cle".to_owned(), "cleo", 1),
        ("name_query=AD".to_owned(), "ada", 1),
        ("created_at_before=1".to_owned(), "", 0),
    ] {
        assert_eq!(names(&query).await, (expected.to_owned(), total), "{query}");
    }
    let bad = t.get(&format!("/v1/organizations/{acme}/memberships?order_by=age")).await;
    bad.is_error(422, "form_param_value_invalid");
}

#[tokio::test]
async fn memberships_are_listed_by_user_and_by_instance_and_users_by_organization() {
    let t = TestServer::start().await;
    let (ada, bob) = (user(&t, "ada").await, user(&t, "bob").await);
    let mut organizations = Vec::new();
    for name in ["Acme", "Beta"] {
        let organization = organization(&t, json!({"name": name})).await;
        add(&t, &organization, &ada, "org:admin").await.ok();
        t.clock.advance_ms(1000);
        organizations.push(organization);
    }
    add(&t, &organizations[0], &bob, "org:member").await.ok();
    let of_ada = t.get(&format!("/v1/users/{ada}/organization_memberships")).await.ok();
    let names: Vec<_> =
        of_ada["data"].as_array().unwrap().iter().map(|it| &it["organization"]["name"]).collect();
    assert_eq!((names, &of_ada["total_count"]), (vec![&json!("Beta"), &json!("Acme")], &json!(2)));
    let all = t.get("/v1/organization_memberships?limit=2").await.ok();
    assert_eq!((all["data"].as_array().unwrap().len(), &all["total_count"]), (2, &json!(3)));
    let by_name = t.get("/v1/organization_memberships?order_by=-username").await.ok();
    assert_eq!(by_name["data"][0]["public_user_data"]["user_id"], json!(bob));
    let other = t.call(Some(&t.other), "GET", "/v1/organization_memberships", None).await.ok();
    assert_eq!(other["total_count"], json!(0));
    for (query, expected) in [
        (format!("organization_id={}", organizations[0]), 2),
        (format!("organization_id={}", organizations[1]), 1),
        (format!("organization_id=-{}", organizations[1]), 1),
        ("organization_id=org_none".to_owned(), 0),
    ] {
        let users = t.get(&format!("/v1/users?{query}")).await.ok();
        assert_eq!(users.as_array().unwrap().len(), expected, "{query}");
        let count = t.get(&format!("/v1/users/count?{query}")).await.ok();
        assert_eq!(count["total_count"], json!(expected), "{query}");
    }
}

#[tokio::test]
async fn metadata_of_a_membership_is_merged() {
    let t = TestServer::start().await;
    let (ada, acme) = (user(&t, "ada").await, organization(&t, json!({"name": "Acme"})).await);
    add(&t, &acme, &ada, "org:admin").await.ok();
    let path = format!("/v1/organizations/{acme}/memberships/{ada}/metadata");
    t.patch(&path, json!({"public_metadata": {"a": {"b": 1}}, "private_metadata": {"p": 1}})).await.ok();
    let merged = t.patch(&path, json!({"public_metadata": {"a": {"c": 2}}})).await.ok();
    assert_eq!(merged["public_metadata"], json!({"a": {"b": 1, "c": 2}}));
    assert_eq!(merged["private_metadata"], json!({"p": 1}));
    let large = t.patch(&path, json!({"public_metadata": {"a": "x".repeat(9000)}})).await;
    large.is_error(422, "form_param_exceeds_allowed_size");
}
