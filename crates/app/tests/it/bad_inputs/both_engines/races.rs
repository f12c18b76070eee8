//! Many callers at the same moment: what may happen once happens once, and nobody is held up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use latchkey_base::time::Clock;
use latchkey_jose::totp::totp_code;
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const MANY: usize = 64;

/// Sends `body(number)` to `path` from many tasks at once.
async fn at_once(t: &Arc<TestServer>, path: &str, body: impl Fn(usize) -> Value) -> Vec<Answer> {
    let mut tasks = JoinSet::new();
    for number in 0..MANY {
        let (t, path, body) = (t.clone(), path.to_owned(), body(number));
        tasks.spawn(async move { t.post(&path, body).await });
    }
    tasks.join_all().await
}

/// How many succeeded; all others must have been refused like this.
#[track_caller]
fn successes(answers: &[Answer], status: u16, code: &str) -> usize {
    let (good, refused): (Vec<&Answer>, Vec<&Answer>) =
        answers.iter().partition(|answer| answer.status == 200);
    refused.iter().for_each(|answer| answer.is_error(status, code));
    good.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_code_tried_64_times_at_once_is_accepted_once() {
    let t = Arc::new(TestServer::start().await);
    let person = t.person(&t.tenant, 1).await;
    let path = format!("/v1/users/{}/verify_totp", person.user);
    let answers = at_once(&t, &path, |_| json!({"code": person.backup_code})).await;
    assert_eq!(successes(&answers, 422, "totp_incorrect_code"), 1);
    t.post(&path, json!({"code": person.backup_code})).await.is_error(422, "totp_incorrect_code");
}

#[tokio::test(flavor = "multi_thread")]
async fn totp_code_tried_64_times_at_once_is_accepted_once() {
    let t = Arc::new(TestServer::start().await);
    let person = t.person(&t.tenant, 1).await;
    let path = format!("/v1/users/{}/verify_totp", person.user);
    let code = totp_code(&person.totp_secret, t.clock.now().seconds() / 30);
    let answers = at_once(&t, &path, |_| json!({"code": code})).await;
    assert_eq!(successes(&answers, 422, "totp_incorrect_code"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn identifiers_wanted_in_opposite_orders_are_refused_and_never_deadlock() {
    let t = Arc::new(TestServer::start().await);
    for round in 0..5 {
        let answers = at_once(&t, "/v1/users", |number| {
            let (a, b) = (format!("a{round}@example.com"), format!("b{round}@example.com"));
            json!({"email_address": if number % 2 == 0 { [a, b] } else { [b, a] }})
        })
        .await;
        assert_eq!(successes(&answers, 422, "form_identifier_exists"), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn identifier_wanted_by_64_new_users_at_once_goes_to_one() {
    let t = Arc::new(TestServer::start().await);
    let wanted = [
        ("email_address", json!({"email_address": ["ada@example.com"]})),
        ("phone_number", json!({"phone_number": ["+14155550100"]})),
        ("username", json!({"username": "countess"})),
        ("external_id", json!({"email_address": [], "external_id": "engine"})),
    ];
    for (made, (param, body)) in (1..).zip(wanted) {
        let answers = at_once(&t, "/v1/users", |number| {
            let mut body = body.clone();
            if param == "external_id" {
                body["username"] = json!(format!("somebody-{number}"));
            }
            body
        })
        .await;
        assert_eq!(successes(&answers, 422, "form_identifier_exists"), 1, "{param}");
        assert!(answers.iter().all(|answer| answer.status == 200 || answer.param() == param));
        // Of those who were refused nothing is left.
        assert_eq!(t.get("/v1/users/count").await.ok()["total_count"], made);
        let rows = t.everything().await;
        let count = |table: &str| rows.iter().filter(|row| row.starts_with(table)).count();
        assert_eq!((count("users "), count("identifications "), count("events ")), (made, made, made));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn address_wanted_by_64_users_at_once_is_verified_for_one() {
    let t = Arc::new(TestServer::start().await);
    let mut users = Vec::new();
    for number in 0..MANY {
        let body = json!({"username": format!("somebody-{number}")});
        users.push(t.post("/v1/users", body).await.ok()["id"].as_str().unwrap().to_owned());
    }
    let body = |number: usize| json!({"user_id": users[number], "email_address": "ada@example.com", "verified": true});
    let answers = at_once(&t, "/v1/email_addresses", body).await;
    assert_eq!(successes(&answers, 422, "form_identifier_exists"), 1);
}

/// A user with an address that is not verified, and a code on its way to it.
async fn code_under_way(t: &TestServer) -> (String, String, String) {
    let user = t.post("/v1/users", json!({"username": "somebody"})).await.ok();
    let body = json!({"user_id": user["id"], "email_address": "ada@example.com"});
    let email = t.post("/v1/email_addresses", body).await.ok()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/email_addresses/{email}");
    let sent = t.post(&format!("{path}/prepare_verification"), json!({})).await.ok();
    let code = t.inbox().await[0]["code"].as_str().unwrap().to_owned();
    (path, sent["id"].as_str().unwrap().to_owned(), code)
}

/// Status and attempts of every verification that was answered.
fn statuses(answers: &[Answer]) -> Vec<(&str, i64)> {
    let answered = answers.iter().filter(|answer| answer.status == 200);
    answered.map(|it| (it.json["status"].as_str().unwrap(), it.json["attempts"].as_i64().unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn right_code_tried_64_times_at_once_verifies_once() {
    let t = Arc::new(TestServer::start().await);
    let (path, verification, code) = code_under_way(&t).await;
    let attempt = format!("{path}/attempt_verification");
    let answers = at_once(&t, &attempt, |_| json!({"verification_id": verification, "code": code})).await;
    assert_eq!(successes(&answers, 400, "verification_already_verified"), 1);
    assert_eq!(statuses(&answers), [("verified", 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_64_guesses_at_once_three_count_and_the_code_is_worth_nothing_afterwards() {
    let t = Arc::new(TestServer::start().await);
    let (path, verification, code) = code_under_way(&t).await;
    let attempt = format!("{path}/attempt_verification");
    let wrong = |number: usize| {
        let guess = format!("{number:06}");
        json!({"verification_id": verification, "code": if guess == code { "999999".to_owned() } else { guess }})
    };
    let answers = at_once(&t, &attempt, wrong).await;
    assert_eq!(successes(&answers, 0, "never refused"), MANY);
    let mut tries = statuses(&answers);
    tries.sort_by_key(|(_, attempts)| *attempts);
    let status = |attempts: i64| if attempts < 3 { "unverified" } else { "failed" };
    let expected: Vec<(&str, i64)> = (1..).take(MANY).map(|attempts| (status(attempts), attempts)).collect();
    assert_eq!(tries, expected, "each try is counted, and the third one ends the code");
    let late = t.post(&attempt, json!({"verification_id": verification, "code": code})).await.ok();
    assert_eq!((&late["status"], &late["attempts"]), (&json!("failed"), &json!(MANY + 1)));
    assert_eq!(t.get(&path).await.ok()["verification"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn right_code_among_63_guesses_at_once_is_accepted_at_most_once() {
    let t = Arc::new(TestServer::start().await);
    let (path, verification, code) = code_under_way(&t).await;
    let attempt = format!("{path}/attempt_verification");
    let mixed = |number: usize| {
        let guess = if number == 5 { code.clone() } else { format!("x{number:05}") };
        json!({"verification_id": verification, "code": guess})
    };
    let answers = at_once(&t, &attempt, mixed).await;
    let verified = statuses(&answers).iter().filter(|(status, _)| *status == "verified").count();
    assert!(verified <= 1, "{verified}");
    assert!(statuses(&answers).iter().all(|(status, attempts)| *status == "failed" || *attempts <= 3));
    let is_verified = !t.get(&path).await.ok()["verification"].is_null();
    assert_eq!(is_verified, verified == 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_one_user_at_once_are_all_kept() {
    let t = Arc::new(TestServer::start().await);
    let id =
        t.post("/v1/users", json!({"username": "somebody"})).await.ok()["id"].as_str().unwrap().to_owned();
    let mut tasks = JoinSet::new();
    for number in 0..MANY {
        let (t, path) = (t.clone(), format!("/v1/users/{id}/metadata"));
        let body = json!({"public_metadata": {format!("key{number}"): number}});
        tasks.spawn(async move { t.patch(&path, body).await.ok() });
    }
    tasks.join_all().await;
    let metadata = t.get(&format!("/v1/users/{id}")).await.ok()["public_metadata"].clone();
    assert_eq!(metadata.as_object().unwrap().len(), MANY);
}

#[tokio::test(flavor = "multi_thread")]
async fn password_checks_do_not_hold_up_other_requests() {
    let t = Arc::new(TestServer::start().await);
    let body = json!({"username": "somebody", "password": "correct horse battery"});
    let id = t.post("/v1/users", body).await.ok()["id"].as_str().unwrap().to_owned();
    let finished = Arc::new(AtomicUsize::new(0));
    let mut checks = JoinSet::new();
    for _ in 0..MANY {
        let (t, finished) = (t.clone(), finished.clone());
        let path = format!("/v1/users/{id}/verify_password");
        checks.spawn(async move {
            t.post(&path, json!({"password": "correct horse battery"})).await.ok();
            finished.fetch_add(1, Ordering::SeqCst);
        });
    }
    for _ in 0..5 {
        t.get(&format!("/v1/users/{id}")).await.ok();
    }
    let done_meanwhile = finished.load(Ordering::SeqCst);
    checks.join_all().await;
    assert!(done_meanwhile < MANY, "five reads waited for {done_meanwhile} password checks");
}
