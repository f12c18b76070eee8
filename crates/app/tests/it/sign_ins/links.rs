//! Links by e-mail, and opening them.

use latchkey_kernel::environment::Environment::Production;
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};

use super::{EMAIL, PASSWORD, ada, begin, identified, server, shown, step};

const BACK: &str = "http://localhost:3000/#/verify";

fn with_links(settings: &mut Settings) {
    settings.attributes.email_address.first_factors.push(Strategy::EmailLink);
}

/// Links that every browser may open.
fn with_open_links(settings: &mut Settings) {
    with_links(settings);
    settings.attack_protection.email_link_require_same_client = false;
}

/// Asks for a link; returns the id of the attempt and the path of the link.
async fn ask(t: &TestServer, browser: &mut Browser<'_>) -> (String, String) {
    let id = identified(browser, EMAIL).await;
    let fields = json!({"strategy": "email_link", "redirect_url": BACK});
    let sign_in = shown(step(browser, &id, "prepare_first_factor", fields).await);
    assert_eq!(sign_in["first_factor_verification"]["status"], "unverified");
    (id, link(t).await)
}

/// The path of the link in the newest message.
async fn link(t: &TestServer) -> String {
    let link = t.inbox().await[0]["link"].as_str().unwrap().to_owned();
    link.strip_prefix("http://localhost:3401").unwrap().to_owned()
}

async fn attempt(browser: &mut Browser<'_>, id: &str) -> Value {
    browser.get(&format!("/v1/client/sign_ins/{id}")).await.ok()
}

#[tokio::test]
async fn a_link_completes_in_the_browser_that_asked() {
    let t = server(with_links).await;
    ada(&t).await;
    let mut browser = t.browser();
    let (id, link) = ask(&t, &mut browser).await;
    assert!(link.starts_with(&format!("/v1/verify?token={id}.")), "{link}");
    let opened = browser.open(&link).await;
    let after = attempt(&mut browser, &id).await;
    let session = after["response"]["created_session_id"].as_str().unwrap();
    let there =
        format!("http://localhost:3000/?__clerk_status=verified&__clerk_created_session={session}#/verify");
    assert_eq!((opened.status, opened.header("location")), (303, there.as_str()));
    assert_eq!(after["response"]["status"], "complete");
    let verification = &after["response"]["first_factor_verification"];
    assert_eq!(
        (&verification["status"], &verification["verified_at_client"]),
        (&json!("verified"), &after["client"]["id"])
    );
    assert_eq!(after["client"]["sessions"][0]["id"], json!(session));
    assert_eq!(after["client"]["last_authentication_strategy"], "email_link");
}

#[tokio::test]
async fn a_link_to_an_address_for_tests_stays_in_the_inbox() {
    let t = server(with_links).await;
    let address = "ada+clerk_test@example.com";
    t.user(json!({"email_address": [address, EMAIL]})).await;
    let mut browser = t.browser();
    for (to, expected) in [(address, ("held", false)), (EMAIL, ("queued", true))] {
        let id = identified(&mut browser, to).await;
        let fields = json!({"strategy": "email_link", "redirect_url": BACK});
        shown(step(&mut browser, &id, "prepare_first_factor", fields).await);
        assert_eq!(t.inbox().await[0]["to"], to);
        assert!(link(&t).await.starts_with(&format!("/v1/verify?token={id}.")));
        let sql = "SELECT status, next_at FROM messages WHERE recipient = $1";
        let read = |row: &latchkey_db::Row<'_>| Ok((row.text(0)?, row.maybe_time(1)?.is_some()));
        let mut tx = t.db().read().await.unwrap();
        let found = tx.maybe(&[sql], &[to.into()], read).await.unwrap().unwrap();
        assert_eq!((found.0.as_str(), found.1), expected);
        t.clock.advance_ms(1);
    }
}

