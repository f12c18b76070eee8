//! What people and strangers can write is bounded: by address, by network, in sum, by client and by person; and what
//! some do keeps nobody from working who is known.

use std::net::Ipv4Addr;

use latchkey_base::time::Clock;
use latchkey_jose::digest::sha256;
use latchkey_kernel::limits::{
    CHANGES_OF_ADDRESS_DAILY, CHANGES_OF_INSTANCE_DAILY, CHANGES_OF_NETWORK_DAILY, CHANGES_OF_PERSON,
    CHANGES_OF_PERSON_DAILY, LIGHT_CLIENT, LIGHT_PERSON, LIGHT_STRANGER, RESERVE_OF_CLIENTS_OF_ADDRESS,
    RESERVE_OF_STRANGERS, RESERVE_OF_STRANGERS_OF_NETWORK, RateLimits, SESSIONS_OPENED_DAILY,
    SESSIONS_OPENED_MS, STRANGERS, STRANGERS_OF_ADDRESS, STRANGERS_OF_NETWORK, TOUCHES, WRITES_OF_CLIENT,
    WRITES_OF_CLIENTS,
};
use latchkey_kernel::settings::{SessionSettings, Settings};
use latchkey_testkit::{Answer, Browser, Tenant, TestServer};
use latchkey_web::network::Network;
use latchkey_web::throttle::Keys;
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
        let counted = t.app.rate_limits.check_stranger(&t.app.throttle, who, 1, t.clock.now()).await;
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
    let address = [10, 203, 113, 7];
    let most = STRANGERS_OF_ADDRESS.requests as usize;
    let before = std::iter::repeat_n(Ipv4Addr::from(address).to_string(), most - 1);
    assert_eq!(strangers(&t, &t.other, before).await, most - 1);
    at(&t, &t.other, address).post("/v1/client", json!({})).await.ok();
    let everything = t.everything().await;
    for path in ["/v1/client", "/v1/client/sign_ins", "/v1/client/sign_ups"] {
        is_refused(&at(&t, &t.other, address).post(path, json!({"identifier": "ada"})).await);
    }
    assert_eq!(t.everything().await, everything, "nothing was written");
    at(&t, &t.other, [10, 203, 113, 8]).post("/v1/client", json!({})).await.ok();
    at(&t, &t.tenant, address).post("/v1/client", json!({})).await.ok();
    t.clock.advance_ms(STRANGERS_OF_ADDRESS.window_ms);
    at(&t, &t.other, address).post("/v1/client", json!({})).await.ok();
}

#[tokio::test]
async fn strangers_of_one_network_do_not_take_everything() {
    let t = limited().await;
    let most = STRANGERS_OF_NETWORK.requests as usize;
    let many = (0..most + 500).map(|number| format!("10.203.{}.{}", number / 250, number % 250));
    assert_eq!(strangers(&t, &t.other, many).await, most);
    is_refused(&at(&t, &t.other, [10, 203, 250, 250]).post("/v1/client", json!({})).await);
    at(&t, &t.other, [10, 198, 100, 1]).post("/v1/client", json!({})).await.ok();
    let many = (0..most + 500).map(|number| format!("fd00:db8:{number:x}::1"));
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
    is_refused(&at(&t, &t.tenant, [10, 198, 100, 1]).post("/v1/client", json!({})).await);
    is_refused(&at(&t, &t.tenant, [10, 198, 100, 1]).post("/v1/dev_browser", json!({})).await);
    let begun = known.post("/v1/client/sign_ins", json!({"identifier": "me@example.com"})).await;
    assert_eq!(begun.ok()["response"]["status"], "needs_first_factor");
    me.patch("/v1/me", json!({"first_name": "Ada"})).await.ok();
    // Other instances have a sum of their own.
    at(&t, &t.other, [10, 198, 100, 1]).post("/v1/client", json!({})).await.ok();
}

/// As many requests of strangers as use up their sum, from four addresses in four networks.
async fn use_up_sum(t: &TestServer, tenant: &Tenant) {
    let most = STRANGERS.requests as usize;
    let heavy = (0..most).map(|number| format!("10.{}.0.1", 203 + number % 4));
    assert_eq!(strangers(t, tenant, heavy).await, most);
}

