//! Role sets on the Backend API, and members who get other roles because of them.

use latchkey_kernel::background;
use latchkey_kernel::environment::Environment;
use latchkey_organizations::role_migrations::run::RoleMigrations;
use latchkey_outbound::client::Options;
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

use crate::roles::{
    CREATOR, each, member, organization, permissions, role, somebody, start, text, with_organizations,
};

const SETS: &str = "/v1/role_sets";

/// Creates a role set with these roles, of which the first is that of creators and the last the default one.
async fn set(t: &TestServer, key: &str, roles: &[&str]) -> Value {
    t.post(SETS, body(key, roles)).await.ok()
}

fn body(key: &str, roles: &[&str]) -> Value {
    json!({"name": key, "key": key, "roles": roles, "creator_role_key": roles[0],
        "default_role_key": roles[roles.len() - 1]})
}

/// A role that creators can have.
async fn owner(t: &TestServer, key: &str) {
    let ids = permissions(t, &CREATOR).await;
    role(t, key, &ids).await;
}

async fn shown(t: &TestServer, key: &str) -> Value {
    t.get(&format!("{SETS}/{key}")).await.ok()
}

/// The role of a member.
async fn role_of(t: &TestServer, user: &str) -> String {
    let list = t.get(&format!("/v1/users/{user}/organization_memberships")).await.ok();
    text(&list["data"][0]["role"])
}

/// How many members of an organization have a role.
async fn count(t: &TestServer, organization: &str, role: &str) -> i64 {
    let path = format!("/v1/organizations/{organization}/memberships?role={role}&limit=1");
    t.get(&path).await.ok()["total_count"].as_i64().unwrap()
}

/// Adds many members to an organization behind the server's back.
async fn crowd(t: &TestServer, organization: &str, role: &str, many: usize) {
    let role = text(&t.get(&format!("/v1/organization_roles?query={role}")).await.ok()["data"][0]["id"]);
    for _ in 0..many {
        let user = somebody(t).await;
        let sql = "INSERT INTO organization_memberships (instance_id, organization_id, user_id, id, role_id, \
             document, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, 0, 0)";
        let document = json!({"public_metadata": {}, "private_metadata": {}}).to_string();
        let row = vec![
            (&t.tenant.id).into(),
            organization.into(),
            user.as_str().into(),
            user.replace("user_", "orgmem_").into(),
            role.as_str().into(),
            document.into(),
        ];
        t.run_sql(sql, row).await;
    }
    let sql =
        "UPDATE organizations SET members_count = members_count + $3 WHERE instance_id = $1 AND id = $2";
    let row = vec![(&t.tenant.id).into(), organization.into(), i64::try_from(many).unwrap().into()];
    t.run_sql(sql, row).await;
}

async fn step(t: &TestServer) {
    background::step::<RoleMigrations>(&t.jobs_with(Options::default())).await.unwrap();
}

async fn finish(t: &TestServer) {
    background::run::<RoleMigrations>(&t.jobs_with(Options::default())).await.unwrap();
}

/// How many events of a kind there were.
async fn events(t: &TestServer, kind: &str) -> usize {
    t.events().await.iter().filter(|event| event.kind == kind).count()
}

#[tokio::test]
async fn every_instance_has_the_set_of_new_organizations() {
    let t = start().await;
    let list = t.get(SETS).await.ok();
    assert_eq!(list["total_count"], 1);
    let set = &list["data"][0];
    assert_eq!((&set["object"], &set["key"]), (&json!("role_set"), &json!("role_set:default")));
    assert_eq!((&set["type"], &set["role_set_migration"]), (&json!("initial"), &Value::Null));
    assert_eq!(each(&set["roles"], "key"), ["org:admin", "org:member"]);
    assert_eq!(set["default_role"], set["roles"][1]);
    assert_eq!(set["creator_role"], set["roles"][0]);
    let member = &set["roles"][1];
    assert_eq!((&member["members_count"], &member["has_members"]), (&json!(0), &json!(false)));
    assert_eq!(shown(&t, "role_set:default").await, *set);
    assert_eq!(shown(&t, &text(&set["id"])).await, *set);
    for unknown in ["role_set:other", "default", "rset_000000000000000000000000000"] {
        t.get(&format!("{SETS}/{unknown}")).await.is_error(404, "resource_not_found");
    }
}