#[tokio::test]
async fn a_link_opened_elsewhere_signs_in_where_it_was_asked_for() {
    let t = server(with_open_links).await;
    ada(&t).await;
    let (mut here, mut phone) = (t.browser(), t.browser());
    let (id, link) = ask(&t, &mut here).await;
    let before = here.cookies.clone();
    let opened = phone.open(&link).await;
    assert!(opened.header("location").contains("__clerk_status=verified&__clerk_created_session=sess_"));
    assert!(phone.cookies.is_empty());
    let after = attempt(&mut here, &id).await;
    assert_eq!(here.cookies, before);
    assert_eq!(after["response"]["status"], "complete");
    assert_eq!(after["client"]["sessions"].as_array().unwrap().len(), 1);
    // Where the link was opened in the same browser the first tab asks people to change to the other one;
    // from here it goes on by itself.
    assert_eq!(after["response"]["first_factor_verification"]["verified_at_client"], json!(null));
}

#[tokio::test]
async fn a_link_opened_on_another_client_says_on_which() {
    let t = server(with_open_links).await;
    ada(&t).await;
    let (mut here, mut phone) = (t.browser(), t.browser());
    identified(&mut phone, EMAIL).await;
    let (id, link) = ask(&t, &mut here).await;
    let opened = phone.open(&link).await;
    let after = attempt(&mut here, &id).await;
    let other = phone.get("/v1/client").await.ok();
    let session = &after["client"]["sessions"][0]["id"];
    assert!(opened.header("location").contains(session.as_str().unwrap()));
    assert_eq!(other["response"]["sessions"], json!([]));
    assert_eq!(after["response"]["first_factor_verification"]["verified_at_client"], other["response"]["id"]);
    assert_ne!(other["response"]["id"], after["client"]["id"]);
}

#[tokio::test]
async fn a_link_finishes_in_the_browser_that_asked_unless_the_settings_say_otherwise() {
    let t = server(with_links).await;
    ada(&t).await;
    let (mut here, mut phone) = (t.browser(), t.browser());
    let (id, link) = ask(&t, &mut here).await;
    let opened = phone.open(&link).await;
    assert_eq!(opened.header("location"), "http://localhost:3000/?__clerk_status=client_mismatch#/verify");
    assert_eq!(attempt(&mut here, &id).await["response"]["status"], "needs_first_factor");
    assert!(phone.cookies.is_empty());
    here.open(&link).await;
    assert_eq!(attempt(&mut here, &id).await["response"]["status"], "complete");
}

/// The page that another browser gets, and the code on it.
async fn shown_elsewhere(t: &TestServer, link: &str) -> (String, Option<String>) {
    let mut phone = t.browser();
    phone.headers = vec![("accept", "text/html,application/xhtml+xml")];
    let opened = phone.open(link).await;
    assert_eq!((opened.status, opened.header("content-type")), (403, "text/html; charset=utf-8"));
    assert_eq!(
        (opened.header("cache-control"), opened.header("referrer-policy")),
        ("no-store", "no-referrer")
    );
    let page = String::from_utf8(opened.bytes).unwrap();
    let code = page.split_once("<p class=\"code\">").map(|(_, rest)| rest[..6].to_owned());
    (page, code)
}

#[tokio::test]
async fn another_browser_gets_a_page_with_a_code_for_the_one_that_asked() {
    let t = server(with_links).await;
    ada(&t).await;
    let mut here = t.browser();
    let (id, link) = ask(&t, &mut here).await;
    let (page, code) = shown_elsewhere(&t, &link).await;
    assert!(page.contains("in the browser where you started"), "{page}");
    assert!(page.contains("http://localhost:3000/?__clerk_status=client_mismatch#/verify"), "{page}");
    // It is the same one however often the link is opened.
    assert_eq!(shown_elsewhere(&t, &link).await.1, code);
    let wrong = json!({"strategy": "email_code", "code": "000000"});
    step(&mut here, &id, "attempt_first_factor", wrong).await.is_error(422, "form_code_incorrect");
    let right = json!({"strategy": "email_code", "code": code});
    let done = shown(step(&mut here, &id, "attempt_first_factor", right).await);
    assert_eq!(done["status"], "complete");
}

