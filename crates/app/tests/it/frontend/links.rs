//! Links that lead elsewhere.

use axum::body::Body;
use axum::http::{Method, Request};
use latchkey_app::{GROUPS, frontend_operations};
use latchkey_testkit::{TestServer, escape};
use serde_json::json;

use super::{PASSWORD, user};

#[tokio::test]
async fn a_ticket_leads_to_where_it_can_be_used() {
    let t = TestServer::start().await;
    let ann = user(&t, "ann@example.com").await;
    let token = t.post("/v1/sign_in_tokens", json!({ "user_id": ann["id"] })).await.ok();
    let ticket = token["token"].as_str().unwrap();
    let mut browser = t.browser();
    let answer = browser.open(&format!("/v1/tickets/accept?ticket={ticket}")).await;
    assert_eq!(answer.status, 303);
    let expected = format!("http://localhost:3401/sign-in?__clerk_ticket={ticket}&__clerk_status=sign_in");
    assert_eq!(answer.header("location"), expected);
    // Following a link uses nothing up.
    assert_eq!(browser.open(&format!("/v1/tickets/accept?ticket={ticket}")).await.status, 303);
    let refused = browser.open("/v1/tickets/accept?ticket=e30.e30.x").await;
    refused.is_error(400, "ticket_invalid_code");
    browser.open("/v1/tickets/accept").await.is_error(422, "form_param_missing");
}

#[tokio::test]
async fn a_ticket_that_leads_nowhere_is_told_to_people_by_a_page() {
    let t = TestServer::start().await;
    let path = "/v1/tickets/accept?ticket=e30.e30.x";
    let request = axum::http::Request::get(path)
        .header("host", &t.tenant.frontend_api)
        .header("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    // The description of the API knows the answers of programs, not the pages.
    let page = t.browser().send("GET", "/sign-in", request.body(axum::body::Body::empty()).unwrap()).await;
    assert_eq!((page.status, page.header("content-type")), (400, "text/html; charset=utf-8"));
    assert!(String::from_utf8_lossy(&page.bytes).contains("<title>Link no longer valid"));
    t.browser().open(path).await.is_error(400, "ticket_invalid_code");
}

#[tokio::test]
async fn redirects_lead_to_pages_of_the_application_only() {
    let t = TestServer::start().await;
    let mut browser = t.browser_at(&t.other);
    let own = format!("https://{}/x", t.other.frontend_api);
    let answer = browser.open(&format!("/v1/redirect?redirect_url={}", escape(&own))).await;
    assert_eq!((answer.status, answer.header("location")), (307, own.as_str()));
    let refused = browser.open(&format!("/v1/redirect?redirect_url={}", escape("https://evil.com/"))).await;
    refused.is_error(422, "redirect_url_not_associated_with_instance");
    for url in ["javascript:alert(1)", "http://[::1", "http://:80", "http://a:99999/", "https:/\\a.com/"] {
        for path in ["/v1/redirect", "/v1/client/touch"] {
            let refused = browser.open(&format!("{path}?redirect_url={}", escape(url))).await;
            refused.is_error(422, "invalid_redirect_url");
        }
    }
    // Hosts have no case; what is sent on stays as it was given.
    let shouted = format!("https://{}/x", t.other.frontend_api.to_uppercase());
    let answer = browser.open(&format!("/v1/redirect?redirect_url={}", escape(&shouted))).await;
    assert_eq!((answer.status, answer.header("location")), (307, shouted.as_str()));
    let home = browser.open("/v1/redirect").await;
    assert_eq!(home.status, 307);
    assert!(home.header("location").ends_with("/default-redirect"));
}

#[tokio::test]
async fn touching_a_client_on_the_way_renews_its_cookie() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    super::sign_in(&mut browser, "ann@example.com").await;
    let path = format!("/v1/client/touch?redirect_url={}", escape("http://localhost:3000/x"));
    let answer = browser.open(&path).await;
    assert_eq!((answer.status, answer.header("location")), (307, "http://localhost:3000/x"));
    assert!(answer.header("set-cookie").starts_with("__client="));
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sessions"].as_array().unwrap().len(), 1);
}

/// Programs that look at links do so, also in the name of whoever is signed in.
#[tokio::test]
async fn whoever_only_looks_at_a_link_changes_nothing() {
    let t = TestServer::start().await;
    let body = json!({"email_address": ["bob@example.com"], "password": PASSWORD});
    t.call(Some(&t.other), "POST", "/v1/users", Some(body)).await.ok();
    let mut browser = t.browser_at(&t.other);
    browser.origin = None;
    super::sign_in(&mut browser, "bob@example.com").await;
    let cookie = format!("__client={}", browser.cookies["__client"]);
    // The description of the API knows `GET`, not those who only look.
    browser.headers = vec![("accept", "text/html")];
    let writing = frontend_operations(GROUPS)
        .into_iter()
        .filter(|operation| operation.method == Method::GET && !operation.only_reads);
    let paths: Vec<String> = writing.map(|operation| operation.path).collect();
    assert!(paths.contains(&"/v1/tickets/accept".to_owned()) && paths.contains(&"/v1/verify".to_owned()));
    let page = escape(&format!("https://{}/x", t.other.frontend_api));
    let before = t.everything().await;
    for path in &paths {
        let path = format!("{}?redirect_url={page}", path.replace(['{', '}'], ""));
        let request = Request::head(&path).header("host", &t.other.frontend_api).header("cookie", &cookie);
        let answer = browser.send("HEAD", &path, request.body(Body::empty()).unwrap()).await;
        assert_eq!((answer.status, answer.headers.get("set-cookie")), (204, None), "{path}");
    }
    assert!(t.everything().await == before);
    // Whoever goes there gets the cookie anew.
    let there = browser.open(&format!("/v1/client/touch?redirect_url={page}")).await;
    assert!(there.status == 307 && there.headers.contains_key("set-cookie"));
}
