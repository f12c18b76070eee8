//! Search inside texts: `query` and the `*_query` parameters.

use std::time::Duration;

use latchkey_base::Result;
use latchkey_kernel::environment::Environment::Development;
use latchkey_kernel::limits::{self, RateLimits};
use latchkey_kernel::settings::Settings;
use latchkey_kernel::slow::{LanePlace, WorkOwner};
use latchkey_testkit::{Answer, Tenant, TestServer};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::me::support::me;

const WALLET: &str = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F";

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The external ids a search finds, newest first. The count must agree.
async fn found(t: &TestServer, parameter: &str, term: &str) -> Vec<String> {
    found_in(t, &t.tenant, &format!("{parameter}={}", encoded(term))).await
}

async fn found_in(t: &TestServer, tenant: &Tenant, query: &str) -> Vec<String> {
    let users = t.call(Some(tenant), "GET", &format!("/v1/users?limit=500&{query}"), None).await.ok();
    let users = users.as_array().unwrap();
    let count = t.call(Some(tenant), "GET", &format!("/v1/users/count?{query}"), None).await.ok();
    assert_eq!(count["total_count"], users.len(), "{query}");
    users.iter().map(|user| user["external_id"].as_str().unwrap().to_owned()).collect()
}

async fn people(t: &TestServer) -> [Value; 3] {
    let ada = json!({
        "external_id": "ada", "email_address": ["HELLO@example.com", "second+tag@beispiel.example"],
        "phone_number": ["+14155552671"], "username": "SomeCoolUser", "first_name": "Ada", "last_name": "Lovelace"
    });
    let grace = json!({"external_id": "grace", "web3_wallet": [WALLET], "first_name": "Grace Brewster", "last_name": "Hopper"});
    let elodie = json!({"external_id": "elodie", "username": "el-odie_1", "first_name": "ÉLODIE", "last_name": "O'Neil"});
    let mut all = Vec::new();
    for body in [ada, grace, elodie] {
        all.push(t.user(body).await);
        t.clock.advance_ms(1000);
    }
    all.try_into().unwrap()
}

#[tokio::test]
async fn query_looks_into_every_field_in_any_case() {
    let t = TestServer::start().await;
    let [ada, ..] = people(&t).await;
    for (term, expected) in [
        ("ello", vec!["ada"]),
        ("hello@EXAMPLE.com", vec!["ada"]),
        ("beispiel", vec!["ada"]),
        ("+tag@", vec!["ada"]),
        ("5555", vec!["ada"]),
        ("+1415", vec!["ada"]),
        ("COOLuser", vec!["ada"]),
        ("71c7656ec7AB", vec!["grace"]),
        ("lovel", vec!["ada"]),
        ("éloD", vec!["elodie"]),
        ("Élodie O'N", vec!["elodie"]),
        ("brewster hop", vec!["grace"]),
        ("  hopper  ", vec!["grace"]),
        ("nobody", vec![]),
        ("adalovelace", vec![]),
        ("lovelace ada", vec![]),
    ] {
        assert_eq!(found(&t, "query", term).await, expected, "{term}");
    }
    let id = ada["id"].as_str().unwrap();
    assert_eq!(found(&t, "query", id).await, ["ada"]);
    assert_eq!(found(&t, "query", &id[8..20].to_uppercase()).await, ["ada"]);
    assert_eq!(found(&t, "query", "user_").await, ["elodie", "grace", "ada"]);
}

#[tokio::test]
async fn each_parameter_looks_into_its_own_field_only() {
    let t = TestServer::start().await;
    people(&t).await;
    for (parameter, term, expected) in [
        ("email_address_query", "ello", vec!["ada"]),
        ("email_address_query", "EXAMPLE", vec!["ada"]),
        ("email_address_query", "lovelace", vec![]),
        ("phone_number_query", "555", vec!["ada"]),
        ("phone_number_query", "71", vec!["ada"]),
        ("phone_number_query", "ada", vec![]),
        ("username_query", "CoolUser", vec!["ada"]),
        ("username_query", "odie", vec!["elodie"]),
        ("username_query", "example", vec![]),
        ("name_query", "lov", vec!["ada"]),
        ("name_query", "ADA LOV", vec!["ada"]),
        ("name_query", "grace brewster hopper", vec!["grace"]),
        ("name_query", "cool", vec![]),
        ("name_query", "o'n", vec!["elodie"]),
    ] {
        assert_eq!(found(&t, parameter, term).await, expected, "{parameter}={term}");
    }
}

