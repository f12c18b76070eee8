//! Banning and locking users.

use latchkey_kernel::environment::Environment::Development;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::{Lockout, Settings};
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

const HOUR_MS: i64 = 3_600_000;
const NOBODY: &str = "user_000000000000000000000000000";

async fn several(t: &TestServer, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for number in 0..count {
        ids.push(t.user_with_email(&format!("user{number}@example.com")).await);
    }
    ids
}

async fn lockout(lockout: Lockout) -> TestServer {
    TestServer::start_with(RateLimits::Off, Settings { lockout, ..Settings::default() }).await
}

/// `locked` and `lockout_expires_in_seconds`.
fn lock_state(user: &Value) -> (bool, Option<i64>) {
    (user["locked"].as_bool().unwrap(), user["lockout_expires_in_seconds"].as_i64())
}

#[tokio::test]
async fn ban_and_unban_may_be_repeated() {
    let t = TestServer::start().await;
    let id = t.user_with_email("ada@example.com").await;
    let path = |action: &str| format!("/v1/users/{id}/{action}");
    for (action, banned) in [("ban", true), ("ban", true), ("unban", false), ("unban", false)] {
        t.clock.advance_ms(1);
        let answer = t.post(&path(action), json!({})).await.ok();
        assert_eq!(answer["banned"], banned);
        assert_eq!(t.shown(&id).await, answer);
    }
    // Repeating changed nothing, so the last update was the first unban.
    assert_eq!(t.shown(&id).await["updated_at"], 1_767_225_600_003_i64);
    t.post(&format!("/v1/users/{NOBODY}/ban"), json!({})).await.is_error(404, "resource_not_found");
    t.post(&format!("/v1/users/{NOBODY}/unban"), json!({})).await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn several_users_are_banned_and_answered_in_the_order_asked() {
    let t = TestServer::start().await;
    let ids = several(&t, 4).await;
    let asked = json!([ids[2], ids[0], ids[3]]);
    for (action, banned) in [("ban", true), ("unban", false)] {
        let answer = t.post(&format!("/v1/users/{action}"), json!({"user_ids": asked})).await.ok();
        let users = answer.as_array().unwrap();
        assert_eq!(
            users.iter().map(|user| user["id"].clone()).collect::<Vec<_>>(),
            *asked.as_array().unwrap()
        );
        assert!(users.iter().all(|user| user["banned"] == banned));
        assert_eq!(t.shown(&ids[0]).await["banned"], banned);
        assert_eq!(t.shown(&ids[1]).await["banned"], false);
    }
}

#[tokio::test]
async fn fifty_users_are_banned_at_once_and_not_one_more() {
    let t = TestServer::start().await;
    let ids = several(&t, 51).await;
    for action in ["ban", "unban"] {
        let path = format!("/v1/users/{action}");
        let answer = t.post(&path, json!({"user_ids": ids})).await;
        answer.is_problem(400, "bulk_size_exceeded", "user_ids");
        assert_eq!(t.post(&path, json!({"user_ids": ids[..50]})).await.ok().as_array().unwrap().len(), 50);
        t.post(&path, json!({"user_ids": []})).await.is_problem(400, "form_param_value_invalid", "user_ids");
        t.post(&path, json!({})).await.is_problem(400, "form_param_missing", "user_ids");
        t.post(&path, json!({"user_ids": "user_1"})).await.is_problem(
            400,
            "form_param_type_invalid",
            "user_ids",
        );
    }
}

#[tokio::test]
async fn nobody_is_banned_when_one_of_them_does_not_exist() {
    let t = TestServer::start().await;
    let ids = several(&t, 2).await;
    let foreign = t.call(Some(&t.other), "POST", "/v1/users", Some(json!({"username": "ada_l"}))).await.ok();
    for unknown in [NOBODY, "nonsense", foreign["id"].as_str().unwrap()] {
        let asked = json!({"user_ids": [ids[0], unknown, ids[1]]});
        t.post("/v1/users/ban", asked).await.is_error(404, "resource_not_found");
        assert_eq!(t.get("/v1/users/count?banned=true").await.ok()["total_count"], 0);
    }
}

#[tokio::test]
async fn a_user_named_twice_is_banned_once() {
    let t = TestServer::start().await;
    let ids = several(&t, 1).await;
    let answer = t.post("/v1/users/ban", json!({"user_ids": [ids[0], ids[0]]})).await.ok();
    assert_eq!(answer[0], answer[1]);
    let bans = t.events().await.iter().filter(|event| event.kind == "user.updated").count();
    assert_eq!(bans, 1);
}

#[tokio::test]
async fn lock_ends_by_itself_after_an_hour() {
    let t = TestServer::start().await;
    let id = t.user_with_email("ada@example.com").await;
    let locked = t.post(&format!("/v1/users/{id}/lock"), json!({})).await.ok();
    assert_eq!(lock_state(&locked), (true, Some(3600)));
    assert_eq!(locked["verification_attempts_remaining"], 100);
    t.clock.advance_ms(HOUR_MS - 1);
    assert_eq!(lock_state(&t.shown(&id).await), (true, Some(1)));
    t.clock.advance_ms(1);
    assert_eq!(lock_state(&t.shown(&id).await), (false, None));
    // A new lock counts from its own beginning.
    let again = t.post(&format!("/v1/users/{id}/lock"), json!({})).await.ok();
    assert_eq!(lock_state(&again), (true, Some(3600)));
}

#[tokio::test]
async fn locking_a_locked_user_does_not_prolong_the_lock() {
    let t = TestServer::start().await;
    let id = t.user_with_email("ada@example.com").await;
    t.post(&format!("/v1/users/{id}/lock"), json!({})).await.ok();
    t.clock.advance_ms(HOUR_MS / 2);
    let again = t.post(&format!("/v1/users/{id}/lock"), json!({})).await.ok();
    assert_eq!(lock_state(&again), (true, Some(1800)));
}

#[tokio::test]
async fn unlock_lifts_a_lock_and_may_be_repeated() {
    let t = TestServer::start().await;
    let id = t.user_with_email("ada@example.com").await;
    t.post(&format!("/v1/users/{id}/lock"), json!({})).await.ok();
    for _ in 0..2 {
        let unlocked = t.post(&format!("/v1/users/{id}/unlock"), json!({})).await.ok();
        assert_eq!(lock_state(&unlocked), (false, None));
        assert_eq!(unlocked, t.shown(&id).await);
    }
    t.post(&format!("/v1/users/{NOBODY}/lock"), json!({})).await.is_error(404, "resource_not_found");
    t.post(&format!("/v1/users/{NOBODY}/unlock"), json!({})).await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn lock_without_duration_never_ends_by_itself() {
    let t = lockout(Lockout { duration_minutes: None, ..Lockout::default() }).await;
    let id = t.user_with_email("ada@example.com").await;
    t.post(&format!("/v1/users/{id}/lock"), json!({})).await.ok();
    t.clock.advance_ms(1000 * 24 * HOUR_MS);
    assert_eq!(lock_state(&t.shown(&id).await), (true, None));
    let born_locked = t.user(json!({"username": "locked_one", "locked": true})).await;
    assert_eq!(lock_state(&born_locked), (true, None));
}

#[tokio::test]
async fn nobody_is_locked_where_lockout_is_switched_off() {
    let t = lockout(Lockout { enabled: false, ..Lockout::default() }).await;
    let user = t.user(json!({"username": "ada_l"})).await;
    assert_eq!(user["verification_attempts_remaining"], Value::Null);
    let id = user["id"].as_str().unwrap();
    for action in ["lock", "unlock"] {
        t.post(&format!("/v1/users/{id}/{action}"), json!({})).await.is_error(403, "feature_not_enabled");
    }
    t.post("/v1/users", json!({"username": "locked_one", "locked": true}))
        .await
        .is_error(403, "feature_not_enabled");
    assert_eq!(t.user(json!({"username": "free_one", "locked": false})).await["locked"], false);
}

#[tokio::test]
async fn whoever_was_locked_when_lockout_was_switched_off_can_be_unlocked() {
    let t = lockout(Lockout { duration_minutes: None, ..Lockout::default() }).await;
    let id = t.user_with_email("ada@example.com").await;
    t.post(&format!("/v1/users/{id}/lock"), json!({})).await.ok();
    let lockout = Lockout { enabled: false, ..Lockout::default() };
    t.set_settings(Settings { lockout, ..Settings::default() }).await;
    assert_eq!(lock_state(&t.shown(&id).await), (true, None));
    let unlocked = t.post(&format!("/v1/users/{id}/unlock"), json!({})).await.ok();
    assert_eq!(lock_state(&unlocked), (false, None));
}

#[tokio::test]
async fn lock_follows_the_duration_of_its_own_instance() {
    let t = TestServer::start().await;
    let settings = Settings {
        lockout: Lockout { duration_minutes: Some(5), ..Lockout::default() },
        ..Settings::default()
    };
    let tenant = t.new_tenant(Development, settings).await;
    let body = json!({"username": "ada_l", "locked": true});
    let user = t.call(Some(&tenant), "POST", "/v1/users", Some(body.clone())).await.ok();
    assert_eq!(lock_state(&user), (true, Some(300)));
    assert_eq!(lock_state(&t.user(body).await), (true, Some(3600)));
}