#[tokio::test]
async fn a_set_counts_the_members_of_its_organizations_by_role() {
    let t = start().await;
    set(&t, "role_set:other", &["org:admin", "org:member"]).await;
    let one = organization(&t, json!({"name": "One"})).await;
    let other = organization(&t, json!({"name": "Two", "role_set_key": "role_set:other"})).await;
    for (organization, role) in [(&one, "org:member"), (&one, "org:member"), (&other, "org:admin")] {
        member(&t, organization, role).await;
    }
    let counts = |set: &Value| -> Vec<i64> {
        set["roles"].as_array().unwrap().iter().map(|it| it["members_count"].as_i64().unwrap()).collect()
    };
    assert_eq!(counts(&shown(&t, "role_set:default").await), [0, 2]);
    let set = shown(&t, "role_set:other").await;
    assert_eq!(counts(&set), [1, 0]);
    assert_eq!(set["creator_role"]["has_members"], true);
}

#[tokio::test]
async fn sets_are_listed_by_query_order_and_page() {
    let t = start().await;
    for key in ["role_set:b", "role_set:a"] {
        t.clock.advance_ms(1000);
        set(&t, key, &["org:admin", "org:member"]).await;
    }
    let keys = |list: Value| each(&list["data"], "key").join(" ");
    assert_eq!(keys(t.get(SETS).await.ok()), "role_set:a role_set:b role_set:default");
    assert_eq!(keys(t.get(&format!("{SETS}?order_by=key&limit=1&offset=1")).await.ok()), "role_set:b");
    let found = t.get(&format!("{SETS}?query=primary")).await.ok();
    assert_eq!((keys(found.clone()), &found["total_count"]), ("role_set:default".into(), &json!(1)));
    t.get(&format!("{SETS}?order_by=type")).await.is_problem(422, "form_param_value_invalid", "order_by");
}

#[tokio::test]
async fn a_set_is_created_with_a_key_from_its_name_unless_it_has_one() {
    let t = start().await;
    let mut body = json!({"name": "Big Customers!", "roles": ["org:admin", "org:member"],
        "default_role_key": "org:member", "creator_role_key": "org:admin", "description": "For them."});
    let one = t.post(SETS, body.clone()).await.ok();
    assert_eq!((&one["key"], &one["type"]), (&json!("role_set:big_customers"), &json!("custom")));
    assert_eq!(one["description"], "For them.");
    assert_eq!(t.post(SETS, body.clone()).await.ok()["key"], "role_set:big_customers_2");
    body["name"] = json!("日本");
    assert_eq!(t.post(SETS, body.clone()).await.ok()["key"], "role_set:set");
    body["key"] = json!("role_set:big_customers");
    t.post(SETS, body.clone()).await.is_problem(422, "form_already_exists", "key");
    for bad in ["big", "role_set:", "role_set:A", "role_set:a-b", "role_set:a:b", ""] {
        body["key"] = json!(bad);
        t.post(SETS, body.clone()).await.is_problem(422, "form_param_format_invalid", "key");
    }
}

#[tokio::test]
async fn what_a_set_cannot_be_is_refused_by_name() {
    let t = start().await;
    let with = |name: &str, value: Value| {
        let mut body = body("role_set:a", &["org:admin", "org:member"]);
        body[name] = value;
        t.call(Some(&t.tenant), "POST", SETS, Some(body))
    };
    with("roles", json!([])).await.is_error(422, "form_param_value_invalid");
    with("roles", json!(vec!["org:admin"; 11])).await.is_problem(
        422,
        "form_param_array_size_exceeded",
        "roles",
    );
    with("roles", json!(["org:admin", "org:member", "org:admin"])).await.is_problem(
        422,
        "form_param_duplicate",
        "roles",
    );
    assert!(
        with("roles", json!(["org:admin", "org:x"]))
            .await
            .problems()
            .contains(&("form_resource_not_found", "roles"))
    );
    with("default_role_key", json!("org:x")).await.is_problem(
        422,
        "form_resource_not_found",
        "default_role_key",
    );
    with("creator_role_key", json!("org:member"))
        .await
        .is_error(422, "organization_missing_creator_role_permissions");
    with("roles", json!(["org:admin"])).await.is_problem(422, "form_resource_not_found", "default_role_key");
    with("type", json!("other")).await.is_problem(422, "form_param_value_invalid", "type");
    with("surprise", json!(1)).await.is_problem(422, "form_param_unknown", "surprise");
    with("name", json!("")).await.is_problem(422, "form_param_nil", "name");
    assert_eq!(t.get(SETS).await.ok()["total_count"], 1);
}

