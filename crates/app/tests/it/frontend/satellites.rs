//! Satellite domains: who is signed in on the primary domain is signed in there, and nobody else.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use latchkey_base::time::Clock;
use latchkey_jose::digest::sha256;
use latchkey_kernel::instances::store::save_settings;
use latchkey_kernel::limits::{RateLimits, STRANGERS_OF_ADDRESS, WRITES_OF_CLIENT};
use latchkey_kernel::settings::{Satellite, Settings};
use latchkey_testkit::{Answer, Browser, Tenant, TestServer, escape};
use latchkey_web::network::Network;
use serde_json::{Value, json};

use super::{PASSWORD, claims, sign_in};

const SHOP: &str = "shop.example.org";
const SHOP_API: &str = "clerk.shop.example.org";
const BLOG_API: &str = "clerk.blog.example.net";
const PAGE: &str = "https://shop.example.org/cart?a=1&__clerk_synced=false#top";

fn satellite(name: &str) -> Satellite {
    Satellite { id: None, name: name.to_owned(), frontend_api: None, proxy_url: None }
}

/// Gives a tenant satellites.
async fn give(t: &TestServer, tenant: &Tenant, satellites: &[&str]) {
    let satellites = satellites.iter().map(|name| satellite(name)).collect();
    let (id, settings) = (tenant.id.clone(), Settings { satellites, ..Settings::default() });
    let save = t.db().write(move |tx| Box::pin(async move { save_settings(tx, &id, &settings).await }));
    save.await.unwrap();
}

/// A server whose production instance has two satellites and a user.
async fn server() -> TestServer {
    let t = TestServer::start().await;
    give(&t, &t.other, &[SHOP, "blog.example.net"]).await;
    let body = json!({ "email_address": ["ann@example.com"], "password": PASSWORD });
    t.call(Some(&t.other), "POST", "/v1/users", Some(body)).await.ok();
    t
}

fn browser<'a>(t: &'a TestServer, host: &str, origin: Option<String>) -> Browser<'a> {
    let mut browser = t.browser_at_host(host);
    browser.origin = origin;
    browser
}

/// The primary domain and a satellite in the same browser: each has cookies of its own.
struct Pair<'a> {
    primary: Browser<'a>,
    satellite: Browser<'a>,
}