#[tokio::test]
async fn a_few_addresses_that_ask_for_much_leave_a_reserve_to_those_who_ask_for_little() {
    let t = limited().await;
    use_up_sum(&t, &t.other).await;
    is_refused(&at(&t, &t.other, [10, 203, 0, 1]).post("/v1/client", json!({})).await);
    // Not even somebody in the same network is shut out by one address.
    at(&t, &t.other, [10, 203, 0, 2]).post("/v1/client", json!({})).await.ok();
    at(&t, &t.other, [10, 198, 100, 1]).post("/v1/client", json!({})).await.ok();
    let light = LIGHT_STRANGER as usize;
    let one = std::iter::repeat_n("10.192.2.1".to_owned(), light + 5);
    assert_eq!(strangers(&t, &t.other, one).await, light, "an address");
    let most = RESERVE_OF_STRANGERS_OF_NETWORK.requests as usize;
    let many = (0..most + 50).map(|number| format!("10.1.{number}.1"));
    assert_eq!(strangers(&t, &t.other, many).await, most, "a network");
    let many = (0..most + 50).map(|number| format!("fd00:db8:{number:x}::1"));
    assert_eq!(strangers(&t, &t.other, many).await, most, "a network of IPv6");
    at(&t, &t.other, [10, 198, 100, 2]).post("/v1/client", json!({})).await.ok();
}

#[tokio::test]
async fn whoever_is_refused_for_what_others_ask_is_not_counted() {
    let t = limited().await;
    let most = STRANGERS_OF_NETWORK.requests as usize;
    let many = (0..most).map(|number| format!("10.203.{}.{}", number / 250, number % 250));
    assert_eq!(strangers(&t, &t.other, many).await, most);
    let many = (0..20_000).map(|number| format!("{}.{}.{}.1", 11 + number % 190, number % 256, number % 251));
    strangers(&t, &t.tenant, many).await;
    t.clock.advance_ms(STRANGERS.window_ms - 1000);
    let often = || std::iter::repeat_n("10.203.200.1".to_owned(), STRANGERS_OF_ADDRESS.requests as usize);
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
    let address = [10, 203, 113, 7];
    let (mut stale, mut known) = (at(&t, &t.other, address), at(&t, &t.other, address));
    for browser in [&mut stale, &mut known] {
        browser.post("/v1/client", json!({})).await.ok();
    }
    let old = stale.cookies["__client"].clone();
    stale.delete("/v1/client").await.ok();
    let often = std::iter::repeat_n("10.203.113.7".to_owned(), STRANGERS_OF_ADDRESS.requests as usize);
    strangers(&t, &t.other, often).await;
    stale.cookies.insert("__client".into(), old);
    is_refused(&stale.post("/v1/client", json!({})).await);
    known.post("/v1/client", json!({})).await.ok();
}

#[tokio::test]
async fn a_client_writes_so_much_from_whatever_address() {
    let t = limited().await;
    let mut browser = at(&t, &t.other, [10, 203, 113, 7]);
    browser.post("/v1/client", json!({})).await.ok();
    for number in 0..WRITES_OF_CLIENT.requests {
        browser.address.set_ip(Ipv4Addr::from([10, 198, 100, (number % 200) as u8]).into());
        assert_eq!(browser.post("/v1/client", json!({})).await.status, 200);
    }
    is_refused(&browser.post("/v1/client", json!({})).await);
    at(&t, &t.other, [10, 198, 100, 1]).post("/v1/client", json!({})).await.ok();
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
            t.app.rate_limits.take_reserve_of_clients(&t.app.throttle, (instance, local), 1, t.clock.now());
        taken.await.unwrap();
    }
    is_refused(&known.post("/v1/client", json!({})).await);
    is_refused(&known.post(&of_unknown("end"), json!({})).await);
    me.browser.post("/v1/client", json!({})).await.ok();
    me.browser.post(&of_unknown("end"), json!({})).await.is_error(404, "resource_not_found");
}

/// The path of an operation about a session that does not exist.
fn of_unknown(operation: &str) -> String {
    format!("/v1/client/sessions/sess_2NNEqL2nrIRdJ194ndJqAHwEfxC/{operation}")
}