#[tokio::test]
async fn an_instance_has_at_most_twenty_sets() {
    let t = start().await;
    for number in 1..20 {
        set(&t, &format!("role_set:s{number}"), &["org:admin", "org:member"]).await;
    }
    t.post(SETS, body("role_set:more", &["org:admin", "org:member"]))
        .await
        .is_error(403, "organization_instance_role_sets_quota_exceeded");
}

#[tokio::test]
async fn one_set_is_that_of_new_organizations() {
    let t = start().await;
    let mut first = body("role_set:first", &["org:admin", "org:member"]);
    first["type"] = json!("initial");
    assert_eq!(t.post(SETS, first).await.ok()["type"], "initial");
    assert_eq!(shown(&t, "role_set:default").await["type"], "custom");
    let made = t.post("/v1/organizations", json!({"name": "Acme"})).await.ok();
    assert_eq!(made["role_set_key"], "role_set:first");
    let path = format!("{SETS}/role_set:default");
    t.patch(&path, json!({"type": "custom"})).await.is_problem(422, "form_param_value_invalid", "type");
    assert_eq!(t.patch(&path, json!({"type": "initial"})).await.ok()["type"], "initial");
    assert_eq!(shown(&t, "role_set:first").await["type"], "custom");
    assert_eq!(t.patch(&path, json!({"type": "initial"})).await.ok()["type"], "initial");
}

#[tokio::test]
async fn a_set_is_changed_field_by_field() {
    let t = start().await;
    owner(&t, "org:owner").await;
    set(&t, "role_set:a", &["org:admin", "org:owner", "org:member"]).await;
    let path = format!("{SETS}/role_set:a");
    t.clock.advance_ms(1);
    let change = json!({"name": "B", "description": "C", "key": "role_set:b", "default_role_key": "org:owner",
        "creator_role_key": "org:owner", "type": null});
    let changed = t.patch(&path, change).await.ok();
    assert_eq!((&changed["name"], &changed["description"]), (&json!("B"), &json!("C")));
    assert_eq!(changed["default_role"]["key"], "org:owner");
    assert_eq!(changed["creator_role"]["key"], "org:owner");
    assert!(changed["updated_at"].as_i64() > changed["created_at"].as_i64());
    t.get(&path).await.is_error(404, "resource_not_found");
    let path = format!("{SETS}/role_set:b");
    let nothing = json!({"name": null, "key": null, "description": null, "default_role_key": null,
        "creator_role_key": null, "more": 1});
    assert_eq!(t.patch(&path, nothing).await.ok(), changed);
    assert_eq!(t.patch(&path, json!({"description": ""})).await.ok()["description"], Value::Null);
    t.patch(&path, json!({"creator_role_key": "org:member"}))
        .await
        .is_error(422, "organization_missing_creator_role_permissions");
    t.patch(&path, json!({"default_role_key": "org:x"})).await.is_problem(
        422,
        "form_resource_not_found",
        "default_role_key",
    );
    t.patch(&path, json!({"key": "role_set:default"})).await.is_problem(422, "form_already_exists", "key");
}

