//! The hosted pages, as far as that can be seen without a browser; `tests/browser` has one.

use latchkey_kernel::instances::store::save_frontend_api;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Browser, Tenant, TestServer};
use serde_json::{Value, json};

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

/// What a page knows of its instance.
fn facts(html: &str) -> Value {
    let (_, rest) = html.split_once("id=\"facts\">").unwrap();
    serde_json::from_str(rest.split("</script>").next().unwrap()).unwrap()
}

#[tokio::test]
async fn people_get_to_where_the_settings_say() {
    let t = TestServer::start().await;
    let (_, html) = page(&t, &t.tenant, "/sign-in").await;
    let usual = facts(&html);
    for (name, url) in [
        ("afterSignInUrl", json!("/default-redirect")),
        ("afterSignUpUrl", json!("/default-redirect")),
        ("afterSignOutOneUrl", json!("/sign-in/choose")),
        ("afterSignOutAllUrl", json!("/sign-in")),
        ("afterCreateOrganizationUrl", Value::Null),
        ("helpUrl", Value::Null),
        ("logoLinkUrl", Value::Null),
    ] {
        assert_eq!(usual[name], url, "{name}");
    }
    let mut settings = Settings::default();
    let url = |path: &str| Some(format!("https://app.example.com/{path}"));
    let display = &mut settings.display;
    display.home_url = url("");
    display.after_sign_up_url = Some("https://welcome.example.org/new".to_owned());
    display.after_sign_out_one_url = url("next");
    display.after_sign_out_all_url = url("bye");
    display.after_create_organization_url = url("team");
    display.help_url = url("help");
    display.logo_link_url = url("logo");
    t.set_settings(settings).await;
    let (_, html) = page(&t, &t.tenant, "/sign-in").await;
    let seen = facts(&html);
    for (name, url) in [
        ("afterSignInUrl", "https://app.example.com/"),
        ("afterSignUpUrl", "https://welcome.example.org/new"),
        ("afterSignOutOneUrl", "https://app.example.com/next"),
        ("afterSignOutAllUrl", "https://app.example.com/bye"),
        ("afterCreateOrganizationUrl", "https://app.example.com/team"),
        ("helpUrl", "https://app.example.com/help"),
        ("logoLinkUrl", "https://app.example.com/logo"),
    ] {
        assert_eq!(seen[name], url, "{name}");
    }
    let added: Vec<&Value> = seen["redirectOrigins"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|origin| !usual["redirectOrigins"].as_array().unwrap().contains(origin))
        .collect();
    assert_eq!(added, ["https://app.example.com", "https://welcome.example.org"]);
}

#[tokio::test]
async fn the_policy_lets_the_icon_and_the_logo_be_seen() {
    let t = TestServer::start().await;
    let (policy, html) = page(&t, &t.tenant, "/sign-in").await;
    assert!(html.contains(r#"<link rel="icon" href="data:,">"#));
    assert!(policy.contains("img-src 'self' data: blob: https:;"), "{policy}");
    let mut settings = Settings::default();
    settings.display.favicon_image_url = Some("http://localhost:3000/icon.png".to_owned());
    settings.display.logo_image_url = Some("http://localhost:4000/logo.png".to_owned());
    t.set_settings(settings).await;
    let (policy, html) = page(&t, &t.tenant, "/sign-in").await;
    assert!(html.contains(r#"<link rel="icon" href="http://localhost:3000/icon.png">"#));
    assert!(policy.contains("https: http://localhost:4000 http://localhost:3000;"), "{policy}");
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

/// The URLs of the environment that the components of organizations lead to.
async fn organization_urls(browser: &mut Browser<'_>) -> Value {
    let environment = browser.get("/v1/environment").await.ok();
    let updated = browser.patch("/v1/environment", Value::Null).await.ok();
    assert_eq!(environment, updated);
    let config = &environment["display_config"];
    json!([config["after_create_organization_url"], config["after_leave_organization_url"]])
}

/// An organization that was created in one application led to a page of the server, or into another application.
#[tokio::test]
async fn environment_leads_back_to_the_application_in_development() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let hosted = "http://localhost:3401/default-redirect";
    let own = "http://localhost:3000/";
    assert_eq!(organization_urls(&mut browser).await, json!([own, own]));
    let mut settings = Settings::default();
    settings.display.home_url = Some("http://localhost:5000/home".to_owned());
    t.set_settings(settings.clone()).await;
    assert_eq!(organization_urls(&mut browser).await, json!([own, own]));
    settings.display.after_leave_organization_url = Some("http://localhost:5000/left".to_owned());
    t.set_settings(settings).await;
    assert_eq!(organization_urls(&mut browser).await, json!([own, "http://localhost:5000/left"]));
    // Hosted pages, apps on devices and unusual origins have no application.
    t.set_settings(Settings::default()).await;
    for origin in ["http://localhost:3401", "null", "http://a.example/x", "chrome-extension://abc"] {
        browser.origin = Some(origin.to_owned());
        assert_eq!(organization_urls(&mut browser).await, json!([hosted, hosted]), "{origin}");
    }
    let mut production = t.browser_at(&t.other);
    production.origin = Some("https://app.example.test".to_owned());
    let urls = organization_urls(&mut production).await;
    assert!(urls[0].as_str().unwrap().ends_with("/default-redirect"), "{urls}");
}

#[tokio::test]
async fn hosted_organization_page_leads_back_to_the_application_in_development() {
    let t = TestServer::start().await;
    for (path, referrer, back) in [
        ("/create-organization", "http://localhost:3000/", json!("http://localhost:3000/")),
        ("/organization/x", "http://localhost:3000/a?b", json!("http://localhost:3000/")),
        ("/organization", "http://localhost:3401/sign-in", Value::Null),
        ("/organization", "https://evil.example/", Value::Null),
        ("/organization", "javascript:alert(1)", Value::Null),
        ("/sign-in", "http://localhost:3000/", Value::Null),
    ] {
        let mut browser = t.browser();
        browser.headers = vec![("referer", referrer)];
        let answer = browser.open(path).await;
        let seen = facts(std::str::from_utf8(&answer.bytes).unwrap());
        assert_eq!(seen["afterCreateOrganizationUrl"], back, "{path} from {referrer}");
        assert_eq!(seen["afterLeaveOrganizationUrl"], back, "{path} from {referrer}");
        assert_eq!(seen["afterSignInUrl"], "/default-redirect");
    }
    let mut production = t.browser_at(&t.other);
    production.headers = vec![("referer", "https://app.example.test/")];
    let answer = production.open("/create-organization").await;
    let seen = facts(std::str::from_utf8(&answer.bytes).unwrap());
    assert_eq!(seen["afterCreateOrganizationUrl"], Value::Null);
}
