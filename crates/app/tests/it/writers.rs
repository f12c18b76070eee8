//! What people and strangers can write is bounded: by address, by network, in sum, by client and by person; and what
//! some do keeps nobody from working who is known.

use std::net::Ipv4Addr;

use latchkey_base::time::Clock;
use latchkey_jose::digest::sha256;
use latchkey_kernel::limits::{
    CHANGES_OF_PERSON, CHANGES_OF_PERSON_DAILY, LIGHT_CLIENT, LIGHT_STRANGER, RESERVE_OF_CLIENTS_OF_ADDRESS,
    RESERVE_OF_STRANGERS, RESERVE_OF_STRANGERS_OF_NETWORK, RateLimits, SESSIONS_OPENED_DAILY,
    SESSIONS_OPENED_MS, STRANGERS, STRANGERS_OF_ADDRESS, STRANGERS_OF_NETWORK, TOUCHES, WRITES_OF_CLIENT,
    WRITES_OF_CLIENTS,
};
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Answer, Browser, Tenant, TestServer};
use latchkey_web::network::Network;
use serde_json::json;

use crate::frontend;
use crate::me::support::{Me, me, somebody};

async fn limited() -> TestServer {
    TestServer::start_with(RateLimits::default(), Settings::default()).await
}

/// A browser at an address.
fn at<'a>(t: &'a TestServer, tenant: &Tenant, address: [u8; 4]) -> Browser<'a> {
    let mut browser = t.browser_at(tenant);
    browser.origin = None;
    browser.address.set_ip(Ipv4Addr::from(address).into());
    browser
}

/// Counts requests of strangers from these addresses, as many as the callback names.
async fn strangers(t: &TestServer, tenant: &Tenant, addresses: impl Iterator<Item = String>) -> usize {
    let mut admitted = 0;
    for address in addresses {
        let who = (tenant.id.as_str(), Network::of(address.parse().unwrap()));
        let counted = t.app.rate_limits.check_stranger(&t.app.throttle, who, t.clock.now()).await;
        admitted += usize::from(counted.is_ok());
    }
    admitted
}

fn is_refused(answer: &Answer) {
    answer.is_error(429, "too_many_requests");
    assert!(answer.header("retry-after").parse::<i64>().unwrap() >= 1);
}

#[tokio::test]
async fn strangers_of_one_address_write_so_much_and_no_more() {
    let t = limited().await;
    let address = [203, 0, 113, 7];
    let most = STRANGERS_OF_ADDRESS.requests as usize;
    let before = std::iter::repeat_n(Ipv4Addr::from(address).to_string(), most - 1);
    assert_eq!(strangers(&t, &t.other, before).await, most - 1);
    at(&t, &t.other, address).post("/v1/client", json!({})).await.ok();
    let everything = t.everything().await;
    for path in ["/v1/client", "/v1/client/sign_ins", "/v1/client/sign_ups"] {
        is_refused(&at(&t, &t.other, address).post(path, json!({"identifier": "ada"})).await);
    }
    assert_eq!(t.everything().await, everything, "nothing was written");
    at(&t, &t.other, [203, 0, 113, 8]).post("/v1/client", json!({})).await.ok();
    at(&t, &t.tenant, address).post("/v1/client", json!({})).await.ok();
    t.clock.advance_ms(STRANGERS_OF_ADDRESS.window_ms);
    at(&t, &t.other, address).post("/v1/client", json!({})).await.ok();
}

#[tokio::test]
async fn strangers_of_one_network_do_not_take_everything() {
    let t = limited().await;
    let most = STRANGERS_OF_NETWORK.requests as usize;
    let many = (0..most + 500).map(|number| format!("203.0.{}.{}", number / 250, number % 250));
    assert_eq!(strangers(&t, &t.other, many).await, most);
    is_refused(&at(&t, &t.other, [203, 0, 250, 250]).post("/v1/client", json!({})).await);
    at(&t, &t.other, [198, 51, 100, 1]).post("/v1/client", json!({})).await.ok();
    let many = (0..most + 500).map(|number| format!("2001:db8:{number:x}::1"));
    assert_eq!(strangers(&t, &t.tenant, many).await, most);
}

