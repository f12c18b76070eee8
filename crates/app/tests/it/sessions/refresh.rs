//! Renewing expired tokens. Every refusal is a 401 with a code of its own.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_jose::digest::hmac_sha256;
use latchkey_jose::jwk::Jwks;
use latchkey_jose::jwt;
use latchkey_kernel::keyring::Category;
use latchkey_kernel::limits::RENEWAL_MS;
use latchkey_testkit::{APP_ORIGIN, Answer, SignedIn, TestServer};
use serde_json::{Value, json};

/// A server on which somebody is signed in, whose token has expired.
async fn late() -> (TestServer, SignedIn) {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let presence = t.signed_in(&t.tenant, &user).await;
    t.clock.advance_ms(61_000);
    (t, presence)
}

fn body(presence: &SignedIn) -> Value {
    json!({
        "expired_token": presence.session_token,
        "refresh_token": presence.refresh_token,
        "request_origin": APP_ORIGIN,
        "request_headers": {"user-agent": ["test"]},
    })
}

async fn refresh(t: &TestServer, presence: &SignedIn, body: Value) -> Answer {
    t.post(&format!("/v1/sessions/{}/refresh", presence.session), body).await
}

async fn refused(t: &TestServer, presence: &SignedIn, field: &str, value: Value, code: &str) {
    let mut body = body(presence);
    body[field] = value;
    refresh(t, presence, body).await.is_error(401, code);
}

async fn claims(t: &TestServer, token: &str) -> Value {
    let jwks: Jwks = serde_json::from_value(t.get("/v1/jwks").await.ok()).unwrap();
    jwt::verify(&jwks.keys, token).unwrap().claims
}

#[tokio::test]
async fn expired_token_is_renewed_for_the_same_app() {
    let (t, presence) = late().await;
    let answer = refresh(&t, &presence, body(&presence)).await.ok();
    assert_eq!(answer["object"], "token");
    let claims = claims(&t, answer["jwt"].as_str().unwrap()).await;
    assert_eq!((&claims["sid"], &claims["azp"]), (&json!(presence.session), &json!(APP_ORIGIN)));
    assert_eq!(claims["v"], 2);
    let session = t.get(&format!("/v1/sessions/{}", presence.session)).await.ok();
    assert_eq!(session["last_active_at"].as_i64().unwrap() / 1000, claims["iat"].as_i64().unwrap());
}