#[tokio::test]
async fn the_code_shown_elsewhere_is_the_one_that_is_sent_next() {
    let t = server(with_links).await;
    ada(&t).await;
    let mut here = t.browser();
    let (id, link) = ask(&t, &mut here).await;
    let (_, code) = shown_elsewhere(&t, &link).await;
    // Components of pages have a code sent when somebody chooses that method.
    t.clock.advance_ms(1);
    step(&mut here, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    assert_eq!(t.inbox().await[0]["code"].as_str().map(str::to_owned), code);
    let right = json!({"strategy": "email_code", "code": code});
    let done = shown(step(&mut here, &id, "attempt_first_factor", right).await);
    assert_eq!(done["status"], "complete");
}

#[tokio::test]
async fn no_code_is_shown_where_none_can_be_entered() {
    let t = server(|settings| {
        settings.attributes.email_address.first_factors = vec![Strategy::EmailLink];
    })
    .await;
    ada(&t).await;
    let mut here = t.browser();
    let (_, link) = ask(&t, &mut here).await;
    let before = t.everything().await;
    assert_eq!(shown_elsewhere(&t, &link).await.1, None);
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn a_code_for_another_browser_expires_with_its_link() {
    let t = server(with_links).await;
    ada(&t).await;
    let mut here = t.browser();
    let (id, link) = ask(&t, &mut here).await;
    let (_, code) = shown_elsewhere(&t, &link).await;
    t.clock.advance_ms(10 * 60 * 1000);
    let late = json!({"strategy": "email_code", "code": code});
    step(&mut here, &id, "attempt_first_factor", late).await.is_error(400, "verification_expired");
}

#[tokio::test]
async fn a_link_opens_one_session_however_often_it_is_opened() {
    let t = server(with_links).await;
    ada(&t).await;
    let (mut here, mut other) = (t.browser(), t.browser());
    let (_, link) = ask(&t, &mut here).await;
    let first = here.open(&link).await.header("location").to_owned();
    assert_eq!(other.open(&link).await.header("location"), first);
    assert!(other.cookies.is_empty());
    let kinds: Vec<String> = t.events().await.into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "session.created").count(), 1);
}

#[tokio::test]
async fn a_link_expires_after_ten_minutes() {
    let t = server(with_links).await;
    ada(&t).await;
    let mut browser = t.browser();
    let (id, link) = ask(&t, &mut browser).await;
    t.clock.advance_ms(10 * 60 * 1000);
    let opened = browser.open(&link).await;
    assert_eq!(opened.header("location"), "http://localhost:3000/?__clerk_status=expired#/verify");
    let after = attempt(&mut browser, &id).await;
    assert_eq!(after["response"]["first_factor_verification"]["status"], "expired");
    // As long as anything is known of the attempt, the link leads back.
    t.clock.advance_ms(24 * 3600 * 1000);
    let opened = browser.open(&link).await;
    assert_eq!(opened.header("location"), "http://localhost:3000/?__clerk_status=expired#/verify");
}

#[tokio::test]
async fn a_newer_link_makes_the_older_one_worthless() {
    let t = server(with_links).await;
    ada(&t).await;
    let mut browser = t.browser();
    let (id, older) = ask(&t, &mut browser).await;
    t.clock.advance_ms(1);
    let fields = json!({"strategy": "email_link", "redirect_url": BACK});
    step(&mut browser, &id, "prepare_first_factor", fields).await.ok();
    let opened = browser.open(&older).await;
    assert_eq!(opened.header("location"), "http://localhost:3000/?__clerk_status=expired#/verify");
    assert_eq!(attempt(&mut browser, &id).await["response"]["status"], "needs_first_factor");
    browser.open(&link(&t).await).await;
    assert_eq!(attempt(&mut browser, &id).await["response"]["status"], "complete");
}

