//! Tickets: sign-in tokens and actor tokens.

use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::{EMAIL, PASSWORD, ada, begin, identified, server, shown, step};

async fn sign_in_token(t: &TestServer, user: &Value) -> String {
    let token = t.post("/v1/sign_in_tokens", json!({"user_id": user["id"]})).await.ok();
    token["token"].as_str().unwrap().to_owned()
}

async fn actor_token(t: &TestServer, user: &Value) -> String {
    let body = json!({"user_id": user["id"], "actor": {"sub": "user_boss"}});
    t.post("/v1/actor_tokens", body).await.ok()["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_sign_in_token_signs_in_once() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let ticket = sign_in_token(&t, &user).await;
    let fields = json!({"strategy": "ticket", "ticket": ticket});
    let answer = begin(&mut t.browser(), fields.clone()).await.ok();
    let sign_in = &answer["response"];
    assert_eq!((&sign_in["status"], &sign_in["identifier"]), (&json!("complete"), &json!(EMAIL)));
    assert_eq!(sign_in["first_factor_verification"]["strategy"], "ticket");
    assert_eq!(answer["client"]["last_authentication_strategy"], "ticket");
    let again = begin(&mut t.browser(), fields).await;
    again.is_problem(400, "sign_in_token_already_used_code", "ticket");
}

#[tokio::test]
async fn a_ticket_needs_no_strategy() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let fields = json!({"ticket": sign_in_token(&t, &user).await});
    assert_eq!(shown(begin(&mut t.browser(), fields).await)["status"], "complete");
}

#[tokio::test]
async fn ticket_is_a_first_factor_of_an_attempt_under_way() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    for fields in [json!({}), json!({"identifier": EMAIL})] {
        let mut browser = t.browser();
        let id = shown(begin(&mut browser, fields).await)["id"].as_str().unwrap().to_owned();
        let missing = step(&mut browser, &id, "attempt_first_factor", json!({"strategy": "ticket"})).await;
        missing.is_problem(422, "form_param_missing", "ticket");
        let fields = json!({"strategy": "ticket", "ticket": sign_in_token(&t, &user).await});
        let answer = step(&mut browser, &id, "attempt_first_factor", fields.clone()).await.ok();
        let sign_in = &answer["response"];
        assert_eq!((&sign_in["status"], &sign_in["identifier"]), (&json!("complete"), &json!(EMAIL)));
        assert_eq!(sign_in["first_factor_verification"]["strategy"], "ticket");
        assert_eq!(answer["client"]["sessions"][0]["id"], sign_in["created_session_id"]);
        // Neither the ticket nor the attempt is good for more.
        let again = step(&mut browser, &id, "attempt_first_factor", fields.clone()).await;
        again.is_error(400, "verification_already_verified");
        let mut other = t.browser();
        let id = shown(begin(&mut other, json!({})).await)["id"].as_str().unwrap().to_owned();
        let used = step(&mut other, &id, "attempt_first_factor", fields).await;
        used.is_problem(400, "sign_in_token_already_used_code", "ticket");
    }
}

#[tokio::test]
async fn ticket_of_somebody_else_proves_nothing_and_is_not_used_up() {
    for is_guarded in [false, true] {
        let t = server(|settings| settings.attack_protection.enumeration_protection = is_guarded).await;
        let user = ada(&t).await;
        t.user(json!({"email_address": ["grace@example.com"], "password": PASSWORD})).await;
        let fields = json!({"strategy": "ticket", "ticket": sign_in_token(&t, &user).await});
        let unknown = is_guarded.then_some("nobody@example.com");
        for identifier in ["grace@example.com"].into_iter().chain(unknown) {
            let mut browser = t.browser();
            let id = identified(&mut browser, identifier).await;
            let refused = step(&mut browser, &id, "attempt_first_factor", fields.clone()).await;
            refused.is_problem(400, "ticket_invalid_code", "ticket");
            let left = browser.get(&format!("/v1/client/sign_ins/{id}")).await.ok();
            assert_eq!(left["response"]["status"], "needs_first_factor");
        }
        assert_eq!(shown(begin(&mut t.browser(), fields).await)["status"], "complete");
    }
}

