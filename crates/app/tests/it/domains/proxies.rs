//! A proxy is tried by a real request to where it is said to be.

use latchkey_testkit::{Answer, Reaction, Receiver, Tenant, TestServer};
use serde_json::{Value, json};

use super::{add, primary};

const CHECKS: &str = "/v1/proxy_checks";
const HEALTHY: &[u8] = br#"{"status": "healthy", "x_forwarded_for": "10.0.0.1"}"#;

async fn check(t: &TestServer, tenant: &Tenant, domain: &Value, url: &str) -> Answer {
    let body = json!({"domain_id": domain, "proxy_url": url});
    t.call(Some(tenant), "POST", CHECKS, Some(body)).await
}

#[tokio::test]
async fn a_proxy_that_reaches_the_frontend_api_is_successful() {
    let t = TestServer::start().await;
    let satellite = add(&t, &t.tenant, "localhost:4000").await.ok();
    for domain in [&primary(&t, &t.tenant).await["id"], &satellite["id"]] {
        let proxy = Receiver::start().await;
        proxy.react(Reaction::Answer(200, HEALTHY.to_vec()));
        let made = check(&t, &t.tenant, domain, &format!("{}/", proxy.url())).await.ok();
        assert!(made["id"].as_str().unwrap().starts_with("proxchk_"));
        let now = made["created_at"].clone();
        let expected = json!({"object": "proxy_check", "id": made["id"], "domain_id": domain, "last_run_at": now,
            "proxy_url": proxy.url(), "successful": true, "created_at": now, "updated_at": now});
        assert_eq!(made, expected);
        let asked = &proxy.arrivals()[0];
        let path = format!("/hook/v1/proxy-health?domain_id={}", domain.as_str().unwrap());
        assert_eq!((asked.method.as_str(), asked.path.as_str()), ("GET", path.as_str()));
        assert!(
            !asked.headers.contains_key("authorization") && !asked.headers.contains_key("clerk-secret-key")
        );
    }
}

/// The same health that a real proxy passes on: one that sends all headers, and one that forgets the key.
#[tokio::test]
async fn what_the_frontend_api_says_of_a_proxy_decides() {
    let t = TestServer::start().await;
    let domain = primary(&t, &t.tenant).await["id"].clone();
    let path = format!("/v1/proxy-health?domain_id={}", domain.as_str().unwrap());
    let mut whole = t.browser();
    whole.proxy = Some(("http://localhost:3000/__clerk".to_owned(), t.tenant.key.clone()));
    whole.headers.push(("x-forwarded-for", "10.0.0.1"));
    let mut bare = t.browser();
    for (browser, status) in [(&mut whole, 200), (&mut bare, 422)] {
        let health = browser.get(&path).await;
        let proxy = Receiver::start().await;
        proxy.react(Reaction::Answer(health.status, health.bytes));
        let answer = check(&t, &t.tenant, &domain, &proxy.url()).await;
        assert_eq!(answer.status, status, "{:#}", answer.json);
    }
}

#[tokio::test]
async fn what_answers_wrongly_too_much_or_never_is_no_proxy() {
    let t = TestServer::start().await;
    let domain = primary(&t, &t.tenant).await["id"].clone();
    let good = Receiver::start().await;
    good.react(Reaction::Answer(200, HEALTHY.to_vec()));
    let huge =
        [b"{\"status\": \"healthy\", \"x\": \"".to_vec(), vec![b'x'; 1 << 20], b"\"}".to_vec()].concat();
    for reaction in [
        Reaction::Answer(200, br#"{"status": "unhealthy", "message": "x"}"#.to_vec()),
        Reaction::Answer(200, b"<html>".to_vec()),
        Reaction::Answer(200, Vec::new()),
        Reaction::Answer(200, huge),
        Reaction::Answer(404, HEALTHY.to_vec()),
        Reaction::status(502),
        Reaction::Redirect(307, good.url()),
        Reaction::Endless(200),
        Reaction::BreakOff,
        Reaction::Close,
        Reaction::Nonsense,
        Reaction::Hang,
    ] {
        let shown = format!("{reaction:.40?}");
        let proxy = Receiver::start().await;
        proxy.react(reaction);
        let answer = check(&t, &t.tenant, &domain, &proxy.url()).await;
        assert_eq!((answer.status, answer.code()), (422, "invalid_proxy_configuration"), "{shown}");
        assert_eq!((answer.param(), proxy.arrivals().len()), ("proxy_url", 1), "{shown}");
    }
    assert!(good.arrivals().is_empty(), "redirects are not followed");
    // Nothing listens on the port for discarding.
    check(&t, &t.tenant, &domain, "http://127.0.0.1:9/__clerk").await.is_problem(
        422,
        "invalid_proxy_configuration",
        "proxy_url",
    );
}

#[tokio::test]
async fn production_instances_try_no_private_addresses_and_nothing_in_the_clear() {
    let t = TestServer::start().await;
    let (own, live) = (primary(&t, &t.tenant).await["id"].clone(), primary(&t, &t.other).await["id"].clone());
    let near = Receiver::start().await;
    near.react(Reaction::Answer(200, HEALTHY.to_vec()));
    let near_url = near.url();
    for url in [
        near_url.as_str(),
        "https://127.0.0.1:9/__clerk",
        "https://[::1]:9/__clerk",
        "https://10.0.0.1/__clerk",
        "https://169.254.169.254/__clerk",
        "https://localhost:9/__clerk",
        "http://example.com/__clerk",
    ] {
        let answer = check(&t, &t.other, &live, url).await;
        answer.is_problem(422, "invalid_proxy_configuration", "proxy_url");
    }
    let metadata = check(&t, &t.tenant, &own, "http://169.254.169.254/__clerk").await;
    metadata.is_problem(422, "invalid_proxy_configuration", "proxy_url");
    assert!(near.arrivals().is_empty());
    for (body, code, param) in [
        (json!({"domain_id": own}), "form_param_missing", "proxy_url"),
        (json!({"proxy_url": near_url}), "form_param_missing", "domain_id"),
        (json!({"domain_id": live, "proxy_url": near_url}), "form_resource_not_found", "domain_id"),
        (json!({"domain_id": "dmn_x", "proxy_url": near_url}), "form_resource_not_found", "domain_id"),
        (json!({"domain_id": own, "proxy_url": "a.org"}), "form_param_format_invalid", "proxy_url"),
        (json!({"domain_id": own, "proxy_url": ""}), "form_param_format_invalid", "proxy_url"),
        (
            json!({"domain_id": own, "proxy_url": "file:///etc/passwd"}),
            "form_param_format_invalid",
            "proxy_url",
        ),
        (json!({"domain_id": own, "proxy_url": "https://u@a.org"}), "form_param_format_invalid", "proxy_url"),
        (
            json!({"domain_id": own, "proxy_url": "https://a.org/x?y"}),
            "form_param_format_invalid",
            "proxy_url",
        ),
    ] {
        t.post(CHECKS, body).await.is_problem(422, code, param);
    }
    let both = t.post(CHECKS, json!({})).await;
    assert_eq!(both.problems(), [("form_param_missing", "domain_id"), ("form_param_missing", "proxy_url")]);
}
