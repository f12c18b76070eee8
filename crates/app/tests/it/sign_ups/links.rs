//! Proving an address by a link, in the same browser or in another.

use latchkey_kernel::strategy::Strategy;
use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};

use super::{PATH, begun, server};

const BACK: &str = "http://localhost:3000/verify";

async fn with_links(same_client: bool) -> TestServer {
    server(|settings| {
        settings.attributes.password.required_at_sign_up = false;
        settings.attributes.email_address.verifications = vec![Strategy::EmailLink];
        settings.attack_protection.email_link_require_same_client = same_client;
    })
    .await
}

/// Begins an attempt and has a link sent; returns its path and the path of the link.
async fn with_link(t: &TestServer, browser: &mut Browser<'_>) -> (String, String) {
    let fields = json!({"email_address": "ada@example.com", "strategy": "email_link", "redirect_url": BACK});
    let path = begun(browser, fields).await;
    (path, newest_link(t).await)
}

async fn newest_link(t: &TestServer) -> String {
    let link = t.inbox().await[0]["link"].as_str().unwrap().to_owned();
    assert!(link.starts_with("http://localhost:3401/v1/verify?token=sua_"), "{link}");
    link.trim_start_matches("http://localhost:3401").to_owned()
}

#[tokio::test]
async fn link_needs_an_address_to_lead_to() {
    let t = with_links(false).await;
    let mut browser = t.browser();
    let path = begun(&mut browser, json!({"email_address": "ada@example.com"})).await;
    let prepare = format!("{path}/prepare_verification");
    for url in ["", "javascript:alert(1)", "//evil.example", "https://a@b.example/"] {
        let refused = browser.post(&prepare, json!({"strategy": "email_link", "redirect_url": url})).await;
        refused.is_problem(422, "invalid_redirect_url", "redirect_url");
    }
    let sent = browser.post(&prepare, json!({"strategy": "email_link", "redirect_url": BACK})).await.ok();
    let proof = &sent["response"]["verifications"]["email_address"];
    assert_eq!(
        (&proof["strategy"], &proof["supported_strategies"]),
        (&json!("email_link"), &json!(["email_link"]))
    );
    let mut live = t.browser_at(&t.other);
    live.origin = None;
    let fields = json!({"email_address": "ada@example.com", "strategy": "email_link", "redirect_url": "https://evil.example/"});
    live.post(PATH, fields).await.is_problem(
        422,
        "redirect_url_not_associated_with_instance",
        "redirect_url",
    );
}

#[tokio::test]
async fn link_in_the_same_browser_completes_the_attempt() {
    let t = with_links(true).await;
    let mut browser = t.browser();
    let (path, link) = with_link(&t, &mut browser).await;
    let opened = browser.open(&link).await;
    let done = browser.get(&path).await.ok();
    let session = done["response"]["created_session_id"].as_str().unwrap();
    assert_eq!(opened.status, 303);
    let expected = format!("{BACK}?__clerk_status=verified&__clerk_created_session={session}");
    assert_eq!(opened.header("location"), expected);
    let proof = &done["response"]["verifications"]["email_address"];
    assert_eq!((&proof["status"], &proof["verified_at_client"]), (&json!("verified"), &done["client"]["id"]));
    assert_eq!(done["client"]["sessions"][0]["id"], session);
    let user = &done["client"]["sessions"][0]["user"];
    assert_eq!(user["email_addresses"][0]["verification"]["strategy"], "email_link");
    // A second click leads to the same place; a token that only begins like the link leads nowhere.
    let again = browser.open(&link).await;
    assert_eq!(again.header("location"), expected);
    for made_up in [format!("{link}x"), link[..link.len() - 1].to_owned(), link[..53].to_owned() + "x"] {
        browser.open(&made_up).await.is_error(400, "verification_link_token_invalid");
    }
    assert_eq!(t.get("/v1/users/count").await.ok()["total_count"], 1);
}

#[tokio::test]
async fn link_in_another_browser_signs_in_where_it_was_asked_for() {
    let t = with_links(false).await;
    let (mut first, mut second) = (t.browser(), t.browser());
    let (path, link) = with_link(&t, &mut first).await;
    let opened = second.open(&link).await;
    assert!(opened.header("location").contains("__clerk_status=verified"), "{}", opened.header("location"));
    assert!(second.cookies.is_empty());
    let done = first.get(&path).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    assert_eq!(done["client"]["sessions"][0]["id"], done["response"]["created_session_id"]);
    assert_eq!(second.get("/v1/client").await.ok()["response"], Value::Null);
}