#[tokio::test]
async fn one_and_two_characters_are_searched_too() {
    let t = TestServer::start().await;
    people(&t).await;
    assert_eq!(found(&t, "name_query", "é").await, ["elodie"]);
    assert_eq!(found(&t, "name_query", "É").await, ["elodie"]);
    assert_eq!(found(&t, "name_query", "pp").await, ["grace"]);
    assert_eq!(found(&t, "name_query", "q").await, [""; 0]);
    assert_eq!(found(&t, "username_query", "-").await, ["elodie"]);
    assert_eq!(found(&t, "email_address_query", "@b").await, ["ada"]);
    assert_eq!(found(&t, "query", "@").await, ["ada"]);
}

#[tokio::test]
async fn several_searches_must_all_hit() {
    let t = TestServer::start().await;
    people(&t).await;
    assert_eq!(found_in(&t, &t.tenant, "query=example&name_query=love").await, ["ada"]);
    assert_eq!(found_in(&t, &t.tenant, "query=example&name_query=hopper").await, [""; 0]);
    assert_eq!(found_in(&t, &t.tenant, "name_query=a&username_query=o").await, ["ada"]);
    assert_eq!(found_in(&t, &t.tenant, "name_query=love&external_id=grace").await, [""; 0]);
}

#[tokio::test]
async fn an_empty_search_is_none() {
    let t = TestServer::start().await;
    people(&t).await;
    for parameter in ["query", "email_address_query", "phone_number_query", "username_query", "name_query"] {
        assert_eq!(found(&t, parameter, "").await.len(), 3, "{parameter}");
        assert_eq!(found(&t, parameter, "   ").await.len(), 3, "{parameter}");
    }
}

#[tokio::test]
async fn searches_are_ordered_and_paged_like_any_list() {
    let t = TestServer::start().await;
    people(&t).await;
    assert_eq!(found_in(&t, &t.tenant, "query=user_&order_by=first_name").await, ["ada", "grace", "elodie"]);
    let first = t.get("/v1/users?query=user_&limit=1&offset=1").await.ok();
    assert_eq!(first[0]["external_id"], "grace");
}

#[tokio::test]
async fn characters_with_a_meaning_elsewhere_mean_themselves() {
    let t = TestServer::start().await;
    for (number, name) in [
        "100% sure",
        "100 sure",
        "a_b_c",
        "aXbXc",
        r"back\slash",
        "say \"hi\"",
        "it's",
        "a*b",
        "NEAR(x y)",
        "--; DROP",
        "{names} : x",
        "^caret",
        "日本語の名前",
        "Ωmega",
    ]
    .into_iter()
    .enumerate()
    {
        t.user(json!({"external_id": name, "username": format!("user-{number}"), "first_name": name})).await;
        t.clock.advance_ms(1000);
    }
    for (term, expected) in [
        ("%", vec!["100% sure"]),
        ("0% s", vec!["100% sure"]),
        ("_", vec!["a_b_c"]),
        ("a_b_c", vec!["a_b_c"]),
        ("_b_", vec!["a_b_c"]),
        ("\\", vec![r"back\slash"]),
        (r"ck\sl", vec![r"back\slash"]),
        ("\"", vec!["say \"hi\""]),
        ("\"hi\"", vec!["say \"hi\""]),
        ("'", vec!["it's"]),
        ("it's", vec!["it's"]),
        ("*", vec!["a*b"]),
        ("a*b", vec!["a*b"]),
        ("say*", vec![]),
        ("near(x", vec!["NEAR(x y)"]),
        ("hi OR sure", vec![]),
        ("NOT sure", vec![]),
        ("--;", vec!["--; DROP"]),
        ("{names} :", vec!["{names} : x"]),
        ("^car", vec!["^caret"]),
        ("本", vec!["日本語の名前"]),
        ("日本語", vec!["日本語の名前"]),
        ("ωme", vec!["Ωmega"]),
        ("Ω", vec!["Ωmega"]),
        ("%%%", vec![]),
        ("___", vec![]),
        ("\"\"\"", vec![]),
    ] {
        assert_eq!(found(&t, "name_query", term).await, expected, "{term}");
    }
}

