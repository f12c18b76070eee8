//! Roles and permissions of organizations on the Backend API.

use std::sync::atomic::{AtomicU32, Ordering};

use latchkey_kernel::environment::Environment;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

/// Settings with organizations.
pub(crate) fn with_organizations() -> Settings {
    let mut settings = Settings::default();
    settings.organizations.enabled = true;
    settings.organizations.max_allowed_memberships = 0;
    settings
}

/// A server whose development instance has organizations.
pub(crate) async fn start() -> TestServer {
    TestServer::start_with(RateLimits::Off, with_organizations()).await
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The values of one key of each item of a list.
pub(crate) fn each(list: &Value, key: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| text(&item[key])).collect()
}

/// An organization; returns its id.
pub(crate) async fn organization(t: &TestServer, body: Value) -> String {
    text(&t.post("/v1/organizations", body).await.ok()["id"])
}

/// A new user; returns their id.
pub(crate) async fn somebody(t: &TestServer) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let username = format!("somebody-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    text(&t.user(json!({"username": username, "skip_password_requirement": true})).await["id"])
}

/// Adds a new user to an organization; returns their id.
pub(crate) async fn member(t: &TestServer, organization: &str, role: &str) -> String {
    let user = somebody(t).await;
    let body = json!({"user_id": user, "role": role});
    t.post(&format!("/v1/organizations/{organization}/memberships"), body).await.ok();
    user
}

/// Creates a role; returns what was answered.
pub(crate) async fn role(t: &TestServer, key: &str, permissions: &[String]) -> Value {
    let body = json!({"name": key, "key": key, "permissions": permissions});
    t.post("/v1/organization_roles", body).await.ok()
}

/// The ids of permissions by their keys.
pub(crate) async fn permissions(t: &TestServer, keys: &[&str]) -> Vec<String> {
    let all = t.get("/v1/organization_permissions?limit=500").await.ok();
    let all = all["data"].as_array().unwrap().clone();
    let id = |key: &&str| text(&all.iter().find(|it| it["key"] == **key).unwrap()["id"]);
    keys.iter().map(id).collect()
}

/// What creators of organizations must be allowed to do.
pub(crate) const CREATOR: [&str; 3] =
    ["org:sys_memberships:manage", "org:sys_memberships:read", "org:sys_profile:delete"];

/// The kinds of events of roles and permissions, oldest first.
async fn events(t: &TestServer) -> Vec<String> {
    let is_ours = |kind: &String| kind.starts_with("role.") || kind.starts_with("permission.");
    t.events().await.into_iter().map(|event| event.kind).filter(is_ours).collect()
}

#[tokio::test]
async fn every_instance_has_an_admin_and_a_member() {
    let t = start().await;
    let list = t.get("/v1/organization_roles?order_by=key").await.ok();
    assert_eq!(list["total_count"], 2);
    assert_eq!(each(&list["data"], "key"), ["org:admin", "org:member"]);
    let (admin, member) = (&list["data"][0], &list["data"][1]);
    assert_eq!((&admin["object"], &admin["is_creator_eligible"]), (&json!("role"), &json!(true)));
    assert_eq!(admin["permissions"].as_array().unwrap().len(), 9);
    assert_eq!((&member["name"], &member["is_creator_eligible"]), (&json!("Member"), &json!(false)));
    let mut held = each(&member["permissions"], "key");
    held.sort();
    assert_eq!(held, ["org:sys_billing:read", "org:sys_memberships:read"]);
    let path = format!("/v1/organization_roles/{}", text(&member["id"]));
    assert_eq!(t.get(&path).await.ok(), *member);
    assert_eq!(events(&t).await, Vec::<String>::new());
}