impl<'a> Pair<'a> {
    fn new(t: &'a TestServer, host: &str) -> Pair<'a> {
        let origin = format!("https://{}", t.other.frontend_api);
        let primary = browser(t, &t.other.frontend_api, Some(origin));
        let own = format!("https://{}", host.strip_prefix("clerk.").unwrap());
        Pair { primary, satellite: browser(t, host, Some(own)) }
    }

    /// Begins at the satellite and lets the primary domain vouch; the path of the link.
    async fn vouched(&mut self, page: &str) -> String {
        let begun = self.satellite.open(&sync(page)).await;
        let asked = self.primary.open(&path_of(&begun)).await;
        path_of(&asked)
    }
}

fn sync(page: &str) -> String {
    format!("/v1/client/sync?redirect_url={}", escape(page))
}

/// The path of where an answer leads.
#[track_caller]
fn path_of(answer: &Answer) -> String {
    assert_eq!(answer.status, 307, "{:#}", answer.json);
    let rest = answer.header("location").strip_prefix("https://").unwrap();
    rest[rest.find('/').unwrap()..].to_owned()
}

async fn sessions(browser: &mut Browser<'_>) -> Vec<String> {
    let told = browser.get("/v1/client").await.ok();
    let listed = told["response"]["sessions"].as_array().cloned().unwrap_or_default();
    listed.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn whoever_is_signed_in_on_the_primary_domain_is_on_a_satellite() {
    let t = server().await;
    let mut pair = Pair::new(&t, SHOP_API);
    let session = sign_in(&mut pair.primary, "ann@example.com").await;
    assert_eq!(sessions(&mut pair.satellite).await, [""; 0]);

    let begun = pair.satellite.open(&sync(PAGE)).await;
    let there = begun.header("location");
    let start = format!("https://{}/v1/client/sync?link_domain={SHOP}&redirect_url=", t.other.frontend_api);
    assert!(there.starts_with(&start), "{there}");
    let asked = pair.primary.open(&path_of(&begun)).await;
    let link = asked.header("location");
    assert!(link.starts_with(&format!("https://{SHOP_API}/v1/client/link?__clerk_token=")), "{link}");
    let linked = pair.satellite.open(&path_of(&asked)).await;
    assert_eq!(linked.header("location"), "https://shop.example.org/cart?a=1&__clerk_synced=true#top");
    let lines: Vec<&str> =
        linked.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap()).collect();
    assert!(
        lines.iter().any(|line| line.starts_with("__client_uat=1") && line.contains("; Domain=example.org;"))
    );
    let proof = lines.last().unwrap();
    assert!(
        proof.starts_with("__client=ey") && proof.contains("HttpOnly") && proof.contains("Secure"),
        "{proof}"
    );

    assert_eq!(sessions(&mut pair.satellite).await, [session.as_str()]);
    let path = format!("/v1/client/sessions/{session}/tokens");
    let token = pair.satellite.post(&path, Value::Null).await.ok();
    let told = claims(token["jwt"].as_str().unwrap());
    assert_eq!(
        (&told["iss"], &told["azp"]),
        (&json!(format!("https://{SHOP_API}")), &json!("https://shop.example.org"))
    );
    // The pages to sign in at are those of the primary domain.
    let environment = pair.satellite.get("/v1/environment").await.ok();
    let at = format!("https://{}/sign-in", t.other.frontend_api);
    assert_eq!(environment["display_config"]["sign_in_url"], at);
    assert_eq!(
        pair.satellite.open("/sign-in?x=1").await.header("location"),
        format!("{at}?x=1&__clerk_api_version=2026-05-12")
    );
}

#[tokio::test]
async fn what_proves_a_client_at_a_satellite_is_good_there_only() {
    let t = server().await;
    let mut pair = Pair::new(&t, SHOP_API);
    sign_in(&mut pair.primary, "ann@example.com").await;
    let link = pair.vouched(PAGE).await;
    pair.satellite.open(&link).await;
    let proof = pair.satellite.cookies["__client"].clone();
    assert_ne!(proof, pair.primary.cookies["__client"]);
    for host in [t.other.frontend_api.as_str(), BLOG_API, t.tenant.frontend_api.as_str()] {
        let mut thief = browser(&t, host, None);
        thief.cookies.insert("__client".to_owned(), proof.clone());
        assert_eq!(sessions(&mut thief).await, [""; 0], "{host}");
    }
    let mut thief = browser(&t, SHOP_API, None);
    thief.cookies.insert("__client".to_owned(), pair.primary.cookies["__client"].clone());
    assert_eq!(sessions(&mut thief).await, [""; 0]);
    // Signing out on either domain is signing out on both.
    pair.satellite.delete("/v1/client/sessions").await.ok();
    assert_eq!(sessions(&mut pair.primary).await, [""; 0]);
    // Somebody who signs in gets a new secret, and what was planted at a satellite before is worth nothing.
    sign_in(&mut pair.primary, "ann@example.com").await;
    assert_eq!(sessions(&mut pair.satellite).await, [""; 0]);
}

#[tokio::test]
async fn nobody_signed_in_there_is_nobody_here() {
    let t = server().await;
    let mut pair = Pair::new(&t, SHOP_API);
    let link = pair.vouched(PAGE).await;
    let linked = pair.satellite.open(&link).await;
    assert_eq!(linked.header("location"), "https://shop.example.org/cart?a=1&__clerk_synced=true#top");
    assert!(!pair.satellite.cookies.contains_key("__client"));
    assert_eq!(pair.satellite.cookies["__client_uat"], "0");
}

#[tokio::test]
async fn a_token_is_good_once_for_a_minute_and_for_the_browser_it_was_made_for() {
    let t = server().await;
    let mut pair = Pair::new(&t, SHOP_API);
    sign_in(&mut pair.primary, "ann@example.com").await;
    let link = pair.vouched(PAGE).await;
    // Whoever follows somebody else's link is not signed in as them.
    let mut victim = Pair::new(&t, SHOP_API);
    victim.satellite.open(&link).await.is_error(400, "invalid_query_parameter_value");
    victim.satellite.open(&sync(PAGE)).await;
    victim.satellite.open(&link).await.is_error(400, "invalid_query_parameter_value");
    assert_eq!(sessions(&mut victim.satellite).await, [""; 0]);
    // Nor by one that was made on purpose for browsers that did not begin at the satellite.
    let nothing = URL_SAFE_NO_PAD.encode(sha256(b""));
    let planted = format!(
        "/v1/client/sync?link_domain={SHOP}&link_state={nothing}&redirect_url={}",
        escape("https://shop.example.org/")
    );
    let planted = path_of(&pair.primary.open(&planted).await);
    let mut victim = Pair::new(&t, SHOP_API);
    for state in [None, Some("")] {
        victim.satellite.cookies.extend(state.map(|state| ("__clerk_sync".to_owned(), state.to_owned())));
        victim.satellite.open(&planted).await.is_error(400, "invalid_query_parameter_value");
        assert_eq!(sessions(&mut victim.satellite).await, [""; 0]);
    }
    // Nor is it good at another satellite, on the primary domain, or at another instance.
    let state = pair.satellite.cookies["__clerk_sync"].clone();
    for host in [BLOG_API, t.other.frontend_api.as_str(), t.tenant.frontend_api.as_str()] {
        let mut elsewhere = t.browser_at_host(host);
        elsewhere.cookies.insert("__clerk_sync".to_owned(), state.clone());
        elsewhere.open(&link).await.is_error(400, "invalid_query_parameter_value");
    }
    assert_eq!(pair.satellite.open(&link).await.status, 307);
    pair.satellite.open(&link).await.is_error(403, "sync_nonce_already_consumed");
    let late = pair.vouched(PAGE).await;
    t.clock.advance_ms(60_000);
    pair.satellite.open(&late).await.is_error(400, "invalid_query_parameter_value");
    pair.satellite
        .open("/v1/client/link?__clerk_token=unknown")
        .await
        .is_error(400, "invalid_query_parameter_value");
    pair.satellite.open("/v1/client/link").await.is_error(400, "missing_query_parameter");
    t.run_jobs().await;
    let left = t.db().write(|tx| {
        Box::pin(async move { Ok(tx.all(&["SELECT satellite FROM syncs"], &[], |row| row.text(0)).await?) })
    });
    t.clock.advance_ms(1);
    t.run_jobs().await;
    assert!(left.await.unwrap().is_empty());
}

#[tokio::test]
async fn of_64_uses_at_once_one_succeeds() {
    let t = server().await;
    let mut pair = Pair::new(&t, SHOP_API);
    sign_in(&mut pair.primary, "ann@example.com").await;
    let link = pair.vouched(PAGE).await;
    let uses = (0..64).map(|_| {
        let mut browser = browser(&t, SHOP_API, None);
        browser.cookies = pair.satellite.cookies.clone();
        let link = link.clone();
        async move { browser.open(&link).await }
    });
    let answers = join_all(uses).await;
    let (good, bad): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 307);
    assert_eq!((good.len(), bad.len()), (1, 63));
    bad.iter().for_each(|answer| answer.is_error(403, "sync_nonce_already_consumed"));
}

