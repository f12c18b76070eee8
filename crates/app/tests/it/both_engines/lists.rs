//! `GET /users` and `GET /users/count`: filters and orders.

use latchkey_testkit::TestServer;
use serde_json::{Value, json};

const DAY_MS: i64 = 86_400_000;
const WALLET: &str = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F";

/// The external ids of the users a query finds, in order.
pub(crate) async fn found(t: &TestServer, query: &str) -> Vec<String> {
    let users = t.get(&format!("/v1/users?{query}")).await.ok();
    let names: Vec<String> = names(&users, "external_id");
    let count = t.get(&format!("/v1/users/count?{query}")).await.ok();
    assert_eq!(count["object"], "total_count");
    if !["limit", "offset", "starting_after"].iter().any(|page| query.contains(page)) {
        assert_eq!(count["total_count"], names.len(), "count and list differ for {query}");
    }
    names
}

pub(crate) fn names(users: &Value, key: &str) -> Vec<String> {
    users.as_array().unwrap().iter().map(|user| user[key].as_str().unwrap().to_owned()).collect()
}

/// A text as it stands in a query.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Three users, a day apart, `a` being the oldest.
pub(crate) async fn three(t: &TestServer) -> [Value; 3] {
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
        t.user(
            json!({"username": "user_".to_owned() + &number.to_string(), "external_id": number.to_string()}),
        )
        .await;
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
        (
            "email_address=ada@example.com&email_address=grace@example.com&email_address=x@y.de".to_owned(),
            vec!["b", "a"],
        ),
        ("email_address=ada@example".to_owned(), vec![]),
        (format!("phone_number={}", encoded("+14155552671")), vec!["a"]),
        (
            format!("phone_number={}&phone_number={}", encoded("+14155552671"), encoded("+442071838750")),
            vec!["c", "a"],
        ),
        ("username=ada_l".to_owned(), vec!["a"]),
        ("username=ADA_L&username=BARBARA".to_owned(), vec!["c", "a"]),
        (format!("web3_wallet={}", WALLET.to_lowercase()), vec!["b"]),
        (
            format!("web3_wallet={WALLET}&web3_wallet=7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"),
            vec!["c", "b"],
        ),
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
async fn nobody_is_left_out_as_a_member_of_an_organization_that_was_deleted() {
    let t = TestServer::start().await;
    let ann = t.user(json!({"username": "anna"})).await;
    let made = t.post("/v1/organizations", json!({"name": "Engines", "created_by": ann["id"]})).await.ok();
    let organization = made["id"].as_str().unwrap();
    let users = |sign: &str| format!("/v1/users?organization_id={sign}{organization}");
    assert_eq!(names(&t.get(&users("-")).await.ok(), "username"), [""; 0]);
    t.delete(&format!("/v1/organizations/{organization}")).await.ok();
    // The membership goes later, beside other work.
    assert_eq!(names(&t.get(&users("-")).await.ok(), "username"), ["anna"]);
    assert_eq!(names(&t.get(&users("")).await.ok(), "username"), [""; 0]);
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
        [(&a, "oauth_google", "42"), (&b, "oauth_google", "43"), (&b, "oauth_github", "42")]
            .into_iter()
            .enumerate()
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
        assert_eq!(
            found(&t, &format!("order_by=-{field}&order_by=created_at")).await,
            descending,
            "-{field}"
        );
    }
}

#[tokio::test]
async fn unknown_orders_are_refused() {
    let t = TestServer::start().await;
    for order in
        ["", "-", "id", "name", "created_at_", "--created_at", "created_at desc", "CREATED_AT", "1;drop"]
    {
        let answer = t.get(&format!("/v1/users?order_by={}", encoded(order))).await;
        answer.is_problem(422, "form_param_value_invalid", "order_by");
    }
}

#[tokio::test]
async fn at_most_a_hundred_values_of_each_list() {
    let t = TestServer::start().await;
    three(&t).await;
    for field in [
        "email_address",
        "phone_number",
        "external_id",
        "username",
        "web3_wallet",
        "user_id",
        "organization_id",
        "provider_user_id",
    ] {
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
async fn count_ignores_pages_and_orders() {
    let t = TestServer::start().await;
    three(&t).await;
    for query in [
        "limit=1",
        "limit=0&offset=-5",
        "offset=2&limit=1&order_by=-created_at",
        "order_by=nonsense",
        "starting_after=x",
    ] {
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
        assert_eq!(
            t.call(Some(&t.other), "GET", &format!("/v1/users?{query}"), None).await.ok(),
            json!([]),
            "{query}"
        );
        let count = t.call(Some(&t.other), "GET", &format!("/v1/users/count?{query}"), None).await.ok();
        assert_eq!(count["total_count"], 0, "{query}");
    }
}

#[tokio::test]
async fn lists_follow_changes_of_a_user() {
    let t = TestServer::start().await;
    let [a, ..] = three(&t).await;
    let id = a["id"].as_str().unwrap();
    t.patch(
        &format!("/v1/users/{id}"),
        json!({"username": "countess", "first_name": "Zelda", "external_id": "z"}),
    )
    .await
    .ok();
    t.put(&format!("/v1/users/{id}/email_address"), json!({"email_address": "new@example.com"})).await.ok();
    for gone in [
        "username=ada_l",
        "external_id=a",
        "email_address=ada@example.com",
        "query=ada",
        "name_query=ada%20l",
    ] {
        assert_eq!(found(&t, gone).await, [""; 0], "{gone}");
    }
    for now in [
        "username=countess",
        "external_id=z",
        "email_address=new@example.com",
        "query=zelda",
        "email_address_query=new@",
    ] {
        assert_eq!(found(&t, now).await, ["z"], "{now}");
    }
    assert_eq!(found(&t, "order_by=-first_name&limit=1").await, ["z"]);
    t.delete(&format!("/v1/users/{id}")).await.ok();
    assert_eq!(found(&t, "query=zelda").await, [""; 0]);
}
