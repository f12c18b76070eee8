//! The handshake between a browser, this server and an app's backend.

use latchkey_jose::jwk::Jwk;
use latchkey_jose::jwt;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Browser, TestServer, escape};
use serde_json::Value;

use super::{claims, sign_in, user};

const APP: &str = "http://localhost:3000/page?a=1";

fn path(extra: &str) -> String {
    format!("/v1/client/handshake?redirect_url={}&suffixed_cookies=true{extra}", escape(APP))
}

/// The directives a handshake by nonce leaves for the backend.
async fn by_nonce(t: &TestServer, browser: &mut Browser<'_>) -> Vec<String> {
    let answer = browser.open(&path("&format=nonce")).await;
    assert_eq!(answer.status, 307, "{:#}", answer.json);
    let location = answer.header("location");
    let (back, nonce) = location.split_once("&__clerk_handshake_nonce=").unwrap();
    assert_eq!(back, APP);
    let payload = t.get(&format!("/v1/clients/handshake_payload?nonce={nonce}")).await.ok();
    // It is good once.
    assert_eq!(t.get(&format!("/v1/clients/handshake_payload?nonce={nonce}")).await.status, 404);
    serde_json::from_value(payload["directives"].clone()).unwrap()
}

fn cookie<'a>(directives: &'a [String], name: &str) -> Option<&'a str> {
    let start = format!("{name}=");
    let line = directives.iter().rev().find(|line| line.starts_with(&start))?;
    line.strip_prefix(&start)?.split(';').next()
}

#[tokio::test]
async fn somebody_signed_in_comes_back_with_a_session_cookie() {
    let t = TestServer::start().await;
    let ann = user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let directives = by_nonce(&t, &mut browser).await;
    let told = claims(cookie(&directives, "__session").unwrap());
    assert_eq!((told["sid"].clone(), told["sub"].clone()), (session.into(), ann["id"].clone()));
    assert_eq!(told["azp"], "http://localhost:3000");
    let uat: i64 = cookie(&directives, "__client_uat").unwrap().parse().unwrap();
    assert!(uat > 0 && told["iat"].as_i64().unwrap() >= uat);
    assert!(cookie(&directives, "__clerk_db_jwt").is_some());
    let suffixed: Vec<&String> = directives.iter().filter(|line| line.starts_with("__session_")).collect();
    assert_eq!(suffixed.len(), 1);
    assert!(directives.iter().any(|line| line.starts_with("__refresh_") && line.contains("HttpOnly")));
    assert!(directives.iter().all(|line| !line.contains("Domain")));
}

#[tokio::test]
async fn nobody_comes_back_signed_out_but_with_a_developers_browser() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let directives = by_nonce(&t, &mut browser).await;
    assert_eq!(cookie(&directives, "__session"), Some(""));
    assert_eq!(cookie(&directives, "__client_uat"), Some("0"));
    let token = cookie(&directives, "__clerk_db_jwt").unwrap().to_owned();
    // The next handshake keeps it.
    browser.dev_browser = Some(token.clone());
    let again = by_nonce(&t, &mut browser).await;
    assert_eq!(cookie(&again, "__clerk_db_jwt"), Some(&*token));
}

/// `@clerk/tanstack-react-start` 1.5.15 passes on only the last cookie, and began three handshakes at the first visit.
#[tokio::test]
async fn handshake_ends_with_the_cookie_that_the_backend_lacks() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let last =
        |directives: Vec<String>| directives.last().unwrap().split('=').next().unwrap()[..9].to_owned();
    assert_eq!(last(by_nonce(&t, &mut browser).await), "__clerk_d");
    sign_in(&mut browser, "ann@example.com").await;
    let directives = by_nonce(&t, &mut browser).await;
    let token = cookie(&directives, "__clerk_db_jwt").unwrap().to_owned();
    assert_eq!(last(directives), "__clerk_d");
    browser.dev_browser = Some(token);
    assert_eq!(last(by_nonce(&t, &mut browser).await), "__session");
}

