//! The list of redirect URLs, and where browsers are sent because of it.

use latchkey_kernel::environment::Environment::Production;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_testkit::{Answer, Browser, Tenant, TestServer};
use serde_json::{Value, json};

const LIST: &str = "/v1/redirect_urls";
const NOW: i64 = 1_767_225_600_000;
const DEEP_LINK: &str = "myapp://callback";
const FOREIGN_PAGE: &str = "https://partner.example.org/back?from=app";

async fn create(t: &TestServer, url: &str) -> Answer {
    t.post(LIST, json!({"url": url})).await
}

fn path(made: &Value) -> String {
    format!("{LIST}/{}", made["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_new_url_is_found_again_until_it_is_deleted() {
    let t = TestServer::start().await;
    let made = create(&t, DEEP_LINK).await.ok();
    let expected = json!({"object": "redirect_url", "id": made["id"], "url": DEEP_LINK, "created_at": NOW,
        "updated_at": NOW});
    assert_eq!(made, expected);
    assert!(made["id"].as_str().unwrap().starts_with("ru_"));
    assert_eq!(t.get(&path(&made)).await.ok(), made);
    let gone = t.delete(&path(&made)).await.ok();
    assert_eq!(gone, json!({"object": "redirect_url", "id": made["id"], "deleted": true}));
    t.get(&path(&made)).await.is_error(404, "resource_not_found");
    create(&t, DEEP_LINK).await.ok();
}

#[tokio::test]
async fn a_url_is_listed_once_by_each_instance() {
    let t = TestServer::start().await;
    create(&t, DEEP_LINK).await.ok();
    create(&t, DEEP_LINK).await.is_problem(400, "duplicate_record", "url");
    let both = tokio::join!(create(&t, FOREIGN_PAGE), create(&t, FOREIGN_PAGE));
    let mut statuses = [both.0.status, both.1.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400]);
    t.call(Some(&t.other), "POST", LIST, Some(json!({"url": DEEP_LINK}))).await.ok();
    assert_eq!(t.count_rows("redirect_urls").await, 3);
}

#[tokio::test]
async fn a_list_is_newest_first_and_counted_when_asked() {
    let t = TestServer::start().await;
    let mut urls: Vec<String> = (0..12).map(|number| format!("myapp://page/{number}")).collect();
    for url in &urls {
        t.clock.advance_ms(1);
        create(&t, url).await.ok();
    }
    urls.reverse();
    let shown = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|it| it["url"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(shown(&t.get(LIST).await.ok()), urls[..10]);
    let page = t.get(&format!("{LIST}?paginated=true&limit=5&offset=10")).await.ok();
    assert_eq!((shown(&page["data"]), &page["total_count"]), (urls[10..].to_vec(), &json!(12)));
    assert_eq!(t.call(Some(&t.other), "GET", LIST, None).await.ok(), json!([]));
    t.get(&format!("{LIST}?limit=501")).await.is_problem(422, "form_param_value_too_large", "limit");
}

#[tokio::test]
async fn what_cannot_be_a_redirect_is_refused() {
    let t = TestServer::start().await;
    for bad in ["/callback", "localhost:3000/a", "javascript:/alert(1)", "http://app.example.com/"] {
        create(&t, bad).await.is_problem(422, "form_param_format_invalid", "url");
    }
    create(&t, "").await.is_problem(422, "form_param_nil", "url");
    create(&t, &format!("https://a.com/{}", "x".repeat(2048))).await.is_problem(
        422,
        "form_param_max_length_exceeded",
        "url",
    );
    assert_eq!(t.count_rows("redirect_urls").await, 0);
}

/// Settings with which people can ask for links by e-mail.
fn with_links() -> Settings {
    let mut settings = Settings::default();
    settings.attributes.email_address.first_factors.push(Strategy::EmailLink);
    settings
}

async fn production(t: &TestServer) -> Tenant {
    t.new_tenant(Production, with_links()).await
}

async fn list(t: &TestServer, tenant: &Tenant, url: &str) -> String {
    let made = t.call(Some(tenant), "POST", LIST, Some(json!({"url": url}))).await.ok();
    format!("{LIST}/{}", made["id"].as_str().unwrap())
}

/// Asks for a link by e-mail that leads to a URL.
async fn ask(browser: &mut Browser<'_>, url: &str) -> Answer {
    let fields = json!({"identifier": "ada@example.com"});
    let id = browser.post("/v1/client/sign_ins", fields).await.ok()["response"]["id"].take();
    let step = format!("/v1/client/sign_ins/{}/prepare_first_factor", id.as_str().unwrap());
    browser.post(&step, json!({"strategy": "email_link", "redirect_url": url})).await
}

#[tokio::test]
async fn links_lead_to_a_listed_url_in_exactly_this_form() {
    let t = TestServer::start().await;
    let live = production(&t).await;
    let user = json!({"email_address": ["ada@example.com"], "password": "Correct-horse-battery-42"});
    t.call(Some(&live), "POST", "/v1/users", Some(user)).await.ok();
    let mut app = t.browser_at(&live);
    app.origin = None;
    let strange = "redirect_url_not_associated_with_instance";
    ask(&mut app, FOREIGN_PAGE).await.is_problem(422, strange, "redirect_url");
    ask(&mut app, DEEP_LINK).await.is_problem(422, "invalid_redirect_url", "redirect_url");
    list(&t, &live, FOREIGN_PAGE).await;
    let entry = list(&t, &live, DEEP_LINK).await;
    ask(&mut app, FOREIGN_PAGE).await.ok();
    for other in ["https://partner.example.org/back", "https://partner.example.org/back?from=app&more=1"] {
        ask(&mut app, other).await.is_problem(422, strange, "redirect_url");
    }
    for other in ["myapp://callback/more", "myapp://Callback", "other://callback"] {
        ask(&mut app, other).await.is_problem(422, "invalid_redirect_url", "redirect_url");
    }
    ask(&mut app, DEEP_LINK).await.ok();
    t.call(Some(&live), "DELETE", &entry, None).await.ok();
    ask(&mut app, DEEP_LINK).await.is_problem(422, "invalid_redirect_url", "redirect_url");
}

#[tokio::test]
async fn a_link_that_was_opened_leads_into_the_app() {
    let t = TestServer::start_with(RateLimits::Off, with_links()).await;
    t.user_with_email("ada@example.com").await;
    create(&t, DEEP_LINK).await.ok();
    let mut app = t.browser();
    ask(&mut app, DEEP_LINK).await.ok();
    let link = t.inbox().await[0]["link"].as_str().unwrap().to_owned();
    let opened = app.open(&link[link.find("/v1/").unwrap()..]).await;
    assert_eq!(opened.status, 303);
    let there = opened.header("location");
    assert!(there.starts_with("myapp://callback?__clerk_status=verified"), "{there}");
}

#[tokio::test]
async fn the_list_of_one_instance_says_nothing_about_another() {
    let t = TestServer::start_with(RateLimits::Off, with_links()).await;
    t.user_with_email("ada@example.com").await;
    let other = production(&t).await;
    list(&t, &other, DEEP_LINK).await;
    ask(&mut t.browser(), DEEP_LINK).await.is_problem(422, "invalid_redirect_url", "redirect_url");
}

#[tokio::test]
async fn tokens_go_to_no_listed_page() {
    let t = TestServer::start().await;
    let live = production(&t).await;
    for url in [FOREIGN_PAGE, DEEP_LINK] {
        list(&t, &live, url).await;
        create(&t, url).await.ok();
        let asked = latchkey_testkit::escape(url);
        let handshake = format!("/v1/client/handshake?redirect_url={asked}");
        t.browser_at(&live).open(&handshake).await.is_error(400, "invalid_handshake");
        t.browser().open(&handshake).await.is_error(400, "invalid_handshake");
        let touched = t.browser_at(&live).open(&format!("/v1/client/touch?redirect_url={asked}")).await;
        assert_eq!(touched.status, 422);
    }
}
