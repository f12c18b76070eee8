//! The domains of an instance: the primary one and the satellites, which are the same as the setting.

mod both_engines {
    mod moving;
}
mod proxies;

use futures_util::future::join_all;
use latchkey_kernel::environment::Environment::Production;
use latchkey_kernel::instances::{change, store};
use latchkey_kernel::outbox::ChangeOrigin;
use latchkey_kernel::settings::{Satellite, Settings, SettingsFault};
use latchkey_testkit::{Answer, LOCAL_HOST, Tenant, TestServer};
use serde_json::{Value, json};

const LIST: &str = "/v1/domains";

fn satellite(name: &str) -> Satellite {
    Satellite { id: None, name: name.to_owned(), frontend_api: None, proxy_url: None }
}

/// A production instance with these satellites of the command line.
async fn production(t: &TestServer, names: &[&str]) -> Tenant {
    let satellites = names.iter().map(|name| satellite(name)).collect();
    t.new_tenant(Production, Settings { satellites, ..Settings::default() }).await
}

async fn domains(t: &TestServer, tenant: &Tenant) -> Vec<Value> {
    let list = t.call(Some(tenant), "GET", LIST, None).await.ok();
    let data = list["data"].as_array().unwrap().clone();
    assert_eq!(list["total_count"], json!(data.len()));
    data
}

/// The primary domain, which is the oldest and so the last.
async fn primary(t: &TestServer, tenant: &Tenant) -> Value {
    domains(t, tenant).await.pop().unwrap()
}

fn path(domain: &Value) -> String {
    format!("{LIST}/{}", domain["id"].as_str().unwrap())
}

async fn add(t: &TestServer, tenant: &Tenant, name: &str) -> Answer {
    t.call(Some(tenant), "POST", LIST, Some(json!({"name": name, "is_satellite": true}))).await
}

async fn patch(t: &TestServer, tenant: &Tenant, domain: &Value, body: Value) -> Answer {
    t.call(Some(tenant), "PATCH", &path(domain), Some(body)).await
}

/// What `latchkey settings set` does.
async fn set(t: &TestServer, tenant: &Tenant, setting: &str, value: Value) {
    assert_eq!(faults(t, tenant, setting, value).await, []);
}

/// What is wrong with a setting; nothing if it was changed.
async fn faults(t: &TestServer, tenant: &Tenant, setting: &str, value: Value) -> Vec<SettingsFault> {
    let (origin, changes) = (ChangeOrigin::from(&t.act(tenant)), [(setting.to_owned(), value)]);
    let changed =
        t.db().write(move |tx| Box::pin(async move { change::settings(tx, &origin, &changes).await }));
    changed.await.unwrap().err().unwrap_or_default()
}

/// Whether the Frontend API of an instance answers at a host.
async fn serves(t: &TestServer, host: &str) -> bool {
    let mut browser = t.browser_at_host(host);
    browser.origin = None;
    let answer = browser.get("/v1/environment").await;
    assert!(answer.status == 200 || answer.code() == "host_invalid", "{:#}", answer.json);
    answer.status == 200
}

#[tokio::test]
async fn satellites_of_the_setting_come_newest_first_and_the_primary_domain_last() {
    let t = TestServer::start().await;
    let live = production(&t, &["shop.example.org", "blog.example.org"]).await;
    let all = domains(&t, &live).await;
    assert_eq!(all.len(), 3);
    let host = live.frontend_api.as_str();
    let expected = json!({"object": "domain", "id": all[1]["id"], "name": "shop.example.org", "is_satellite": true,
        "frontend_api_url": "https://clerk.shop.example.org", "accounts_portal_url": null, "proxy_url": null,
        "development_origin": "",
        "cname_targets": [{"host": "clerk.shop.example.org", "value": host, "required": true}]});
    assert_eq!((&all[0]["name"], &all[1]), (&json!("blog.example.org"), &expected));
    let url = format!("https://{host}");
    let expected = json!({"object": "domain", "id": all[2]["id"], "name": host, "is_satellite": false,
        "frontend_api_url": url, "accounts_portal_url": url, "proxy_url": null, "development_origin": "",
        "cname_targets": []});
    assert_eq!(all[2], expected);
    assert_eq!(domains(&t, &live).await, all, "ids stay the same");
    assert!(all.iter().all(|domain| domain["id"].as_str().unwrap().starts_with("dmn_")));
    t.patch("/v1/instance", json!({"development_origin": "http://localhost:3000"})).await;
    let own = primary(&t, &t.tenant).await;
    assert_eq!(
        (&own["development_origin"], &own["cname_targets"]),
        (&json!("http://localhost:3000"), &Value::Null)
    );
}