#[tokio::test]
async fn roles_are_listed_by_query_order_and_page() {
    let t = start().await;
    for key in ["org:editor", "org:viewer", "org:auditor"] {
        t.clock.advance_ms(1000);
        role(&t, key, &[]).await;
    }
    let keys = |path: &'static str| {
        let t = &t;
        async move {
            let list = t.get(&format!("/v1/organization_roles{path}")).await.ok();
            (each(&list["data"], "key").join(" "), list["total_count"].as_i64().unwrap())
        }
    };
    assert_eq!(keys("?limit=3").await, ("org:auditor org:viewer org:editor".to_owned(), 5));
    assert_eq!(keys("?limit=2&offset=1&order_by=%2Bname").await, ("org:member org:auditor".to_owned(), 5));
    assert_eq!(keys("?query=DITOR&order_by=-key").await, ("org:editor org:auditor".to_owned(), 2));
    assert_eq!(keys("?query=Member").await, ("org:member".to_owned(), 1));
    let editor = t.get("/v1/organization_roles?query=org:editor").await.ok();
    let id = text(&editor["data"][0]["id"]);
    let found = t.get(&format!("/v1/organization_roles?query={id}")).await.ok();
    assert_eq!(each(&found["data"], "key"), ["org:editor"]);
    let part = t.get(&format!("/v1/organization_roles?query={}", &id[..20])).await.ok();
    assert_eq!(part["total_count"], 0);
    for bad in ["order_by=id", "order_by=-", "order_by="] {
        t.get(&format!("/v1/organization_roles?{bad}")).await.is_problem(
            422,
            "form_param_value_invalid",
            "order_by",
        );
    }
}

#[tokio::test]
async fn a_role_is_created_changed_and_deleted_with_its_events() {
    let t = start().await;
    let ids = permissions(&t, &["org:sys_domains:read", "org:sys_profile:manage"]).await;
    let body = json!({"name": "Editor", "key": "org:editor", "description": "Edits.", "permissions": ids,
        "include_in_initial_role_set": true});
    let created = t.post("/v1/organization_roles", body).await.ok();
    assert_eq!(created["description"], "Edits.");
    assert_eq!(each(&created["permissions"], "id"), ids);
    assert_eq!(created["is_creator_eligible"], false);
    let set = t.get("/v1/role_sets/role_set:default").await.ok();
    assert_eq!(each(&set["roles"], "key"), ["org:admin", "org:member", "org:editor"]);
    let path = format!("/v1/organization_roles/{}", text(&created["id"]));
    t.clock.advance_ms(1000);
    let change = json!({"name": "Author", "key": "org:author", "description": "", "permissions": [ids[0]]});
    let changed = t.patch(&path, change).await.ok();
    assert_eq!((&changed["name"], &changed["key"]), (&json!("Author"), &json!("org:author")));
    assert_eq!((&changed["description"], each(&changed["permissions"], "id").len()), (&Value::Null, 1));
    assert!(changed["updated_at"].as_i64() > changed["created_at"].as_i64());
    let nothing = json!({"name": null, "key": null, "description": null, "permissions": null, "more": 1});
    assert_eq!(t.patch(&path, nothing).await.ok(), changed, "null changes nothing");
    assert_eq!(t.patch(&path, json!({"name": "Author"})).await.ok(), changed);
    let permission = format!("{path}/permissions/{}", ids[1]);
    assert_eq!(each(&t.post(&permission, json!({})).await.ok()["permissions"], "id"), ids);
    t.post(&permission, json!({})).await.is_error(409, "organization_role_permission_association_exists");
    assert_eq!(each(&t.delete(&permission).await.ok()["permissions"], "id"), [ids[0].clone()]);
    t.delete(&permission).await.is_error(404, "organization_role_permission_association_not_found");
    let gone = json!({"object": "role", "id": created["id"], "deleted": true});
    assert_eq!(t.delete(&path).await.ok(), gone);
    t.get(&path).await.is_error(404, "resource_not_found");
    t.delete(&path).await.is_error(404, "resource_not_found");
    let set = t.get("/v1/role_sets/role_set:default").await.ok();
    assert_eq!(each(&set["roles"], "key"), ["org:admin", "org:member"]);
    let kinds = ["role.created", "role.updated", "role.updated", "role.updated", "role.deleted"];
    assert_eq!(events(&t).await, kinds);
    let all = t.events().await;
    assert_eq!(all.last().unwrap().data, gone);
    assert_eq!(all[0].data, created);
}