#[tokio::test]
async fn strangers_with_thousands_of_addresses_leave_room_for_those_who_are_known() {
    let t = limited().await;
    let mut me = me(&t).await;
    let mut known = t.browser();
    known.post("/v1/client", json!({})).await.ok();
    let many = (0..20_000).map(|number| format!("{}.{}.{}.1", 11 + number % 200, number % 256, number % 251));
    let admitted = strangers(&t, &t.tenant, many).await;
    // The browser that is known now was a stranger once.
    assert_eq!(admitted + 1, (STRANGERS.requests + RESERVE_OF_STRANGERS.requests) as usize);
    is_refused(&at(&t, &t.tenant, [198, 51, 100, 1]).post("/v1/client", json!({})).await);
    is_refused(&at(&t, &t.tenant, [198, 51, 100, 1]).post("/v1/dev_browser", json!({})).await);
    let begun = known.post("/v1/client/sign_ins", json!({"identifier": "me@example.com"})).await;
    assert_eq!(begun.ok()["response"]["status"], "needs_first_factor");
    me.patch("/v1/me", json!({"first_name": "Ada"})).await.ok();
    // Other instances have a sum of their own.
    at(&t, &t.other, [198, 51, 100, 1]).post("/v1/client", json!({})).await.ok();
}

/// As many requests of strangers as use up their sum, from four addresses in four networks.
async fn use_up_sum(t: &TestServer, tenant: &Tenant) {
    let most = STRANGERS.requests as usize;
    let heavy = (0..most).map(|number| format!("203.{}.0.1", number % 4));
    assert_eq!(strangers(t, tenant, heavy).await, most);
}

#[tokio::test]
async fn a_few_addresses_that_ask_for_much_leave_a_reserve_to_those_who_ask_for_little() {
    let t = limited().await;
    use_up_sum(&t, &t.other).await;
    is_refused(&at(&t, &t.other, [203, 0, 0, 1]).post("/v1/client", json!({})).await);
    // Not even somebody in the same network is shut out by one address.
    at(&t, &t.other, [203, 0, 0, 2]).post("/v1/client", json!({})).await.ok();
    at(&t, &t.other, [198, 51, 100, 1]).post("/v1/client", json!({})).await.ok();
    let light = LIGHT_STRANGER as usize;
    let one = std::iter::repeat_n("192.0.2.1".to_owned(), light + 5);
    assert_eq!(strangers(&t, &t.other, one).await, light, "an address");
    let most = RESERVE_OF_STRANGERS_OF_NETWORK.requests as usize;
    let many = (0..most + 50).map(|number| format!("10.1.{number}.1"));
    assert_eq!(strangers(&t, &t.other, many).await, most, "a network");
    let many = (0..most + 50).map(|number| format!("2001:db8:{number:x}::1"));
    assert_eq!(strangers(&t, &t.other, many).await, most, "a network of IPv6");
    at(&t, &t.other, [198, 51, 100, 2]).post("/v1/client", json!({})).await.ok();
}

#[tokio::test]
async fn whoever_is_refused_for_what_others_ask_is_not_counted() {
    let t = limited().await;
    let most = STRANGERS_OF_NETWORK.requests as usize;
    let many = (0..most).map(|number| format!("203.0.{}.{}", number / 250, number % 250));
    assert_eq!(strangers(&t, &t.other, many).await, most);
    let many = (0..20_000).map(|number| format!("{}.{}.{}.1", 11 + number % 190, number % 256, number % 251));
    strangers(&t, &t.tenant, many).await;
    t.clock.advance_ms(STRANGERS.window_ms - 1000);
    let often = || std::iter::repeat_n("203.0.200.1".to_owned(), STRANGERS_OF_ADDRESS.requests as usize);
    assert_eq!(strangers(&t, &t.other, often()).await, 0, "the network is used up");
    assert_eq!(strangers(&t, &t.tenant, often()).await, 0, "sum and reserve are used up");
    t.clock.advance_ms(1000);
    for tenant in [&t.other, &t.tenant] {
        assert_eq!(strangers(&t, tenant, often().take(1)).await, 1);
    }
}