#[tokio::test]
async fn roles_are_added_to_a_set_up_to_ten() {
    let t = start().await;
    let path = format!("{SETS}/role_set:default/roles");
    owner(&t, "org:owner").await;
    for number in 0..8 {
        role(&t, &format!("org:role_{number}"), &[]).await;
    }
    let add = json!({"role_keys": ["org:owner", "org:role_0", "org:member"], "default_role_key": "org:role_0",
        "creator_role_key": "org:owner"});
    let set = t.post(&path, add).await.ok();
    assert_eq!(each(&set["roles"], "key"), ["org:admin", "org:member", "org:owner", "org:role_0"]);
    assert_eq!(set["default_role"]["key"], "org:role_0");
    assert_eq!(set["creator_role"]["key"], "org:owner");
    let many: Vec<String> = (1..8).map(|number| format!("org:role_{number}")).collect();
    t.post(&path, json!({"role_keys": many})).await.is_problem(
        422,
        "form_param_array_size_exceeded",
        "role_keys",
    );
    t.post(&path, json!({"role_keys": []})).await.is_error(422, "form_param_value_invalid");
    t.post(&path, json!({"role_keys": ["org:x"]})).await.is_problem(
        422,
        "form_resource_not_found",
        "role_keys",
    );
    t.post(&path, json!({"role_keys": ["org:role_1"], "creator_role_key": "org:role_1"}))
        .await
        .is_error(422, "organization_missing_creator_role_permissions");
    assert_eq!(
        t.post(&path, json!({"role_keys": many[..6]})).await.ok()["roles"].as_array().unwrap().len(),
        10
    );
}

#[tokio::test]
async fn a_replaced_role_leaves_the_set_and_its_members_get_the_other() {
    let t = start().await;
    owner(&t, "org:owner").await;
    for key in ["org:viewer", "org:guest"] {
        role(&t, key, &[]).await;
    }
    set(&t, "role_set:a", &["org:admin", "org:viewer", "org:member"]).await;
    set(&t, "role_set:b", &["org:admin", "org:viewer"]).await;
    let one = organization(&t, json!({"name": "One", "role_set_key": "role_set:a"})).await;
    let other = organization(&t, json!({"name": "Two", "role_set_key": "role_set:b"})).await;
    let (ann, bob) = (member(&t, &one, "org:viewer").await, member(&t, &other, "org:viewer").await);
    let path = format!("{SETS}/role_set:a/roles/replace");
    let replaced = t.post(&path, json!({"role_key": "org:viewer", "to_role_key": "org:guest"})).await.ok();
    assert_eq!(each(&replaced["roles"], "key"), ["org:admin", "org:guest", "org:member"]);
    assert_eq!((role_of(&t, &ann).await, role_of(&t, &bob).await), ("org:guest".into(), "org:viewer".into()));
    assert_eq!(replaced["roles"][1]["members_count"], 1);
    assert_eq!(events(&t, "organizationMembership.updated").await, 1);
    // One that the set has already, which takes over what the other was for.
    let replaced = t.post(&path, json!({"role_key": "org:member", "to_role_key": "org:guest"})).await.ok();
    assert_eq!(each(&replaced["roles"], "key"), ["org:admin", "org:guest"]);
    assert_eq!(replaced["default_role"]["key"], "org:guest");
    t.post(&path, json!({"role_key": "org:admin", "to_role_key": "org:guest"}))
        .await
        .is_error(422, "organization_missing_creator_role_permissions");
    let replaced = t.post(&path, json!({"role_key": "org:admin", "to_role_key": "org:owner"})).await.ok();
    assert_eq!(replaced["creator_role"]["key"], "org:owner");
    let refused = |from: &str, to: &str| t.post(&path, json!({"role_key": from, "to_role_key": to}));
    refused("org:viewer", "org:guest").await.is_problem(422, "form_resource_not_found", "role_key");
    refused("org:guest", "org:x").await.is_problem(422, "form_resource_not_found", "to_role_key");
    refused("org:guest", "org:guest").await.is_problem(422, "form_param_value_invalid", "to_role_key");
}

/// Deletes a member. Returns the answer.
async fn remove(t: &TestServer, organization: &str, user: &str) -> Answer {
    t.delete(&format!("/v1/organizations/{organization}/memberships/{user}")).await
}

