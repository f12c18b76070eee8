//! Clients as backends see them, and what handshakes leave for backends.

use std::sync::Arc;

use latchkey_kernel::settings::Settings;
use latchkey_testkit::{SignedIn, TestServer};
use serde_json::{Value, json};

async fn signed_in(t: &TestServer, address: &str) -> SignedIn {
    t.clock.advance_ms(1000);
    let user = t.user_with_email(address).await;
    t.signed_in(&t.tenant, &user).await
}

#[tokio::test]
async fn client_is_shown_with_its_sessions() {
    let t = TestServer::start().await;
    let presence = signed_in(&t, "ann@example.com").await;
    let client = t.get(&format!("/v1/clients/{}", presence.client)).await.ok();
    assert_eq!((&client["object"], &client["id"]), (&json!("client"), &json!(presence.client)));
    assert_eq!(client["session_ids"], json!([presence.session]));
    assert_eq!(client["sessions"][0], t.get(&format!("/v1/sessions/{}", presence.session)).await.ok());
    assert_eq!(client["last_active_session_id"], json!(presence.session));
    assert_eq!((&client["sign_in_id"], &client["sign_up_id"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn revoked_session_stays_with_a_client_that_may_hold_several() {
    for (single_session, shown) in [(true, 0), (false, 1)] {
        let mut settings = Settings::default();
        settings.session.single_session = single_session;
        let t = TestServer::start_with(latchkey_kernel::limits::RateLimits::Off, settings).await;
        let presence = signed_in(&t, "ann@example.com").await;
        t.post(&format!("/v1/sessions/{}/revoke", presence.session), json!({})).await.ok();
        let client = t.get(&format!("/v1/clients/{}", presence.client)).await.ok();
        assert_eq!(client["sessions"].as_array().unwrap().len(), shown);
        assert_eq!(client["last_active_session_id"], Value::Null);
    }
}

#[tokio::test]
async fn list_is_newest_first_and_paged() {
    let t = TestServer::start().await;
    let (first, second) = (signed_in(&t, "ann@example.com").await, signed_in(&t, "bob@example.com").await);
    let list = t.get("/v1/clients").await.ok();
    let ids: Vec<&Value> = list.as_array().unwrap().iter().map(|client| &client["id"]).collect();
    assert_eq!(ids, [&json!(second.client), &json!(first.client)]);
    assert_eq!(list[1]["session_ids"], json!([first.session]));
    let page = t.get("/v1/clients?paginated=true&limit=1&offset=1").await.ok();
    assert_eq!((&page["data"][0]["id"], &page["total_count"]), (&json!(first.client), &json!(2)));
    assert_eq!(t.call(Some(&t.other), "GET", "/v1/clients", None).await.ok(), json!([]));
}

#[tokio::test]
async fn token_proves_its_client() {
    let t = TestServer::start().await;
    let presence = signed_in(&t, "ann@example.com").await;
    let verified = t.post("/v1/clients/verify", json!({"token": presence.client_token})).await.ok();
    assert_eq!(verified, t.get(&format!("/v1/clients/{}", presence.client)).await.ok());
}

#[tokio::test]
async fn other_tokens_prove_no_client() {
    let t = TestServer::start().await;
    let presence = signed_in(&t, "ann@example.com").await;
    let other = signed_in(&t, "bob@example.com").await;
    let signer = t.signer(&t.tenant).await;
    let guessed = json!({"id": presence.client, "rotating_token": "guess"});
    let parts: Vec<&str> = presence.client_token.split('.').collect();
    let others: Vec<&str> = other.client_token.split('.').collect();
    let template = json!({"name": "client", "claims": guessed});
    t.post("/v1/jwt_templates", template).await.ok();
    let template = t.post(&format!("/v1/sessions/{}/tokens/client", presence.session), json!({})).await.ok();
    for token in [
        presence.session_token.clone(),
        template["jwt"].as_str().unwrap().to_owned(),
        signer.sign_plain(&guessed).unwrap(),
        signer.sign_plain(&json!({"id": presence.client})).unwrap(),
        format!("{}.{}.{}", parts[0], others[1], parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
        String::new(),
    ] {
        t.post("/v1/clients/verify", json!({"token": token})).await.is_error(400, "cookie_invalid");
    }
    let gone = json!({"id": "client_000000000000000000000000000", "rotating_token": "x"});
    let token = signer.sign_plain(&gone).unwrap();
    t.post("/v1/clients/verify", json!({"token": token})).await.is_error(404, "resource_not_found");
    let body = json!({"token": presence.client_token});
    let elsewhere = t.call(Some(&t.other), "POST", "/v1/clients/verify", Some(body)).await;
    elsewhere.is_error(400, "cookie_invalid");
}

#[tokio::test]
async fn handshake_is_fetched_once() {
    let t = TestServer::start().await;
    let lines = ["__session=a.b.c; Path=/", "__client_uat=1; Path=/"];
    let nonce = t.handshake(&t.tenant, &lines).await;
    let path = format!("/v1/clients/handshake_payload?nonce={nonce}");
    t.call(Some(&t.other), "GET", &path, None).await.is_error(404, "resource_not_found");
    assert_eq!(t.get(&path).await.ok(), json!({"directives": lines}));
    t.get(&path).await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn handshake_is_fetched_in_time_and_by_its_nonce() {
    let t = TestServer::start().await;
    let nonce = t.handshake(&t.tenant, &["a=b"]).await;
    t.get("/v1/clients/handshake_payload").await.is_problem(400, "missing_query_parameter", "nonce");
    t.get("/v1/clients/handshake_payload?nonce=guess").await.is_error(404, "resource_not_found");
    t.clock.advance_ms(60_000);
    let late = t.get(&format!("/v1/clients/handshake_payload?nonce={nonce}")).await;
    late.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn handshake_is_fetched_once_however_many_try_at_once() {
    let t = Arc::new(TestServer::start().await);
    let path = format!("/v1/clients/handshake_payload?nonce={}", t.handshake(&t.tenant, &["a=b"]).await);
    let tries: Vec<_> = (0..16)
        .map(|_| {
            let (t, path) = (t.clone(), path.clone());
            tokio::spawn(async move { t.get(&path).await.status })
        })
        .collect();
    let mut fetched = 0;
    for attempt in tries {
        fetched += usize::from(attempt.await.unwrap() == 200);
    }
    assert_eq!(fetched, 1);
}

#[tokio::test]
async fn secrets_of_clients_and_handshakes_are_not_kept() {
    let t = TestServer::start().await;
    let presence = signed_in(&t, "ann@example.com").await;
    let nonce = t.handshake(&t.tenant, &["__session=very-secret"]).await;
    let everything = t.everything().await.join("\n");
    for secret in [&presence.client_token, &presence.refresh_token, &presence.session_token, &nonce] {
        assert!(!everything.contains(secret.as_str()));
    }
    assert!(!everything.contains("very-secret"));
}