#[tokio::test]
async fn a_client_token_that_is_no_longer_good_is_that_of_a_stranger() {
    let t = limited().await;
    let address = [203, 0, 113, 7];
    let (mut stale, mut known) = (at(&t, &t.other, address), at(&t, &t.other, address));
    for browser in [&mut stale, &mut known] {
        browser.post("/v1/client", json!({})).await.ok();
    }
    let old = stale.cookies["__client"].clone();
    stale.delete("/v1/client").await.ok();
    let often = std::iter::repeat_n("203.0.113.7".to_owned(), STRANGERS_OF_ADDRESS.requests as usize);
    strangers(&t, &t.other, often).await;
    stale.cookies.insert("__client".into(), old);
    is_refused(&stale.post("/v1/client", json!({})).await);
    known.post("/v1/client", json!({})).await.ok();
}

#[tokio::test]
async fn a_client_writes_so_much_from_whatever_address() {
    let t = limited().await;
    let mut browser = at(&t, &t.other, [203, 0, 113, 7]);
    browser.post("/v1/client", json!({})).await.ok();
    for number in 0..WRITES_OF_CLIENT.requests {
        browser.address.set_ip(Ipv4Addr::from([198, 51, 100, (number % 200) as u8]).into());
        assert_eq!(browser.post("/v1/client", json!({})).await.status, 200);
    }
    is_refused(&browser.post("/v1/client", json!({})).await);
    at(&t, &t.other, [198, 51, 100, 1]).post("/v1/client", json!({})).await.ok();
}

#[tokio::test]
async fn clients_without_a_person_have_a_sum_and_signed_in_people_none() {
    let t = limited().await;
    let mut me = me(&t).await;
    let mut known = t.browser();
    known.post("/v1/client", json!({})).await.ok();
    use_up_writes_of_clients(&t).await;
    let (instance, local) = (t.tenant.id.as_str(), Network::of(known.address.ip()));
    for _ in 0..RESERVE_OF_CLIENTS_OF_ADDRESS.requests {
        let taken =
            t.app.rate_limits.take_reserve_of_clients(&t.app.throttle, (instance, local), t.clock.now());
        taken.await.unwrap();
    }
    is_refused(&known.post("/v1/client", json!({})).await);
    me.browser.post("/v1/client", json!({})).await.ok();
}

async fn use_up_writes_of_clients(t: &TestServer) {
    for _ in 0..WRITES_OF_CLIENTS.requests {
        let instance = t.tenant.id.as_str();
        let _ = t.app.rate_limits.check_clients(&t.app.throttle, instance, t.clock.now()).await;
    }
}

#[tokio::test]
async fn clients_that_write_much_leave_a_reserve_to_those_that_write_little() {
    let t = limited().await;
    let (mut light, mut heavy) = (t.browser(), t.browser());
    for browser in [&mut light, &mut heavy] {
        browser.post("/v1/client", json!({})).await.ok();
    }
    let id = heavy.get("/v1/client").await.ok()["response"]["id"].as_str().unwrap().to_owned();
    for _ in 1..LIGHT_CLIENT {
        let who = (t.tenant.id.as_str(), id.as_str());
        t.app.rate_limits.check_client(&t.app.throttle, who, t.clock.now()).await.unwrap();
    }
    t.clock.advance_ms(WRITES_OF_CLIENT.window_ms);
    use_up_writes_of_clients(&t).await;
    light.post("/v1/client", json!({})).await.ok();
    heavy.address.set_ip(Ipv4Addr::from([198, 51, 100, 1]).into());
    heavy.post("/v1/client", json!({})).await.ok();
    is_refused(&heavy.post("/v1/client", json!({})).await);
}

#[tokio::test]
async fn the_first_client_of_a_developers_browser_is_counted_as_a_write() {
    let t = limited().await;
    let mut browser = t.browser();
    let token = browser.post("/v1/dev_browser", json!({})).await.ok()["id"].as_str().unwrap().to_owned();
    let name = format!("{:x?}", sha256(token.as_bytes()));
    browser.dev_browser = Some(token);
    for _ in 0..WRITES_OF_CLIENT.requests {
        let who = (t.tenant.id.as_str(), name.as_str());
        t.app.rate_limits.check_client(&t.app.throttle, who, t.clock.now()).await.unwrap();
    }
    let everything = t.everything().await;
    is_refused(&browser.get("/v1/client").await);
    assert_eq!(t.everything().await, everything, "nothing was written");
    t.clock.advance_ms(WRITES_OF_CLIENT.window_ms);
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["object"], "client");
}

