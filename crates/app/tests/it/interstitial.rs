//! The page that finds out whether somebody is signed in.

use axum::body::Body;
use axum::http::Request;
use latchkey_kernel::environment::Environment;
use latchkey_kernel::instances::keys::publishable_key;
use latchkey_testkit::{Answer, TestServer, escape};

async fn visit(t: &TestServer, query: &str, cookie: &str) -> Answer {
    let request = Request::get(format!("/v1/public/interstitial?{query}")).header("cookie", cookie);
    t.send_unchecked(request.body(Body::empty()).unwrap()).await
}

fn key(t: &TestServer) -> String {
    publishable_key(Environment::Development, &t.tenant.frontend_api)
}

#[tokio::test]
async fn page_loads_the_script_of_the_instance() {
    let t = TestServer::start().await;
    let key = key(&t);
    for query in [
        format!("publishable_key={key}"),
        format!("publishable_key={}", escape(&format!("{key}="))),
        format!("frontend_api={}", t.tenant.frontend_api),
        format!("frontendApi={}", t.tenant.frontend_api),
    ] {
        let answer = visit(&t, &query, "").await;
        assert_eq!((answer.status, answer.header("content-type")), (200, "text/html; charset=utf-8"));
        let html = String::from_utf8(answer.bytes.clone()).unwrap();
        assert!(html.contains(&key), "{html}");
        assert!(html.contains("http://localhost:3401/npm/@clerk/clerk-js@"), "{html}");
        assert!(answer.header("content-security-policy").contains("script-src 'nonce-"));
        assert_eq!(answer.header("cache-control"), "no-store");
    }
}

#[tokio::test]
async fn page_needs_to_know_the_instance() {
    let t = TestServer::start().await;
    visit(&t, "", "").await.is_error(400, "missing_query_parameter");
    visit(&t, "domain=example.com", "").await.is_error(400, "missing_query_parameter");
    let live = publishable_key(Environment::Production, &t.tenant.frontend_api);
    let elsewhere = publishable_key(Environment::Development, "evil.example");
    for bad in ["pk_test_x", "pk_test_", "sk_test_abc", &live, &elsewhere, "%22%3E%3Cscript%3E"] {
        visit(&t, &format!("publishable_key={bad}"), "").await.is_error(400, "malformed_publishable_key");
    }
    for bad in ["evil.example", "localhost", "a%22b.c"] {
        visit(&t, &format!("frontend_api={bad}"), "").await.is_error(400, "malformed_publishable_key");
    }
}

#[tokio::test]
async fn nothing_of_a_link_becomes_markup_or_script() {
    let t = TestServer::start().await;
    let key = key(&t);
    for (name, value) in [
        ("proxy_url", "javascript:alert(1)"),
        ("proxy_url", "//evil.example"),
        ("sign_in_url", "javascript:alert(1)"),
        ("sign_in_url", "data:text/html,x"),
        ("domain", "evil.example/\"><script>"),
    ] {
        let answer = visit(&t, &format!("publishable_key={key}&{name}={}", escape(value)), "").await;
        answer.is_problem(400, "bad_request", name);
    }
    let query =
        "proxy_url=https://evil.example/x%3C/script%3E&domain=evil.example&use_domain_for_script=true";
    let answer = visit(&t, &format!("publishable_key={key}&{query}"), "").await;
    assert_eq!(answer.status, 200);
    let html = String::from_utf8(answer.bytes).unwrap();
    assert_eq!((html.matches("<script").count(), html.matches("</script>").count()), (2, 2), "{html}");
    assert!(html.contains("\"script\":\"http://localhost:3401/npm/"), "{html}");
    let production = publishable_key(Environment::Production, &t.other.frontend_api);
    let answer =
        visit(&t, &format!("publishable_key={production}&sign_in_url=https://evil.example"), "").await;
    answer.is_problem(400, "bad_request", "sign_in_url");
}

#[tokio::test]
async fn circles_are_noticed() {
    let t = TestServer::start().await;
    let query = format!("publishable_key={}", key(&t));
    let mut cookie = String::new();
    for _ in 0..3 {
        let answer = visit(&t, &query, &cookie).await;
        assert_eq!(answer.status, 200);
        let line = answer.header("set-cookie");
        assert!(line.contains("Max-Age=10") && line.contains("HttpOnly"), "{line}");
        cookie = line.split(';').next().unwrap().to_owned();
    }
    visit(&t, &query, &cookie).await.is_error(500, "infinite_redirect_loop");
}