#[tokio::test]
async fn case_is_forgotten_wherever_the_term_ends() {
    // A sigma has two small forms: one inside a word and one at its end, and a term may end inside.
    let t = TestServer::start().await;
    t.user(json!({"external_id": "upper", "username": "user-1", "first_name": "ΟΔΥΣΣΕΥΣ"})).await;
    t.clock.advance_ms(1000);
    t.user(json!({"external_id": "lower", "username": "user-2", "first_name": "Οδυσσευς"})).await;
    for term in ["ΟΔΥΣ", "οδυσ", "ΟΔΥΣΣΕΥΣ", "Οδυσσευς", "σσευσ", "Σ"] {
        assert_eq!(found(&t, "name_query", term).await, ["lower", "upper"], "{term}");
    }
}

#[tokio::test]
async fn many_hits_are_found_like_few() {
    // More hits than the engine sorts at once take another way through the list.
    let t = TestServer::start().await;
    let user =
        t.user(json!({"external_id": "needle", "username": "user-0", "first_name": "Common Needle"})).await;
    let sql = "INSERT INTO users (instance_id, id, document, created_at, updated_at, banned, external_id, emails_folded, \
               phones_folded, names_folded, search_folded) \
               SELECT instance_id, $2, document, $4, updated_at, banned, $3, '', '', $5, $5 FROM users WHERE id = $1";
    let rows: Vec<_> = (0..2100)
        .map(|number| {
            let id = format!("user_{number:027}");
            let parameters: Vec<latchkey_db::Value> = vec![
                user["id"].as_str().unwrap().into(),
                id.into(),
                format!("copy-{number}").into(),
                (user["created_at"].as_i64().unwrap() - number).into(),
                "common hay".into(),
            ];
            (sql, parameters)
        })
        .collect();
    t.db().write(move |tx| Box::pin(async move { Ok(tx.run_many(rows).await?) })).await.unwrap();
    let count = |query: &str| format!("/v1/users/count?name_query={query}");
    assert_eq!(t.get(&count("common")).await.ok()["total_count"], 2101);
    assert_eq!(t.get(&count("needle")).await.ok()["total_count"], 1);
    let page = t.get("/v1/users?name_query=common&limit=3").await.ok();
    assert_eq!(page.as_array().unwrap().len(), 3);
    let last = t.get("/v1/users?name_query=common&limit=500&offset=2000").await.ok();
    assert_eq!(last.as_array().unwrap().len(), 101);
    let both = t.get("/v1/users?name_query=common&query=needle").await.ok();
    assert_eq!(both.as_array().unwrap().len(), 1);
}

/// Copies of a user in any order of each column; those whose number divides by `every` have the word in their name.
async fn copies(t: &TestServer, count: i64, word: &'static str, every: i64) {
    let user = t.user(json!({"external_id": "copied", "username": "user-0", "first_name": "Origin"})).await;
    let sql = "INSERT INTO users (instance_id, id, document, created_at, updated_at, last_active_at, last_sign_in_at, \
               banned, external_id, first_name_folded, last_name_folded, primary_email_folded, primary_phone_folded, \
               primary_wallet_folded, username_folded, emails_folded, phones_folded, names_folded, search_folded) \
               SELECT instance_id, $2, replace(document, 'copied', $3), created_at - $4, updated_at - $5, $6, $7, banned, \
               $3, $8, $9, $8, $9, $8, $9, '', '', $10, $10 FROM users WHERE id = $1";
    let rows: Vec<_> = (0..count)
        .map(|number| {
            let mixed = number * 7919 % 1009;
            let maybe = (mixed % 3 != 0).then_some(mixed / 2);
            let text = |value: i64| format!("{value:05}");
            let parameters: Vec<latchkey_db::Value> = vec![
                user["id"].as_str().unwrap().into(),
                format!("user_{number:027}").into(),
                format!("copy-{number}").into(),
                (mixed / 2).into(),
                number.into(),
                maybe.into(),
                Some(mixed).into(),
                maybe.map(text).into(),
                Some(text(mixed)).into(),
                (if number % every == 0 { word } else { "hay" }).into(),
            ];
            (sql, parameters)
        })
        .collect();
    t.db().write(move |tx| Box::pin(async move { Ok(tx.run_many(rows).await?) })).await.unwrap();
}

