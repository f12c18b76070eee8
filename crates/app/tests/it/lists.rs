//! `GET /users` and `GET /users/count`: filters, orders, pages and cursors.

use latchkey_app::resources::instances::model::Environment::Development;
use latchkey_app::settings::Settings;
use latchkey_testkit::{Tenant, TestServer};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

const DAY_MS: i64 = 86_400_000;
const WALLET: &str = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F";

/// The external ids of the users a query finds, in order.
async fn found(t: &TestServer, query: &str) -> Vec<String> {
    let users = t.get(&format!("/v1/users?{query}")).await.ok();
    let names: Vec<String> = names(&users, "external_id");
    let count = t.get(&format!("/v1/users/count?{query}")).await.ok();
    assert_eq!(count["object"], "total_count");
    if !["limit", "offset", "starting_after"].iter().any(|page| query.contains(page)) {
        assert_eq!(count["total_count"], names.len(), "count and list differ for {query}");
    }
    names
}

fn names(users: &Value, key: &str) -> Vec<String> {
    users.as_array().unwrap().iter().map(|user| user[key].as_str().unwrap().to_owned()).collect()
}

/// A text as it stands in a query.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Three users, a day apart, `a` being the oldest.
async fn three(t: &TestServer) -> [Value; 3] {
    let a = t
        .user(json!({
            "external_id": "a", "email_address": ["ada@example.com", "zed@example.com"], "phone_number": ["+14155552671"],
            "username": "Ada_L", "first_name": "Ada", "last_name": "Lovelace"
        }))
        .await;
    t.clock.advance_ms(DAY_MS);
    let b = t
        .user(json!({
            "external_id": "b", "email_address": ["grace@example.com"], "web3_wallet": [WALLET], "first_name": "grace",
            "last_name": "Hopper", "banned": true
        }))
        .await;
    t.clock.advance_ms(DAY_MS);
    let c = t
        .user(json!({
            "external_id": "c", "username": "barbara", "phone_number": ["+442071838750"],
            "web3_wallet": ["7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"], "first_name": "Barbara"
        }))
        .await;
    [a, b, c]
}

/// Sets what no operation sets yet.
async fn set_activity(t: &TestServer, user: &Value, active: Option<i64>, signed_in: Option<i64>) {
    let params = vec![user["id"].as_str().unwrap().into(), active.into(), signed_in.into()];
    t.run_sql("UPDATE users SET last_active_at = $2, last_sign_in_at = $3 WHERE id = $1", params).await;
}

#[tokio::test]
async fn users_come_newest_first_and_ten_at_a_time() {
    let t = TestServer::start().await;
    assert_eq!(t.get("/v1/users").await.ok(), json!([]));
    for number in 10..22 {
        t.user(json!({"username": "user_".to_owned() + &number.to_string(), "external_id": number.to_string()})).await;
        t.clock.advance_ms(1);
    }
    let expected: Vec<String> = (12..22).rev().map(|number| number.to_string()).collect();
    assert_eq!(names(&t.get("/v1/users").await.ok(), "external_id"), expected);
    assert_eq!(t.get("/v1/users?limit=500").await.ok().as_array().unwrap().len(), 12);
    assert_eq!(t.get("/v1/users/count").await.ok(), json!({"object": "total_count", "total_count": 12}));
}

#[tokio::test]
async fn listed_users_look_as_they_do_alone() {
    let t = TestServer::start().await;
    let created = three(&t).await;
    let listed = t.get("/v1/users?order_by=created_at").await.ok();
    for (listed, created) in listed.as_array().unwrap().iter().zip(&created) {
        assert_eq!(listed, &t.shown(created["id"].as_str().unwrap()).await);
    }
    // This list is bare whatever is asked for.
    assert!(t.get("/v1/users?paginated=true").await.ok().is_array());
}