#[tokio::test]
async fn browsers_are_only_sent_to_the_application() {
    let t = server().await;
    let mut pair = Pair::new(&t, SHOP_API);
    let link_to = |page: &str, state: &str| format!("{}&link_domain={SHOP}{state}", sync(page));
    let state = format!("&link_state={}", "A".repeat(43));
    for page in [
        "https://evil.com/",
        "https://shop.example.org.evil.com/",
        "https://evilshop.example.org/",
        "http://shop.example.org/",
        "https://shop.example.org@evil.com/",
        "https://shop.example.org\\@evil.com/",
        "//evil.com",
        "javascript:alert(1)",
        "",
    ] {
        for answer in [
            pair.satellite.open(&sync(page)).await,
            pair.primary.open(&link_to(page, &state)).await,
            pair.primary.open(&link_to(page, "")).await,
        ] {
            assert_eq!((answer.status, answer.header("location")), (422, ""), "{page}: {:#}", answer.json);
        }
        let handshake = format!("/v1/client/handshake?redirect_url={}", escape(page));
        pair.satellite.open(&handshake).await.is_error(400, "invalid_handshake");
        let handshake = format!("{handshake}&satellite_fapi={SHOP_API}{state}");
        pair.primary.open(&handshake).await.is_error(400, "invalid_handshake");
    }
    // Development instances, which are less strict elsewhere, are not here.
    give(&t, &t.tenant, &["sat.localhost:4000"]).await;
    let mut local = t.browser_at_host("clerk.sat.localhost:4000");
    assert_eq!(local.open(&sync("https://evil.com/")).await.status, 422);
    assert_eq!(local.open(&sync("http://sat.localhost:4000/")).await.status, 307);
}