#[tokio::test]
async fn a_satellite_is_added_renamed_and_deleted_and_keeps_its_id() {
    let t = TestServer::start().await;
    let live = production(&t, &[]).await;
    let made = add(&t, &live, "Shop.example.org").await.ok();
    assert_eq!((&made["name"], &made["proxy_url"]), (&json!("shop.example.org"), &Value::Null));
    add(&t, &live, "shop.example.org").await.is_problem(422, "form_already_exists", "name");
    assert!(serves(&t, "clerk.shop.example.org").await);
    let body = json!({"name": "blog.example.org", "proxy_url": "https://blog.example.org/__clerk/", "is_secondary": true});
    let renamed = patch(&t, &live, &made, body).await.ok();
    assert_eq!(renamed["id"], made["id"]);
    assert_eq!(renamed["frontend_api_url"], "https://clerk.blog.example.org");
    assert_eq!(renamed["proxy_url"], "https://blog.example.org/__clerk");
    assert_eq!(renamed["cname_targets"], json!([]), "pages behind a proxy need no name of their own");
    assert!(serves(&t, "clerk.blog.example.org").await && !serves(&t, "clerk.shop.example.org").await);
    assert_eq!(domains(&t, &live).await[0], renamed);
    assert_eq!(patch(&t, &live, &made, json!({"name": null})).await.ok(), renamed);
    let direct = patch(&t, &live, &made, json!({"proxy_url": null})).await.ok();
    assert_eq!(direct["proxy_url"], Value::Null);
    assert_eq!(patch(&t, &live, &made, json!({})).await.ok(), direct);
    let gone = t.call(Some(&live), "DELETE", &path(&made), None).await.ok();
    assert_eq!(gone, json!({"object": "domain", "id": made["id"], "deleted": true}));
    assert!(!serves(&t, "clerk.blog.example.org").await);
    t.call(Some(&live), "DELETE", &path(&made), None).await.is_error(404, "resource_not_found");
    let again = add(&t, &live, "shop.example.org").await.ok();
    assert_ne!(again["id"], made["id"], "an id is not used twice");
}

#[tokio::test]
async fn the_command_line_and_the_api_change_the_same_list_and_ids_outlive_both() {
    let t = TestServer::start().await;
    let live = production(&t, &["shop.example.org"]).await;
    let shop = domains(&t, &live).await[0].clone();
    let blog = add(&t, &live, "blog.example.org").await.ok();
    let kept = store::find(&mut t.db().read().await.unwrap(), &live.id).await.unwrap().unwrap();
    let names: Vec<&str> = kept.settings.satellites.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((names, kept.settings_revision), (vec!["shop.example.org", "blog.example.org"], 2));
    // Whoever writes the list by hand knows no ids.
    let list =
        json!([{"name": "blog.example.org"}, {"name": "shop.example.org"}, {"name": "new.example.org"}]);
    set(&t, &live, "satellites", list).await;
    let all = domains(&t, &live).await;
    assert_eq!((&all[1]["id"], &all[2]["id"]), (&shop["id"], &blog["id"]));
    // What got another name keeps its id, and what gets its old name does not share it.
    patch(&t, &live, &shop, json!({"name": "store.example.org"})).await.ok();
    let list =
        json!([{"name": "shop.example.org"}, {"name": "store.example.org"}, {"name": "blog.example.org"}]);
    set(&t, &live, "satellites", list).await;
    let all = domains(&t, &live).await;
    assert_eq!((&all[0]["id"], &all[1]["id"]), (&blog["id"], &shop["id"]));
    assert!(all[2]["name"] == "shop.example.org" && all[2]["id"] != shop["id"]);
    t.call(Some(&live), "DELETE", &path(&all[2]), None).await.ok();
    assert_eq!(domains(&t, &live).await.len(), 3);
}

