//! The gate: which instance answers whom, and how often.

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::TestServer;
use serde_json::json;

#[tokio::test]
async fn pages_of_any_origin_may_read_answers_of_a_development_instance() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let answer = browser.get("/v1/client").await;
    assert_eq!(answer.header("access-control-allow-origin"), "http://localhost:3000");
    assert_eq!(answer.header("access-control-allow-credentials"), "true");
    assert_eq!(answer.header("vary"), "Origin");
    assert!(answer.header("access-control-expose-headers").contains("Clerk-Db-Jwt"));
    assert_eq!(answer.header("cache-control"), "no-store");
    // So may those of refusals.
    let refused = browser.post("/v1/client/sign_ins/sia_nobody/attempt_first_factor", json!({})).await;
    assert_eq!(refused.header("access-control-allow-origin"), "http://localhost:3000");
    assert!(refused.json["clerk_trace_id"].is_string());
}

#[tokio::test]
async fn preflights_are_answered() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let request = axum::http::Request::builder()
        .method("OPTIONS")
        .uri("/v1/client/sign_ins")
        .header("host", &t.tenant.frontend_api)
        .header("origin", "http://localhost:3000")
        .header("access-control-request-method", "POST")
        .body(axum::body::Body::empty())
        .unwrap();
    let answer = browser.send("OPTIONS", "/preflight", request).await;
    assert_eq!(answer.status, 204);
    assert!(answer.header("access-control-allow-methods").contains("PATCH"));
    assert!(answer.header("access-control-allow-headers").contains("authorization"));
}

#[tokio::test]
async fn production_answers_the_applications_own_pages_only() {
    let t = TestServer::start().await;
    let host = t.other.frontend_api.clone();
    let own = format!("https://{host}");
    for (origin, status) in [
        (own.clone(), 200),
        (format!("https://app.{host}"), 200),
        (format!("https://app.{host}:8443"), 200),
        ("https://example.test:8443".to_owned(), 200),
        ("https://sibling.example.test".to_owned(), 200),
        (format!("http://{host}"), 400),
        (format!("http://{host}:8443"), 400),
        ("https://evilexample.test".to_owned(), 400),
        (format!("https://{host}.evil.com"), 400),
        (format!("https://{host}:8443.evil.com"), 400),
        (format!("https://evil.com:443.{host}"), 400),
        (format!("https://evil.com@{host}"), 400),
        (format!("https://evil.com/.{host}"), 400),
        ("https://evil.com".to_owned(), 400),
        ("null".to_owned(), 400),
    ] {
        let mut browser = t.browser_at(&t.other);
        browser.origin = Some(origin.clone());
        let answer = browser.get("/v1/client").await;
        assert_eq!(answer.status, status, "{origin}");
        if status == 400 {
            assert_eq!(answer.code(), "origin_invalid");
        }
    }
}

#[tokio::test]
async fn the_host_decides_which_instance_answers() {
    let t = TestServer::start().await;
    let own = t.browser().get("/v1/environment").await.ok();
    assert_eq!(own["display_config"]["instance_environment_type"], "development");
    let mut production = t.browser_at(&t.other);
    production.origin = None;
    let other = production.get("/v1/environment").await.ok();
    assert_eq!(other["display_config"]["instance_environment_type"], "production");
}

#[tokio::test]
async fn a_port_or_a_dot_behind_the_host_leads_to_no_other_instance() {
    let t = TestServer::start().await;
    let host = &t.other.frontend_api;
    for written in [format!("{host}:443"), format!("{host}:4712"), format!("{host}."), host.to_uppercase()] {
        let mut production = t.browser_at_host(&written);
        production.origin = None;
        let answer = production.get("/v1/environment").await.ok();
        assert_eq!(answer["display_config"]["instance_environment_type"], "production", "{written}");
    }
}

#[tokio::test]
async fn an_unknown_host_is_answered_by_the_development_instance_only_without_a_production_one() {
    let t = TestServer::start().await;
    for host in ["localhost:4712", "evil.example", "127.0.0.1", ""] {
        let refused = t.browser_at_host(host).get("/v1/environment").await;
        refused.is_error(400, "host_invalid");
        let told = refused.json["errors"][0]["long_message"].as_str().unwrap();
        assert!(told.contains("development.unknown_hosts=true"), "{told}");
    }
    // The server's own URL is the development instance's.
    let own = t.browser_at_host("localhost:3401").get("/v1/environment").await.ok();
    assert_eq!(own["display_config"]["instance_environment_type"], "development");
    let sql = "DELETE FROM instances WHERE environment = 'production'";
    let deleted = t.db().write(move |tx| Box::pin(async move { Ok(tx.run(&[sql], &[]).await?) }));
    assert_eq!(deleted.await.unwrap(), 1);
    let answer = t.browser_at_host("localhost:4712").get("/v1/environment").await.ok();
    assert_eq!(answer["display_config"]["instance_environment_type"], "development");
}