#[tokio::test]
async fn replacement_leaves_every_organization_a_manager() {
    let t = start().await;
    owner(&t, "org:owner").await;
    set(&t, "role_set:a", &["org:admin", "org:owner", "org:member"]).await;
    set(&t, "role_set:b", &["org:admin", "org:member"]).await;
    let acme = organization(&t, json!({"name": "Acme", "role_set_key": "role_set:a"})).await;
    let ann = member(&t, &acme, "org:owner").await;
    let role = json!({"role_key": "org:owner", "to_role_key": "org:member"});
    let in_set = format!("{SETS}/role_set:a/roles/replace");
    let mappings = json!({"org:owner": "org:member"});
    let set = json!({"dest_role_set_key": "role_set:b", "reassignment_mappings": mappings});
    let whole = format!("{SETS}/role_set:a/replace");
    for (path, body) in [(&in_set, &role), (&whole, &set)] {
        t.post(path, body.clone()).await.is_error(400, "organization_minimum_permissions_needed");
    }
    assert_eq!(
        each(&shown(&t, "role_set:a").await["roles"], "key"),
        ["org:admin", "org:owner", "org:member"]
    );
    assert_eq!(role_of(&t, &ann).await, "org:owner");
    // With another manager both are possible, and that manager cannot leave while the owners lose their role.
    let bob = member(&t, &acme, "org:admin").await;
    crowd(&t, &acme, "org:owner", 150).await;
    t.post(&in_set, role).await.ok();
    remove(&t, &acme, &bob).await.is_error(400, "organization_minimum_permissions_needed");
    finish(&t).await;
    assert_eq!(count(&t, &acme, "org:member").await, 151);
    remove(&t, &acme, &bob).await.is_error(400, "organization_minimum_permissions_needed");
    t.post(&whole, json!({"dest_role_set_key": "role_set:b"})).await.ok();
}

#[tokio::test]
async fn a_replaced_set_is_gone_and_its_organizations_have_the_other() {
    let t = start().await;
    for key in ["org:viewer", "org:guest", "org:unused"] {
        role(&t, key, &[]).await;
    }
    let source = set(&t, "role_set:a", &["org:admin", "org:unused", "org:viewer", "org:member"]).await;
    set(&t, "role_set:b", &["org:admin", "org:guest"]).await;
    let acme = organization(&t, json!({"name": "Acme", "role_set_key": "role_set:a"})).await;
    let empty = organization(&t, json!({"name": "Empty", "role_set_key": "role_set:a"})).await;
    let mut people = Vec::new();
    for role in ["org:admin", "org:viewer", "org:member"] {
        people.push(member(&t, &acme, role).await);
    }
    let path = format!("{SETS}/role_set:a/replace");
    let replace = |mappings: Value| {
        let body = json!({"dest_role_set_key": "role_set:b", "reassignment_mappings": mappings});
        t.call(Some(&t.tenant), "POST", &path, Some(body))
    };
    let missing = "organization_role_set_reassignment_mappings_missing";
    replace(json!({})).await.is_problem(422, missing, "reassignment_mappings");
    replace(json!({"org:viewer": "org:guest"})).await.is_problem(422, missing, "reassignment_mappings");
    for bad in [
        json!({"org:viewer": "org:member"}),
        json!({"org:guest": "org:guest"}),
        json!({"org:x": "org:guest"}),
    ] {
        let invalid = "organization_role_set_reassignment_mappings_invalid";
        replace(bad).await.is_problem(422, invalid, "reassignment_mappings");
    }
    replace(json!({"org:viewer": 1})).await.is_problem(
        422,
        "form_param_type_invalid",
        "reassignment_mappings",
    );
    let before = t.events().await.len();
    let answer = replace(json!({"org:viewer": "org:guest", "org:member": "org:admin"})).await.ok();
    assert_eq!(answer, json!({"object": "role_set", "id": source["id"], "deleted": true}));
    t.get(&format!("{SETS}/role_set:a")).await.is_error(404, "resource_not_found");
    for id in [&acme, &empty] {
        assert_eq!(t.get(&format!("/v1/organizations/{id}")).await.ok()["role_set_key"], "role_set:b");
    }
    let mut roles = Vec::new();
    for user in &people {
        roles.push(role_of(&t, user).await);
    }
    assert_eq!(roles, ["org:admin", "org:guest", "org:admin"]);
    let kinds: Vec<String> = t.events().await.drain(before..).map(|event| event.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "organizationMembership.updated").count(), 2);
    assert_eq!(kinds.iter().filter(|kind| *kind == "organization.updated").count(), 2);
    assert_eq!(kinds.len(), 4);
}