#[tokio::test]
async fn handshake_removes_the_developers_token_from_the_url() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let created = browser.post("/v1/dev_browser", Value::Null).await.ok();
    let token = created["id"].as_str().unwrap().to_owned();
    browser.dev_browser = Some(token.clone());
    let page = format!("http://localhost:3000/page?__clerk_db_jwt={token}&a=1");
    let path = format!("/v1/client/handshake?redirect_url={}&format=nonce", escape(&page));
    let answer = browser.open(&path).await;
    let (back, nonce) = answer.header("location").split_once("&__clerk_handshake_nonce=").unwrap();
    assert_eq!(back, APP);
    let payload = t.get(&format!("/v1/clients/handshake_payload?nonce={nonce}")).await.ok();
    let directives: Vec<String> = serde_json::from_value(payload["directives"].clone()).unwrap();
    assert_eq!(cookie(&directives, "__clerk_db_jwt"), Some(&*token));
}

#[tokio::test]
async fn without_a_format_the_directives_are_a_signed_token() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    sign_in(&mut browser, "ann@example.com").await;
    let answer = browser.open(&path("")).await;
    let (_, token) = answer.header("location").split_once("__clerk_handshake=").unwrap();
    let keys = browser.get("/.well-known/jwks.json").await.ok();
    let keys: Vec<Jwk> = serde_json::from_value(keys["keys"].clone()).unwrap();
    let told = jwt::verify(&keys, token).unwrap().claims;
    assert!(
        told["handshake"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line.as_str().unwrap().starts_with("__session=ey"))
    );
}

#[tokio::test]
async fn a_forgotten_developers_browser_gets_a_new_token() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    browser.dev_browser = Some("dvb_forgotten".into());
    let directives = by_nonce(&t, &mut browser).await;
    assert_ne!(cookie(&directives, "__clerk_db_jwt"), Some("dvb_forgotten"));
}

#[tokio::test]
async fn a_planted_developers_browser_never_gets_hold_of_a_client() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut attacker = t.browser();
    let planted = attacker.post("/v1/dev_browser", Value::Null).await.ok()["id"].as_str().unwrap().to_owned();
    let mut victim = t.browser();
    sign_in(&mut victim, "ann@example.com").await;
    // The attacker sends the victim a link with the attacker's token.
    victim.dev_browser = Some(planted.clone());
    victim.open(&path("&format=nonce")).await;
    attacker.dev_browser = Some(planted);
    let seen = attacker.get("/v1/client").await.ok();
    assert_eq!(seen["response"]["sessions"], serde_json::json!([]));
}

#[tokio::test]
async fn browsers_are_only_sent_back_to_pages() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    for url in
        ["", "javascript:alert(1)", "//evil.com", "https://a@b.com/", "https://good.com\\@evil.com", "data:x"]
    {
        let refused = browser.open(&format!("/v1/client/handshake?redirect_url={}", escape(url))).await;
        refused.is_error(400, "invalid_handshake");
    }
    browser.open("/v1/client/handshake").await.is_error(400, "invalid_handshake");
    // Production instances only know the application's own.
    let mut production = t.browser_at(&t.other);
    let own = format!("https://app.{}/x", t.other.frontend_api);
    for (url, status) in [(own.as_str(), 307), ("https://evil.com/", 400), ("http://localhost:3000/", 400)] {
        let answer = production.open(&format!("/v1/client/handshake?redirect_url={}", escape(url))).await;
        assert_eq!(answer.status, status, "{url}");
    }
}