async fn page(t: &TestServer, query: &str) -> Vec<String> {
    let users = t.get(&format!("/v1/users?{query}")).await.ok();
    users.as_array().unwrap().iter().map(|user| user["external_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_order_of_a_search_is_that_of_the_list() {
    // One row in sixteen is collected, one in three is walked for, and every one takes the whole table.
    for every in [16, 3, 1] {
        let t = TestServer::start().await;
        copies(&t, 600, "needle", every).await;
        let is_hit = |name: &String| {
            name.strip_prefix("copy-").is_some_and(|number| number.parse::<i64>().unwrap() % every == 0)
        };
        for name in [
            "created_at",
            "updated_at",
            "email_address",
            "web3wallet",
            "first_name",
            "last_name",
            "phone_number",
            "username",
            "last_active_at",
            "last_sign_in_at",
        ] {
            for order in [name.to_owned(), format!("-{name}")] {
                let mut all = page(&t, &format!("order_by={order}&limit=500")).await;
                all.extend(page(&t, &format!("order_by={order}&limit=500&offset=500")).await);
                let hits: Vec<String> = all.into_iter().filter(is_hit).collect();
                for (limit, offset) in [(10, 0), (10, hits.len() / 2), (10, hits.len() - 5)] {
                    let query = format!("query=needle&order_by={order}&limit={limit}&offset={offset}");
                    let end = hits.len().min(offset + limit);
                    assert_eq!(page(&t, &query).await, hits[offset..end], "{query}, one in {every}");
                }
            }
        }
        let count = t.get("/v1/users/count?query=needle").await.ok();
        assert_eq!(count["total_count"], (600 + every - 1) / every);
    }
}

#[test]
fn any_search_finds_exactly_the_names_that_contain_the_term() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let t = runtime.block_on(TestServer::start());
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 12, failure_persistence: None, ..Config::default() },
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let name = || prop::option::of("[aAbé%_\\\\\"'* ]{1,6}");
    let users = prop::collection::vec((name(), name()), 1..10);
    let terms = prop::collection::vec("[aAbÉ%_\\\\\"'* ]{1,5}", 8);
    let outcome = runner.run(&(users, terms), |(users, terms)| {
        runtime.block_on(async {
            let tenant = t.new_tenant(Development, Settings::default()).await;
            let mut texts = Vec::new();
            for (number, (first, last)) in users.iter().enumerate() {
                let body = json!({
                    "username": format!("user-{number}"), "external_id": number.to_string(), "first_name": first,
                    "last_name": last
                });
                t.call(Some(&tenant), "POST", "/v1/users", Some(body)).await.ok();
                let parts: Vec<&str> = [first, last].into_iter().flatten().map(String::as_str).collect();
                texts.push(parts.join(" ").to_lowercase());
            }
            for term in &terms {
                let needle = term.trim().to_lowercase();
                let mut expected: Vec<String> =
                    (0..texts.len()).filter(|at| texts[*at].contains(&needle)).map(|at| at.to_string()).collect();
                let mut hits = found_in(&t, &tenant, &format!("name_query={}", encoded(term))).await;
                hits.sort();
                expected.sort();
                assert_eq!(hits, expected, "{term:?} in {texts:?}");
            }
        });
        Ok(())
    });
    outcome.unwrap();
}

/// Somebody waits for a place in the lane of long reads; returns once they stand in it.
async fn waiter(t: &TestServer, owner: &WorkOwner) -> JoinHandle<Result<LanePlace>> {
    let (app, owner, before) = (t.app.clone(), owner.clone(), t.app.long_reads.waiting());
    let task = tokio::spawn(async move { app.long_reads.place(&owner).await });
    while t.app.long_reads.waiting() == before && !task.is_finished() {
        tokio::task::yield_now().await;
    }
    task
}