#[tokio::test]
async fn what_a_role_cannot_be_is_refused_by_name() {
    let t = start().await;
    let create = |body: Value| t.call(Some(&t.tenant), "POST", "/v1/organization_roles", Some(body));
    for bad in ["", "editor", "org:", "org:Editor", "org:a-b", "org:a:b", "ORG:a", "org:ä", "org:a b"] {
        create(json!({"name": "A", "key": bad})).await.is_problem(422, "form_param_format_invalid", "key");
    }
    let long = format!("org:{}", "a".repeat(130));
    create(json!({"name": "A", "key": long})).await.is_problem(422, "form_param_max_length_exceeded", "key");
    create(json!({"name": " ", "key": "org:a"})).await.is_problem(422, "form_param_nil", "name");
    create(json!({"name": "<b>", "key": "org:a"})).await.is_problem(422, "form_param_value_invalid", "name");
    create(json!({"name": "A", "key": "org:a", "description": "x".repeat(501)})).await.is_problem(
        422,
        "form_param_max_length_exceeded",
        "description",
    );
    create(json!({"name": "A", "key": "org:admin"})).await.is_problem(422, "form_already_exists", "key");
    let unknown = format!("perm_{}", "0".repeat(27));
    for bad in ["x", &unknown, ""] {
        create(json!({"name": "A", "key": "org:a", "permissions": [bad]})).await.is_problem(
            422,
            "form_resource_not_found",
            "permissions",
        );
    }
    let id = permissions(&t, &["org:sys_domains:read"]).await.remove(0);
    create(json!({"name": "A", "key": "org:a", "permissions": [id, id]})).await.is_problem(
        422,
        "form_param_duplicate",
        "permissions",
    );
    let editor = role(&t, "org:editor", &[]).await;
    let path = format!("/v1/organization_roles/{}", text(&editor["id"]));
    t.patch(&path, json!({"key": "org:member"})).await.is_problem(422, "form_already_exists", "key");
    t.patch(&path, json!({"key": "org:editor"})).await.ok();
    assert_eq!(t.get("/v1/organization_roles").await.ok()["total_count"], 3);
}

#[tokio::test]
async fn an_instance_has_at_most_ten_roles_of_its_own_also_when_many_are_made_at_once() {
    let t = start().await;
    let create = |number: usize| {
        let body =
            json!({"name": "A", "key": format!("org:role_{number}"), "include_in_initial_role_set": true});
        t.call(Some(&t.tenant), "POST", "/v1/organization_roles", Some(body))
    };
    let answers = futures_util::future::join_all((0..16).map(create)).await;
    let made = answers.iter().filter(|answer| answer.status == 200).count();
    // Eight of them fill the initial role set; the others are refused because of that.
    assert_eq!(made, 8);
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        refused.is_problem(422, "form_param_value_invalid", "include_in_initial_role_set");
    }
    let create = |number: usize| {
        let body = json!({"name": "A", "key": format!("org:other_{number}")});
        t.call(Some(&t.tenant), "POST", "/v1/organization_roles", Some(body))
    };
    let answers = futures_util::future::join_all((0..4).map(create)).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 2);
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        refused.is_error(403, "organization_instance_roles_quota_exceeded");
    }
    assert_eq!(t.get("/v1/organization_roles").await.ok()["total_count"], 12);
}

