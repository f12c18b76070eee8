//! Tokens that backends mint.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_jose::jwk::Jwks;
use latchkey_jose::jwt;
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

use super::open;

/// What a token says, checked with the keys the instance publishes.
async fn verified(t: &TestServer, answer: Answer) -> (Value, Value) {
    let token = answer.ok();
    assert_eq!(token["object"], "token");
    let jwks: Jwks = serde_json::from_value(t.get("/v1/jwks").await.ok()).unwrap();
    let verified = jwt::verify(&jwks.keys, token["jwt"].as_str().unwrap()).unwrap();
    (verified.header, verified.claims)
}

async fn ann(t: &TestServer) -> (String, String) {
    let user = t.user_with_email("ann@example.com").await;
    let session = open(t, &user).await;
    (user, session)
}

#[tokio::test]
async fn token_says_who_and_for_how_long() {
    let t = TestServer::start().await;
    let (user, session) = ann(&t).await;
    t.clock.advance_ms(120_000);
    let (header, claims) =
        verified(&t, t.post(&format!("/v1/sessions/{session}/tokens"), json!({})).await).await;
    let kid = t.tenant.id.as_str();
    assert_eq!(header, json!({"alg": "RS256", "cat": "cl_B7d4PD111AAA", "kid": kid, "typ": "JWT"}));
    let iat = claims["iat"].as_i64().unwrap();
    let jti = claims["jti"].as_str().unwrap();
    assert!(jti.len() == 20 && jti.chars().all(|c| c.is_ascii_hexdigit()));
    let expected = json!({
        "exp": iat + 60,
        "fva": [2, -1],
        "iat": iat,
        "iss": format!("https://{}", t.tenant.frontend_api),
        "jti": jti,
        "nbf": iat - 10,
        "sid": session,
        "sts": "active",
        "sub": user,
        "v": 2,
    });
    assert_eq!(claims, expected);
}

#[tokio::test]
async fn older_versions_get_the_first_form() {
    let t = TestServer::start().await;
    let (_, session) = ann(&t).await;
    let path = format!("/v1/sessions/{session}/tokens");
    for version in ["2021-02-05", "2024-10-01"] {
        let (_, claims) = verified(&t, t.call_version(version, "POST", &path, Some(json!({}))).await).await;
        assert_eq!((claims.get("v"), claims.get("jti")), (None, None));
        assert_eq!(claims["sid"], json!(session));
    }
    let (_, claims) = verified(&t, t.call_version("2025-04-10", "POST", &path, None).await).await;
    assert_eq!(claims["v"], 2);
}

#[tokio::test]
async fn lifetime_is_chosen_within_bounds() {
    let t = TestServer::start().await;
    let (_, session) = ann(&t).await;
    t.post("/v1/jwt_templates", json!({"name": "short", "claims": {}, "lifetime": 40})).await.ok();
    for (path, usual) in [("tokens", 60), ("tokens/short", 40)] {
        let path = format!("/v1/sessions/{session}/{path}");
        for (wished, seconds) in [(json!(30), 30), (json!(315_360_000), 315_360_000), (json!(null), usual)] {
            let body = json!({"expires_in_seconds": wished});
            let (_, claims) = verified(&t, t.post(&path, body).await).await;
            assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), seconds);
        }
        let answer = t.post(&path, json!({"expires_in_seconds": 29})).await;
        answer.is_problem(422, "form_param_value_invalid", "expires_in_seconds");
        let answer = t.post(&path, json!({"expires_in_seconds": 315_360_001})).await;
        answer.is_problem(422, "form_param_value_too_large", "expires_in_seconds");
    }
}

#[tokio::test]
async fn session_that_is_over_gives_no_tokens() {
    let t = TestServer::start().await;
    let (_, session) = ann(&t).await;
    t.post("/v1/jwt_templates", json!({"name": "any", "claims": {}})).await.ok();
    t.post(&format!("/v1/sessions/{session}/revoke"), json!({})).await.ok();
    for path in ["tokens", "tokens/any"] {
        let answer = t.post(&format!("/v1/sessions/{session}/{path}"), json!({})).await;
        answer.is_error(404, "resource_not_found");
    }
}

#[tokio::test]
async fn template_decides_the_claims() {
    let t = TestServer::start().await;
    let (user, session) = ann(&t).await;
    let claims = json!({"email": "{{user.primary_email_address}}", "session": "{{session.id}}", "aud": "x"});
    t.post("/v1/jwt_templates", json!({"name": "hasura", "claims": claims})).await.ok();
    let answer = t.post(&format!("/v1/sessions/{session}/tokens/hasura"), json!({})).await;
    let (header, claims) = verified(&t, answer).await;
    assert_eq!(header["cat"], "cl_B7d4PD222AAA");
    assert_eq!((&claims["email"], &claims["session"]), (&json!("ann@example.com"), &json!(session)));
    assert_eq!((&claims["sub"], &claims["aud"]), (&json!(user), &json!("x")));
    assert_eq!((claims.get("sid"), claims.get("azp")), (None, None));
    let answer = t.post(&format!("/v1/sessions/{session}/tokens/other"), json!({})).await;
    answer.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn application_adds_claims_to_every_session_token() {
    let mut settings = latchkey_kernel::settings::Settings::default();
    let wished =
        json!({"email": "{{user.primary_email_address}}", "plan": "{{user.public_metadata.plan || 'free'}}"});
    settings.session.token_claims = wished.as_object().unwrap().clone();
    let t = TestServer::start_with(latchkey_kernel::limits::RateLimits::Off, settings).await;
    let (_, session) = ann(&t).await;
    let (_, claims) = verified(&t, t.post(&format!("/v1/sessions/{session}/tokens"), json!({})).await).await;
    assert_eq!((&claims["email"], &claims["plan"]), (&json!("ann@example.com"), &json!("free")));
    assert_eq!(claims["sid"], json!(session));
}

#[tokio::test]
async fn token_is_verified_as_one_of_its_session() {
    let t = TestServer::start().await;
    let (user, session) = ann(&t).await;
    let other = open(&t, &user).await;
    let path = format!("/v1/sessions/{session}/verify");
    let token = t.session_token(&t.tenant, &session).await;
    assert_eq!(t.post(&path, json!({"token": token})).await.ok()["id"], json!(session));
    t.post("/v1/jwt_templates", json!({"name": "like", "claims": {"sid": session}})).await.ok();
    let template = t.post(&format!("/v1/sessions/{session}/tokens/like"), json!({})).await.ok();
    let parts: Vec<&str> = token.split('.').collect();
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#);
    for bad in [
        t.session_token(&t.tenant, &other).await,
        template["jwt"].as_str().unwrap().to_owned(),
        format!("{none}.{}.", parts[1]),
        format!("{}.{}.", parts[0], parts[1]),
        "nothing".to_owned(),
        String::new(),
    ] {
        t.post(&path, json!({"token": bad})).await.is_error(400, "invalid_session_token");
    }
    t.clock.advance_ms(60_000);
    t.post(&path, json!({"token": token})).await.is_error(400, "invalid_session_token");
}
