//! `/v1/me/change_password` and `/v1/me/remove_password`

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_kernel::slow::WorkOwner;
use latchkey_testkit::{HASH_THREADS, TestServer, until};
use serde_json::json;

use super::support::{Me, PASSWORD, me, sign_in};

const CHANGE: &str = "/v1/me/change_password";
const REMOVE: &str = "/v1/me/remove_password";
const NEW: &str = "staple battery horse";

async fn is_password(t: &TestServer, me: &Me<'_>, password: &str) -> bool {
    let path = format!("/v1/users/{}/verify_password", me.user);
    t.post(&path, json!({"password": password})).await.status == 200
}

/// Settings under which nobody must have a password.
fn optional() -> Settings {
    let mut settings = Settings::default();
    settings.attributes.password.required_at_sign_up = false;
    settings
}

#[tokio::test]
async fn the_current_password_changes_it_however_old_the_proof() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.wait_for_reverification();
    let before = t.events().await.len();
    let fields = json!({"current_password": PASSWORD, "new_password": NEW});
    let changed = me.post(CHANGE, fields).await.ok();
    assert_eq!(changed["response"]["id"], me.user.as_str());
    assert!(is_password(&t, &me, NEW).await && !is_password(&t, &me, PASSWORD).await);
    assert_eq!(me.events_after(before).await, ["email.created", "user.updated"]);
}

#[tokio::test]
async fn the_current_password_alone_is_no_second_factor() {
    let t = TestServer::start_with(RateLimits::Off, optional()).await;
    let mut me = me(&t).await;
    me.enroll_totp().await;
    me.wait_for_reverification();
    let fields = json!({"current_password": PASSWORD, "new_password": NEW});
    me.post(CHANGE, fields).await.is_error(403, "session_reverification_required");
    let fields = json!({"current_password": PASSWORD});
    me.post(REMOVE, fields).await.is_error(403, "session_reverification_required");
    assert!(is_password(&t, &me, PASSWORD).await);
}

#[tokio::test]
async fn without_the_current_password_a_recent_proof_is_needed() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.post(CHANGE, json!({"new_password": NEW})).await.ok();
    me.wait_for_reverification();
    me.post(CHANGE, json!({"new_password": PASSWORD})).await.is_error(403, "session_reverification_required");
    me.post(REMOVE, json!({})).await.is_error(403, "session_reverification_required");
    assert!(is_password(&t, &me, NEW).await);
}

/// Hashing takes its time, and whoever asked can have been thrown out when it is done.
#[tokio::test]
async fn a_password_is_not_changed_in_a_session_that_ended_meanwhile() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let (release, held) = mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let begun = Arc::new(AtomicUsize::new(0));
    for _ in 0..HASH_THREADS {
        let (app, owner) = (t.app.clone(), WorkOwner::backend(&t.tenant.id));
        let (held, begun) = (held.clone(), begun.clone());
        let work = move || {
            begun.fetch_add(1, Ordering::Relaxed);
            let _ = held.lock().unwrap().recv();
        };
        tokio::spawn(async move { app.hashing.run(&owner, work).await });
    }
    until(|| begun.load(Ordering::Relaxed) == HASH_THREADS).await;
    let session = me.session.clone();
    let asked = me.post(CHANGE, json!({"new_password": NEW}));
    let thrown_out = async {
        until(|| t.app.hashing.waiting() == 1).await;
        t.post(&format!("/v1/sessions/{session}/revoke"), json!({})).await.ok();
        drop(release);
    };
    let (answer, ()) = tokio::join!(asked, thrown_out);
    answer.is_error(401, "signed_out");
    assert!(is_password(&t, &me, PASSWORD).await);
}

#[tokio::test]
async fn where_nothing_is_proven_anew_the_current_password_is_needed() {
    let mut settings = optional();
    settings.session.reverification = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    me.post(CHANGE, json!({"new_password": NEW})).await.is_problem(
        422,
        "form_param_missing",
        "current_password",
    );
    me.post(REMOVE, json!({})).await.is_problem(422, "form_param_missing", "current_password");
    me.post(CHANGE, json!({"current_password": PASSWORD, "new_password": NEW})).await.ok();
}

