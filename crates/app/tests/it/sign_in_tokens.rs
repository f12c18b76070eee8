//! Sign-in tokens: made, revoked, and used exactly once.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::{Code, Result};
use latchkey_people::tickets::{self, TicketKind};
use latchkey_testkit::{Tenant, TestServer};
use serde_json::{Value, json};

/// Makes a token; returns what was answered.
async fn token(t: &TestServer, user: &str) -> Value {
    t.post("/v1/sign_in_tokens", json!({"user_id": user})).await.ok()
}

fn ticket(token: &Value) -> String {
    token["token"].as_str().unwrap().to_owned()
}

/// Uses a ticket up, as signing in does; says whom it signs in.
async fn redeem(t: &TestServer, tenant: &Tenant, ticket: &str) -> Result<(TicketKind, String), Code> {
    let (act, ticket) = (t.act(tenant), ticket.to_owned());
    let used = t.db().write(move |tx| {
        Box::pin(async move {
            let redeemed = tickets::redeem(tx, &act, &ticket).await?;
            assert_eq!((redeemed.actor, redeemed.lifetime_seconds), (None, None));
            Ok((redeemed.kind, redeemed.user.id.to_string()))
        })
    });
    used.await.map_err(|error| error.code())
}

#[tokio::test]
async fn token_is_a_ticket_for_its_user() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let token = token(&t, &user).await;
    assert_eq!((&token["object"], &token["status"]), (&json!("sign_in_token"), &json!("pending")));
    assert_eq!(token["user_id"], json!(user));
    let ticket = ticket(&token);
    // The server of the test is where the development instance is reached.
    assert_eq!(token["url"], json!(format!("http://localhost:3401/v1/tickets/accept?ticket={ticket}")));
    let part = |index: usize| -> Value {
        let part = ticket.split('.').nth(index).unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    };
    assert_eq!(part(0), json!({"alg": "RS256", "kid": t.tenant.id.as_str(), "typ": "JWT"}));
    let exp = token["created_at"].as_i64().unwrap() / 1000 + 2_592_000;
    let claims = json!({
        "eis": 2_592_000, "exp": exp, "iid": t.tenant.id.as_str(), "sid": token["id"], "st": "sign_in_token",
    });
    assert_eq!(part(1), claims);
    assert_eq!(redeem(&t, &t.tenant, &ticket).await, Ok((TicketKind::SignInToken, user)));
}

#[tokio::test]
async fn ticket_is_used_once() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let token = token(&t, &user).await;
    redeem(&t, &t.tenant, &ticket(&token)).await.unwrap();
    assert_eq!(redeem(&t, &t.tenant, &ticket(&token)).await, Err(Code::SignInTokenAlreadyUsed));
    let revoke = format!("/v1/sign_in_tokens/{}/revoke", token["id"].as_str().unwrap());
    t.post(&revoke, json!({})).await.is_error(400, "sign_in_token_cannot_be_revoked_code");
}

#[tokio::test]
async fn ticket_is_used_once_however_many_try_at_once() {
    let t = Arc::new(TestServer::start().await);
    let user = t.user_with_email("ann@example.com").await;
    let ticket = ticket(&token(&t, &user).await);
    let tries: Vec<_> = (0..64)
        .map(|_| {
            let (t, ticket) = (t.clone(), ticket.clone());
            tokio::spawn(async move { redeem(&t, &t.tenant, &ticket).await })
        })
        .collect();
    let mut used = 0;
    for attempt in tries {
        match attempt.await.unwrap() {
            Ok(_) => used += 1,
            Err(code) => assert_eq!(code, Code::SignInTokenAlreadyUsed),
        }
    }
    assert_eq!(used, 1);
}

#[tokio::test]
async fn looking_at_a_ticket_does_not_use_it_up() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let ticket = ticket(&token(&t, &user).await);
    let act = t.act(&t.tenant);
    for _ in 0..2 {
        let mut tx = t.db().read().await.unwrap();
        let valid = tickets::find_valid(&mut tx, &act.instance, &ticket, act.now).await.unwrap();
        assert_eq!((valid.kind, valid.user.as_str()), (TicketKind::SignInToken, user.as_str()));
    }
    redeem(&t, &t.tenant, &ticket).await.unwrap();
}

