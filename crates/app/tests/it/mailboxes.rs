//! An e-mail address names one mailbox, however its domain is written.

use latchkey_people::users::domains;
use latchkey_testkit::{TestServer, escape};
use serde_json::{Value, json};

const STORED: &str = "ada@xn--bcher-kva.example";
const WAYS: [&str; 6] = [
    STORED,
    "Ada@BÜCHER.example",
    "ada@bu\u{308}cher.example",
    "ada@ｂüｃｈｅｒ．ｅｘａｍｐｌｅ",
    "ada@bücher。example",
    "ada@XN--BCHER-KVA.EXAMPLE",
];

/// The addresses of a user as they are shown.
fn addresses(user: &Value) -> Vec<&str> {
    user["email_addresses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["email_address"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_mailbox_belongs_to_one_user_however_it_is_written() {
    for held in WAYS {
        let t = TestServer::start().await;
        let user = t.user(json!({"email_address": [held]})).await;
        assert_eq!(addresses(&user), [STORED], "{held}");
        let other = t.user(json!({"username": "other_one"})).await;
        for asked in WAYS {
            let taken = t.post("/v1/users", json!({"email_address": [asked]})).await;
            taken.is_problem(422, "form_identifier_exists", "email_address");
            let added = json!({"user_id": other["id"], "email_address": asked, "verified": true});
            t.post("/v1/email_addresses", added).await.is_problem(
                422,
                "form_identifier_exists",
                "email_address",
            );
            let twice = json!({"user_id": user["id"], "email_address": asked});
            t.post("/v1/email_addresses", twice).await.is_problem(
                422,
                "form_identifier_exists",
                "email_address",
            );
        }
    }
}

#[tokio::test]
async fn a_user_is_found_and_signs_in_by_every_way_to_write_their_address() {
    let t = TestServer::start().await;
    let password = "correct horse battery";
    let user = t.user(json!({"email_address": ["ada@bücher.example"], "password": password})).await;
    for way in WAYS {
        for query in ["email_address", "query", "email_address_query"] {
            let found = t.get(&format!("/v1/users?{query}={}", escape(way))).await.ok();
            assert_eq!(found.as_array().unwrap().len(), 1, "{query}={way}");
        }
        let mut browser = t.browser();
        let form = json!({"identifier": way, "password": password});
        let done = browser.post("/v1/client/sign_ins", form).await.ok();
        assert_eq!(done["response"]["identifier"], STORED, "{way}");
        assert_eq!(done["client"]["sessions"][0]["user"]["id"], user["id"], "{way}");
        let mut other = t.browser();
        let form = json!({"email_address": way, "password": password});
        other.post("/v1/client/sign_ups", form).await.is_problem(
            422,
            "form_identifier_exists",
            "email_address",
        );
    }
    for part in ["bücher", "BÜCHER.ex", "xn--bcher", "a@bü", "@ＢÜ"] {
        let found = t.get(&format!("/v1/users?email_address_query={}", escape(part))).await.ok();
        assert_eq!(found.as_array().unwrap().len(), 1, "{part}");
    }
    let none = t.get(&format!("/v1/users?query={}", escape("ada@bucher.example"))).await.ok();
    assert_eq!(none, json!([]));
}

#[tokio::test]
async fn mail_goes_to_the_domain_as_dns_knows_it() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let made = browser.post("/v1/client/sign_ups", json!({"email_address": "ada@Bücher.example"})).await.ok();
    let id = made["response"]["id"].as_str().unwrap();
    let path = format!("/v1/client/sign_ups/{id}/prepare_verification");
    browser.post(&path, json!({"strategy": "email_code"})).await.ok();
    assert_eq!(t.inbox().await[0]["to"], STORED);
}

#[tokio::test]
async fn domains_that_dns_cannot_have_are_refused() {
    let t = TestServer::start().await;
    for bad in
        ["a@xn--a.example", "a@b＠c.example", "a@１.２.３.４", "a@bü_cher.example", "a@bücher.example."]
    {
        let refused = t.post("/v1/users", json!({"email_address": [bad]})).await;
        refused.is_problem(422, "form_param_format_invalid", "email_address");
    }
}

/// Writes an address as servers before this rule did.
async fn written_before(t: &TestServer, user: &Value, from: &str, to: &str) {
    let id = user["id"].as_str().unwrap();
    for sql in [
        "UPDATE users SET document = replace(document, $2, $3), emails_folded = replace(emails_folded, $2, $3) \
         WHERE id = $1",
        "UPDATE identifications SET value_folded = replace(value_folded, $2, $3) WHERE user_id = $1",
    ] {
        t.run_sql(sql, vec![id.into(), from.into(), to.into()]).await;
    }
}

