//! Members: lists, roles, joining and leaving.

use latchkey_kernel::limits::RateLimits;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::{add, organization, role, roles, server, settings, text};
use crate::me::support::{Me, me, somebody};

/// An organization with twelve members besides me.
async fn crowd(t: &TestServer) -> (Me<'_>, String) {
    let me = me(t).await;
    let id = organization(t, &me.user).await;
    for number in 0..12 {
        let name = format!("Person{number}");
        let body = json!({"email_address": [format!("p{number}@example.com")], "first_name": name});
        let user = text(&t.user(body).await["id"]);
        t.clock.advance_ms(1);
        add(t, &id, &user, if number % 3 == 0 { "org:admin" } else { "org:member" }).await;
    }
    (me, id)
}

#[tokio::test]
async fn members_are_listed_by_page_role_and_text() {
    let t = server().await;
    let (mut me, id) = crowd(&t).await;
    let path = format!("/v1/organizations/{id}/memberships");
    let list = async |me: &mut Me<'_>, query: &str| {
        me.get(&format!("{path}?{query}")).await.ok()["response"].clone()
    };
    let bare = list(&mut me, "").await;
    assert_eq!(bare.as_array().unwrap().len(), 10, "a bare list unless asked otherwise, of the usual length");
    let page = list(&mut me, "paginated=true&limit=5&offset=10").await;
    assert_eq!((&page["total_count"], page["data"].as_array().unwrap().len()), (&json!(13), 3));
    assert_eq!(page["data"][2]["public_user_data"]["user_id"], me.user.as_str(), "newest first");
    let count = |page: &Value| page["total_count"].as_i64().unwrap();
    assert_eq!(count(&list(&mut me, "paginated=true&role=org:admin").await), 5);
    assert_eq!(count(&list(&mut me, "paginated=true&role=org%3Amember").await), 8);
    // Scripts write several roles as one text.
    assert_eq!(count(&list(&mut me, "paginated=true&role=org:admin,org:member").await), 13);
    assert_eq!(count(&list(&mut me, "paginated=true&role=org:admin&role=org:member").await), 13);
    assert_eq!(count(&list(&mut me, "paginated=true&role=org:nothing").await), 0);
    let found = list(&mut me, "paginated=true&query=PERSON7").await;
    assert_eq!(count(&found), 1);
    assert_eq!(found["data"][0]["public_user_data"]["first_name"], "Person7");
    assert_eq!(count(&list(&mut me, "paginated=true&query=p1&role=org:member").await), 3, "1, 10 and 11");
    for bad in ["limit=0", "limit=501", "offset=-1", "limit=x", "paginated=maybe"] {
        let refused = me.get(&format!("{path}?{bad}")).await;
        assert!([400, 422].contains(&refused.status), "{bad}: {:#}", refused.json);
    }
}

#[tokio::test]
async fn members_are_added_promoted_and_removed() {
    let t = server().await;
    let mut me = me(&t).await;
    let mut other = somebody(&t, "other@example.com").await;
    let id = organization(&t, &me.user).await;
    let path = format!("/v1/organizations/{id}/memberships");
    let before = t.events().await.len();
    let added =
        me.post(&path, json!({"user_id": other.user, "role": "org:member"})).await.ok()["response"].clone();
    assert_eq!((&added["role"], &added["organization"]["members_count"]), (&json!("org:member"), &json!(2)));
    let again = me.post(&path, json!({"user_id": other.user, "role": "org:member"})).await;
    again.is_error(400, "already_a_member_in_organization");
    let own = format!("{path}/{}", other.user);
    other.patch(&own, json!({"role": "org:admin"})).await.is_error(403, "missing_organization_permission");
    let changed = me.patch(&own, json!({"role": "org:admin"})).await.ok()["response"].clone();
    assert_eq!((&changed["role"], &changed["id"]), (&json!("org:admin"), &added["id"]));
    other.get(&path).await.ok();
    let removed = me.delete(&own).await.ok()["response"].clone();
    assert_eq!((&removed["id"], &removed["organization"]["members_count"]), (&added["id"], &json!(1)));
    other.get(&path).await.is_error(404, "organization_not_found_or_unauthorized");
    let kinds = ["created", "deleted", "updated"].map(|kind| format!("organizationMembership.{kind}"));
    assert_eq!(me.events_after(before).await, kinds);
}