#[tokio::test]
async fn renewed_token_comes_in_cookies_if_wanted() {
    let (t, presence) = late().await;
    let mut wanted = body(&presence);
    wanted["format"] = json!("cookie");
    let path = format!("/v1/sessions/{}/refresh?suffixed_cookies=true", presence.session);
    let answer = t.post(&path, wanted).await.ok();
    assert_eq!(answer["object"], "cookies");
    let lines: Vec<&str> =
        answer["cookies"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let names: Vec<&str> = lines.iter().map(|line| line.split_once('=').unwrap().0).collect();
    assert_eq!(names[0], "__session");
    assert!(names.len() == 2 && names[1].starts_with("__session_") && names[1].len() == 18, "{names:?}");
    for line in lines {
        let (pair, attributes) = line.split_once("; ").unwrap();
        assert_eq!(claims(&t, pair.split_once('=').unwrap().1).await["sid"], json!(presence.session));
        assert!(attributes.contains("Path=/") && !attributes.contains("Secure"), "{attributes}");
    }
}

#[tokio::test]
async fn token_is_renewed_once() {
    let (t, presence) = late().await;
    refresh(&t, &presence, body(&presence)).await.ok();
    let again = refresh(&t, &presence, body(&presence)).await;
    again.is_error(401, "session_refresh_expired_session_token_consumed");
}

#[tokio::test]
async fn token_is_renewed_once_however_many_try_at_once() {
    let (t, presence) = late().await;
    let (t, presence) = (Arc::new(t), Arc::new(presence));
    let tries: Vec<_> = (0..16)
        .map(|_| {
            let (t, presence) = (t.clone(), presence.clone());
            tokio::spawn(async move { refresh(&t, &presence, body(&presence)).await.status })
        })
        .collect();
    let mut renewed = 0;
    for attempt in tries {
        match attempt.await.unwrap() {
            200 => renewed += 1,
            status => assert_eq!(status, 401),
        }
    }
    assert_eq!(renewed, 1);
}

#[tokio::test]
async fn each_part_of_the_request_must_fit() {
    let (t, presence) = late().await;
    let refused =
        |field: &'static str, value: Value, code: &'static str| refused(&t, &presence, field, value, code);
    refused("request_origin", json!("localhost"), "refresh_request_origin_invalid").await;
    refused("request_origin", json!("https://evil.com"), "refresh_request_origin_azp_mismatch").await;
    refused("refresh_token", json!("guess"), "refresh_token_not_found").await;
    refused("refresh_token", json!(""), "refresh_token_not_found").await;
    refused("expired_token", json!(""), "expired_session_token_invalid").await;
    refused("expired_token", json!("a.b.c"), "expired_session_token_invalid").await;
    refresh(&t, &presence, body(&presence)).await.ok();
}

#[tokio::test]
async fn wrong_bodies_send_backends_to_the_handshake_too() {
    let (t, presence) = late().await;
    for (wrong, code) in [
        (json!({}), "form_param_missing"),
        (json!({"format": "letter"}), "form_param_value_invalid"),
        (json!({"expired_token": 1}), "form_param_type_invalid"),
        (json!({"surprise": 1}), "form_param_unknown"),
    ] {
        let mut sent = if wrong == json!({}) { json!({}) } else { body(&presence) };
        sent.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        refresh(&t, &presence, sent).await.is_error(401, code);
    }
    refresh(&t, &presence, body(&presence)).await.ok();
}

#[tokio::test]
async fn session_of_the_path_is_that_of_the_token() {
    let (t, presence) = late().await;
    for id in ["sess_000000000000000000000000000", "x", "..%2f..", "sess_%00"] {
        let answer = t.post(&format!("/v1/sessions/{id}/refresh"), body(&presence)).await;
        answer.is_error(401, "refresh_sid_mismatch");
    }
    let user = t.user_with_email("bob@example.com").await;
    let other = t.signed_in(&t.tenant, &user).await;
    let mut mixed = body(&presence);
    mixed["refresh_token"] = json!(other.refresh_token);
    refresh(&t, &other, mixed).await.is_error(401, "refresh_sid_mismatch");
}

#[tokio::test]
async fn session_must_still_count() {
    let (t, presence) = late().await;
    t.post(&format!("/v1/sessions/{}/revoke", presence.session), json!({})).await.ok();
    refresh(&t, &presence, body(&presence)).await.is_error(401, "session_refresh_inactive_session");
    t.run_sql("DELETE FROM sessions WHERE instance_id = $1", vec![(&t.tenant.id).into()]).await;
    refresh(&t, &presence, body(&presence)).await.is_error(401, "session_refresh_session_not_found");
}

#[tokio::test]
async fn banned_user_is_not_renewed() {
    let (t, presence) = late().await;
    let session = t.get(&format!("/v1/sessions/{}", presence.session)).await.ok();
    t.post(&format!("/v1/users/{}/ban", session["user_id"].as_str().unwrap()), json!({})).await.ok();
    refresh(&t, &presence, body(&presence)).await.is_error(401, "session_refresh_inactive_session");
}

#[tokio::test]
async fn old_token_is_not_renewed() {
    let (t, presence) = late().await;
    t.clock.advance_ms(RENEWAL_MS);
    let answer = refresh(&t, &presence, body(&presence)).await;
    answer.is_error(401, "session_refresh_expired_session_token_too_old");
}

#[tokio::test]
async fn another_instance_does_not_renew_it() {
    let (t, presence) = late().await;
    let path = format!("/v1/sessions/{}/refresh", presence.session);
    let answer = t.call(Some(&t.other), "POST", &path, Some(body(&presence))).await;
    answer.is_error(401, "expired_session_token_invalid");
}

#[tokio::test]
async fn tokens_of_other_classes_are_not_renewed() {
    let (t, presence) = late().await;
    let said = claims(&t, &presence.session_token).await;
    let signer = t.signer(&t.tenant).await;
    for other in [
        signer.sign(Category::Template, &said).unwrap(),
        signer.sign_plain(&said).unwrap(),
        presence.client_token.clone(),
    ] {
        let code = "session_refresh_session_token_ineligible";
        refused(&t, &presence, "expired_token", json!(other), code).await;
    }
    let backend = t.post(&format!("/v1/sessions/{}/tokens", presence.session), json!({})).await.ok();
    refused(&t, &presence, "expired_token", backend["jwt"].clone(), "expired_session_token_missing_azp")
        .await;
}

#[tokio::test]
async fn forged_tokens_are_not_renewed() {
    let (t, presence) = late().await;
    let parts: Vec<&str> = presence.session_token.split('.').collect();
    let jwks = t.get("/v1/jwks").await.ok();
    let part = |header: Value| URL_SAFE_NO_PAD.encode(header.to_string());
    let kid = &jwks["keys"][0]["kid"];
    let shared = part(json!({"alg": "HS256", "cat": "cl_B7d4PD111AAA", "kid": kid, "typ": "JWT"}));
    let message = format!("{shared}.{}", parts[1]);
    let pem = t.signer(&t.tenant).await.key.public_pem();
    let mac = |secret: &[u8]| URL_SAFE_NO_PAD.encode(hmac_sha256(secret, message.as_bytes()));
    let n = jwks["keys"][0]["n"].as_str().unwrap();
    for forged in [
        format!("{}.{}.", part(json!({"alg": "none", "cat": "cl_B7d4PD111AAA", "kid": kid})), parts[1]),
        format!("{}.{}.{}", part(json!({"alg": "nOnE", "kid": kid})), parts[1], parts[2]),
        format!("{message}.{}", mac(pem.as_bytes())),
        format!("{message}.{}", mac(n.as_bytes())),
        format!("{}.{}.", parts[0], parts[1]),
    ] {
        refused(&t, &presence, "expired_token", json!(forged), "expired_session_token_invalid").await;
    }
}