#[tokio::test]
async fn which_set_takes_the_place_of_which_is_checked() {
    let t = start().await;
    set(&t, "role_set:a", &["org:admin", "org:member"]).await;
    let replace = |set: &str, body: Value| {
        let path = format!("{SETS}/{set}/replace");
        async move { (path, body) }
    };
    let refused = [
        ("role_set:default", "role_set:a", 403, "cannot_delete_initial_role_set"),
        ("role_set:a", "role_set:a", 422, "form_param_value_invalid"),
        ("role_set:a", "role_set:x", 422, "form_resource_not_found"),
        ("role_set:x", "role_set:a", 404, "resource_not_found"),
    ];
    for (from, to, status, code) in refused {
        let (path, body) = replace(from, json!({"dest_role_set_key": to})).await;
        t.post(&path, body).await.is_error(status, code);
    }
    let other = t.new_tenant(Environment::Production, with_organizations()).await;
    for path in ["role_set:a", "role_set:a/replace", "role_set:a/roles", "role_set:a/roles/replace"] {
        let (method, body) = match path.contains('/') {
            true => (
                "POST",
                Some(json!({"dest_role_set_key": "role_set:default", "role_keys": ["org:member"],
                    "role_key": "org:member", "to_role_key": "org:admin"})),
            ),
            false => ("GET", None),
        };
        let answer = t.call(Some(&other), method, &format!("{SETS}/{path}"), body).await;
        answer.is_error(404, "resource_not_found");
    }
}

#[tokio::test]
async fn roles_that_take_each_others_place_do_so_once() {
    let t = start().await;
    owner(&t, "org:owner").await;
    set(&t, "role_set:a", &["org:admin", "org:owner", "org:member"]).await;
    set(&t, "role_set:b", &["org:admin", "org:owner", "org:member"]).await;
    let acme = organization(&t, json!({"name": "Acme", "role_set_key": "role_set:a"})).await;
    crowd(&t, &acme, "org:admin", 130).await;
    crowd(&t, &acme, "org:owner", 120).await;
    member(&t, &acme, "org:member").await;
    let mappings = json!({"org:admin": "org:owner", "org:owner": "org:admin"});
    let body = json!({"dest_role_set_key": "role_set:b", "reassignment_mappings": mappings});
    t.post(&format!("{SETS}/role_set:a/replace"), body).await.ok();
    finish(&t).await;
    assert_eq!([count(&t, &acme, "org:owner").await, count(&t, &acme, "org:admin").await], [130, 120]);
    assert_eq!(count(&t, &acme, "org:member").await, 1);
    assert_eq!(events(&t, "organizationMembership.updated").await, 250);
    t.get(&format!("{SETS}/role_set:a")).await.is_error(404, "resource_not_found");
}

/// A server with an organization of 230 viewers, whose role set `role_set:a` is being replaced by `role_set:b`.
async fn under_way() -> (TestServer, String) {
    let t = start().await;
    role(&t, "org:viewer", &[]).await;
    set(&t, "role_set:a", &["org:admin", "org:viewer"]).await;
    set(&t, "role_set:b", &["org:admin", "org:member"]).await;
    let acme = organization(&t, json!({"name": "Acme", "role_set_key": "role_set:a"})).await;
    crowd(&t, &acme, "org:viewer", 230).await;
    let body =
        json!({"dest_role_set_key": "role_set:b", "reassignment_mappings": {"org:viewer": "org:member"}});
    t.post(&format!("{SETS}/role_set:a/replace"), body).await.ok();
    (t, acme)
}