#[tokio::test]
async fn what_cannot_be_a_domain_is_refused() {
    let t = TestServer::start().await;
    let live = production(&t, &[]).await;
    add(&t, &t.other, "taken.example.org").await.ok();
    let with_proxy = |url: &str| json!({"name": "a.org", "is_satellite": true, "proxy_url": url});
    for (body, code, param) in [
        (json!({"name": "a.org", "is_satellite": false}), "primary_domain_already_exists", "is_satellite"),
        (json!({"name": "", "is_satellite": true}), "form_param_nil", "name"),
        (json!({"name": "shop", "is_satellite": true}), "form_param_value_invalid", "name"),
        (json!({"name": "https://a.org", "is_satellite": true}), "form_param_value_invalid", "name"),
        (json!({"name": "a.org/x", "is_satellite": true}), "form_param_value_invalid", "name"),
        (json!({"name": "a\u{0}.org", "is_satellite": true}), "form_param_value_invalid", "name"),
        (json!({"name": "b\u{fc}cher.example", "is_satellite": true}), "form_param_value_invalid", "name"),
        (json!({"name": "a.".repeat(40_000), "is_satellite": true}), "form_param_value_invalid", "name"),
        (json!({"name": "*.a.org", "is_satellite": true}), "form_param_value_invalid", "name"),
        (json!({"name": "co.uk", "is_satellite": true}), "form_param_value_invalid", "name"),
        (json!({"name": "localhost", "is_satellite": true}), "form_param_value_invalid", "name"),
        (json!({"name": "127.0.0.1", "is_satellite": true}), "form_param_value_invalid", "name"),
        (json!({"name": "a.org:8443", "is_satellite": true}), "form_param_value_invalid", "name"),
        (json!({"name": "taken.example.org", "is_satellite": true}), "form_already_exists", "name"),
        (with_proxy("https://b.org/__clerk"), "form_param_value_invalid", "proxy_url"),
        (with_proxy("http://a.org/__clerk"), "form_param_format_invalid", "proxy_url"),
        (with_proxy("https://a.org/__clerk?x"), "form_param_format_invalid", "proxy_url"),
        (with_proxy("https://u@a.org/__clerk"), "form_param_format_invalid", "proxy_url"),
        (with_proxy("/__clerk"), "form_param_format_invalid", "proxy_url"),
        (with_proxy(""), "form_param_format_invalid", "proxy_url"),
    ] {
        t.call(Some(&live), "POST", LIST, Some(body)).await.is_problem(422, code, param);
    }
    assert_eq!(domains(&t, &live).await.len(), 1);
    let made = add(&t, &live, "a.org").await.ok();
    for (body, code, param) in [
        (json!({"name": "co.uk"}), "form_param_value_invalid", "name"),
        (json!({"name": ""}), "form_param_nil", "name"),
        (json!({"name": "taken.example.org"}), "form_already_exists", "name"),
        (json!({"proxy_url": "https://b.org/__clerk"}), "form_param_value_invalid", "proxy_url"),
        (json!({"is_secondary": false}), "form_conditional_param_disallowed", "is_secondary"),
    ] {
        patch(&t, &live, &made, body).await.is_problem(422, code, param);
    }
    assert_eq!(domains(&t, &live).await[0], made);
    t.call(Some(&live), "DELETE", &path(&primary(&t, &live).await), None)
        .await
        .is_error(403, "operation_not_allowed_on_primary_domain");
}

#[tokio::test]
async fn development_instances_have_satellites_with_ports_and_no_proxies() {
    let t = TestServer::start().await;
    let body =
        json!({"name": "localhost:4000", "is_satellite": true, "proxy_url": "http://localhost:4000/__clerk"});
    t.post(LIST, body).await.is_problem(400, "domain_update_forbidden", "proxy_url");
    let made = add(&t, &t.tenant, "localhost:4000").await.ok();
    // Pages of development instances find the Frontend API by the publishable key, on whatever domain they are.
    assert_eq!(made["frontend_api_url"], primary(&t, &t.tenant).await["frontend_api_url"]);
    let body = json!({"proxy_url": "https://localhost:4000/__clerk"});
    patch(&t, &t.tenant, &made, body).await.is_problem(400, "domain_update_forbidden", "proxy_url");
    let renamed =
        patch(&t, &t.tenant, &made, json!({"name": "localhost:4001", "proxy_url": null})).await.ok();
    assert_eq!((&renamed["id"], &renamed["name"]), (&made["id"], &json!("localhost:4001")));
    // Where the primary domain is follows from how the server is configured.
    let own = primary(&t, &t.tenant).await;
    for (field, value, status, code, param) in [
        ("name", json!("example.com"), 400, "domain_update_forbidden", "name"),
        ("proxy_url", json!("https://example.com/__clerk"), 400, "domain_update_forbidden", "proxy_url"),
        ("is_secondary", json!(true), 422, "form_conditional_param_missing", "name"),
    ] {
        patch(&t, &t.tenant, &own, json!({field: value})).await.is_problem(status, code, param);
    }
    let same = json!({"name": own["name"], "proxy_url": null});
    assert_eq!(patch(&t, &t.tenant, &own, same).await.ok(), own);
}

#[tokio::test]
async fn no_instance_gets_a_host_whose_requests_are_for_another() {
    let t = TestServer::start().await;
    let live = production(&t, &["taken.example.org"]).await;
    // Requests to a port that nobody has are for whoever has the name.
    add(&t, &t.tenant, "taken.example.org:8443").await.is_problem(422, "form_already_exists", "name");
    add(&t, &t.tenant, "free.localhost:8443").await.ok();
    add(&t, &live, "free.localhost").await.ok();
    // Hosted pages of `clerk.` are looked for at `accounts.`
    let pages = json!([{"name": "other.example.org", "frontend_api": "accounts.taken.example.org"}]);
    let faults = faults(&t, &t.tenant, "satellites", pages).await;
    assert!(faults.iter().any(|fault| fault.text.contains("accounts.taken.example.org")), "{faults:?}");
}