#[tokio::test]
async fn link_in_another_browser_does_nothing_where_it_must_be_the_same() {
    let t = with_links(true).await;
    let (mut first, mut second) = (t.browser(), t.browser());
    let (path, link) = with_link(&t, &mut first).await;
    let opened = second.open(&link).await;
    assert_eq!(opened.header("location"), format!("{BACK}?__clerk_status=client_mismatch"));
    assert_eq!(first.get(&path).await.ok()["response"]["status"], "missing_requirements");
    first.open(&link).await;
    assert_eq!(first.get(&path).await.ok()["response"]["status"], "complete");
}

#[tokio::test]
async fn a_link_opened_elsewhere_shows_a_code_for_the_browser_that_signs_up() {
    let t = server(|settings| {
        settings.attributes.password.required_at_sign_up = false;
        settings.attributes.email_address.verifications = vec![Strategy::EmailLink, Strategy::EmailCode];
    })
    .await;
    let (mut first, mut second) = (t.browser(), t.browser());
    let (path, link) = with_link(&t, &mut first).await;
    second.headers = vec![("accept", "text/html")];
    let opened = second.open(&link).await;
    assert_eq!(opened.status, 403);
    let page = String::from_utf8(opened.bytes).unwrap();
    let code = page.split_once("<p class=\"code\">").unwrap().1[..6].to_owned();
    assert_eq!(first.get(&path).await.ok()["response"]["status"], "missing_requirements");
    let fields = json!({"strategy": "email_code", "code": code});
    let done = first.post(&format!("{path}/attempt_verification"), fields).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    assert_eq!(second.get("/v1/client").await.ok()["response"], Value::Null);
}

#[tokio::test]
async fn late_and_outdated_and_made_up_links_do_nothing() {
    let t = with_links(false).await;
    let mut browser = t.browser();
    let (path, link) = with_link(&t, &mut browser).await;
    let mut forged = link.clone();
    forged.replace_range(link.len() - 4.., "AAAA");
    for _ in 0..5 {
        browser.open(&forged).await.is_error(400, "verification_link_token_invalid");
    }
    browser
        .open("/v1/verify?token=sua_2abcdefghijklmnopqrstuvwxyz1.AAAA")
        .await
        .is_error(400, "verification_link_token_invalid");
    t.clock.advance_ms(10 * 60 * 1000);
    assert_eq!(browser.open(&link).await.header("location"), format!("{BACK}?__clerk_status=expired"));
    let fields = json!({"strategy": "email_link", "redirect_url": BACK});
    browser.post(&format!("{path}/prepare_verification"), fields).await.ok();
    let link = newest_link(&t).await;
    browser.patch(&path, json!({"email_address": "eve@example.com"})).await.ok();
    assert_eq!(browser.open(&link).await.header("location"), format!("{BACK}?__clerk_status=expired"));
    assert_eq!(browser.get(&path).await.ok()["response"]["unverified_fields"], json!(["email_address"]));
}

#[tokio::test]
async fn link_that_a_newer_one_took_the_place_of_leads_back() {
    let t = with_links(false).await;
    let mut browser = t.browser();
    let (path, older) = with_link(&t, &mut browser).await;
    t.clock.advance_ms(1);
    let fields = json!({"strategy": "email_link", "redirect_url": format!("{BACK}/new")});
    browser.post(&format!("{path}/prepare_verification"), fields).await.ok();
    let newer = newest_link(&t).await;
    assert_ne!(older, newer);
    assert_eq!(browser.open(&older).await.header("location"), format!("{BACK}?__clerk_status=expired"));
    assert_eq!(browser.get(&path).await.ok()["response"]["status"], "missing_requirements");
    browser.open(&newer).await;
    assert_eq!(browser.get(&path).await.ok()["response"]["status"], "complete");
    assert_eq!(browser.open(&older).await.header("location"), format!("{BACK}?__clerk_status=expired"));
}

#[tokio::test]
async fn link_that_proves_an_address_taken_meanwhile_fails() {
    let t = with_links(false).await;
    let mut browser = t.browser();
    let (path, link) = with_link(&t, &mut browser).await;
    t.user_with_email("ada@example.com").await;
    let opened = browser.open(&link).await;
    assert_eq!(opened.header("location"), format!("{BACK}?__clerk_status=failed"));
    assert_eq!(browser.get(&path).await.ok()["response"]["status"], "missing_requirements");
}