/// A tenant that searches without end has its own share of the places, and its own queue.
#[tokio::test]
async fn searches_of_others_do_not_wait_behind_all_those_of_one_tenant() {
    let t = TestServer::start().await;
    let crowd = WorkOwner::backend(&t.other.id);
    let mut running = Vec::new();
    for _ in 0..t.app.db.long_reads() {
        running.push(t.app.long_reads.place(&crowd).await.unwrap());
    }
    let mut waiting = Vec::new();
    for _ in 0..50 {
        waiting.push(waiter(&t, &crowd).await);
    }
    let mut search = Box::pin(t.get("/v1/users?query=ada"));
    let short = Duration::from_millis(50);
    assert!(tokio::time::timeout(short, search.as_mut()).await.is_err(), "all places are taken");
    // Two of the crowd are done. One place is for those of the crowd who wait; the other is not.
    running.truncate(running.len() - 2);
    search.await.ok();
    assert!(waiting.iter().filter(|task| !task.is_finished()).count() >= 48);
}

#[tokio::test]
async fn a_tenant_with_too_many_searches_is_told_to_come_back() {
    let t = TestServer::start().await.unchecked();
    let own = WorkOwner::backend(&t.tenant.id);
    let mut places = Vec::new();
    for _ in 0..t.app.db.long_reads() {
        places.push(t.app.long_reads.place(&own).await.unwrap());
    }
    let mut waiting = Vec::new();
    while waiting.len() + places.len() < limits::long_reads(1).per_backend() {
        waiting.push(waiter(&t, &own).await);
    }
    let answer = t.get("/v1/users?query=ada").await;
    answer.is_error(503, "service_unavailable");
    assert_eq!(answer.header("retry-after"), "1");
    t.get("/v1/events?limit=101").await.is_error(503, "service_unavailable");
    t.get("/v1/events?limit=100").await.ok();
    t.get("/v1/users").await.ok();
}

/// What is long is decided by the page, whatever the list.
#[tokio::test]
async fn long_pages_of_every_list_wait_for_a_place() {
    let mut settings = Settings::default();
    settings.organizations.enabled = true;
    settings.organizations.domains = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let body = json!({"name": "Acme", "created_by": me.user});
    let organization = t.post("/v1/organizations", body).await.ok()["id"].as_str().unwrap().to_owned();
    let _places = taken_places(&t).await;
    let of_browsers = [
        format!("/v1/organizations/{organization}/memberships"),
        "/v1/me/organization_memberships".to_owned(),
        "/v1/me/organization_suggestions".to_owned(),
    ];
    for path in of_browsers {
        me.get(&format!("{path}?limit=100")).await.ok();
        for query in ["limit=101", "offset=1001"] {
            let path = format!("{path}?{query}");
            assert!(waits(&t, Box::pin(me.get(&path))).await, "{path}");
        }
    }
    let counted = format!("/v1/organizations/{organization}/membership_requests");
    assert!(waits(&t, Box::pin(me.get(&counted))).await);
    let of_backends = [
        "/v1/users".to_owned(),
        "/v1/jwt_templates".to_owned(),
        "/v1/allowlist_identifiers".to_owned(),
        "/v1/redirect_urls".to_owned(),
        "/v1/webhooks/endpoints".to_owned(),
        format!("/v1/sessions?user_id={}", me.user),
        format!("/v1/users/{}/organization_memberships", me.user),
        format!("/v1/organizations/{organization}/memberships"),
        format!("/v1/organizations/{organization}/domains"),
    ];
    for path in of_backends {
        let path = format!("{path}{}", if path.contains('?') { '&' } else { '?' });
        t.get(&format!("{path}limit=100")).await.ok();
        for query in ["limit=101", "offset=1001"] {
            let path = format!("{path}{query}");
            assert!(waits(&t, Box::pin(t.get(&path))).await, "{path}");
        }
    }
}

/// All places of the lane, taken by another tenant.
async fn taken_places(t: &TestServer) -> Vec<LanePlace> {
    let others = WorkOwner::backend(&t.other.id);
    let mut places = Vec::new();
    for _ in 0..t.app.db.long_reads() {
        places.push(t.app.long_reads.place(&others).await.unwrap());
    }
    places
}

/// Statements that make as many rows as a test needs, on either engine.
async fn run(t: &TestServer, sql: &'static str) {
    t.db().write(move |tx| Box::pin(async move { Ok(tx.run(&[sql], &[]).await?) })).await.unwrap();
}