#[tokio::test]
async fn a_role_that_is_used_is_not_deleted_and_the_answer_says_why() {
    let t = start().await;
    let list = t.get("/v1/organization_roles?order_by=key").await.ok();
    let path = |role: &Value| format!("/v1/organization_roles/{}", text(&role["id"]));
    t.delete(&path(&list["data"][0])).await.is_error(422, "organization_role_default_creator_role");
    t.delete(&path(&list["data"][1])).await.is_error(422, "organization_role_domain_default_role");
    let body = json!({"name": "Editor", "key": "org:editor", "include_in_initial_role_set": true});
    let editor = t.post("/v1/organization_roles", body).await.ok();
    let organization = organization(&t, json!({"name": "Acme"})).await;
    let user = member(&t, &organization, "org:editor").await;
    t.delete(&path(&editor)).await.is_error(422, "organization_role_assigned_members");
    t.delete(&format!("/v1/users/{user}")).await.ok();
    let invited = "INSERT INTO organization_invitations (instance_id, id, organization_id, email_folded, role_id, \
         status, document, created_at, expire_at) VALUES ($1, $2, $3, 'a@example.com', $4, 'pending', '{}', 0, $5)";
    let id = format!("orginv_{}", "0".repeat(27));
    let (editor_id, now) = (text(&editor["id"]), editor["created_at"].as_i64().unwrap());
    let row = vec![
        (&t.tenant.id).into(),
        id.into(),
        organization.as_str().into(),
        editor_id.as_str().into(),
        (now + 1000).into(),
    ];
    t.run_sql(invited, row).await;
    t.delete(&path(&editor)).await.is_error(422, "organization_role_exists_in_invitations");
    t.clock.advance_ms(1000);
    assert_eq!(
        t.delete(&path(&editor)).await.ok()["deleted"],
        true,
        "an invitation that expired promises nothing"
    );
}

#[tokio::test]
async fn the_role_of_creators_always_lets_them_manage_what_they_create() {
    let t = start().await;
    let admin = text(&t.get("/v1/organization_roles?query=org:admin").await.ok()["data"][0]["id"]);
    let path = format!("/v1/organization_roles/{admin}");
    for id in permissions(&t, &CREATOR).await {
        t.delete(&format!("{path}/permissions/{id}"))
            .await
            .is_error(422, "organization_missing_creator_role_permissions");
    }
    t.patch(&path, json!({"permissions": []}))
        .await
        .is_error(422, "organization_missing_creator_role_permissions");
    let few = permissions(&t, &CREATOR).await;
    let changed = t.patch(&path, json!({"permissions": few})).await.ok();
    assert_eq!(each(&changed["permissions"], "key"), CREATOR);
    assert_eq!(changed["is_creator_eligible"], true);
}

#[tokio::test]
async fn what_a_role_becomes_shows_at_once_in_memberships() {
    let t = start().await;
    let body = json!({"name": "Editor", "key": "org:editor", "include_in_initial_role_set": true});
    let editor = text(&t.post("/v1/organization_roles", body).await.ok()["id"]);
    let organization = organization(&t, json!({"name": "Acme"})).await;
    let user = member(&t, &organization, "org:editor").await;
    let shown = || async {
        let list = t.get(&format!("/v1/users/{user}/organization_memberships")).await.ok();
        let membership = &list["data"][0];
        (text(&membership["role"]), text(&membership["role_name"]), membership["permissions"].clone())
    };
    assert_eq!(shown().await, ("org:editor".into(), "Editor".into(), json!([])));
    let body = json!({"name": "Write", "key": "org:pages:write"});
    let permission = text(&t.post("/v1/organization_permissions", body).await.ok()["id"]);
    t.post(&format!("/v1/organization_roles/{editor}/permissions/{permission}"), json!({})).await.ok();
    assert_eq!(shown().await.2, json!(["org:pages:write"]));
    let path = format!("/v1/organization_permissions/{permission}");
    t.patch(&path, json!({"key": "org:pages:edit"})).await.ok();
    let change = json!({"key": "org:author", "name": "Author"});
    t.patch(&format!("/v1/organization_roles/{editor}"), change).await.ok();
    assert_eq!(shown().await, ("org:author".into(), "Author".into(), json!(["org:pages:edit"])));
    t.delete(&path).await.ok();
    assert_eq!(shown().await.2, json!([]));
}

