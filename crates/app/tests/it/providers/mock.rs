//! The provider of development instances that asks people who they want to be.

use latchkey_connections::social::protocol::{CallbackParams, authorize, exchange};
use latchkey_kernel::settings::{Settings, SocialProvider};
use latchkey_testkit::TestServer;
use url::Url;

use super::{BACK, brought, code, connection, context, request};

fn enabled() -> SocialProvider {
    SocialProvider { enabled: true, ..SocialProvider::default() }
}

async fn server() -> TestServer {
    let server = TestServer::start().await;
    let mut settings = Settings::default();
    settings.social.insert("mock".into(), enabled());
    server.set_settings(settings).await;
    server
}

fn path(url: &str) -> String {
    let url = Url::parse(url).unwrap();
    format!("{}?{}", url.path(), url.query().unwrap())
}

#[tokio::test]
async fn somebody_is_who_they_say() {
    let server = server().await;
    let connection = connection(&server, "mock", enabled()).unwrap();
    let cx = context(&server).await;
    let (url, pending) = authorize(&cx, &connection, request("state-1")).await.unwrap();
    assert_eq!(url, "http://localhost:3401/oauth-mock?state=state-1");
    let mut browser = server.browser();
    let page = browser.open(&path(&url)).await;
    let html = String::from_utf8(page.bytes.clone()).unwrap();
    assert!(
        page.status == 200
            && html.contains("Who do you want to be?")
            && html.contains("data-state=\"state-1\"")
    );
    let policy = page.header("content-security-policy");
    assert!(
        policy.contains("default-src 'none'")
            && policy.contains("frame-ancestors 'none'")
            && !policy.contains("unsafe"),
        "{policy}"
    );

    let chosen = format!("{}&email_address=ada%40example.com&first_name=Ada&verified=false", path(&url));
    let back = browser.open(&chosen).await;
    assert_eq!(back.status, 303);
    let location = back.header("location").to_owned();
    assert!(location.contains("/v1/oauth_callback?state=state-1&code="), "{location}");
    let params = brought(&location);
    let granted = exchange(&cx, &connection, &pending, &params, BACK).await.unwrap();
    let profile = granted.profile;
    assert_eq!(
        (profile.email_address.as_deref(), profile.email_address_verified),
        (Some("ada@example.com"), Some(false))
    );
    assert_eq!(profile.first_name.as_deref(), Some("Ada"));
    assert!(granted.tokens.access_token.unwrap().starts_with("mock_"));

    let denied = browser.open(&format!("{}&deny=true", path(&url))).await;
    let denied = brought(denied.header("location"));
    assert_eq!(code(exchange(&cx, &connection, &pending, &denied, BACK).await), "oauth_access_denied");
    // A code belongs to one sign-in, and to five minutes.
    let (_, other) = authorize(&cx, &connection, request("state-2")).await.unwrap();
    assert_eq!(code(exchange(&cx, &connection, &other, &params, BACK).await), "oauth_token_exchange_error");
    let forged = CallbackParams { code: Some("eyJwcm9maWxlIjp7fX0".into()), ..CallbackParams::default() };
    assert_eq!(code(exchange(&cx, &connection, &pending, &forged, BACK).await), "oauth_token_exchange_error");
    server.clock.advance_ms(5 * 60 * 1000 + 1);
    let later = context(&server).await;
    assert_eq!(
        code(exchange(&later, &connection, &pending, &params, BACK).await),
        "oauth_token_exchange_error"
    );
}

#[tokio::test]
async fn the_page_shows_nothing_of_a_request_as_code_and_leads_only_back_here() {
    let server = server().await;
    let mut browser = server.browser();
    let query = "state=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&login_hint=%22%20onfocus=%22alert(1)&redirect_uri=https://evil.example";
    let page = browser.open(&format!("/oauth-mock?{query}")).await;
    let html = String::from_utf8(page.bytes.clone()).unwrap();
    assert!(
        !html.contains("<script>alert") && !html.contains("\" onfocus=\"") && !html.contains("evil.example")
    );
    let back = browser.open(&format!("/oauth-mock?{query}&id=7")).await;
    assert!(!back.header("location").contains("evil.example"), "{}", back.header("location"));
    assert!(back.header("location").contains("/v1/oauth_callback?state=%22"));
    for bad in ["", "?state=", "?state=s&email_address=nobody", "?state=s&id=7&verified=x", "?state=%ff"] {
        let answer = browser.open(&format!("/oauth-mock{bad}")).await;
        assert!((400..500).contains(&answer.status), "{bad}: {}", answer.status);
    }
}

#[tokio::test]
async fn the_page_is_there_only_where_the_provider_is_enabled() {
    let server = TestServer::start().await;
    assert_eq!(server.browser().open("/oauth-mock?state=s&id=7").await.status, 404);
    let other = server.other.clone();
    let mut settings = Settings::default();
    settings.social.insert("mock".into(), enabled());
    let id = other.id.clone();
    let save = server.db().write(move |tx| {
        Box::pin(async move { latchkey_kernel::instances::store::save_settings(tx, &id, &settings).await })
    });
    save.await.unwrap();
    assert_eq!(server.browser_at(&other).open("/oauth-mock?state=s&id=7").await.status, 404, "production");
}