#[tokio::test]
async fn the_primary_domain_knows_its_satellites_only() {
    let t = server().await;
    let mut pair = Pair::new(&t, SHOP_API);
    let state = format!("&link_state={}", "A".repeat(43));
    pair.primary.open(&sync(PAGE)).await.is_error(400, "missing_query_parameter");
    for domain in ["evil.com", SHOP_API, ""] {
        let path = format!("{}&link_domain={domain}{state}", sync(PAGE));
        pair.primary.open(&path).await.is_error(400, "invalid_query_parameter_value");
    }
    let path = format!("{}&link_domain={SHOP}&link_state=short", sync(PAGE));
    pair.primary.open(&path).await.is_error(400, "invalid_query_parameter_value");
    let handshake = format!("/v1/client/handshake?redirect_url={}", escape(PAGE));
    for api in ["evil.com", "https://clerk.evil.com", SHOP] {
        let path = format!("{handshake}&satellite_fapi={}{state}", escape(api));
        pair.primary.open(&path).await.is_error(400, "invalid_handshake");
    }
    // Who begins on the primary domain begins anew at the satellite, which knows the browser then.
    let begun = pair.primary.open(&format!("{}&link_domain={SHOP}", sync(PAGE))).await;
    assert_eq!(begun.header("location"), format!("https://{SHOP_API}{}", sync(PAGE)));
    // A satellite of one instance is unknown to another.
    let mut other = t.browser();
    let page = escape("http://localhost:3000/");
    let path = format!("/v1/client/sync?redirect_url={page}&link_domain={SHOP}{state}");
    assert_eq!(other.open(&path).await.status, 422);
    let path = format!("/v1/client/handshake?redirect_url={page}&satellite_fapi={SHOP_API}{state}");
    other.open(&path).await.is_error(400, "invalid_handshake");
}

#[tokio::test]
async fn nobody_signs_in_or_up_on_a_satellite() {
    let t = server().await;
    let mut pair = Pair::new(&t, SHOP_API);
    let form = json!({ "identifier": "ann@example.com", "password": PASSWORD });
    for path in ["/v1/client/sign_ins", "/v1/client/sign_ups", "/v1/client"] {
        let refused = pair.satellite.post(path, form.clone()).await;
        refused.is_error(403, "operation_not_allowed_on_satellite_domain");
    }
    for path in ["/v1/verify?token=x", "/v1/tickets/accept?ticket=x"] {
        let refused = pair.satellite.open(path).await;
        refused.is_error(403, "operation_not_allowed_on_satellite_domain");
    }
    // In development satellites ask the primary domain, and say so.
    give(&t, &t.tenant, &["localhost:4000"]).await;
    super::user(&t, "ann@example.com").await;
    let mut local = t.browser();
    let refused = local.post("/v1/client/sign_ins?__domain=localhost:4000", form.clone()).await;
    refused.is_error(403, "operation_not_allowed_on_satellite_domain");
    local.post("/v1/client/sign_ins?__domain=localhost:5000", form).await.ok();
}

#[tokio::test]
async fn pages_of_a_satellite_may_ask_and_others_may_not() {
    let t = server().await;
    let mut pair = Pair::new(&t, SHOP_API);
    pair.satellite.get("/v1/client").await.ok();
    pair.satellite.origin = Some("https://evil.com".to_owned());
    pair.satellite.get("/v1/client").await.is_error(400, "origin_invalid");
    // Once the settings do not name it, nobody answers there.
    give(&t, &t.other, &[]).await;
    pair.satellite.origin = None;
    pair.satellite.get("/v1/environment").await.is_error(400, "host_invalid");
}

