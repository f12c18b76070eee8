//! Pages of `GET /users`: by limit and offset, and by cursor.

use latchkey_kernel::environment::Environment::Development;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Tenant, TestServer};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::lists::{found, names, three};

#[tokio::test]
async fn limit_and_offset_have_bounds() {
    let t = TestServer::start().await;
    three(&t).await;
    assert_eq!(found(&t, "limit=1").await, ["c"]);
    assert_eq!(found(&t, "limit=1&limit=3").await, ["c"], "the first counts");
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
            let next =
                page(t, &tenant, format!("order_by={order}&limit={limit}&offset={}", by_offset.len())).await;
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
    let field =
        prop::sample::select(vec!["first_name", "last_name", "email_address", "phone_number", "username"]);
    check(20, &(users, field, any::<bool>()), async |t, (users, field, is_ascending)| {
        let tenant = t.new_tenant(Development, Settings::default()).await;
        let mut all = Vec::new();
        for (number, (first, last, has_username, contacts)) in users.into_iter().enumerate() {
            let mut body =
                json!({"first_name": first, "last_name": last, "email_address": [], "phone_number": []});
            if contacts != 1 {
                body["email_address"] =
                    json!([format!("{}{number}@example.com", ["b", "a-", "A_"][number % 3])]);
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