/// What a page has is not known before it is read. On PostgreSQL, others are worked for meanwhile.
#[tokio::test]
async fn a_short_page_waits_for_a_place_where_it_shows_or_counts_much() {
    let t = TestServer::start().await;
    let is_sqlite = t.db().engine() == "SQLite";
    let metadata = json!({"text": "x".repeat(7 * 1024)});
    for number in 0..40 {
        let mut user = json!({"email_address": [format!("user{number}@example.com")]});
        for kind in ["public_metadata", "private_metadata", "unsafe_metadata"] {
            user[kind] = metadata.clone();
        }
        t.user(user).await;
    }
    t.post("/v1/redirect_urls", json!({"url": "https://example.com/"})).await.ok();
    run(
        &t,
        "INSERT INTO redirect_urls (instance_id, id, url, created_at) \
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) \
         SELECT r.instance_id, r.id || n.i, r.url || n.i, r.created_at - 1 FROM redirect_urls r, n",
    )
    .await;
    let places = taken_places(&t).await;
    t.get("/v1/users?limit=10").await.ok();
    t.get("/v1/redirect_urls?limit=1").await.ok();
    t.get("/v1/events?limit=10").await.ok();
    for path in ["/v1/users?limit=40", "/v1/redirect_urls?limit=1&paginated=true", "/v1/events?limit=100"] {
        assert_eq!(waits(&t, Box::pin(t.get(path))).await, is_sqlite, "{path}");
    }
    drop(places);
    assert_eq!(t.get("/v1/users?limit=40").await.ok().as_array().unwrap().len(), 40);
    assert_eq!(t.get("/v1/redirect_urls?limit=1&paginated=true").await.ok()["total_count"], 60_001);
}

/// Whoever signs in and out every day leaves rows behind that nobody walks over afterwards.
#[tokio::test]
async fn sessions_that_have_ended_cost_those_who_are_signed_in_nothing() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    run(
        &t,
        "INSERT INTO sessions (instance_id, id, client_id, user_id, status, document, created_at, expire_at, abandon_at, \
         is_acted) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000) \
         SELECT instance_id, id || n.i, client_id, user_id, 'ended', document, created_at + n.i, expire_at, abandon_at, \
         is_acted FROM sessions, n",
    )
    .await;
    let _places = taken_places(&t).await;
    let path = format!("/v1/sessions?user_id={}&status=active&paginated=true", me.user);
    assert_eq!(t.get(&path).await.ok()["total_count"], 1);
    assert_eq!(me.get("/v1/me/sessions/active").await.ok().as_array().unwrap().len(), 1);
    assert_eq!(me.get("/v1/client").await.ok()["response"]["sessions"].as_array().unwrap().len(), 1);
}

/// Nobody looks over all messages of an instance for those to one recipient.
#[tokio::test]
async fn who_waits_for_a_message_walks_over_no_others() {
    let t = TestServer::start().await;
    me(&t).await;
    run(
        &t,
        "INSERT INTO messages (instance_id, id, channel, recipient, slug, content_sealed, status, attempts, leased_until, \
         created_at) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000) \
         SELECT instance_id, id || n.i, channel, recipient || n.i, slug, content_sealed, status, attempts, leased_until, \
         created_at FROM messages, n",
    )
    .await;
    let _places = taken_places(&t).await;
    assert_eq!(t.get("/v1/inbox?to=nobody@example.com").await.ok()["total_count"], 0);
}

/// A role set tells how many members it has, which are counted.
#[tokio::test]
async fn counting_the_members_of_a_role_set_waits_for_a_place() {
    let mut settings = Settings::default();
    settings.organizations.enabled = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let key = t.get("/v1/role_sets").await.ok()["data"][0]["key"].as_str().unwrap().to_owned();
    let places = taken_places(&t).await;
    let path = format!("/v1/role_sets/{key}");
    assert!(waits(&t, Box::pin(t.get(&path))).await);
    assert!(waits(&t, Box::pin(t.patch(&path, json!({"name": "Other"})))).await);
    drop(places);
    assert_ne!(t.get(&path).await.ok()["name"], "Other", "who waits has changed nothing yet");
    assert_eq!(t.patch(&path, json!({"name": "Other"})).await.ok()["name"], "Other");
}

/// Whether somebody comes to wait for a long read rather than being answered.
async fn waits(t: &TestServer, answer: impl Future<Output = Answer> + Unpin) -> bool {
    let before = t.app.long_reads.waiting();
    let waiting = async {
        while t.app.long_reads.waiting() == before {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = answer => false,
        () = waiting => true,
    }
}