#[tokio::test]
async fn another_way_of_signing_in_makes_the_link_worthless_too() {
    let t = server(with_links).await;
    ada(&t).await;
    let mut browser = t.browser();
    let (id, link) = ask(&t, &mut browser).await;
    let fields = json!({"strategy": "password", "password": PASSWORD});
    step(&mut browser, &id, "attempt_first_factor", fields).await.ok();
    let opened = browser.open(&link).await;
    assert_eq!(opened.header("location"), "http://localhost:3000/?__clerk_status=expired#/verify");
}

/// Opens a link as a browser does that shows pages.
async fn look(t: &TestServer, path: &str) -> latchkey_testkit::Answer {
    let request = axum::http::Request::get(path)
        .header("host", &t.tenant.frontend_api)
        .header("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    // The description of the API knows the answers of programs, not the pages.
    t.browser().send("GET", "/sign-in", request.body(axum::body::Body::empty()).unwrap()).await
}

#[tokio::test]
async fn whoever_opens_an_unknown_link_in_a_browser_sees_a_page() {
    let t = server(with_open_links).await;
    ada(&t).await;
    let (id, link) = ask(&t, &mut t.browser()).await;
    for path in ["/v1/verify".to_owned(), format!("/v1/verify?token={id}.guess"), format!("{link}x")] {
        let page = look(&t, &path).await;
        let text = String::from_utf8_lossy(&page.bytes).into_owned();
        assert_eq!((page.status, page.header("content-type")), (400, "text/html; charset=utf-8"));
        assert!(text.contains("<title>Link no longer valid"), "{text}");
        assert!(text.contains("\"signInUrl\":\"http://localhost:3401/sign-in\""), "{text}");
        // Nothing that was asked for stands in it.
        assert!(!text.contains("guess") && !text.contains(&id), "{text}");
    }
    assert_eq!(look(&t, &link).await.status, 303);
}

#[tokio::test]
async fn a_link_is_the_first_factor_only() {
    let t = server(with_links).await;
    t.user(json!({
        "email_address": [EMAIL], "password": PASSWORD, "totp_secret": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    }))
    .await;
    let mut browser = t.browser();
    let (id, link) = ask(&t, &mut browser).await;
    let opened = browser.open(&link).await;
    assert_eq!(opened.header("location"), "http://localhost:3000/?__clerk_status=verified#/verify");
    assert_eq!(attempt(&mut browser, &id).await["response"]["status"], "needs_second_factor");
}

#[tokio::test]
async fn somebody_banned_meanwhile_is_sent_back_without_a_session() {
    let t = server(with_links).await;
    let user = ada(&t).await;
    let mut browser = t.browser();
    let (_, link) = ask(&t, &mut browser).await;
    t.post(&format!("/v1/users/{}/ban", user["id"].as_str().unwrap()), json!({})).await.ok();
    let opened = browser.open(&link).await;
    assert_eq!(opened.header("location"), "http://localhost:3000/?__clerk_status=failed#/verify");
}

#[tokio::test]
async fn tokens_nobody_was_sent_are_refused() {
    let t = server(with_links).await;
    ada(&t).await;
    let mut browser = t.browser();
    let (id, link) = ask(&t, &mut browser).await;
    let other = t.new_tenant(Production, Settings::default()).await;
    let before = t.everything().await;
    for token in ["", "x", &id, &format!("{id}."), &format!("{id}.guess"), &format!("{}x", &link[17..])] {
        let answer = browser.open(&format!("/v1/verify?token={token}")).await;
        answer.is_error(400, "verification_link_token_invalid");
    }
    browser.open("/v1/verify").await.is_error(400, "verification_link_token_invalid");
    // Of another instance.
    t.browser_at(&other).open(&link).await.is_error(400, "verification_link_token_invalid");
    assert_eq!(t.everything().await, before);
    browser.open(&link).await;
    assert_eq!(attempt(&mut browser, &id).await["response"]["status"], "complete");
}

#[tokio::test]
async fn a_link_leads_back_to_pages_only() {
    let t = server(with_links).await;
    ada(&t).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, EMAIL).await;
    for url in [
        "javascript:alert(1)",
        "//evil.example",
        "https://user@evil.example/",
        "https://good.example\\@evil.example",
        "data:text/html,x",
        "/relative",
    ] {
        let fields = json!({"strategy": "email_link", "redirect_url": url});
        let answer = step(&mut browser, &id, "prepare_first_factor", fields).await;
        answer.is_problem(422, "invalid_redirect_url", "redirect_url");
        let fields = json!({"strategy": "email_link", "identifier": EMAIL, "redirect_url": url});
        begin(&mut t.browser(), fields).await.is_problem(422, "invalid_redirect_url", "redirect_url");
    }
    assert_eq!(t.inbox().await.len(), 0);
}

