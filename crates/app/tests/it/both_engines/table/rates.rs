//! The limits that operations have of their own, over every row that has one.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use latchkey_kernel::limits::{RateLimits, STRANGERS_OF_ADDRESS};
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Answer, TestServer};
use latchkey_web::throttle::{Per, Rate};

use super::{Row, backend, frontend};

/// Rows by the limit they share.
type Limited<'a> = BTreeMap<&'static str, (Rate, Vec<&'a Row>)>;

/// The rows of a table that have a limit, and those that have none.
fn by_rate(rows: &[Row]) -> (Limited<'_>, Vec<&Row>) {
    let (mut limited, mut free) = (BTreeMap::new(), Vec::new());
    for row in rows {
        match row.rate {
            Some(rate) => limited.entry(rate.name).or_insert((rate, Vec::new())).1.push(row),
            None => free.push(row),
        }
    }
    (limited, free)
}

#[track_caller]
fn is_too_many(answer: &Answer, row: &Row) {
    assert_eq!((answer.status, answer.code()), (429, "too_many_requests"), "{}", row.id);
    let wait: i64 = answer.header("retry-after").parse().unwrap();
    let longest = row.rate.unwrap().limit.window_ms / 1000;
    assert!((1..=longest).contains(&wait), "{}: {wait}", row.id);
}

/// Asks for nothing that is there, from an address; limits are counted before anybody looks.
async fn ask(t: &TestServer, row: &Row, last: u8) -> Answer {
    let path = row.filled(|name| row.unknown(name, ""));
    // Production has no developers' browsers, so that asking for many makes none.
    let request = Request::builder().method(&row.method).uri(&path).header("host", &t.other.frontend_api);
    let mut request = request.body(Body::empty()).unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([10, 192, 2, last], 4000))));
    t.browser_at(&t.other).send(row.method.as_str(), &path, request).await
}

#[tokio::test]
async fn every_limit_of_an_address_is_kept_and_shared_by_those_that_name_it_alone() {
    let t = TestServer::start_with(RateLimits::default(), Settings::default()).await;
    let rows = frontend();
    let (limited, free) = by_rate(&rows);
    // One address for all: a limit that counts what is not its own would refuse too early. What strangers write has a
    // sum for each address as well, which is tried elsewhere (`writers.rs`); its window ends between two limits.
    let next = limited.values().skip(1).map(|(_, rows)| rows[0]).chain([free[0]]);
    for ((rate, rows), next) in limited.values().zip(next) {
        assert_eq!(rate.per, Per::Address, "{}", rate.name);
        t.clock.advance_ms(STRANGERS_OF_ADDRESS.window_ms);
        let allowed = usize::try_from(rate.limit.requests).unwrap();
        for row in rows.iter().cycle().take(allowed) {
            let answer = ask(&t, row, 1).await;
            assert_ne!(answer.status, 429, "{}: {:#}", row.id, answer.json);
        }
        for row in rows {
            is_too_many(&ask(&t, row, 1).await, row);
        }
        assert_ne!(ask(&t, rows[0], 2).await.status, 429, "{} from elsewhere", rate.name);
        assert_ne!(ask(&t, next, 1).await.status, 429, "{} does not count for {}", rate.name, next.id);
    }
    for row in free {
        assert_ne!(ask(&t, row, 1).await.status, 429, "{}", row.id);
    }
    let longest = limited.values().map(|(rate, _)| rate.limit.window_ms).max().unwrap();
    t.clock.advance_ms(longest);
    for (rate, rows) in limited.values() {
        assert_ne!(ask(&t, rows[0], 1).await.status, 429, "{} after the window", rate.name);
    }
}

#[tokio::test]
async fn every_limit_of_an_object_is_kept_and_shared_by_those_that_name_it_alone() {
    let t = TestServer::start_with(RateLimits::default(), Settings::default()).await;
    let rows = backend();
    let (limited, free) = by_rate(&rows);
    let ask = async |row: &Row, object: usize| {
        let path = row.filled(|name| format!("{}{object}", row.unknown(name, "")));
        t.call(Some(&t.other), row.method.as_str(), &path, None).await
    };
    for (rate, rows) in limited.values() {
        assert_ne!(rate.per, Per::Address, "{}", rate.name);
        let allowed = usize::try_from(rate.limit.requests).unwrap();
        for row in rows.iter().cycle().take(allowed) {
            assert_ne!(ask(row, 1).await.status, 429, "{}", row.id);
        }
        for row in rows {
            is_too_many(&ask(row, 1).await, row);
        }
        let is_shared = rate.per == Per::Instance;
        let about_another = ask(rows[0], 2).await.status;
        assert_eq!(about_another == 429, is_shared, "{} about another", rate.name);
    }
    for row in free {
        assert_ne!(ask(row, 1).await.status, 429, "{}", row.id);
    }
}

/// The limits of operations are part of what they are; who changes one changes this line, and says why in `limits.rs`.
#[test]
fn what_is_limited_by_the_default_is_known() {
    let rows = frontend();
    let by_default: BTreeSet<_> = rows
        .iter()
        .filter(|row| row.rate.is_some_and(|rate| rate.name == row.id))
        .map(|row| row.id)
        .collect();
    let expected = [
        "acceptTicket",
        "clearSiteData",
        "createDevBrowser",
        "deleteClientSessions",
        "enableEnvironmentSetting",
        "getDevBrowserInit",
        "getOauthCallback",
        "getSignIn",
        "getSignUps",
        "handshakeClient",
        "linkClient",
        "postClient",
        "postDevBrowserInitSetCookie",
        "postEnableEnvironmentSetting",
        "putClient",
        "removeClientSessionsAndRetainCookie",
        "resetPassword",
        "syncClient",
        "touchClient",
        "updateEnvironment",
        "verify",
    ];
    assert_eq!(by_default, expected.into());
}

/// Whatever writes for somebody who is signed in has a limit for each person; who adds a line here says at the row why
/// it writes next to nothing.
#[test]
fn what_people_can_write_without_a_limit_is_known() {
    let rows = frontend();
    let writing: Vec<_> = rows.iter().filter(|row| row.writes_for_people()).collect();
    assert!(writing.iter().all(|row| row.person_rates.is_some()));
    let free = writing.iter().filter(|row| row.person_rates.is_some_and(<[_]>::is_empty));
    let free: Vec<_> = free.map(|row| row.id).collect();
    assert!(free.is_empty(), "{free:?}");
    let limited = writing.iter().filter(|row| row.person_rates.is_some_and(|rates| !rates.is_empty()));
    assert!(limited.into_iter().all(|row| row.rate.is_some()), "and one for each address");
}