/// Everybody is given as many clients as they ask for.
#[tokio::test]
async fn clients_on_which_nobody_is_signed_in_do_not_count_as_people() {
    let t = limited().await;
    let mut me = me(&t).await;
    let of_a_day = || t.app.throttle.long_windows(Keys::Known);
    let before = of_a_day();
    for last in 0..50 {
        let mut browser = at(&t, &t.tenant, [10, 203, 113, last]);
        browser.post("/v1/client", json!({})).await.ok();
        for operation in ["end", "remove", "touch", "verify"] {
            let answer = browser.post(&of_unknown(operation), json!({"level": "first_factor"})).await;
            answer.is_error(404, "resource_not_found");
        }
    }
    assert_eq!(of_a_day(), before);
    me.browser.post(&of_unknown("end"), json!({})).await.is_error(404, "resource_not_found");
    assert_eq!(of_a_day(), before + 1);
}

#[tokio::test]
async fn a_client_on_which_nobody_is_signed_in_asks_for_sessions_as_often_as_it_writes() {
    let t = limited().await;
    let mut browser = at(&t, &t.other, [10, 203, 113, 7]);
    browser.post("/v1/client", json!({})).await.ok();
    for _ in 0..WRITES_OF_CLIENT.requests {
        browser.post(&of_unknown("end"), json!({})).await.is_error(404, "resource_not_found");
    }
    is_refused(&browser.post(&of_unknown("remove"), json!({})).await);
    is_refused(&browser.post("/v1/client", json!({})).await);
}

#[tokio::test]
async fn two_people_on_one_browser_are_counted_apart_and_one_on_two_browsers_together() {
    let session = SessionSettings { single_session: false, ..SessionSettings::default() };
    let settings = Settings { session, ..Settings::default() };
    let t = TestServer::start_with(RateLimits::default(), settings).await;
    for address in ["ann@example.com", "bob@example.com"] {
        frontend::user(&t, address).await;
    }
    let (mut shared, mut other) = (t.browser(), t.browser());
    let ann = frontend::sign_in(&mut shared, "ann@example.com").await;
    t.clock.advance_ms(1000);
    let bob = frontend::sign_in(&mut shared, "bob@example.com").await;
    let elsewhere = frontend::sign_in(&mut other, "ann@example.com").await;
    let touch = |session: &str| format!("/v1/client/sessions/{session}/touch");
    for _ in 0..TOUCHES.limit.requests {
        shared.post(&touch(&ann), json!({})).await.ok();
    }
    is_refused(&shared.post(&touch(&ann), json!({})).await);
    is_refused(&other.post(&touch(&elsewhere), json!({})).await);
    // What names no session of the client is asked by whoever signed in first.
    is_refused(&shared.post(&of_unknown("touch"), json!({})).await);
    shared.post(&touch(&bob), json!({})).await.ok();
}

/// What a stranger sends is stored until it is deleted as old, so it counts by its length.
#[tokio::test]
async fn strangers_store_a_bounded_number_of_bytes() {
    let t = limited().await;
    let body = json!({"unsafe_metadata": json!({"text": "x".repeat(8000)}).to_string()});
    let mut admitted = 0;
    loop {
        let answer = at(&t, &t.other, [10, 203, 113, 7]).post("/v1/client/sign_ups", body.clone()).await;
        if answer.status == 429 {
            is_refused(&answer);
            break;
        }
        admitted += 1;
        t.clock.advance_ms(3_000);
    }
    assert_eq!(admitted, STRANGERS_OF_ADDRESS.requests / 16);
    let stored: usize = t.everything().await.iter().map(String::len).sum();
    assert!(stored < 2 * 500 * STRANGERS_OF_ADDRESS.requests as usize, "{stored}");
}