#[tokio::test]
async fn a_permission_is_created_changed_and_deleted_with_its_events() {
    let t = start().await;
    let body = json!({"name": "Read invoices", "key": "org:invoices:read", "more": true});
    let created = t.post("/v1/organization_permissions", body).await.ok();
    assert_eq!((&created["object"], &created["type"]), (&json!("permission"), &json!("user")));
    assert_eq!(created["description"], "");
    let id = text(&created["id"]);
    let path = format!("/v1/organization_permissions/{id}");
    assert_eq!(t.get(&path).await.ok(), created);
    t.clock.advance_ms(1);
    let change = json!({"name": "See invoices", "key": "org:invoice_1:see", "description": "All of them."});
    let changed = t.patch(&path, change).await.ok();
    assert_eq!(
        (&changed["key"], &changed["description"]),
        (&json!("org:invoice_1:see"), &json!("All of them."))
    );
    assert_eq!(t.patch(&path, json!({})).await.ok(), changed);
    role(&t, "org:clerk", std::slice::from_ref(&id)).await;
    assert_eq!(t.delete(&path).await.ok(), json!({"object": "permission", "id": id, "deleted": true}));
    t.get(&path).await.is_error(404, "resource_not_found");
    let list = t.get("/v1/organization_roles?query=org:clerk").await.ok();
    assert_eq!(list["data"][0]["permissions"], json!([]));
    let kinds =
        ["permission.created", "permission.updated", "role.created", "permission.deleted", "role.updated"];
    assert_eq!(events(&t).await, kinds);
}

#[tokio::test]
async fn permissions_of_the_system_are_never_changed() {
    let t = start().await;
    let list = t.get("/v1/organization_permissions?limit=500&order_by=key").await.ok();
    assert_eq!(list["total_count"], 9);
    for permission in list["data"].as_array().unwrap() {
        assert_eq!(permission["type"], "system");
        let path = format!("/v1/organization_permissions/{}", text(&permission["id"]));
        t.patch(&path, json!({"name": "Other"}))
            .await
            .is_error(403, "organization_system_permission_not_modifiable");
        t.delete(&path).await.is_error(403, "organization_system_permission_not_modifiable");
    }
    let create = |key: &str| t.post("/v1/organization_permissions", json!({"name": "A", "key": key}));
    create("org:sys_pages:read").await.is_problem(422, "form_param_value_invalid", "key");
    for bad in ["org:a", "org:a:", "org::a", "org:a:b:c", "org:A:b", "a:b:c", "org:a-b:c", ""] {
        create(bad).await.is_problem(422, "form_param_format_invalid", "key");
    }
    create("org:pages:read").await.ok();
    create("org:pages:read").await.is_problem(422, "form_already_exists", "key");
    assert_eq!(t.get("/v1/organization_permissions?query=PAGES").await.ok()["total_count"], 1);
}

#[tokio::test]
async fn an_instance_has_at_most_fifty_permissions_of_its_own() {
    let t = start().await;
    let create = |number: usize| {
        let body = json!({"name": "A", "key": format!("org:feature_{number}:use")});
        t.call(Some(&t.tenant), "POST", "/v1/organization_permissions", Some(body))
    };
    let answers = futures_util::future::join_all((0..60).map(create)).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 50);
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        refused.is_error(403, "quota_exceeded");
    }
}