/// A server whose database has not had the step yet. Databases of tests are used again, without their rows.
async fn not_stepped() -> TestServer {
    let t = TestServer::start().await;
    t.run_sql("DELETE FROM schema_migrations WHERE name = $1", vec![domains::STEP.into()]).await;
    t
}

async fn holders(t: &TestServer, address: &str) -> Vec<String> {
    let found = t.get(&format!("/v1/users?email_address={}", escape(address))).await.ok();
    found.as_array().unwrap().iter().map(|user| user["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn addresses_stored_before_are_brought_into_their_form_once() {
    let t = not_stepped().await;
    let old = t.user(json!({"email_address": ["eve@old.example"]})).await;
    let plain = t.user(json!({"email_address": ["bob@plain.example"]})).await;
    written_before(&t, &old, "eve@old.example", "eve@bücher.example").await;
    assert_eq!(holders(&t, "eve@bücher.example").await, [""; 0], "this is what must be brought up to date");
    assert_eq!(domains::normalise(t.db()).await.unwrap(), Some(Vec::new()));
    let id = old["id"].as_str().unwrap();
    for way in ["eve@bücher.example", "eve@xn--bcher-kva.example"] {
        assert_eq!(holders(&t, way).await, [id]);
    }
    assert_eq!(addresses(&t.shown(id).await), ["eve@xn--bcher-kva.example"]);
    let found = t.get(&format!("/v1/users?query={}", escape("bücher"))).await.ok();
    assert_eq!(found[0]["id"], id);
    assert_eq!(t.shown(plain["id"].as_str().unwrap()).await, plain);
    assert_eq!(domains::normalise(t.db()).await.unwrap(), None, "once");
}

#[tokio::test]
async fn users_who_hold_one_mailbox_twice_are_reported_and_lose_nothing() {
    let t = not_stepped().await;
    let first = t.user(json!({"email_address": ["eve@old.example", "eve@second.example"]})).await;
    t.clock.advance_ms(1);
    let second = t.user(json!({"email_address": [STORED]})).await;
    t.clock.advance_ms(1);
    let third = t.user(json!({"email_address": ["ada@elsewhere.example"]})).await;
    written_before(&t, &first, "eve@old.example", "ada@bücher.example").await;
    written_before(&t, &third, "ada@elsewhere.example", "ada@ｂücher.example").await;
    let id = |user: &Value| user["id"].as_str().unwrap().to_owned();
    let elsewhere = json!({"email_address": ["ada@bücher.example"]});
    t.call(Some(&t.other), "POST", "/v1/users", Some(elsewhere)).await.ok();
    let reported = domains::normalise(t.db()).await.unwrap().unwrap();
    let said: Vec<_> = reported
        .iter()
        .map(|it| (it.user.to_string(), it.address.as_str(), it.holder.as_ref().unwrap().to_string()))
        .collect();
    let expected =
        [(id(&first), "ada@bücher.example", id(&second)), (id(&third), "ada@ｂücher.example", id(&second))];
    assert_eq!(said, expected);
    assert_eq!(domains::collisions(t.db()).await.unwrap(), reported);
    assert!(!reported[0].to_string().contains("ada@"), "addresses are not logged: {}", reported[0]);
    assert_eq!(addresses(&t.shown(&id(&first)).await), ["ada@bücher.example", "eve@second.example"]);
    assert_eq!(holders(&t, "ada@bücher.example").await, [id(&second)]);
    // They are as usable as before, and deleting one of the two ends it.
    t.patch(&format!("/v1/users/{}", id(&first)), json!({"first_name": "Eve"})).await.ok();
    t.delete(&format!("/v1/users/{}", id(&third))).await.ok();
    assert_eq!(domains::collisions(t.db()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn addresses_that_dns_cannot_know_are_reported_and_kept() {
    let t = not_stepped().await;
    let ann = t.user(json!({"email_address": ["ann@old.example"]})).await;
    written_before(&t, &ann, "ann@old.example", "ann@xn--a.example").await;
    let reported = domains::normalise(t.db()).await.unwrap().unwrap();
    assert_eq!(reported.len(), 1);
    assert_eq!((reported[0].address.as_str(), &reported[0].holder), ("ann@xn--a.example", &None));
    assert!(reported[0].to_string().contains("give the user another one"), "{}", reported[0]);
    assert_eq!(addresses(&t.shown(ann["id"].as_str().unwrap()).await), ["ann@xn--a.example"]);
}