#[tokio::test]
async fn a_wrong_current_password_counts_until_the_account_locks() {
    let mut settings = Settings::default();
    settings.lockout.max_attempts = 3;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let wrong = json!({"current_password": "wrong horse battery", "new_password": NEW});
    for left in [2, 1] {
        let refused = me.post(CHANGE, wrong.clone()).await;
        refused.is_problem(422, "form_password_validation_failed", "current_password");
        assert_eq!(me.shown().await["verification_attempts_remaining"], left);
    }
    me.post(REMOVE, wrong.clone()).await.is_error(403, "user_locked");
    let right = json!({"current_password": PASSWORD, "new_password": NEW});
    me.post(CHANGE, right).await.is_error(403, "user_locked");
    assert!(is_password(&t, &me, PASSWORD).await);
}

#[tokio::test]
async fn a_new_password_is_new_and_good() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let mut change =
        async |new: &str| me.post(CHANGE, json!({"current_password": PASSWORD, "new_password": new})).await;
    change(PASSWORD).await.is_problem(422, "form_new_password_matches_current", "new_password");
    change("short").await.is_problem(422, "form_password_length_too_short", "new_password");
    change("password").await.is_problem(422, "form_password_pwned", "new_password");
    change("me@example.com").await.is_problem(422, "form_password_matches_identifier", "new_password");
    me.post(CHANGE, json!({})).await.is_problem(422, "form_param_missing", "new_password");
    assert!(is_password(&t, &me, PASSWORD).await);
}

#[tokio::test]
async fn who_has_no_password_sets_one_after_a_recent_proof() {
    let t = TestServer::start().await;
    let user = t.user_with_email("me@example.com").await;
    let mut me = sign_in(&t, &user).await;
    me.post(REMOVE, json!({"current_password": "x"})).await.is_error(400, "no_password_set");
    let set = me.post(CHANGE, json!({"new_password": NEW})).await.ok();
    assert_eq!(set["response"]["password_enabled"], true);
    let user = t.user_with_email("other@example.com").await;
    let mut late = sign_in(&t, &user).await;
    late.wait_for_reverification();
    let fields = json!({"current_password": "anything", "new_password": NEW});
    late.post(CHANGE, fields).await.is_error(403, "session_reverification_required");
}

#[tokio::test]
async fn other_sessions_end_with_the_old_password_if_wanted() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let mut elsewhere = sign_in(&t, &me.user).await;
    let fields =
        json!({"current_password": PASSWORD, "new_password": NEW, "sign_out_of_other_sessions": false});
    me.post(CHANGE, fields).await.ok();
    elsewhere.get("/v1/me").await.ok();
    let before = t.events().await.len();
    let fields =
        json!({"current_password": NEW, "new_password": PASSWORD, "sign_out_of_other_sessions": true});
    me.post(CHANGE, fields).await.ok();
    elsewhere.get("/v1/me").await.is_error(401, "signed_out");
    me.get("/v1/me").await.ok();
    assert_eq!(me.events_after(before).await, ["email.created", "session.revoked", "user.updated"]);
}

#[tokio::test]
async fn a_password_is_removed_where_none_is_needed() {
    let t = TestServer::start_with(RateLimits::Off, optional()).await;
    let mut me = me(&t).await;
    let wrong = json!({"current_password": "wrong"});
    me.post(REMOVE, wrong).await.is_problem(422, "form_password_validation_failed", "current_password");
    let removed = me.post(REMOVE, json!({"current_password": PASSWORD})).await.ok();
    assert_eq!(removed["response"]["password_enabled"], false);
}

#[tokio::test]
async fn a_password_stays_where_it_is_required_or_the_only_way_in() {
    let t = TestServer::start().await;
    let mut required = me(&t).await;
    required.post(REMOVE, json!({"current_password": PASSWORD})).await.is_error(400, "password_required");
    let t = TestServer::start_with(RateLimits::Off, optional()).await;
    let user = t.user(json!({"username": "somebody", "password": PASSWORD})).await;
    let mut only = sign_in(&t, user["id"].as_str().unwrap()).await;
    only.post(REMOVE, json!({"current_password": PASSWORD})).await.is_error(400, "password_required");
    assert!(is_password(&t, &only, PASSWORD).await);
}