#[tokio::test]
async fn another_instance_sees_none_of_it_and_has_its_own() {
    let t = start().await;
    let other = t.new_tenant(Environment::Production, with_organizations()).await;
    let editor = role(&t, "org:editor", &[]).await;
    let body = json!({"name": "Write", "key": "org:pages:write"});
    let permission = t.post("/v1/organization_permissions", body.clone()).await.ok();
    let of_other = |method: &'static str, path: String, body: Option<Value>| {
        let (t, other) = (&t, &other);
        async move { t.call(Some(other), method, &path, body).await }
    };
    let list = of_other("GET", "/v1/organization_roles".into(), None).await.ok();
    assert_eq!(list["total_count"], 2);
    let role = format!("/v1/organization_roles/{}", text(&editor["id"]));
    let foreign = format!("/v1/organization_permissions/{}", text(&permission["id"]));
    for path in [&role, &foreign] {
        for (method, body) in [("GET", None), ("PATCH", Some(json!({"name": "B"}))), ("DELETE", None)] {
            of_other(method, path.clone(), body).await.is_error(404, "resource_not_found");
        }
    }
    let member = text(&list["data"][0]["id"]);
    let path = format!("/v1/organization_roles/{member}/permissions/{}", text(&permission["id"]));
    of_other("POST", path.clone(), None).await.is_error(404, "resource_not_found");
    of_other("DELETE", path, None).await.is_error(404, "resource_not_found");
    let grab = json!({"name": "A", "key": "org:a", "permissions": [permission["id"]]});
    of_other("POST", "/v1/organization_roles".into(), Some(grab)).await.is_problem(
        422,
        "form_resource_not_found",
        "permissions",
    );
    of_other("POST", "/v1/organization_permissions".into(), Some(body)).await.ok();
    assert_eq!(t.get(&role).await.ok(), editor);
}

#[tokio::test]
async fn without_organizations_everything_is_refused() {
    let t = start().await;
    t.set_settings(Settings::default()).await;
    for path in ["/v1/organization_roles", "/v1/organization_permissions", "/v1/role_sets"] {
        t.get(path).await.is_error(403, "organization_not_enabled_in_instance");
        t.post(path, json!({})).await.is_error(403, "organization_not_enabled_in_instance");
    }
    let path = "/v1/admin_portal_link_tokens";
    t.post(path, json!({})).await.is_error(403, "organization_not_enabled_in_instance");
}

#[tokio::test]
async fn every_version_answers_alike() {
    let t = start().await;
    for version in ["2021-02-05", "2024-10-01", "2025-04-10", "2025-11-10", "2026-05-12"] {
        for path in ["/v1/organization_roles", "/v1/organization_permissions", "/v1/role_sets"] {
            let newest = t.get(path).await.ok();
            assert_eq!(t.call_version(version, "GET", path, None).await.ok(), newest, "{version} {path}");
        }
    }
}

/// Whoever deletes a role and whoever gives it to somebody never both succeed.
#[tokio::test]
async fn a_role_is_not_deleted_while_somebody_gets_it() {
    let t = start().await;
    let organization = organization(&t, json!({"name": "Acme"})).await;
    for round in 0..12 {
        let key = format!("org:race_{round}");
        let body = json!({"name": "Race", "key": key, "include_in_initial_role_set": true});
        let role = text(&t.post("/v1/organization_roles", body).await.ok()["id"]);
        let user = somebody(&t).await;
        let path = format!("/v1/organizations/{organization}/memberships");
        let joining = t.post(&path, json!({"user_id": user, "role": key}));
        let role_path = format!("/v1/organization_roles/{role}");
        let deleting = t.delete(&role_path);
        let (joined, deleted) = match round % 2 {
            0 => tokio::join!(joining, deleting),
            _ => {
                let (deleted, joined) = tokio::join!(deleting, joining);
                (joined, deleted)
            }
        };
        match (joined.status, deleted.status) {
            (200, 422) => {
                deleted.is_error(422, "organization_role_assigned_members");
                t.delete(&format!("{path}/{user}")).await.ok();
                t.delete(&role_path).await.ok();
            }
            (422, 200) => joined.is_problem(422, "form_resource_not_found", "role"),
            other => panic!("{other:?}"),
        }
    }
}
