//! The hosted pages, as far as that can be seen without a browser; `tests/browser` has one.

use latchkey_kernel::instances::store::save_frontend_api;
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
        ("/organization", "/organization"),
        ("/organization/organization-members", "/organization"),
        ("/create-organization", "/create-organization"),
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
    for origin in ["https://example.test", "https://*.example.test", "https://*.example.test:*"] {
        assert!(html.contains(&format!("\"{origin}\"")), "{origin}");
    }
    assert!(!html.contains("localhost"));
}

/// SDKs that are told no address of a sign-in page send people to `accounts.example.com` when the Frontend API is at
/// `clerk.example.com`.
#[tokio::test]
async fn the_host_sdks_take_for_that_of_the_pages_leads_to_them() {
    let t = TestServer::start().await;
    let id = t.other.id.clone();
    let moved = t
        .db()
        .write(move |tx| Box::pin(async move { save_frontend_api(tx, &id, "clerk.example.com").await }));
    moved.await.unwrap();
    let path = "/sign-in?redirect_url=https%3A%2F%2Fapp.example.com&__clerk_api_version=2026-05-12";
    for host in ["accounts.example.com", "Accounts.Example.com:443"] {
        let answer = t.browser_at_host(host).open(path).await;
        let there = format!("https://clerk.example.com{path}");
        assert_eq!((answer.status, answer.header("location")), (307, &*there), "{host}");
    }
    let elsewhere = t.browser_at_host("accounts.example.org").open(path).await;
    elsewhere.is_error(400, "host_invalid");
}