/// Follows a handshake from a satellite until it is back at the app; the URL and the nonce.
async fn shake(pair: &mut Pair<'_>, reason: &str) -> (String, Option<String>, usize) {
    let mut path = format!(
        "/v1/client/handshake?redirect_url={}&format=nonce&suffixed_cookies=true&__clerk_hs_reason={reason}",
        escape(PAGE)
    );
    let mut at_satellite = true;
    for step in 1..9 {
        let browser = if at_satellite { &mut pair.satellite } else { &mut pair.primary };
        let answer = browser.open(&path).await;
        let there = answer.header("location").to_owned();
        if there.starts_with("https://shop.example.org/") {
            return (there, pair.satellite.cookies.get("__clerk_handshake_nonce").cloned(), step);
        }
        at_satellite = there.starts_with(&format!("https://{SHOP_API}/"));
        path = path_of(&answer);
    }
    panic!("the handshake goes in circles");
}

#[tokio::test]
async fn a_satellites_handshake_asks_the_primary_domain() {
    let t = server().await;
    let mut pair = Pair::new(&t, SHOP_API);
    let session = sign_in(&mut pair.primary, "ann@example.com").await;
    let (there, nonce, _) = shake(&mut pair, "satellite-needs-syncing").await;
    assert_eq!(there, "https://shop.example.org/cart?a=1&__clerk_synced=true#top");
    let path = format!("/v1/clients/handshake_payload?nonce={}", nonce.unwrap());
    let payload = t.call(Some(&t.other), "GET", &path, None).await.ok();
    let lines: Vec<String> = serde_json::from_value(payload["directives"].clone()).unwrap();
    let token = lines.iter().find_map(|line| line.strip_prefix("__session=")).unwrap();
    let told = claims(token.split(';').next().unwrap());
    assert_eq!((&told["sid"], &told["azp"]), (&json!(session), &json!("https://shop.example.org")));
    // The next one is answered by the satellite itself.
    let (there, _, steps) = shake(&mut pair, "session-token-expired").await;
    assert_eq!((there.as_str(), steps), (PAGE, 1));
}

/// What a URL carries is good in any browser, so somebody could send others the session of their own.
#[tokio::test]
async fn the_primary_domain_puts_no_token_into_urls_of_satellites() {
    let t = server().await;
    let mut pair = Pair::new(&t, SHOP_API);
    sign_in(&mut pair.primary, "ann@example.com").await;
    for format in ["token", "nonce"] {
        let path = format!("/v1/client/handshake?redirect_url={}&format={format}", escape(PAGE));
        let answer = pair.primary.open(&path).await;
        let there = answer.header("location").to_owned();
        assert!(there.starts_with(&format!("https://{SHOP_API}/v1/client/handshake?")), "{there}");
        assert!(!there.contains("__clerk_handshake"), "{there}");
        let at_satellite = pair.satellite.open(&path_of(&answer)).await;
        let vouched = pair.primary.open(&path_of(&at_satellite)).await;
        assert!(
            vouched.header("location").starts_with(&format!("https://{SHOP_API}/")),
            "it goes on as always"
        );
    }
}

#[tokio::test]
async fn a_proxy_that_names_the_primary_host_for_a_satellite_is_told_and_leads_nobody_in_circles() {
    let t = server().await;
    let mut pair = Pair::new(&t, SHOP_API);
    let path = format!("/v1/client/handshake?redirect_url={}", escape(PAGE));
    let answer = pair.primary.open(&path).await;
    let rewritten = pair.primary.open(&path_of(&answer)).await;
    rewritten.is_error(400, "host_invalid");
    let told = rewritten.json["errors"][0]["long_message"].as_str().unwrap();
    assert!(told.contains(SHOP_API) && told.contains("pass on the Host header"), "{told}");
}

#[tokio::test]
async fn a_satellites_handshake_for_nobody_ends_signed_out() {
    let t = server().await;
    let mut pair = Pair::new(&t, SHOP_API);
    let (there, nonce, _) = shake(&mut pair, "session-token-expired").await;
    assert_eq!(there, "https://shop.example.org/cart?a=1&__clerk_synced=true#top");
    let path = format!("/v1/clients/handshake_payload?nonce={}", nonce.unwrap());
    let payload = t.call(Some(&t.other), "GET", &path, None).await.ok();
    assert!(
        payload["directives"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line.as_str().unwrap().starts_with("__client_uat=0"))
    );
}