#[tokio::test]
async fn a_development_instance_hands_tokens_to_local_and_configured_origins_only() {
    let allowed_origins = vec!["https://tunnel.example".to_owned()];
    let settings = Settings { allowed_origins, ..Settings::default() };
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    sign_in(&mut browser, "ann@example.com").await;
    let own = format!("https://app.{}/", t.tenant.frontend_api);
    for (url, is_sent) in [
        ("http://localhost:3000/", true),
        ("http://app.localhost:3000/", true),
        ("http://127.0.0.1:3000/", true),
        ("http://192.168.1.5:3000/", true),
        ("http://[fd00::5]:3000/", true),
        ("http://laptop.local/", true),
        ("https://app.test/", true),
        ("https://tunnel.example/page", true),
        (own.as_str(), true),
        ("https://evil.example/", false),
        ("https://other.tunnel.example/", false),
        ("http://tunnel.example/", false),
        ("https://localhost.evil.example/", false),
        ("http://8.8.8.8/", false),
    ] {
        for (path, code) in [
            ("/v1/client/handshake?format=nonce&", "invalid_handshake"),
            ("/v1/client/handshake?", "invalid_handshake"),
            ("/v1/client/touch?", "redirect_url_not_associated_with_instance"),
        ] {
            let answer = browser.open(&format!("{path}redirect_url={}", escape(url))).await;
            assert_eq!(answer.status == 307, is_sent, "{path}{url}");
            if !is_sent {
                assert_eq!((answer.code(), answer.header("location")), (code, ""), "{path}{url}");
                let told = answer.json["errors"][0]["long_message"].as_str().unwrap();
                let set = format!("latchkey settings set --instance {}", t.tenant.id);
                assert!(told.contains(&format!("{set} 'allowed_origins=")), "{told}");
                assert!(told.contains(&format!("{set} development.any_origin=true")), "{told}");
            }
        }
    }
}

#[tokio::test]
async fn a_setting_opens_handshakes_of_a_development_instance_to_every_origin() {
    let mut settings = Settings::default();
    settings.development.any_origin = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut browser = t.browser();
    let path = format!("/v1/client/handshake?redirect_url={}", escape("https://tunnel.example/"));
    assert_eq!(browser.open(&path).await.status, 307);
}

#[tokio::test]
async fn what_a_handshake_left_is_good_for_a_minute_and_its_own_instance() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let answer = browser.open(&path("&format=nonce")).await;
    let nonce = answer.header("location").split_once("__clerk_handshake_nonce=").unwrap().1.to_owned();
    let payload = format!("/v1/clients/handshake_payload?nonce={nonce}");
    assert_eq!(t.call(Some(&t.other), "GET", &payload, None).await.status, 404);
    t.clock.advance_ms(61_000);
    assert_eq!(t.get(&payload).await.status, 404);
}

#[tokio::test]
async fn a_handshake_that_nobody_could_read_is_refused() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    browser.open(&path("&format=bogus")).await.is_error(400, "invalid_handshake");
    assert_eq!(browser.open(&path("&format=")).await.status, 307);
    for url in ["http://[::1", "http://:80", "http://a:99999/", "https://a@b.com/", "https://a.com\\@b.com/"]
    {
        let path = format!("/v1/client/handshake?redirect_url={}", escape(url));
        browser.open(&path).await.is_error(400, "invalid_handshake");
    }
}

#[tokio::test]
async fn what_an_earlier_handshake_left_in_the_url_is_replaced() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let left = "http://localhost:3000/page?__clerk_handshake=earlier&a=1&__clerk_handshake_nonce=earlier&__clerk_help=1&%5F_clerk_handshake=earlier#x";
    for (format, name) in [("nonce", "__clerk_handshake_nonce"), ("token", "__clerk_handshake")] {
        let path = format!("/v1/client/handshake?redirect_url={}&format={format}", escape(left));
        let answer = browser.open(&path).await;
        let location = answer.header("location");
        let (back, value) = location.split_once(&format!("&{name}=")).unwrap();
        assert_eq!(back, "http://localhost:3000/page?a=1");
        assert!(!value.contains("earlier") && !value.contains('&') && value.ends_with("#x"), "{location}");
    }
}
