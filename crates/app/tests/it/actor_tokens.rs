//! Actor tokens: made, revoked, and used exactly once.

use latchkey_base::{Code, Result};
use latchkey_kernel::settings::Settings;
use latchkey_people::tickets::{self, TicketKind};
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

async fn token(t: &TestServer, body: Value) -> Value {
    t.post("/v1/actor_tokens", body).await.ok()
}

/// Uses a ticket up; says whom it lets act as whom, and for how long.
async fn redeem(t: &TestServer, token: &Value) -> Result<(String, Value, i64), Code> {
    let (act, ticket) = (t.act(&t.tenant), token["token"].as_str().unwrap().to_owned());
    let used = t.db().write(move |tx| {
        Box::pin(async move {
            let redeemed = tickets::redeem(tx, &act, &ticket).await?;
            assert_eq!(redeemed.kind, TicketKind::ActorToken);
            let actor = Value::Object(redeemed.actor.unwrap());
            Ok((redeemed.user.id.to_string(), actor, redeemed.lifetime_seconds.unwrap()))
        })
    });
    used.await.map_err(|error| error.code())
}

#[tokio::test]
async fn actor_acts_as_the_user_once() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let actor = json!({"sub": "user_admin", "iss": "https://admin.example.com", "reason": {"case": 7}});
    let token = token(&t, json!({"user_id": user, "actor": actor})).await;
    assert_eq!((&token["object"], &token["status"]), (&json!("actor_token"), &json!("pending")));
    assert_eq!((&token["user_id"], &token["actor"]), (&json!(user), &actor));
    assert!(token["url"].as_str().unwrap().contains("/v1/tickets/accept?ticket="));
    assert_eq!(redeem(&t, &token).await, Ok((user, actor, 1800)));
    assert_eq!(redeem(&t, &token).await, Err(Code::ActorTokenAlreadyUsed));
}

#[tokio::test]
async fn session_lasts_as_long_as_told() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let body = json!({"user_id": user, "actor": {"sub": "a"}, "session_max_duration_in_seconds": 60});
    let token = token(&t, body).await;
    t.clock.advance_ms(3_599_000);
    assert_eq!(redeem(&t, &token).await.unwrap().2, 60);
}

#[tokio::test]
async fn token_expires_and_can_be_revoked() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let body = json!({"user_id": user, "actor": {"sub": "a"}});
    let (late, back) = (token(&t, body.clone()).await, token(&t, body).await);
    let path = format!("/v1/actor_tokens/{}/revoke", back["id"].as_str().unwrap());
    let revoked = t.post(&path, json!({})).await.ok();
    assert_eq!(revoked["status"], "revoked");
    assert_eq!((revoked.get("token"), revoked.get("url")), (None, None));
    assert_eq!(redeem(&t, &back).await, Err(Code::ActorTokenRevoked));
    t.post(&path, json!({})).await.is_error(400, "actor_token_cannot_be_revoked_code");
    t.clock.advance_ms(3_600_000);
    assert_eq!(redeem(&t, &late).await, Err(Code::TicketExpired));
}

#[tokio::test]
async fn tokens_neither_begin_nor_sign_in_when_they_are_switched_off() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let body = json!({"user_id": user, "actor": {"sub": "a"}});
    let pending = token(&t, body.clone()).await;
    let mut settings = Settings::default();
    settings.actor_tokens.enabled = false;
    t.set_settings(settings).await;
    let before = t.everything().await;
    t.post("/v1/actor_tokens", body.clone()).await.is_error(403, "feature_not_enabled");
    let ticket = json!({"strategy": "ticket", "ticket": pending["token"]});
    let answer = t.browser().post("/v1/client/sign_ins", ticket.clone()).await;
    answer.is_error(403, "feature_not_enabled");
    assert_eq!(t.everything().await, before);
    t.call(Some(&t.other), "POST", "/v1/actor_tokens", Some(body)).await.is_problem(
        422,
        "form_resource_not_found",
        "user_id",
    );
    t.set_settings(Settings::default()).await;
    t.browser().post("/v1/client/sign_ins", ticket).await.ok();
}

#[tokio::test]
async fn token_needs_a_user_and_an_actor() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let create = |body: Value| t.post("/v1/actor_tokens", body);
    for unknown in ["user_000000000000000000000000000", "ann"] {
        let answer = create(json!({"user_id": unknown, "actor": {"sub": "a"}})).await;
        answer.is_problem(422, "form_resource_not_found", "user_id");
    }
    create(json!({"user_id": user, "actor": {}})).await.is_problem(422, "form_param_missing", "actor");
    let answer = create(json!({"user_id": user, "actor": {"sub": ""}})).await;
    answer.is_problem(422, "form_param_value_invalid", "actor");
    let answer = create(json!({"user_id": user, "actor": {"sub": "a", "note": "x".repeat(2048)}})).await;
    answer.is_problem(422, "form_param_exceeds_allowed_size", "actor");
    for field in ["expires_in_seconds", "session_max_duration_in_seconds"] {
        let mut body = json!({"user_id": user, "actor": {"sub": "a"}});
        body[field] = json!(0);
        create(body).await.is_problem(422, "form_param_value_invalid", field);
    }
}