#[tokio::test]
async fn ticket_in_an_attempt_follows_the_rules_of_one_at_the_beginning() {
    let t = TestServer::start().await;
    let body = json!({"email_address": [EMAIL], "totp_secret": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"});
    let user = t.user(body).await;
    let path = format!("/v1/users/{}", user["id"].as_str().unwrap());
    let mut browser = t.browser();
    let id = identified(&mut browser, EMAIL).await;
    let fields = json!({"strategy": "ticket", "ticket": sign_in_token(&t, &user).await});
    let mut helper = t.browser();
    let helped = identified(&mut helper, EMAIL).await;
    t.post(&format!("{path}/lock"), json!({})).await.ok();
    let locked = step(&mut browser, &id, "attempt_first_factor", fields.clone()).await;
    locked.is_error(403, "user_locked");
    // Whoever acts as the user is not kept out by a lock, and needs no second factor.
    let acting = json!({"strategy": "ticket", "ticket": actor_token(&t, &user).await});
    let acted = step(&mut helper, &helped, "attempt_first_factor", acting).await.ok();
    assert_eq!(acted["response"]["status"], "complete");
    assert_eq!(acted["client"]["sessions"][0]["actor"]["sub"], "user_boss");
    t.post(&format!("{path}/unlock"), json!({})).await.ok();
    let sign_in = shown(step(&mut browser, &id, "attempt_first_factor", fields.clone()).await);
    assert_eq!(sign_in["status"], "needs_second_factor");
    let again = step(&mut browser, &id, "attempt_first_factor", fields).await;
    again.is_error(400, "verification_already_verified");
    // An attempt of another client is not there.
    let fields = json!({"strategy": "ticket", "ticket": sign_in_token(&t, &user).await});
    let foreign = step(&mut t.browser(), &id, "attempt_first_factor", fields).await;
    foreign.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn tickets_nobody_gave_out_are_refused() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    for ticket in ["x", "a.b.c", &"x".repeat(5000)] {
        let fields = json!({"strategy": "ticket", "ticket": ticket});
        begin(&mut browser, fields).await.is_problem(400, "ticket_invalid_code", "ticket");
    }
    assert!(browser.cookies.is_empty());
}

#[tokio::test]
async fn a_ticket_is_the_first_factor_only() {
    let t = TestServer::start().await;
    let body = json!({"email_address": [EMAIL], "totp_secret": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"});
    let user = t.user(body).await;
    let fields = json!({"strategy": "ticket", "ticket": sign_in_token(&t, &user).await});
    let sign_in = shown(begin(&mut t.browser(), fields).await);
    assert_eq!(sign_in["status"], "needs_second_factor");
}

#[tokio::test]
async fn a_ticket_that_was_refused_is_not_used_up() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let id = user["id"].as_str().unwrap();
    let fields = json!({"strategy": "ticket", "ticket": sign_in_token(&t, &user).await});
    t.post(&format!("/v1/users/{id}/ban"), json!({})).await.ok();
    begin(&mut t.browser(), fields.clone()).await.is_error(403, "user_banned");
    t.post(&format!("/v1/users/{id}/unban"), json!({})).await.ok();
    let mut browser = t.browser();
    begin(&mut browser, json!({"identifier": EMAIL, "password": PASSWORD})).await.ok();
    begin(&mut browser, fields.clone()).await.is_error(400, "session_exists");
    assert_eq!(shown(begin(&mut t.browser(), fields).await)["status"], "complete");
}

#[tokio::test]
async fn somebody_may_act_as_a_user_who_is_signed_in() {
    for single in [true, false] {
        let t = server(|settings| settings.session.single_session = single).await;
        let user = ada(&t).await;
        let mut browser = t.browser();
        begin(&mut browser, json!({"identifier": EMAIL, "password": PASSWORD})).await.ok();
        let fields = json!({"strategy": "ticket", "ticket": actor_token(&t, &user).await});
        let answer = begin(&mut browser, fields).await.ok();
        assert_eq!(answer["response"]["status"], "complete");
        let sessions = answer["client"]["sessions"].as_array().unwrap();
        assert_eq!(sessions.len(), if single { 1 } else { 2 });
        let acted = sessions
            .iter()
            .find(|session| session["id"] == answer["response"]["created_session_id"])
            .unwrap();
        assert_eq!(acted["actor"]["sub"], "user_boss");
    }
}

#[tokio::test]
async fn whoever_acts_as_a_user_needs_no_second_factor() {
    let t = TestServer::start().await;
    let body = json!({"email_address": [EMAIL], "totp_secret": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"});
    let user = t.user(body).await;
    let fields = json!({"strategy": "ticket", "ticket": actor_token(&t, &user).await});
    let answer = begin(&mut t.browser(), fields).await.ok();
    assert_eq!(answer["response"]["status"], "complete");
    // Nothing was proven that would let them change what protects the account.
    assert_eq!(answer["client"]["sessions"][0]["factor_verification_age"], json!([-1, -1]));
}

#[tokio::test]
async fn nobody_signs_in_beside_somebody_who_acts_as_another() {
    let t = server(|settings| settings.session.single_session = false).await;
    let user = ada(&t).await;
    t.user(json!({"email_address": ["grace@example.com"], "password": PASSWORD})).await;
    let mut browser = t.browser();
    let fields = json!({"strategy": "ticket", "ticket": actor_token(&t, &user).await});
    begin(&mut browser, fields).await.ok();
    let fields = json!({"identifier": "grace@example.com", "password": PASSWORD});
    begin(&mut browser, fields).await.is_error(409, "session_creation_not_allowed");
}