#[tokio::test]
async fn a_large_set_is_replaced_step_by_step_and_shows_how_far_it_is() {
    let (t, acme) = under_way().await;
    let migration = shown(&t, "role_set:a").await["role_set_migration"].clone();
    assert_eq!(migration["migrated_members"], 100, "one transaction is done at once");
    assert_eq!(
        (&migration["status"], &migration["trigger_type"]),
        (&json!("in_progress"), &json!("role_set_deletion"))
    );
    assert_eq!(migration["mappings"], json!({"org:viewer": "org:member"}));
    let dest = shown(&t, "role_set:b").await;
    assert_eq!((&migration["dest_role_set_id"], &dest["role_set_migration"]), (&dest["id"], &Value::Null));
    assert_eq!(migration["instance_id"], t.tenant.id.as_str());
    assert_eq!(count(&t, &acme, "org:member").await, 100);
    step(&t).await;
    assert_eq!(shown(&t, "role_set:a").await["role_set_migration"]["migrated_members"], 200);
    // Whoever joins now gets a role of the set that goes, and then the other one too.
    let late = member(&t, &acme, "org:viewer").await;
    finish(&t).await;
    assert_eq!(role_of(&t, &late).await, "org:member");
    assert_eq!([count(&t, &acme, "org:viewer").await, count(&t, &acme, "org:member").await], [0, 231]);
    assert_eq!(events(&t, "organizationMembership.updated").await, 231);
    assert_eq!(events(&t, "organization.updated").await, 1);
    t.get(&format!("{SETS}/role_set:a")).await.is_error(404, "resource_not_found");
    let viewer = text(&t.get("/v1/organization_roles?query=org:viewer").await.ok()["data"][0]["id"]);
    t.delete(&format!("/v1/organization_roles/{viewer}")).await.ok();
    t.patch(&format!("{SETS}/role_set:b"), json!({"name": "B"})).await.ok();
}

#[tokio::test]
async fn changes_wait_until_a_large_set_is_replaced() {
    let (t, acme) = under_way().await;
    let conflict = |answer: Answer| answer.is_error(409, "role_migration_in_progress");
    for set in ["role_set:a", "role_set:b"] {
        let path = format!("{SETS}/{set}");
        conflict(t.patch(&path, json!({"name": "B"})).await);
        conflict(t.post(&format!("{path}/roles"), json!({"role_keys": ["org:member"]})).await);
        let role = json!({"role_key": "org:admin", "to_role_key": "org:member"});
        conflict(t.post(&format!("{path}/roles/replace"), role).await);
        conflict(t.post(&format!("{path}/replace"), json!({"dest_role_set_key": "role_set:default"})).await);
    }
    set(&t, "role_set:c", &["org:admin", "org:member"]).await;
    let into = |dest: &str| t.post("/v1/role_sets/role_set:c/replace", json!({"dest_role_set_key": dest}));
    conflict(into("role_set:a").await);
    conflict(into("role_set:b").await);
    let viewer = text(&t.get("/v1/organization_roles?query=org:viewer").await.ok()["data"][0]["id"]);
    conflict(t.delete(&format!("/v1/organization_roles/{viewer}")).await);
    let ann = member(&t, &acme, "org:viewer").await;
    let path = format!("/v1/organizations/{acme}/memberships/{ann}");
    conflict(t.patch(&path, json!({"role": "org:admin"})).await);
    conflict(t.post("/v1/organizations", json!({"name": "B", "role_set_key": "role_set:a"})).await);
    let move_away = json!({"role_set_key": "role_set:default"});
    conflict(t.patch(&format!("/v1/organizations/{acme}"), move_away.clone()).await);
    t.patch(&format!("/v1/organization_roles/{viewer}"), json!({"name": "Looks"})).await.ok();
    into("role_set:default").await.ok();
    finish(&t).await;
    t.patch(&path, json!({"role": "org:admin"})).await.ok();
    t.patch(&format!("/v1/organizations/{acme}"), move_away).await.ok();
}

