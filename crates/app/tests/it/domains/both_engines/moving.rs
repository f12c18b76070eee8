//! The primary domain of a production instance changes: the Frontend API moves, and everybody is signed out.

use futures_util::future::join_all;
use latchkey_app::GROUPS;
use latchkey_app::jobs::{self, JobCounts};
use latchkey_kernel::background;
use latchkey_outbound::client::Options;
use latchkey_presence::domain_changes::DomainChanges;
use latchkey_testkit::{SignedIn, Tenant, TestServer, until_answered};
use serde_json::{Value, json};

use super::super::{add, domains, patch, primary, production, serves, set};
use crate::frontend::claims;

const CHANGE: &str = "/v1/instance/change_domain";

async fn change(t: &TestServer, tenant: &Tenant, body: Value) -> latchkey_testkit::Answer {
    t.call(Some(tenant), "POST", CHANGE, Some(body)).await
}

async fn someone(t: &TestServer, tenant: &Tenant, email: &str) -> (String, SignedIn) {
    let body = json!({"email_address": [email]});
    let user = t.call(Some(tenant), "POST", "/v1/users", Some(body)).await.ok();
    let user = user["id"].as_str().unwrap().to_owned();
    let signed_in = t.signed_in(tenant, &user).await;
    (user, signed_in)
}

async fn status(t: &TestServer, tenant: &Tenant, session: &str) -> Value {
    t.call(Some(tenant), "GET", &format!("/v1/sessions/{session}"), None).await.ok()["status"].clone()
}