#[tokio::test]
async fn what_makes_no_member_is_said() {
    let t = server().await;
    let mut me = me(&t).await;
    let id = organization(&t, &me.user).await;
    let other = text(&t.user(json!({"email_address": ["o@example.com"]})).await["id"]);
    let path = format!("/v1/organizations/{id}/memberships");
    me.post(&path, json!({"role": "org:member"})).await.is_problem(422, "form_param_missing", "user_id");
    me.post(&path, json!({"user_id": other})).await.is_problem(422, "form_param_missing", "role");
    for unknown in ["user_unknown", "", "x", "user_2x4000000000000000000000000"] {
        let answer = me.post(&path, json!({"user_id": unknown, "role": "org:member"})).await;
        assert!([404, 422].contains(&answer.status), "{unknown}: {:#}", answer.json);
    }
    for unknown in ["org:unknown", "", "member"] {
        let answer = me.post(&path, json!({"user_id": other, "role": unknown})).await;
        assert_eq!(answer.param(), "role", "{unknown}: {:#}", answer.json);
        let answer = me.patch(&format!("{path}/{}", me.user), json!({"role": unknown})).await;
        assert_eq!(answer.param(), "role", "{unknown}: {:#}", answer.json);
    }
    assert_eq!(roles(&t, &id).await.len(), 1);
}

#[tokio::test]
async fn an_organization_takes_no_more_members_than_it_may_have() {
    let mut settings = settings();
    settings.organizations.max_allowed_memberships = 2;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let made = me.post("/v1/organizations", json!({"name": "Acme"})).await.ok();
    assert_eq!(made["response"]["max_allowed_memberships"], 2);
    let path = format!("/v1/organizations/{}/memberships", text(&made["response"]["id"]));
    let form = |user: &Value| json!({"user_id": user["id"], "role": "org:member"});
    let (one, two) =
        (t.user(json!({"username": "first-one"})).await, t.user(json!({"username": "second-one"})).await);
    me.post(&path, form(&one)).await.ok();
    me.post(&path, form(&two)).await.is_error(403, "organization_membership_quota_exceeded");
}

#[tokio::test]
async fn the_last_manager_stays_and_everybody_else_may_leave() {
    let t = server().await;
    let mut me = me(&t).await;
    let mut other = somebody(&t, "other@example.com").await;
    let id = organization(&t, &me.user).await;
    add(&t, &id, &other.user, "org:member").await;
    let (leave, members) =
        (format!("/v1/me/organization_memberships/{id}"), format!("/v1/organizations/{id}/memberships"));
    let mine = format!("{members}/{}", me.user);
    let needed = "organization_minimum_permissions_needed";
    me.delete(&leave).await.is_error(400, needed);
    me.delete(&mine).await.is_error(400, needed);
    me.patch(&mine, json!({"role": "org:member"})).await.is_error(400, needed);
    // A role that allows less than what creators need does not count.
    role(&t, "org:helper", &["org:sys_memberships:manage", "org:sys_memberships:read"]).await;
    me.patch(&format!("{members}/{}", other.user), json!({"role": "org:helper"})).await.ok();
    me.delete(&leave).await.is_error(400, needed);
    me.patch(&format!("{members}/{}", other.user), json!({"role": "org:admin"})).await.ok();
    let before = t.events().await.len();
    let gone = me.delete(&leave).await.ok()["response"].clone();
    assert_eq!((&gone["object"], &gone["deleted"]), (&json!("organization_membership"), &json!(true)));
    assert_eq!(me.events_after(before).await, ["organizationMembership.deleted"]);
    assert_eq!(roles(&t, &id).await, [(other.user.clone(), "org:admin".to_owned())]);
    me.delete(&leave).await.is_error(404, "organization_not_found_or_unauthorized");
    other.delete(&leave).await.is_error(400, needed);
}