#[tokio::test]
async fn a_large_role_is_replaced_step_by_step_and_nobody_gets_it_meanwhile() {
    let t = start().await;
    role(&t, "org:viewer", &[]).await;
    set(&t, "role_set:a", &["org:admin", "org:viewer", "org:member"]).await;
    let acme = organization(&t, json!({"name": "Acme", "role_set_key": "role_set:a"})).await;
    crowd(&t, &acme, "org:viewer", 150).await;
    let path = format!("{SETS}/role_set:a/roles/replace");
    let body = json!({"role_key": "org:viewer", "to_role_key": "org:member"});
    let set = t.post(&path, body.clone()).await.ok();
    assert_eq!(each(&set["roles"], "key"), ["org:admin", "org:member"]);
    let migration = &set["role_set_migration"];
    assert_eq!(
        (&migration["trigger_type"], &migration["dest_role_set_id"]),
        (&json!("role_removal"), &Value::Null)
    );
    assert_eq!(migration["migrated_members"], 100);
    t.post(&path, body).await.is_error(409, "role_migration_in_progress");
    let user = somebody(&t).await;
    let joining = json!({"user_id": user, "role": "org:viewer"});
    t.post(&format!("/v1/organizations/{acme}/memberships"), joining).await.is_problem(
        422,
        "form_resource_not_found",
        "role",
    );
    finish(&t).await;
    assert_eq!([count(&t, &acme, "org:viewer").await, count(&t, &acme, "org:member").await], [0, 150]);
    assert_eq!(shown(&t, "role_set:a").await["role_set_migration"], Value::Null);
}

#[tokio::test]
async fn an_organization_that_is_deleted_while_its_set_is_replaced_is_left_out() {
    let (t, acme) = under_way().await;
    t.delete(&format!("/v1/organizations/{acme}")).await.ok();
    finish(&t).await;
    t.get(&format!("{SETS}/role_set:a")).await.is_error(404, "resource_not_found");
    assert_eq!(events(&t, "organizationMembership.updated").await, 100);
}

/// Two replacements of one set at once: one wins, and everybody has a role of the set their organization has.
#[tokio::test]
async fn of_two_replacements_at_once_one_is_done() {
    for many in [3, 130] {
        let t = start().await;
        for key in ["org:viewer", "org:b", "org:c"] {
            role(&t, key, &[]).await;
        }
        set(&t, "role_set:a", &["org:admin", "org:viewer"]).await;
        set(&t, "role_set:b", &["org:admin", "org:b"]).await;
        set(&t, "role_set:c", &["org:admin", "org:c"]).await;
        let acme = organization(&t, json!({"name": "Acme", "role_set_key": "role_set:a"})).await;
        crowd(&t, &acme, "org:viewer", many).await;
        let replace = |to: &'static str| {
            let body = json!({"dest_role_set_key": format!("role_set:{to}"),
                "reassignment_mappings": {"org:viewer": format!("org:{to}")}});
            t.call(Some(&t.tenant), "POST", "/v1/role_sets/role_set:a/replace", Some(body))
        };
        let (one, other) = tokio::join!(replace("b"), replace("c"));
        finish(&t).await;
        let (winner, loser) = if one.status == 200 { ("b", other) } else { ("c", one) };
        match many {
            3 => loser.is_error(404, "resource_not_found"),
            _ => loser.is_error(409, "role_migration_in_progress"),
        }
        let organization = t.get(&format!("/v1/organizations/{acme}")).await.ok();
        assert_eq!(organization["role_set_key"], format!("role_set:{winner}"));
        assert_eq!(count(&t, &acme, &format!("org:{winner}")).await, i64::try_from(many).unwrap());
    }
}

/// People join while their set is replaced, and the job works on two nodes: nobody keeps a role that is gone.
#[tokio::test]
async fn whoever_joins_while_a_set_is_replaced_ends_with_a_role_of_the_other() {
    let (t, acme) = under_way().await;
    let mut users = Vec::new();
    for _ in 0..12 {
        users.push(somebody(&t).await);
    }
    let path = format!("/v1/organizations/{acme}/memberships");
    let joining = futures_util::future::join_all(users.iter().map(|user| {
        let (t, path) = (&t, &path);
        async move {
            let viewer = t.post(path, json!({"user_id": user, "role": "org:viewer"})).await;
            // The organization may have the other set already.
            if viewer.status != 200 {
                viewer.is_problem(422, "form_resource_not_found", "role");
                t.post(path, json!({"user_id": user, "role": "org:member"})).await.ok();
            }
        }
    }));
    tokio::join!(joining, finish(&t), finish(&t));
    finish(&t).await;
    assert_eq!([count(&t, &acme, "org:viewer").await, count(&t, &acme, "org:member").await], [0, 242]);
    t.get(&format!("{SETS}/role_set:a")).await.is_error(404, "resource_not_found");
}