/// How many sessions a browser with the token of a client sees at a host.
async fn seen(t: &TestServer, host: &str, client_token: &str) -> usize {
    let mut browser = t.browser_at_host(host);
    browser.origin = None;
    browser.cookies.insert("__client".to_owned(), client_token.to_owned());
    let client = browser.get("/v1/client").await.ok();
    client["response"]["sessions"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn after_a_change_of_domain_the_new_host_serves_and_everybody_is_signed_out() {
    let t = TestServer::start().await;
    let live = production(&t, &["shop.example.org"]).await;
    let old = live.frontend_api.clone();
    let (ann, before) = someone(&t, &live, "ann@example.com").await;
    assert!(serves(&t, &old).await);
    assert_eq!(seen(&t, &old, &before.client_token).await, 1);
    let id = primary(&t, &live).await["id"].clone();
    t.clock.advance_ms(1);
    let answer = change(&t, &live, json!({"home_url": "https://www.example.net/start"})).await;
    assert_eq!((answer.status, answer.bytes.len()), (202, 0));
    assert!(serves(&t, "clerk.example.net").await && serves(&t, "clerk.shop.example.org").await);
    assert!(!serves(&t, &old).await);
    let now = primary(&t, &live).await;
    let expected = json!({"object": "domain", "id": id, "name": "example.net", "is_satellite": false,
        "frontend_api_url": "https://clerk.example.net", "accounts_portal_url": "https://clerk.example.net",
        "proxy_url": null, "development_origin": "",
        "cname_targets": [{"host": "accounts.example.net", "value": "clerk.example.net", "required": false}]});
    assert_eq!(now, expected);
    assert_eq!(status(&t, &live, &before.session).await, "revoked");
    assert_eq!(seen(&t, "clerk.example.net", &before.client_token).await, 0);
    assert_eq!(t.count_events("session.revoked").await, 1);
    let mut browser = t.browser_at_host("clerk.example.net");
    browser.origin = Some("https://www.example.net".to_owned());
    let environment = browser.get("/v1/environment").await.ok();
    assert_eq!(environment["display_config"]["home_url"], "https://www.example.net/start");
    // Who signs in at the new domain stays, also when the job comes by.
    t.clock.advance_ms(1);
    let after = t.signed_in(&live, &ann).await;
    background::run::<DomainChanges>(&t.jobs_with(Options::default())).await.unwrap();
    assert_eq!(status(&t, &live, &after.session).await, "active");
    let token =
        t.call(Some(&live), "POST", &format!("/v1/sessions/{}/tokens", after.session), None).await.ok();
    assert_eq!(claims(token["jwt"].as_str().unwrap())["iss"], "https://clerk.example.net");
    // The host that was left is free for others.
    change(&t, &t.other, json!({"home_url": "https://old.example.info", "is_secondary": true})).await;
    change(&t, &live, json!({"home_url": "https://example.org"})).await;
    let taken = change(&t, &t.other, json!({"home_url": "https://www.example.net"})).await;
    assert_eq!(taken.status, 202, "{:#}", taken.json);
}

#[tokio::test]
async fn all_ways_to_change_the_domain_do_the_same() {
    let t = TestServer::start().await;
    for (number, (method, path)) in
        [("POST", CHANGE), ("PUT", "/v1/beta_features/domain"), ("POST", "/v1/beta_features/change_domain")]
            .into_iter()
            .enumerate()
    {
        let live = production(&t, &[]).await;
        let (_, signed_in) = someone(&t, &live, "ann@example.com").await;
        let body = json!({"home_url": format!("https://app.d{number}-example.co.uk"), "is_secondary": true});
        let answer = t.call(Some(&live), method, path, Some(body.clone())).await;
        assert_eq!((answer.status, answer.bytes.len()), (202, 0), "{path}");
        assert_eq!(primary(&t, &live).await["name"], format!("app.d{number}-example.co.uk"));
        assert_eq!(status(&t, &live, &signed_in.session).await, "revoked");
        t.call(Some(&t.tenant), method, path, Some(body)).await.is_error(400, "domain_update_forbidden");
        let missing = t.call(Some(&live), method, path, Some(json!({"is_secondary": true}))).await;
        missing.is_problem(422, "form_param_missing", "home_url");
    }
    // To say where it is already signs nobody out.
    let live = production(&t, &[]).await;
    change(&t, &live, json!({"home_url": "https://example.net"})).await;
    t.clock.advance_ms(1);
    let (_, signed_in) = someone(&t, &live, "ann@example.com").await;
    assert_eq!(change(&t, &live, json!({"home_url": "https://app.example.net"})).await.status, 202);
    assert_eq!(status(&t, &live, &signed_in.session).await, "active");
}

#[tokio::test]
async fn a_domain_that_cannot_be_is_refused_and_nothing_changes() {
    let t = TestServer::start().await;
    let live = production(&t, &["shop.example.org"]).await;
    let (_, signed_in) = someone(&t, &live, "ann@example.com").await;
    add(&t, &t.other, "taken.example.info").await.ok();
    let before = t.everything().await;
    for (url, code) in [
        ("", "form_param_missing"),
        ("example.net", "form_param_format_invalid"),
        ("http://example.net", "form_param_format_invalid"),
        ("https://user:pass@example.net", "form_param_format_invalid"),
        ("javascript:alert(1)", "form_param_format_invalid"),
        ("https://a\u{0}b.net", "form_param_value_invalid"),
        ("https://co.uk", "form_param_value_invalid"),
        ("https://127.0.0.1", "form_param_value_invalid"),
        ("https://localhost", "form_param_value_invalid"),
        // A satellite of its own, and one of another instance.
        ("https://shop.example.org", "form_param_value_invalid"),
        ("https://taken.example.info", "form_already_exists"),
    ] {
        let answer = change(&t, &live, json!({"home_url": url, "is_secondary": true})).await;
        answer.is_problem(422, code, "home_url");
    }
    let own = primary(&t, &live).await;
    for (body, code, param) in [
        (json!({"name": "co.uk"}), "form_param_value_invalid", "name"),
        (json!({"name": ""}), "form_param_nil", "name"),
        (json!({"name": "example.net:8443"}), "form_param_value_invalid", "name"),
        (json!({"name": "https://example.net"}), "form_param_value_invalid", "name"),
        (json!({"name": "taken.example.info", "is_secondary": true}), "form_already_exists", "name"),
        (json!({"is_secondary": false}), "form_conditional_param_missing", "name"),
        (json!({"proxy_url": "http://example.net/__clerk"}), "form_param_format_invalid", "proxy_url"),
        (json!({"proxy_url": ""}), "form_param_format_invalid", "proxy_url"),
    ] {
        patch(&t, &live, &own, body).await.is_problem(422, code, param);
    }
    assert_eq!(t.everything().await, before);
    assert_eq!(status(&t, &live, &signed_in.session).await, "active");
}

#[tokio::test]
async fn a_new_name_of_the_primary_domain_moves_the_instance_and_its_home_page() {
    let t = TestServer::start().await;
    let live = production(&t, &[]).await;
    let (own, old) = (primary(&t, &live).await, live.frontend_api.clone());
    let (_, signed_in) = someone(&t, &live, "ann@example.com").await;
    assert_eq!(patch(&t, &live, &own, json!({"name": own["name"]})).await.ok(), own);
    assert_eq!(status(&t, &live, &signed_in.session).await, "active");
    let moved = patch(&t, &live, &own, json!({"name": "App.Example.net"})).await.ok();
    assert_eq!((&moved["id"], &moved["name"]), (&own["id"], &json!("example.net")));
    assert!(serves(&t, "clerk.example.net").await && !serves(&t, &old).await);
    assert_eq!(status(&t, &live, &signed_in.session).await, "revoked");
    let mut browser = t.browser_at_host("clerk.example.net");
    browser.origin = None;
    let environment = browser.get("/v1/environment").await.ok();
    assert_eq!(environment["display_config"]["home_url"], "https://example.net");
    let whole = patch(&t, &live, &own, json!({"name": "app.example.net", "is_secondary": true})).await.ok();
    assert_eq!(whole["frontend_api_url"], "https://clerk.app.example.net");
}

#[tokio::test]
async fn links_and_satellites_lead_through_the_proxy_of_the_primary_domain() {
    let t = TestServer::start().await;
    let live = production(&t, &["shop.example.org"]).await;
    change(&t, &live, json!({"home_url": "https://example.net"})).await;
    let (user, _) = someone(&t, &live, "ann@example.com").await;
    let own = primary(&t, &live).await;
    let link = async || {
        let body = json!({"user_id": user});
        let made = t.call(Some(&live), "POST", "/v1/sign_in_tokens", Some(body)).await.ok();
        made["url"].as_str().unwrap().to_owned()
    };
    let sync = async || {
        let mut shop = t.browser_at_host("clerk.shop.example.org");
        shop.origin = None;
        let away = shop.open("/v1/client/sync?redirect_url=https%3A%2F%2Fshop.example.org%2F").await;
        away.header("location").to_owned()
    };
    let (direct, through) = ("https://clerk.example.net/", "https://www.example.net/__clerk/");
    assert!(link().await.starts_with(direct) && sync().await.starts_with(direct));
    let body = json!({"proxy_url": "https://www.example.net/__clerk/"});
    let proxied = patch(&t, &live, &own, body).await.ok();
    assert_eq!(proxied["proxy_url"], "https://www.example.net/__clerk");
    assert_eq!(proxied["accounts_portal_url"], "https://www.example.net/__clerk");
    assert_eq!(proxied["frontend_api_url"], "https://clerk.example.net");
    assert!(link().await.starts_with(through) && sync().await.starts_with(through));
    assert!(serves(&t, "clerk.example.net").await, "its own host still answers");
    // The command line changes the same.
    set(&t, &live, "proxy_url", Value::Null).await;
    assert_eq!(primary(&t, &live).await["proxy_url"], Value::Null);
    set(&t, &live, "proxy_url", json!("https://www.example.net/__clerk")).await;
    // A proxy on the domain that is left is of no use.
    let moved = patch(&t, &live, &own, json!({"name": "example.com"})).await.ok();
    assert_eq!(moved["proxy_url"], Value::Null);
    let body = json!({"name": "example.net", "proxy_url": "https://proxy.example.dev/__clerk"});
    assert_eq!(patch(&t, &live, &own, body).await.ok()["proxy_url"], "https://proxy.example.dev/__clerk");
    assert!(link().await.starts_with("https://proxy.example.dev/__clerk/"));
    assert_eq!(patch(&t, &live, &own, json!({"proxy_url": null})).await.ok()["proxy_url"], Value::Null);
    assert!(link().await.starts_with(direct));
}

/// Signs somebody in so many times.
async fn sessions(t: &TestServer, tenant: &Tenant, count: usize) {
    let (_, first) = someone(t, tenant, "ann@example.com").await;
    let copy = "INSERT INTO sessions (instance_id, id, client_id, user_id, status, document, created_at, expire_at, \
                abandon_at, is_acted) SELECT instance_id, $2, client_id, user_id, status, replace(document, $1, $2), \
                created_at, expire_at, abandon_at, is_acted FROM sessions WHERE id = $1";
    for number in 1..count {
        let id = format!("sess_{number:027}");
        t.run_sql(copy, vec![first.session.as_str().into(), id.as_str().into()]).await;
    }
}

#[tokio::test]
async fn many_sessions_end_in_steps_each_with_its_event() {
    let t = TestServer::start().await;
    let live = production(&t, &[]).await;
    let (_, stranger) = someone(&t, &t.other, "bob@example.com").await;
    sessions(&t, &live, 450).await;
    let left = async || {
        t.count_rows(&format!("sessions WHERE instance_id = '{}' AND status = 'active'", live.id)).await
    };
    assert_eq!(left().await, 450);
    change(&t, &live, json!({"home_url": "https://example.net"})).await;
    assert_eq!((left().await, t.count_rows("domain_changes").await), (250, 1), "a first part at once");
    background::run::<DomainChanges>(&t.jobs_with(Options::default())).await.unwrap();
    assert_eq!((left().await, t.count_rows("domain_changes").await), (0, 0));
    assert_eq!(t.count_events("session.revoked").await, 450);
    assert_eq!(status(&t, &t.other, &stranger.session).await, "active");
}

#[tokio::test]
async fn sessions_that_are_over_keep_nobody_signed_in() {
    let t = TestServer::start().await;
    let live = production(&t, &[]).await;
    sessions(&t, &live, 2_100).await;
    let ended = "UPDATE sessions SET status = 'ended' WHERE instance_id = $1";
    t.run_sql(ended, vec![(&live.id).into()]).await;
    t.clock.advance_ms(1);
    let (_, last) = someone(&t, &live, "bob@example.com").await;
    change(&t, &live, json!({"home_url": "https://example.net"})).await;
    assert_eq!(status(&t, &live, &last.session).await, "active", "it comes after all of those");
    background::run::<DomainChanges>(&t.jobs_with(Options::default())).await.unwrap();
    assert_eq!(status(&t, &live, &last.session).await, "revoked");
    assert_eq!(t.count_rows("domain_changes").await, 0);
}

#[tokio::test]
async fn the_jobs_of_the_server_end_what_is_left() {
    let t = TestServer::start().await;
    let live = production(&t, &[]).await;
    sessions(&t, &live, 201).await;
    change(&t, &live, json!({"home_url": "https://example.net"})).await;
    assert_eq!(t.count_rows("domain_changes").await, 1);
    let jobs = jobs::start(&t.jobs_with(Options::default()), &JobCounts::default(), GROUPS).unwrap();
    until_answered(async || t.count_rows("domain_changes").await == 0).await;
    jobs.stop().await;
    assert_eq!(t.count_rows("sessions WHERE status = 'active'").await, 0);
}

#[tokio::test]
async fn of_instances_that_want_a_domain_at_once_one_gets_it() {
    let t = TestServer::start().await;
    for round in 0..4 {
        let (one, two, three) =
            (production(&t, &[]).await, production(&t, &[]).await, production(&t, &[]).await);
        let (name, body) =
            (format!("d{round}.example"), json!({"home_url": format!("https://d{round}.example")}));
        let own = primary(&t, &three).await;
        let (changes, added, renamed) = tokio::join!(
            join_all([change(&t, &one, body.clone()), change(&t, &two, body.clone())]),
            add(&t, &three, &name),
            patch(&t, &t.other, &own, json!({"name": name})),
        );
        renamed.is_error(404, "resource_not_found");
        let statuses: Vec<u16> = changes.iter().chain([&added]).map(|answer| answer.status).collect();
        let won = statuses.iter().filter(|status| **status < 300).count();
        assert_eq!(won, 1, "{statuses:?}");
        assert!(statuses.iter().all(|status| [200, 202, 422].contains(status)), "{statuses:?}");
        assert!(serves(&t, &format!("clerk.{name}")).await);
        assert_eq!(domains(&t, &one).await.len(), 1);
    }
}