/// Hosts below one registrable domain share cookies and trust each other: they are all of whoever was there first, unless
/// the operator says otherwise.
#[tokio::test]
async fn no_instance_gets_a_host_on_a_domain_of_another() {
    let t = TestServer::start().await;
    let (one, two) = (production(&t, &["shop.example.org"]).await, production(&t, &[]).await);
    let change = json!({"home_url": "https://www.example.net"});
    t.call(Some(&one), "POST", "/v1/instance/change_domain", Some(change)).await;
    add(&t, &one, "me.vercel.app").await.ok();
    let own = add(&t, &two, "own.example.dev").await.ok();
    let main = primary(&t, &two).await;
    for domain in ["example.org", "stage.example.org", "clerk.example.org", "example.net", "a.b.example.net"]
    {
        add(&t, &two, domain).await.is_problem(422, "form_already_exists", "name");
        let body = json!({"name": domain, "is_secondary": true});
        for held in [&own, &main] {
            patch(&t, &two, held, body.clone()).await.is_problem(422, "form_already_exists", "name");
        }
        let body = json!({"home_url": format!("https://{domain}"), "is_secondary": true});
        let moved = t.call(Some(&two), "POST", "/v1/instance/change_domain", Some(body)).await;
        moved.is_problem(422, "form_already_exists", "home_url");
        assert!(!serves(&t, &format!("clerk.{domain}")).await || domain == "example.net");
    }
    // Its own hosts are next to each other, and what only ends alike is another domain.
    add(&t, &one, "blog.example.org").await.ok();
    add(&t, &one, "blog.example.net").await.ok();
    for domain in ["notexample.org", "example.org.example.com", "you.vercel.app", "more.example.dev"] {
        add(&t, &two, domain).await.ok();
    }
    // Whoever runs the server may say so.
    set(&t, &two, "satellites", json!([{"name": "stage.example.org"}])).await;
    assert!(serves(&t, "clerk.stage.example.org").await);
    // A name counts also where its Frontend API is elsewhere.
    set(&t, &two, "satellites", json!([{"name": "a.example.dev", "frontend_api": "clerk.b.example.dev"}]))
        .await;
    let held = domains(&t, &two).await[0].clone();
    let named = patch(&t, &two, &held, json!({"name": "shop.example.net"})).await;
    named.is_problem(422, "form_already_exists", "name");
}

#[tokio::test]
async fn nobody_sees_or_changes_domains_of_another_instance() {
    let t = TestServer::start().await;
    let (one, two) = (production(&t, &["one.example.org"]).await, production(&t, &[]).await);
    for domain in domains(&t, &one).await {
        patch(&t, &two, &domain, json!({"name": "stolen.example.org"}))
            .await
            .is_error(404, "resource_not_found");
        t.call(Some(&two), "DELETE", &path(&domain), None).await.is_error(404, "resource_not_found");
    }
    assert_eq!((domains(&t, &one).await.len(), domains(&t, &two).await.len()), (2, 1));
    let taken = format!("{} {LOCAL_HOST} localhost:3401", t.tenant.frontend_api);
    let reserved: Vec<bool> = taken.split(' ').map(|host| t.app.is_reserved(host)).collect();
    assert_eq!(reserved, [false, true, true], "hosts of the server itself are nobody's");
}

#[tokio::test]
async fn of_adds_at_once_none_is_lost_and_one_instance_gets_a_name() {
    let t = TestServer::start().await;
    let (one, two) = (production(&t, &[]).await, production(&t, &[]).await);
    let names: Vec<String> = (0..8).map(|number| format!("s{number}.example.org")).collect();
    for answer in join_all(names.iter().map(|name| add(&t, &one, name))).await {
        answer.ok();
    }
    assert_eq!(domains(&t, &one).await.len(), 9);
    for round in 0..4 {
        let name = format!("wanted{round}.example.org");
        let both = (0..8).map(|number| add(&t, if number % 2 == 0 { &one } else { &two }, &name));
        let answers = join_all(both).await;
        let (made, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!((made.len(), refused.len()), (1, 7));
        refused.iter().for_each(|answer| answer.is_problem(422, "form_already_exists", "name"));
    }
    assert_eq!(domains(&t, &one).await.len() + domains(&t, &two).await.len(), 9 + 1 + 4);
}

#[tokio::test]
async fn there_are_fifty_satellites_at_most() {
    let t = TestServer::start().await;
    let names: Vec<String> = (0..50).map(|number| format!("s{number}.example.org")).collect();
    let live = production(&t, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    add(&t, &live, "more.example.org").await.is_problem(422, "form_param_value_invalid", "name");
    assert_eq!(domains(&t, &live).await.len(), 51);
}