#[tokio::test]
async fn in_development_the_hosted_page_answers_for_the_primary_domain() {
    let t = TestServer::start().await;
    give(&t, &t.tenant, &["localhost:4000"]).await;
    super::user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let asks = |page: &str| format!("/sign-in?__clerk_redirect_url={}", escape(page));
    let answer = browser.open(&asks("http://localhost:4000/x?__clerk_synced=false")).await;
    assert_eq!(answer.status, 307, "{:#}", answer.json);
    let rest = answer.header("location").strip_prefix("http://localhost:4000/x?__clerk_db_jwt=").unwrap();
    let token = rest.strip_suffix("&__clerk_synced=true").unwrap();
    let mut there = t.browser();
    there.dev_browser = Some(token.to_owned());
    assert_eq!(sessions(&mut there).await, [session]);
    for page in ["https://evil.com/", "http://localhost:5000/", "javascript:alert(1)"] {
        assert_eq!(browser.open(&asks(page)).await.status, 422, "{page}");
    }
    // A production instance has nothing of the kind.
    assert_eq!(t.browser_at(&t.other).open(&asks("http://localhost:4000/")).await.status, 200);
}

/// The page is no operation, and going there writes a token.
#[tokio::test]
async fn the_hosted_page_makes_as_many_tokens_as_strangers_and_clients_may_write() {
    let t = TestServer::start_with(RateLimits::default(), Settings::default()).await;
    give(&t, &t.tenant, &["localhost:4000"]).await;
    let asks = format!("/sign-in?__clerk_redirect_url={}", escape("http://localhost:4000/x"));
    let mut known = t.browser();
    known.post("/v1/client", json!({})).await.ok();
    let here = Network::of(known.address.ip());
    for _ in 2..STRANGERS_OF_ADDRESS.requests {
        let (who, now) = ((t.tenant.id.as_str(), here), t.clock.now());
        t.app.rate_limits.check_stranger(&t.app.throttle, who, 1, now).await.unwrap();
    }
    assert_eq!(t.browser().open(&asks).await.status, 307);
    let everything = t.everything().await;
    t.browser().open(&asks).await.is_error(429, "too_many_requests");
    assert_eq!(t.browser().open("/sign-in").await.status, 200);
    assert_eq!(t.everything().await, everything, "nothing was written");
    for _ in 0..WRITES_OF_CLIENT.requests {
        assert_eq!(known.open(&asks).await.status, 307);
    }
    let everything = t.everything().await;
    known.open(&asks).await.is_error(429, "too_many_requests");
    assert_eq!(t.everything().await, everything, "nothing was written");
}

#[tokio::test]
async fn a_satellite_behind_a_proxy_is_known_by_its_url() {
    let t = server().await;
    let proxied = Satellite { proxy_url: Some(format!("https://{SHOP}/__clerk")), ..satellite(SHOP) };
    let settings = Settings { satellites: vec![proxied], ..Settings::default() };
    let id = t.other.id.clone();
    let save = t.db().write(move |tx| Box::pin(async move { save_settings(tx, &id, &settings).await }));
    save.await.unwrap();
    let mut browser = t.browser_at(&t.other);
    let request = axum::http::Request::get(sync(PAGE))
        .header("host", &t.other.frontend_api)
        .header("clerk-secret-key", &t.other.key)
        .header("clerk-proxy-url", format!("https://{SHOP}/__clerk"))
        .body(axum::body::Body::empty())
        .unwrap();
    let begun = browser.send("GET", &sync(PAGE), request).await;
    let mut primary = t.browser_at(&t.other);
    let asked = primary.open(&path_of(&begun)).await;
    let link = asked.header("location");
    assert!(link.starts_with(&format!("https://{SHOP}/__clerk/v1/client/link?__clerk_token=")), "{link}");
}

#[tokio::test]
async fn a_port_or_a_dot_behind_the_host_leads_to_the_same_satellite() {
    let t = server().await;
    for written in [SHOP_API.to_owned(), format!("{SHOP_API}:443"), format!("{SHOP_API}.:4712")] {
        let begun = browser(&t, &written, None).open(&sync(PAGE)).await;
        let primary = format!("https://{}/", t.other.frontend_api);
        assert!(begun.header("location").starts_with(&primary), "{written}: {:?}", begun.header("location"));
    }
}