#[tokio::test]
async fn a_refusal_is_counted_once() {
    let t = limited().await;
    let mut me = me(&t).await;
    let unknown = "/v1/client/sessions/sess_2NNEqL2nrIRdJ194ndJqAHwEfxC/touch";
    for _ in 0..TOUCHES.limit.requests {
        me.browser.post(unknown, json!({})).await.is_error(404, "resource_not_found");
    }
    is_refused(&me.browser.post(unknown, json!({})).await);
}

async fn rename(me: &mut Me<'_>, name: &str) -> Answer {
    me.browser.patch("/v1/me", json!({ "first_name": name })).await
}

#[tokio::test]
async fn a_person_makes_so_many_changes_from_whatever_address_or_browser() {
    let t = limited().await;
    let (mut me, mut other) = (me(&t).await, somebody(&t, "other@example.com").await);
    for number in 0..CHANGES_OF_PERSON.limit.requests {
        rename(&mut me, &format!("Ada {number}")).await.ok();
    }
    is_refused(&rename(&mut me, "Ada").await);
    let mut elsewhere = crate::me::support::sign_in(&t, &me.user).await;
    elsewhere.browser.address.set_ip(Ipv4Addr::from([198, 51, 100, 1]).into());
    is_refused(&rename(&mut elsewhere, "Ada").await);
    let added = json!({"email_address": "more@example.com"});
    is_refused(&me.browser.post("/v1/me/email_addresses", added).await);
    me.browser.get("/v1/me").await.ok();
    rename(&mut other, "Grace").await.ok();
    t.clock.advance_ms(CHANGES_OF_PERSON.limit.window_ms);
    rename(&mut me, "Ada").await.ok();
}

#[tokio::test]
async fn a_person_who_changes_a_letter_in_a_loop_makes_a_bounded_number_of_events_a_day() {
    let t = limited().await;
    let mut me = me(&t).await;
    let before = t.events().await.len();
    let most = CHANGES_OF_PERSON_DAILY.limit.requests as usize;
    for number in 0..most + 20 {
        if number % 50 == 0 {
            t.clock.advance_ms(CHANGES_OF_PERSON.limit.window_ms);
        }
        rename(&mut me, &format!("Ada {number}")).await;
    }
    assert_eq!(t.events().await.len() - before, most);
    t.clock.advance_ms(CHANGES_OF_PERSON.limit.window_ms);
    is_refused(&rename(&mut me, "Ada").await);
    // Working with the session goes on.
    me.browser.post(&format!("/v1/client/sessions/{}/touch", me.session), json!({})).await.ok();
    me.browser.post(&format!("/v1/client/sessions/{}/tokens", me.session), json!({})).await.ok();
    t.clock.advance_ms(CHANGES_OF_PERSON_DAILY.limit.window_ms);
    rename(&mut me, "Ada").await.ok();
}

/// Beginning a session is an event with the whole user, and so is ending it.
#[tokio::test]
async fn a_person_begins_a_bounded_number_of_sessions_a_day() {
    let settings = Settings { test_mode: Some(false), ..Settings::default() };
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let user = frontend::user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    frontend::sign_in(&mut browser, "ann@example.com").await;
    let body = json!({"user_id": user["id"]});
    for _ in 1..SESSIONS_OPENED_DAILY {
        t.post("/v1/sessions", body.clone()).await.ok();
    }
    let begins = json!({"identifier": "ann@example.com", "password": frontend::PASSWORD});
    let mut other = t.browser();
    let before = t.events().await.len();
    other.post("/v1/client/sign_ins", begins.clone()).await.is_error(429, "too_many_requests");
    assert_eq!(t.events().await.len(), before);
    t.clock.advance_ms(SESSIONS_OPENED_MS);
    other.post("/v1/client/sign_ins", begins).await.ok();
}

#[tokio::test]
async fn a_session_is_touched_so_often_and_tokens_are_never_refused() {
    let t = limited().await;
    let mut me = me(&t).await;
    let (touch, tokens) = (
        format!("/v1/client/sessions/{}/touch", me.session),
        format!("/v1/client/sessions/{}/tokens", me.session),
    );
    for _ in 0..TOUCHES.limit.requests {
        me.browser.post(&touch, json!({})).await.ok();
    }
    is_refused(&me.browser.post(&touch, json!({})).await);
    for _ in 0..TOUCHES.limit.requests + 50 {
        me.browser.post(&tokens, json!({})).await.ok();
    }
}