#[tokio::test]
async fn exact_filters_find_any_of_several_values_in_any_case() {
    let t = TestServer::start().await;
    three(&t).await;
    for (query, expected) in [
        ("email_address=ADA@example.com".to_owned(), vec!["a"]),
        ("email_address=zed@example.com".to_owned(), vec!["a"]),
        ("email_address=zed@example.com&email_address=ada@example.com".to_owned(), vec!["a"]),
        ("email_address=ada@example.com&email_address=grace@example.com&email_address=x@y.de".to_owned(), vec!["b", "a"]),
        ("email_address=ada@example".to_owned(), vec![]),
        (format!("phone_number={}", encoded("+14155552671")), vec!["a"]),
        (format!("phone_number={}&phone_number={}", encoded("+14155552671"), encoded("+442071838750")), vec!["c", "a"]),
        ("username=ada_l".to_owned(), vec!["a"]),
        ("username=ADA_L&username=BARBARA".to_owned(), vec!["c", "a"]),
        (format!("web3_wallet={}", WALLET.to_lowercase()), vec!["b"]),
        (format!("web3_wallet={WALLET}&web3_wallet=7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"), vec!["c", "b"]),
        ("email_address=nobody@example.com".to_owned(), vec![]),
        // Filters of different kinds must all hold.
        ("email_address=ada@example.com&username=barbara".to_owned(), vec![]),
        ("email_address=ada@example.com&username=ada_l".to_owned(), vec!["a"]),
    ] {
        assert_eq!(found(&t, &query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn signed_ids_include_and_exclude() {
    let t = TestServer::start().await;
    let users = three(&t).await;
    let [a, b, c] = users.each_ref().map(|user| user["id"].as_str().unwrap());
    for (query, expected) in [
        (format!("user_id={a}"), vec!["a"]),
        (format!("user_id=%2B{a}"), vec!["a"]),
        (format!("user_id=+{a}"), vec!["a"]),
        (format!("user_id=-{a}"), vec!["c", "b"]),
        (format!("user_id=-{a}&user_id=-{b}"), vec!["c"]),
        (format!("user_id={a}&user_id=%2B{c}"), vec!["c", "a"]),
        (format!("user_id={a}&user_id={c}&user_id=-{c}"), vec!["a"]),
        ("user_id=user_000000000000000000000000000".to_owned(), vec![]),
        ("user_id=nonsense".to_owned(), vec![]),
        ("user_id=-nonsense".to_owned(), vec!["c", "b", "a"]),
        ("external_id=a".to_owned(), vec!["a"]),
        ("external_id=A".to_owned(), vec![]),
        ("external_id=%2Ba&external_id=+b".to_owned(), vec!["b", "a"]),
        ("external_id=-a".to_owned(), vec!["c", "b"]),
        ("external_id=a&external_id=b&external_id=-b".to_owned(), vec!["a"]),
        ("external_id=unknown".to_owned(), vec![]),
    ] {
        assert_eq!(found(&t, &query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn only_the_first_sign_of_an_external_id_is_a_sign() {
    let t = TestServer::start().await;
    t.user(json!({"username": "minus", "external_id": "-1"})).await;
    t.user(json!({"username": "plus", "external_id": "+1"})).await;
    assert_eq!(found(&t, &format!("external_id={}", encoded("+-1"))).await, ["-1"]);
    assert_eq!(found(&t, &format!("external_id={}", encoded("++1"))).await, ["+1"]);
    assert_eq!(found(&t, &format!("external_id={}", encoded("-+1"))).await, ["-1"]);
    assert_eq!(found(&t, &format!("external_id={}", encoded("--1"))).await, ["+1"]);
}

#[tokio::test]
async fn excluding_an_external_id_keeps_users_without_one() {
    let t = TestServer::start().await;
    t.user(json!({"username": "with_id", "external_id": "a"})).await;
    t.user(json!({"username": "without_id"})).await;
    assert_eq!(names(&t.get("/v1/users?external_id=-a").await.ok(), "username"), ["without_id"]);
}

#[tokio::test]
async fn nobody_is_a_member_of_an_organization_yet() {
    let t = TestServer::start().await;
    three(&t).await;
    let organization = "org_000000000000000000000000000";
    assert_eq!(found(&t, &format!("organization_id={organization}")).await, [""; 0]);
    assert_eq!(found(&t, &format!("organization_id=%2B{organization}")).await, [""; 0]);
    assert_eq!(found(&t, &format!("organization_id=-{organization}")).await, ["c", "b", "a"]);
    let both = format!("organization_id=-{organization}&organization_id={organization}");
    assert_eq!(found(&t, &both).await, [""; 0]);
}

#[tokio::test]
async fn banned_and_times_filter() {
    let t = TestServer::start().await;
    let [a, b, c] = three(&t).await;
    set_activity(&t, &a, Some(1000), Some(500)).await;
    set_activity(&t, &b, Some(2000), None).await;
    set_activity(&t, &c, None, Some(700)).await;
    let created = |user: &Value, ms: i64| user["created_at"].as_i64().unwrap() + ms;
    for (query, expected) in [
        ("banned=true".to_owned(), vec!["b"]),
        ("banned=false".to_owned(), vec!["c", "a"]),
        ("last_active_at_before=2000".to_owned(), vec!["a"]),
        ("last_active_at_before=2001".to_owned(), vec!["b", "a"]),
        ("last_active_at_after=1000".to_owned(), vec!["b"]),
        ("last_active_at_after=999".to_owned(), vec!["b", "a"]),
        ("last_active_at_since=1000".to_owned(), vec!["b", "a"]),
        ("last_active_at_since=1001".to_owned(), vec!["b"]),
        ("last_active_at_after=999&last_active_at_before=2000".to_owned(), vec!["a"]),
        ("last_sign_in_at_before=700".to_owned(), vec!["a"]),
        ("last_sign_in_at_after=500".to_owned(), vec!["c"]),
        ("last_sign_in_at_after=-1".to_owned(), vec!["c", "a"]),
        (format!("created_at_before={}", created(&b, 0)), vec!["a"]),
        (format!("created_at_before={}", created(&b, 1)), vec!["b", "a"]),
        (format!("created_at_after={}", created(&b, 0)), vec!["c"]),
        (format!("created_at_after={}", created(&b, -1)), vec!["c", "b"]),
        (format!("created_at_after={}&banned=false", created(&a, -1)), vec!["c", "a"]),
    ] {
        assert_eq!(found(&t, &query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn accounts_are_found_by_provider_and_id_together() {
    let t = TestServer::start().await;
    let [a, b, _] = three(&t).await;
    for (number, (user, provider, account)) in
        [(&a, "oauth_google", "42"), (&b, "oauth_google", "43"), (&b, "oauth_github", "42")].into_iter().enumerate()
    {
        let params = vec![
            (&t.tenant.id).into(),
            format!("idn_{number:027}").into(),
            user["id"].as_str().unwrap().into(),
            provider.into(),
            account.into(),
        ];
        let sql = "INSERT INTO identifications (instance_id, id, user_id, kind, value_folded, claim) VALUES ($1, $2, $3, $4, $5, '')";
        t.run_sql(sql, params).await;
    }
    assert_eq!(found(&t, "provider=oauth_google&provider_user_id=42").await, ["a"]);
    assert_eq!(found(&t, "provider=oauth_google&provider_user_id=42&provider_user_id=43").await, ["b", "a"]);
    assert_eq!(found(&t, "provider=oauth_github&provider_user_id=42").await, ["b"]);
    assert_eq!(found(&t, "provider=oauth_gitlab&provider_user_id=42").await, [""; 0]);
    for list in ["/v1/users", "/v1/users/count"] {
        let alone = t.get(&format!("{list}?provider=oauth_google")).await;
        alone.is_problem(422, "form_conditional_param_missing", "provider_user_id");
        let alone = t.get(&format!("{list}?provider_user_id=42")).await;
        alone.is_problem(422, "form_conditional_param_missing", "provider");
    }
}

#[tokio::test]
async fn every_order_goes_both_ways_with_missing_values_last() {
    let t = TestServer::start().await;
    let [a, b, c] = three(&t).await;
    t.clock.advance_ms(DAY_MS);
    t.post(&format!("/v1/users/{}/unban", b["id"].as_str().unwrap()), json!({})).await.ok();
    set_activity(&t, &a, Some(1000), None).await;
    set_activity(&t, &b, None, Some(500)).await;
    set_activity(&t, &c, Some(500), Some(700)).await;
    for (field, ascending, descending) in [
        ("created_at", ["a", "b", "c"], ["c", "b", "a"]),
        ("updated_at", ["a", "c", "b"], ["b", "c", "a"]),
        ("email_address", ["a", "b", "c"], ["b", "a", "c"]),
        ("web3wallet", ["b", "c", "a"], ["c", "b", "a"]),
        ("first_name", ["a", "c", "b"], ["b", "c", "a"]),
        ("last_name", ["b", "a", "c"], ["a", "b", "c"]),
        ("phone_number", ["a", "c", "b"], ["c", "a", "b"]),
        ("username", ["a", "c", "b"], ["c", "a", "b"]),
        ("last_active_at", ["c", "a", "b"], ["a", "c", "b"]),
        ("last_sign_in_at", ["b", "c", "a"], ["c", "b", "a"]),
    ] {
        for sign in ["", "%2B", "+", " "] {
            let sign = if sign == " " { "%20" } else { sign };
            assert_eq!(found(&t, &format!("order_by={sign}{field}")).await, ascending, "{sign}{field}");
        }
        assert_eq!(found(&t, &format!("order_by=-{field}")).await, descending, "-{field}");
        assert_eq!(found(&t, &format!("order_by=-{field}&order_by=created_at")).await, descending, "-{field}");
    }
}

#[tokio::test]
async fn unknown_orders_are_refused() {
    let t = TestServer::start().await;
    for order in ["", "-", "id", "name", "created_at_", "--created_at", "created_at desc", "CREATED_AT", "1;drop"] {
        let answer = t.get(&format!("/v1/users?order_by={}", encoded(order))).await;
        answer.is_problem(422, "form_param_value_invalid", "order_by");
    }
}

#[tokio::test]
async fn limit_and_offset_have_bounds() {
    let t = TestServer::start().await;
    three(&t).await;
    assert_eq!(found(&t, "limit=1").await, ["c"]);
    assert_eq!(found(&t, "limit=2&offset=1").await, ["b", "a"]);
    assert_eq!(found(&t, "limit=500&offset=0").await, ["c", "b", "a"]);
    assert_eq!(found(&t, "offset=3").await, [""; 0]);
    assert_eq!(found(&t, "offset=9223372036854775807").await, [""; 0]);
    for (query, code, param) in [
        ("limit=0", "form_param_value_invalid", "limit"),
        ("limit=-1", "form_param_value_invalid", "limit"),
        ("limit=501", "form_param_value_too_large", "limit"),
        ("limit=ten", "form_param_type_invalid", "limit"),
        ("limit=", "form_param_type_invalid", "limit"),
        ("limit=1.5", "form_param_type_invalid", "limit"),
        ("limit=99999999999999999999", "form_param_type_invalid", "limit"),
        ("offset=-1", "form_param_value_invalid", "offset"),
        ("offset=x", "form_param_type_invalid", "offset"),
        ("banned=maybe", "form_param_type_invalid", "banned"),
        ("created_at_before=yesterday", "form_param_type_invalid", "created_at_before"),
    ] {
        t.get(&format!("/v1/users?{query}")).await.is_problem(422, code, param);
    }
}

#[tokio::test]
async fn at_most_a_hundred_values_of_each_list() {
    let t = TestServer::start().await;
    three(&t).await;
    for field in
        ["email_address", "phone_number", "external_id", "username", "web3_wallet", "user_id", "organization_id", "provider_user_id"]
    {
        let values = |count: usize| {
            let provider = if field == "provider_user_id" { "provider=oauth_google&" } else { "" };
            let values: Vec<String> = (0..count).map(|number| format!("{field}=v{number}")).collect();
            format!("{provider}{}", values.join("&"))
        };
        for count in [1, 5, 17, 65, 100] {
            assert_eq!(found(&t, &values(count)).await, [""; 0], "{field}");
        }
        for list in ["/v1/users", "/v1/users/count"] {
            let answer = t.get(&format!("{list}?{}", values(101))).await;
            answer.is_problem(422, "form_param_array_size_exceeded", field);
        }
    }
}

#[tokio::test]
async fn a_cursor_continues_after_its_user_in_both_directions() {
    let t = TestServer::start().await;
    let users = three(&t).await;
    let [a, b, c] = users.each_ref().map(|user| user["id"].as_str().unwrap());
    for (query, expected) in [
        (format!("starting_after={c}"), vec!["b", "a"]),
        (format!("starting_after={c}&limit=1"), vec!["b"]),
        (format!("starting_after={b}&order_by=-created_at"), vec!["a"]),
        (format!("starting_after={a}"), vec![]),
        (format!("starting_after={a}&order_by=created_at"), vec!["b", "c"]),
        (format!("starting_after={a}&order_by=%2Bcreated_at&offset=0"), vec!["b", "c"]),
        (format!("starting_after={c}&order_by=created_at"), vec![]),
        (format!("starting_after={c}&banned=false"), vec!["a"]),
        // The cursor itself need not fit the filters.
        (format!("starting_after={b}&banned=false"), vec!["a"]),
        (format!("starting_after={c}&query=example.com"), vec!["b", "a"]),
    ] {
        assert_eq!(found(&t, &query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn cursors_are_refused_with_other_orders_offsets_or_for_nobody() {
    let t = TestServer::start().await;
    let [a, _, _] = three(&t).await;
    let id = a["id"].as_str().unwrap();
    for order in [
        "updated_at", "email_address", "web3wallet", "first_name", "last_name", "phone_number", "username", "last_active_at",
        "last_sign_in_at",
    ] {
        for sign in ["", "-", "%2B"] {
            let answer = t.get(&format!("/v1/users?starting_after={id}&order_by={sign}{order}")).await;
            answer.is_problem(422, "form_param_value_invalid", "order_by");
        }
    }
    let answer = t.get(&format!("/v1/users?starting_after={id}&offset=1")).await;
    answer.is_problem(422, "form_param_value_invalid", "offset");
    let foreign = t.call(Some(&t.other), "POST", "/v1/users", Some(json!({"username": "ada_l"}))).await.ok();
    for unknown in ["user_000000000000000000000000000", "nonsense", "", foreign["id"].as_str().unwrap()] {
        let answer = t.get(&format!("/v1/users?starting_after={unknown}")).await;
        answer.is_problem(422, "form_resource_not_found", "starting_after");
    }
}

#[tokio::test]
async fn count_ignores_pages_and_orders() {
    let t = TestServer::start().await;
    three(&t).await;
    for query in ["limit=1", "limit=0&offset=-5", "offset=2&limit=1&order_by=-created_at", "order_by=nonsense", "starting_after=x"] {
        let count = t.get(&format!("/v1/users/count?{query}")).await.ok();
        assert_eq!(count, json!({"object": "total_count", "total_count": 3}), "{query}");
        let count = t.get(&format!("/v1/users/count?banned=true&{query}")).await.ok();
        assert_eq!(count["total_count"], 1, "{query}");
    }
    let answer = t.get("/v1/users/count?created_at_after=x").await;
    answer.is_problem(422, "form_param_type_invalid", "created_at_after");
}

#[tokio::test]
async fn lists_show_nobody_of_another_instance() {
    let t = TestServer::start().await;
    let users = three(&t).await;
    let id = users[0]["id"].as_str().unwrap();
    for query in [
        String::new(),
        format!("user_id={id}"),
        "external_id=a".to_owned(),
        "email_address=ada@example.com".to_owned(),
        "query=ada".to_owned(),
        "query=ad".to_owned(),
        "name_query=lovelace".to_owned(),
        "order_by=username".to_owned(),
    ] {
        assert_eq!(t.call(Some(&t.other), "GET", &format!("/v1/users?{query}"), None).await.ok(), json!([]), "{query}");
        let count = t.call(Some(&t.other), "GET", &format!("/v1/users/count?{query}"), None).await.ok();
        assert_eq!(count["total_count"], 0, "{query}");
    }
}

#[tokio::test]
async fn lists_follow_changes_of_a_user() {
    let t = TestServer::start().await;
    let [a, ..] = three(&t).await;
    let id = a["id"].as_str().unwrap();
    t.patch(&format!("/v1/users/{id}"), json!({"username": "countess", "first_name": "Zelda", "external_id": "z"})).await.ok();
    t.put(&format!("/v1/users/{id}/email_address"), json!({"email_address": "new@example.com"})).await.ok();
    for gone in ["username=ada_l", "external_id=a", "email_address=ada@example.com", "query=ada", "name_query=ada%20l"] {
        assert_eq!(found(&t, gone).await, [""; 0], "{gone}");
    }
    for now in ["username=countess", "external_id=z", "email_address=new@example.com", "query=zelda", "email_address_query=new@"] {
        assert_eq!(found(&t, now).await, ["z"], "{now}");
    }
    assert_eq!(found(&t, "order_by=-first_name&limit=1").await, ["z"]);
    t.delete(&format!("/v1/users/{id}")).await.ok();
    assert_eq!(found(&t, "query=zelda").await, [""; 0]);
}

/// A tenant of its own with users created at these times (seconds from some day), and all of them in
/// the order of their creation.
async fn with_users(t: &TestServer, seconds: &[i64]) -> (Tenant, Vec<(i64, String)>) {
    let tenant = t.new_tenant(Development, Settings::default()).await;
    let mut all = Vec::new();
    for (number, second) in seconds.iter().enumerate() {
        let body = json!({"username": format!("user_{number}"), "created_at": format!("2020-01-01T00:00:{second:02}Z")});
        let user = t.call(Some(&tenant), "POST", "/v1/users", Some(body)).await.ok();
        all.push((user["created_at"].as_i64().unwrap(), user["id"].as_str().unwrap().to_owned()));
    }
    all.sort();
    (tenant, all)
}

async fn page(t: &TestServer, tenant: &Tenant, query: String) -> Vec<String> {
    names(&t.call(Some(tenant), "GET", &format!("/v1/users?{query}"), None).await.ok(), "id")
}

/// Runs a property on one server.
fn check<S: Strategy>(cases: u32, strategy: &S, property: impl AsyncFn(&TestServer, S::Value)) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let t = runtime.block_on(TestServer::start());
    let mut runner = TestRunner::new_with_rng(
        Config { cases, failure_persistence: None, ..Config::default() },
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let outcome = runner.run(strategy, |value| {
        runtime.block_on(property(&t, value));
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn paging_visits_every_user_once_and_in_order() {
    let input = (prop::collection::vec(0..4_i64, 0..12), 1..5_usize, any::<bool>());
    check(20, &input, async |t, (seconds, limit, is_ascending)| {
        let (tenant, mut all) = with_users(t, &seconds).await;
        if !is_ascending {
            all.reverse();
        }
        let all: Vec<String> = all.into_iter().map(|(_, id)| id).collect();
        let order = if is_ascending { "created_at" } else { "-created_at" };
        assert_eq!(page(t, &tenant, format!("order_by={order}&limit=500")).await, all);

        let mut by_offset: Vec<String> = Vec::new();
        loop {
            let next = page(t, &tenant, format!("order_by={order}&limit={limit}&offset={}", by_offset.len())).await;
            by_offset.extend(next.iter().cloned());
            if next.len() < limit {
                break;
            }
        }
        assert_eq!(by_offset, all);

        let mut by_cursor: Vec<String> = Vec::new();
        loop {
            let cursor = by_cursor.last().map(|id| format!("&starting_after={id}")).unwrap_or_default();
            let next = page(t, &tenant, format!("order_by={order}&limit={limit}{cursor}")).await;
            by_cursor.extend(next.iter().cloned());
            if next.len() < limit {
                break;
            }
        }
        assert_eq!(by_cursor, all);
    });
}

/// What an order compares, or nothing.
fn order_key(user: &Value, field: &str) -> Option<String> {
    let primary = |list: &str, primary: &str, key: &str| -> Option<String> {
        let all = user[list].as_array()?;
        Some(all.iter().find(|item| item["id"] == user[primary])?[key].as_str()?.to_lowercase())
    };
    match field {
        "email_address" => primary("email_addresses", "primary_email_address_id", "email_address"),
        "phone_number" => primary("phone_numbers", "primary_phone_number_id", "phone_number"),
        _ => user[field].as_str().map(str::to_lowercase),
    }
}

#[test]
fn any_order_sorts_by_its_value_then_by_id() {
    let name = || prop::option::of("[abBé_]{1,2}");
    let users = prop::collection::vec((name(), name(), any::<bool>(), 0..3_u8), 1..9);
    let field = prop::sample::select(vec!["first_name", "last_name", "email_address", "phone_number", "username"]);
    check(20, &(users, field, any::<bool>()), async |t, (users, field, is_ascending)| {
        let tenant = t.new_tenant(Development, Settings::default()).await;
        let mut all = Vec::new();
        for (number, (first, last, has_username, contacts)) in users.into_iter().enumerate() {
            let mut body = json!({"first_name": first, "last_name": last, "email_address": [], "phone_number": []});
            if contacts != 1 {
                body["email_address"] = json!([format!("{}{number}@example.com", ["b", "a-", "A_"][number % 3])]);
            }
            if contacts != 2 {
                body["phone_number"] = json!([format!("+1415555{:04}", 9000 - number)]);
            }
            if has_username {
                body["username"] = json!(format!("{}{number}_name", ["b", "a-", "A_"][number % 3]));
            }
            all.push(t.call(Some(&tenant), "POST", "/v1/users", Some(body)).await.ok());
        }
        let key = |user: &Value| (order_key(user, field), user["id"].as_str().unwrap().to_owned());
        let mut keys: Vec<_> = all.iter().map(key).collect();
        keys.sort_by(|left, right| if is_ascending { left.cmp(right) } else { right.cmp(left) });
        let (some, none): (Vec<_>, Vec<_>) = keys.into_iter().partition(|(value, _)| value.is_some());
        let expected: Vec<String> = some.into_iter().chain(none).map(|(_, id)| id).collect();
        let sign = if is_ascending { "" } else { "-" };
        assert_eq!(page(t, &tenant, format!("order_by={sign}{field}&limit=500")).await, expected);
    });
}