#[tokio::test]
async fn on_production_a_link_leads_back_to_the_application_only() {
    let t = TestServer::start().await;
    let mut settings = Settings::default();
    with_links(&mut settings);
    settings.allowed_origins.push("https://app.example.com".to_owned());
    let live = t.new_tenant(Production, settings).await;
    let body = json!({"email_address": [EMAIL]});
    t.call(Some(&live), "POST", "/v1/users", Some(body)).await.ok();
    let mut browser = t.browser_at(&live);
    browser.origin = Some("https://app.example.com".to_owned());
    for (url, status) in [
        ("https://evil.example/", 422),
        ("https://app.example.com.evil.example/", 422),
        ("http://app.example.com/", 422),
        ("https://app.example.com/back", 200),
    ] {
        let fields = json!({"strategy": "email_link", "identifier": EMAIL, "redirect_url": url});
        assert_eq!(begin(&mut browser, fields).await.status, status, "{url}");
    }
}

#[tokio::test]
async fn without_a_page_to_come_back_to_a_link_leads_to_the_hosted_one() {
    let t = server(with_links).await;
    ada(&t).await;
    let mut browser = t.browser();
    begin(&mut browser, json!({"strategy": "email_link", "identifier": EMAIL})).await.ok();
    let opened = browser.open(&link(&t).await).await;
    let there = opened.header("location");
    assert!(there.starts_with("http://localhost:3401/sign-in?__clerk_status=verified"), "{there}");
}

/// The page shares the cookie of the Frontend API, so the URL that the user sees needs no token.
#[tokio::test]
async fn link_removes_the_token_from_a_url_that_shares_the_cookie() {
    let t = server(with_links).await;
    ada(&t).await;
    let mut browser = t.browser();
    browser.patch("/v1/environment", json!({})).await.ok();
    let old = browser.cookies["__clerk_db_jwt"].clone();
    let back = format!("http://localhost:3000/done?__clerk_db_jwt={old}");
    let id = identified(&mut browser, EMAIL).await;
    let fields = json!({"strategy": "email_link", "redirect_url": back});
    shown(step(&mut browser, &id, "prepare_first_factor", fields).await);
    let opened = browser.open(&link(&t).await).await;
    let location = opened.header("location");
    assert!(location.starts_with("http://localhost:3000/done?__clerk_status=verified"), "{location}");
    assert!(!location.contains("__clerk_db_jwt"), "{location}");
    assert_ne!(browser.cookies["__clerk_db_jwt"], old);
}

#[tokio::test]
async fn a_link_gives_a_developers_browser_its_new_token_in_the_url() {
    let t = server(with_links).await;
    ada(&t).await;
    let mut browser = t.browser();
    let made = browser.post("/v1/dev_browser", json!({})).await.ok();
    let old = made["id"].as_str().unwrap().to_owned();
    browser.dev_browser = Some(old.clone());
    let (_, link) = ask(&t, &mut browser).await;
    let opened = browser.open(&link).await;
    let location = opened.header("location");
    let (_, rest) = location.split_once("__clerk_db_jwt=").unwrap();
    let token = rest.split(['&', '#']).next().unwrap();
    assert!(token != old && location.contains("__clerk_status=verified"), "{location}");
    let mut app = t.browser();
    app.dev_browser = Some(token.to_owned());
    assert_eq!(app.get("/v1/client").await.ok()["response"]["sessions"].as_array().unwrap().len(), 1);
}
