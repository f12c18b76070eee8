//! The hosted pages, as far as that can be seen without a browser; `tests/browser` has one.

use latchkey_testkit::{Tenant, TestServer};

async fn page(t: &TestServer, tenant: &Tenant, path: &str) -> (String, String) {
    let answer = t.browser_at(tenant).open(path).await;
    assert_eq!(answer.status, 200, "{path}");
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(answer.header("cache-control"), "no-store");
    let policy = answer.header("content-security-policy").to_owned();
    (policy, String::from_utf8(answer.bytes).unwrap())
}

#[tokio::test]
async fn every_page_and_step_is_there_under_a_policy_of_its_own() {
    let t = TestServer::start().await;
    let mut policies = Vec::new();
    for (path, shown) in [
        ("/", "/default-redirect"),
        ("/sign-in", "/sign-in"),
        ("/sign-in/factor-one", "/sign-in"),
        ("/sign-up", "/sign-up"),
        ("/sign-up/verify-email-address", "/sign-up"),
        ("/user", "/user"),
        ("/user/security", "/user"),
        ("/waitlist", "/waitlist"),
        ("/default-redirect", "/default-redirect"),
        ("/unauthorized-sign-in", "/unauthorized-sign-in"),
    ] {
        let (policy, html) = page(&t, &t.tenant, path).await;
        assert!(html.contains(&format!("\"page\":\"{shown}\"")), "{path}");
        assert!(!policies.contains(&policy), "a nonce is used once");
        policies.push(policy);
    }
}

#[tokio::test]
async fn people_are_sent_to_the_application_only() {
    let t = TestServer::start().await;
    let (_, html) = page(&t, &t.tenant, "/sign-in").await;
    assert!(html.contains("\"http://localhost:*\""));
    let (_, html) = page(&t, &t.other, "/sign-in").await;
    assert!(html.contains(&format!("\"https://*.{}\"", t.other.frontend_api)));
    assert!(!html.contains("localhost"));
}