#[tokio::test]
async fn revoked_token_signs_nobody_in() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let token = token(&t, &user).await;
    t.clock.advance_ms(1000);
    let path = format!("/v1/sign_in_tokens/{}/revoke", token["id"].as_str().unwrap());
    let revoked = t.post(&path, json!({})).await.ok();
    assert_eq!((&revoked["status"], &revoked["url"]), (&json!("revoked"), &Value::Null));
    assert_eq!(revoked.get("token"), None);
    assert!(revoked["updated_at"].as_i64() > revoked["created_at"].as_i64());
    assert_eq!(redeem(&t, &t.tenant, &ticket(&token)).await, Err(Code::SignInTokenRevoked));
    t.post(&path, json!({})).await.is_error(400, "sign_in_token_cannot_be_revoked_code");
}

#[tokio::test]
async fn token_expires() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let body = json!({"user_id": user, "expires_in_seconds": 10});
    let token = t.post("/v1/sign_in_tokens", body).await.ok();
    t.clock.advance_ms(10_000);
    assert_eq!(redeem(&t, &t.tenant, &ticket(&token)).await, Err(Code::TicketExpired));
}

#[tokio::test]
async fn another_instance_does_not_know_the_ticket() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let token = token(&t, &user).await;
    assert_eq!(redeem(&t, &t.other, &ticket(&token)).await, Err(Code::TicketInvalid));
    redeem(&t, &t.tenant, &ticket(&token)).await.unwrap();
}

#[tokio::test]
async fn other_tokens_are_no_tickets() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let token = token(&t, &user).await;
    let presence = t.signed_in(&t.tenant, &user).await;
    let text = ticket(&token);
    let parts: Vec<&str> = text.split('.').collect();
    let signer = t.signer(&t.tenant).await;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    let mut longer = claims.clone();
    longer["exp"] = json!(claims["exp"].as_i64().unwrap() + 1);
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#);
    for forged in [
        presence.session_token,
        presence.client_token,
        format!("{none}.{}.", parts[1]),
        format!("{}.{}.", parts[0], parts[1]),
        // Even the key that signed it makes no other ticket.
        signer.sign_plain(&longer).unwrap(),
        String::new(),
    ] {
        assert_eq!(redeem(&t, &t.tenant, &forged).await, Err(Code::TicketInvalid));
    }
    redeem(&t, &t.tenant, &text).await.unwrap();
}

#[tokio::test]
async fn token_goes_with_its_user() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let token = token(&t, &user).await;
    t.delete(&format!("/v1/users/{user}")).await.ok();
    assert_eq!(redeem(&t, &t.tenant, &ticket(&token)).await, Err(Code::TicketInvalid));
}

#[tokio::test]
async fn token_needs_a_user_and_a_lifetime() {
    let t = TestServer::start().await;
    let create = |body: Value| t.post("/v1/sign_in_tokens", body);
    for unknown in ["user_000000000000000000000000000", "ann"] {
        create(json!({"user_id": unknown})).await.is_error(404, "resource_not_found");
    }
    let user = t.user_with_email("ann@example.com").await;
    let answer = create(json!({"user_id": user, "expires_in_seconds": 0})).await;
    answer.is_problem(422, "form_param_value_invalid", "expires_in_seconds");
    let answer = create(json!({"user_id": user, "expires_in_seconds": 9_000_000_000_000_000_000_i64})).await;
    answer.is_problem(422, "form_param_value_too_large", "expires_in_seconds");
    create(json!({"user_id": user, "org_id": "org_1"})).await.is_error(404, "resource_not_found");
    create(json!({"user_id": user, "org_id": null, "expires_in_seconds": null})).await.ok();
    let body = json!({"user_id": user});
    t.call(Some(&t.other), "POST", "/v1/sign_in_tokens", Some(body))
        .await
        .is_error(404, "resource_not_found");
}

#[tokio::test]
async fn ticket_is_not_kept() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let text = ticket(&token(&t, &user).await);
    let everything = t.everything().await.join("\n");
    assert!(text.split('.').all(|part| !everything.contains(part)));
}