#[tokio::test]
async fn a_setting_lets_the_development_instance_answer_unknown_hosts() {
    let mut settings = Settings::default();
    settings.development.unknown_hosts = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let answer = t.browser_at_host("localhost:4712").get("/v1/environment").await.ok();
    assert_eq!(answer["display_config"]["instance_environment_type"], "development");
}

/// Attack: a visitor of the internet reaches the development instance through a proxy that passes on `Host: localhost`.
#[tokio::test]
async fn development_instance_beside_production_serves_private_networks_only() {
    let t = TestServer::start().await;
    let visit = async |host: &str, peer: [u8; 4], forwarded: Option<&'static str>| {
        let mut browser = t.browser_at_host(host);
        browser.address = (peer, 40_000).into();
        browser.headers.extend(forwarded.map(|visitor| ("x-forwarded-for", visitor)));
        browser.origin = None;
        browser.get("/v1/environment").await
    };
    let (here, there) = ([127, 0, 0, 1], [198, 51, 100, 7]);
    for host in ["localhost:3401", &t.tenant.frontend_api] {
        visit(host, here, None).await.ok();
        visit(host, [172, 17, 0, 1], None).await.ok();
        visit(host, there, None).await.is_error(400, "host_invalid");
        for visitor in ["198.51.100.7", "127.0.0.1"] {
            visit(host, here, Some(visitor)).await.is_error(400, "host_invalid");
        }
    }
    visit(&t.other.frontend_api, there, Some("198.51.100.8")).await.ok();
    t.run_sql("DELETE FROM instances WHERE environment = 'production'", vec![]).await;
    visit("localhost:3401", there, None).await.ok();
    visit("localhost:3401", here, Some("198.51.100.7")).await.ok();
}

type Headers = &'static [(&'static str, &'static str)];

#[tokio::test]
async fn the_data_of_the_site_is_cleared_for_the_person_and_the_same_site_only() {
    const NAVIGATION: [(&str, &str); 2] = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
    const PICTURE: [(&str, &str); 2] = [("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")];
    const FRAME: [(&str, &str); 2] = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
    let t = TestServer::start().await;
    let cases: [(&str, Headers, bool); 8] = [
        ("none", &NAVIGATION, true),
        ("same-origin", &PICTURE, true),
        ("same-site", &PICTURE, true),
        ("cross-site", &PICTURE, false),
        ("cross-site", &FRAME, false),
        ("cross-site", &NAVIGATION, false),
        ("cross-site", &[NAVIGATION[0], NAVIGATION[1], ("sec-fetch-user", "?1")], true),
        ("cross-site", &[FRAME[0], FRAME[1], ("sec-fetch-user", "?1")], false),
    ];
    for (site, more, is_cleared) in cases {
        let mut browser = t.browser();
        browser.headers = [&[("sec-fetch-site", site)], more].concat();
        let answer = browser.open("/v1/clear-site-data").await;
        assert_eq!(answer.header("clear-site-data") == "\"*\"", is_cleared, "{site} {more:?}");
        if !is_cleared {
            answer.is_error(403, "cross_site_request_forbidden");
        }
    }
    // Browsers that say nothing of the kind are judged by the page they name.
    for (page, is_cleared) in [("https://evil.example/page", false), ("http://localhost:3401/sign-in", true)]
    {
        let mut browser = t.browser();
        browser.headers = vec![("referer", page)];
        let answer = browser.open("/v1/clear-site-data").await;
        assert_eq!(answer.status == 200, is_cleared, "{page}");
    }
    assert_eq!(t.browser().open("/v1/clear-site-data").await.header("clear-site-data"), "\"*\"");
    let mut evil = t.browser();
    evil.origin = Some("https://evil.example".to_owned());
    evil.get("/v1/clear-site-data").await.is_error(403, "cross_site_request_forbidden");
}