async fn use_up_writes_of_clients(t: &TestServer) {
    for _ in 0..WRITES_OF_CLIENTS.requests {
        let instance = t.tenant.id.as_str();
        let _ = t.app.rate_limits.check_clients(&t.app.throttle, instance, 1, t.clock.now()).await;
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
        t.app.rate_limits.check_client(&t.app.throttle, who, 1, t.clock.now()).await.unwrap();
    }
    t.clock.advance_ms(WRITES_OF_CLIENT.window_ms);
    use_up_writes_of_clients(&t).await;
    light.post("/v1/client", json!({})).await.ok();
    heavy.address.set_ip(Ipv4Addr::from([10, 198, 100, 1]).into());
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
        t.app.rate_limits.check_client(&t.app.throttle, who, 1, t.clock.now()).await.unwrap();
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
    elsewhere.browser.address.set_ip(Ipv4Addr::from([10, 198, 100, 1]).into());
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

/// Counts changes that somebody makes from these addresses, who made so many today with each.
async fn changes(t: &TestServer, today: u32, addresses: impl Iterator<Item = String>) -> usize {
    let mut admitted = 0;
    for address in addresses {
        let who = (t.tenant.id.as_str(), Network::of(address.parse().unwrap()));
        let counted = t.app.rate_limits.check_changes(&t.app.throttle, who, today, t.clock.now()).await;
        admitted += usize::from(counted.is_ok());
    }
    admitted
}

fn set_address(me: &mut Me<'_>, address: [u8; 4]) {
    me.browser.address.set_ip(Ipv4Addr::from(address).into());
}

#[tokio::test]
async fn people_of_one_address_make_so_many_changes_a_day() {
    let t = limited().await;
    let mut me = me(&t).await;
    set_address(&mut me, [10, 203, 113, 7]);
    let most = CHANGES_OF_ADDRESS_DAILY.requests as usize - 1;
    assert_eq!(changes(&t, 1, std::iter::repeat_n("10.203.113.7".to_owned(), most)).await, most);
    rename(&mut me, "Ada").await.ok();
    let events = t.events().await.len();
    is_refused(&rename(&mut me, "Grace").await);
    is_refused(&me.browser.post(&of_unknown("end"), json!({})).await);
    assert_eq!(t.events().await.len(), events);
    me.browser.post(&of_unknown("touch"), json!({})).await.is_error(404, "resource_not_found");
    for elsewhere in [[10, 203, 113, 8], [127, 0, 0, 1]] {
        set_address(&mut me, elsewhere);
        rename(&mut me, "Grace").await.ok();
    }
    set_address(&mut me, [10, 203, 113, 7]);
    t.clock.advance_ms(CHANGES_OF_ADDRESS_DAILY.window_ms);
    rename(&mut me, "Grace").await.ok();
}

#[tokio::test]
async fn people_of_one_network_make_so_many_changes_a_day() {
    let t = limited().await;
    let most = CHANGES_OF_NETWORK_DAILY.requests as usize;
    let from = |number: usize| format!("10.203.{}.{}", number % 100, number / 100 % 250);
    assert_eq!(changes(&t, LIGHT_PERSON, (0..1000).map(from)).await, 1000, "they do not count");
    assert_eq!(changes(&t, LIGHT_PERSON + 1, (0..most + 500).map(from)).await, most);
    let mut me = me(&t).await;
    set_address(&mut me, [10, 203, 250, 250]);
    for number in 0..LIGHT_PERSON {
        rename(&mut me, &format!("Ada {number}")).await.ok();
    }
    is_refused(&rename(&mut me, "Ada").await);
    set_address(&mut me, [10, 198, 100, 1]);
    rename(&mut me, "Ada").await.ok();
    // What all people of the instance may do is used up by half.
    t.clock.advance_ms(CHANGES_OF_INSTANCE_DAILY.window_ms);
    let many = (0..most + 500).map(|number| format!("fd00:db8:{:x}::1", number % 1000));
    assert_eq!(changes(&t, LIGHT_PERSON + 1, many).await, most, "a network of IPv6");
}

#[tokio::test]
async fn whoever_changes_little_is_not_stopped_by_what_all_people_do() {
    let t = limited().await;
    let mut me = me(&t).await;
    let from = |number: usize| format!("{}.{}.0.1", 11 + number % 100, number / 100 % 200);
    let most = CHANGES_OF_INSTANCE_DAILY.requests as usize;
    assert_eq!(changes(&t, LIGHT_PERSON, (0..1000).map(from)).await, 1000, "they do not count");
    assert_eq!(changes(&t, LIGHT_PERSON + 1, (0..most + 500).map(from)).await, most);
    // This machine is not counted as an address, and people who seem to be here are people all the same.
    for number in 0..LIGHT_PERSON {
        rename(&mut me, &format!("Ada {number}")).await.ok();
    }
    is_refused(&rename(&mut me, "Ada").await);
    let mut light = somebody(&t, "other@example.com").await;
    rename(&mut light, "Grace").await.ok();
    t.clock.advance_ms(CHANGES_OF_INSTANCE_DAILY.window_ms);
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
