//! Paths and methods that exist, and those that do not.

use axum::body::Body;
use axum::http::Request;
use latchkey_testkit::TestServer;
use serde_json::json;

use super::{ada, is_an_error_body};

#[tokio::test]
async fn unknown_route_is_a_json_error_that_differs_from_an_unknown_id() {
    let t = TestServer::start().await;
    for path in ["/", "/v1", "/v1/", "/v1/nowhere", "/users", "/v2/users", "/v1/users/x/y/z", "/favicon.ico"]
    {
        let answer = t.get(path).await;
        assert_eq!((answer.status, answer.code()), (404, "route_not_found"), "{path}");
        is_an_error_body(&answer);
        // Also without credentials: a wrong address is the caller's first problem.
        t.call(None, "POST", path, None).await.is_error(404, "route_not_found");
    }
    t.get("/v1/users/user_000000000000000000000000000").await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn somebody_with_a_browser_is_told_where_to_go() {
    let t = TestServer::start().await;
    let visit = |path: &str| {
        let request = Request::get(path).header("host", &t.tenant.frontend_api);
        request.header("accept", "text/html,application/xhtml+xml,*/*;q=0.8").body(Body::empty()).unwrap()
    };
    let (running, unknown) = ("Latchkey is running", "There is no page at this address");
    let cases = [
        (t.send_unchecked(visit("/")).await, 200, running, "/reference"),
        (t.send_unchecked(visit("/users")).await, 404, unknown, "/reference"),
        (t.browser().send("GET", "/users", visit("/users")).await, 404, unknown, "/sign-in"),
    ];
    for (answer, status, title, link) in cases {
        let html = String::from_utf8(answer.bytes.clone()).unwrap();
        assert_eq!(answer.status, status, "{html}");
        assert!(html.contains(title) && html.contains(&format!("href=\"{link}\"")), "{html}");
        assert!(answer.header("content-security-policy").starts_with("default-src 'none'"));
    }
    // Below the API an error is what programs read, also in a browser.
    t.send_unchecked(visit("/v1/nowhere")).await.is_error(404, "route_not_found");
    t.browser().send("GET", "/v1/nowhere", visit("/v1/nowhere")).await.is_error(404, "route_not_found");
}

#[tokio::test]
async fn wrong_method_is_a_json_error_that_names_the_right_ones() {
    let t = TestServer::start().await;
    let id = ada(&t).await;
    let cases = [
        ("DELETE", "/v1/users".to_owned(), "GET,HEAD,POST"),
        ("POST", format!("/v1/users/{id}"), "DELETE,GET,HEAD,PATCH"),
        ("GET", format!("/v1/users/{id}/ban"), "POST"),
        ("POST", "/v1/jwks".to_owned(), "GET,HEAD"),
        ("PUT", "/healthz".to_owned(), "GET,HEAD"),
        ("OPTIONS", "/v1/users".to_owned(), "GET,HEAD,POST"),
        ("TRACE", "/v1/users".to_owned(), "GET,HEAD,POST"),
    ];
    for (method, path, allowed) in cases {
        let answer = t.call(Some(&t.tenant), method, &path, None).await;
        answer.is_error(405, "method_not_allowed");
        let mut methods: Vec<&str> = answer.header("allow").split(',').map(str::trim).collect();
        methods.sort_unstable();
        methods.dedup();
        assert_eq!(methods.join(","), allowed, "{method} {path}");
        is_an_error_body(&answer);
    }
}

#[tokio::test]
async fn head_answers_like_get_without_a_body() {
    let t = TestServer::start().await;
    let id = ada(&t).await;
    for path in [format!("/v1/users/{id}"), "/v1/users".to_owned(), "/v1/jwks".to_owned()] {
        let head = t.call(Some(&t.tenant), "HEAD", &path, None).await;
        assert_eq!((head.status, head.bytes.len()), (200, 0), "{path}");
        assert_eq!(head.header("content-type"), "application/json");
        let length = t.get(&path).await.bytes.len().to_string();
        assert_eq!(head.header("content-length"), length);
    }
    assert_eq!(t.call(Some(&t.tenant), "HEAD", "/v1/users/nobody", None).await.status, 404);
    assert_eq!(t.call(None, "HEAD", "/v1/users", None).await.status, 401);
}

#[tokio::test]
async fn fixed_paths_win_over_ids() {
    let t = TestServer::start().await;
    assert_eq!(t.get("/v1/users/count").await.ok(), json!({"object": "total_count", "total_count": 0}));
    t.get("/v1/users/ban").await.is_error(405, "method_not_allowed");
}