#[tokio::test]
async fn a_proxy_names_the_instance_by_its_secret_key() {
    let t = TestServer::start().await;
    let ask = |key: Option<&str>, url: Option<&str>| {
        let mut request = axum::http::Request::get("/v1/environment").header("host", "anything.example.org");
        if let Some(key) = key {
            request = request.header("clerk-secret-key", key);
        }
        if let Some(url) = url {
            request = request.header("clerk-proxy-url", url);
        }
        request.body(axum::body::Body::empty()).unwrap()
    };
    let mut proxy = t.browser();
    let url = Some("https://app.example.org/__clerk");
    let answer = proxy.send("GET", "/v1/environment", ask(Some(&t.other.key), url)).await.ok();
    assert_eq!(answer["display_config"]["instance_environment_type"], "production");
    let sign_in_url = answer["display_config"]["sign_in_url"].as_str().unwrap();
    assert!(sign_in_url.starts_with("https://app.example.org/__clerk/"), "{sign_in_url}");
    let refused = proxy.send("GET", "/v1/environment", ask(Some("sk_live_wrong"), url)).await;
    refused.is_error(401, "proxy_request_invalid_secret_key");
    let refused = proxy.send("GET", "/v1/environment", ask(None, url)).await;
    refused.is_error(400, "proxy_request_missing_secret_key");
}

/// What a proxy of an application brings for somebody, and who it says that is.
fn brought(t: &TestServer, key: Option<&str>, ticket: &str) -> axum::http::Request<axum::body::Body> {
    let mut request = axum::http::Request::post("/v1/client/sign_ins")
        .header("host", &t.tenant.frontend_api)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("x-forwarded-for", "198.51.100.1, 198.51.100.7");
    if let Some(key) = key {
        request =
            request.header("clerk-secret-key", key).header("clerk-proxy-url", "http://app.test/__clerk");
    }
    let mut request = request.body(format!("strategy=ticket&ticket={ticket}").into()).unwrap();
    request.extensions_mut().insert(axum::extract::ConnectInfo(t.browser().address));
    request
}

#[tokio::test]
async fn what_a_proxy_brings_is_noted_under_the_address_of_the_visitor() {
    let t = TestServer::start().await;
    // Beside it, no proxy that is unknown reaches the development instance.
    t.run_sql("DELETE FROM instances WHERE environment = 'production'", vec![]).await;
    let user = t.user_with_email("ada@example.com").await;
    let own = t.browser().address.ip().to_string();
    for (key, address) in [(Some(t.tenant.key.as_str()), "198.51.100.7"), (None, own.as_str())] {
        let made = t.post("/v1/sign_in_tokens", json!({"user_id": user})).await.ok();
        let ticket = made["token"].as_str().unwrap();
        let mut browser = t.browser();
        let request = brought(&t, key, ticket);
        let done = browser.send("POST", "/v1/client/sign_ins", request).await.ok();
        let session = done["response"]["created_session_id"].clone();
        let active = browser.get("/v1/me/sessions/active").await.ok();
        let active = active.as_array().unwrap().iter().find(|it| it["id"] == session).unwrap().clone();
        assert_eq!(active["latest_activity"]["ip_address"], address);
        let events = t.get("/v1/events?limit=500").await.ok();
        let last = events["data"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["event_attributes"]["http_request"]["client_ip"], address);
    }
}

#[tokio::test]
async fn the_two_apis_are_never_confused() {
    let t = TestServer::start().await;
    // Nobody reaches the Backend API on the frontend listener, whatever key they have.
    let request = axum::http::Request::get("/v1/users")
        .header("host", &t.tenant.frontend_api)
        .header("authorization", format!("Bearer {}", t.tenant.key))
        .body(axum::body::Body::empty())
        .unwrap();
    t.browser().send("GET", "/v1/users", request).await.is_error(404, "route_not_found");
    t.get("/v1/client").await.is_error(404, "route_not_found");
    t.get("/v1/environment").await.is_error(404, "route_not_found");
}

#[tokio::test]
async fn signing_in_is_limited_by_address() {
    let t = TestServer::start_with(RateLimits::default(), Settings::default()).await;
    let mut browser = t.browser();
    for _ in 0..5 {
        let answer = browser.post("/v1/client/sign_ins", json!({})).await;
        assert_eq!(answer.status, 200);
    }
    let refused = browser.post("/v1/client/sign_ins", json!({})).await;
    refused.is_error(429, "too_many_requests");
    assert!(!refused.header("retry-after").is_empty());
    // Another address is not.
    let mut other = t.browser();
    other.address.set_ip([10, 0, 0, 9].into());
    assert_eq!(other.post("/v1/client/sign_ins", json!({})).await.status, 200);
}

#[tokio::test]
async fn verbs_in_the_query_and_slashes_behind_paths_are_understood() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let by_query = browser.patch("/v1/environment", json!({})).await;
    assert_eq!(by_query.status, 200);
    assert_eq!(browser.get("/v1/environment/").await.status, 200);
    let request = axum::http::Request::patch("/v1/environment")
        .header("host", &t.tenant.frontend_api)
        .header("origin", "http://localhost:3000")
        .body(axum::body::Body::empty())
        .unwrap();
    assert_eq!(browser.send("PATCH", "/v1/environment", request).await.status, 200);
}