#[tokio::test]
async fn people_see_their_organizations_page_by_page() {
    let t = server().await;
    let mut me = me(&t).await;
    for _ in 0..12 {
        t.clock.advance_ms(1000);
        organization(&t, &me.user).await;
    }
    let other = somebody(&t, "other@example.com").await;
    organization(&t, &other.user).await;
    let path = "/v1/me/organization_memberships";
    assert_eq!(me.get(path).await.ok()["response"].as_array().unwrap().len(), 10);
    let page = me.get(&format!("{path}?paginated=true&limit=5&offset=10")).await.ok()["response"].clone();
    assert_eq!((&page["total_count"], page["data"].as_array().unwrap().len()), (&json!(12), 2));
}

#[tokio::test]
async fn members_see_the_roles_they_can_have() {
    let t = server().await;
    let mut me = me(&t).await;
    let id = organization(&t, &me.user).await;
    role(&t, "org:helper", &["org:sys_memberships:read"]).await;
    let path = format!("/v1/organizations/{id}/roles");
    let shown = me.get(&path).await.ok()["response"].clone();
    assert_eq!((&shown["total_count"], &shown["has_role_set_migration"]), (&json!(3), &json!(false)));
    let keys: Vec<&str> =
        shown["data"].as_array().unwrap().iter().map(|it| it["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["org:admin", "org:member", "org:helper"]);
    let helper = &shown["data"][2];
    assert_eq!((&helper["description"], &helper["is_creator_eligible"]), (&json!(""), &json!(false)));
    let permission = &helper["permissions"][0];
    assert_eq!(
        (&permission["key"], &permission["type"]),
        (&json!("org:sys_memberships:read"), &json!("system"))
    );
    assert_eq!(shown["data"][0]["is_creator_eligible"], true);
    let page = me.get(&format!("{path}?limit=1&offset=1")).await.ok()["response"].clone();
    assert_eq!((&page["total_count"], &page["data"][0]["key"]), (&json!(3), &json!("org:member")));
    assert_eq!(page["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn members_find_others_only_by_what_they_see_of_them() {
    let t = server().await;
    let mut me = me(&t).await;
    let id = organization(&t, &me.user).await;
    let body = json!({"email_address": ["shown@example.com", "private@example.org"],
        "phone_number": ["+4915199999999"], "username": "visible", "first_name": "Grace"});
    let other = text(&t.user(body).await["id"]);
    add(&t, &id, &other, "org:member").await;
    for (query, expected) in
        [("shown", 1), ("VISIBLE", 1), ("grace", 1), (&*other, 1), ("private", 0), ("49151", 0), ("%25", 0)]
    {
        let path = format!("/v1/organizations/{id}/memberships?paginated=true&query={query}");
        assert_eq!(me.get(&path).await.ok()["response"]["total_count"], json!(expected), "{query}");
    }
    let backends = t.get(&format!("/v1/organizations/{id}/memberships?query=private")).await.ok();
    assert_eq!(backends["total_count"], json!(1), "backends see everything");
}

#[tokio::test]
async fn the_last_organization_is_not_left_where_everybody_works_for_one() {
    let mut settings = settings();
    settings.organizations.force_selection = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let (owner, mut me) = (somebody(&t, "owner@example.com").await, me(&t).await);
    let (first, last) = (organization(&t, &owner.user).await, organization(&t, &owner.user).await);
    for id in [&first, &last] {
        add(&t, id, &me.user, "org:member").await;
    }
    me.delete(&format!("/v1/me/organization_memberships/{first}")).await.ok();
    let kept = me.delete(&format!("/v1/me/organization_memberships/{last}")).await;
    kept.is_error(422, "personal_accounts_not_allowed");
}
