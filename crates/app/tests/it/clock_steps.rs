//! A clock that is set back or forward by a day stops nobody.

use latchkey_base::time::Clock;
use latchkey_testkit::{TestServer, escape};
use serde_json::json;

use crate::frontend::{claims, sign_in as enter, user};
use crate::sign_ins::{EMAIL, PASSWORD, ada, begin, identified, server, step};

const DAY_MS: i64 = 24 * 3_600_000;

#[tokio::test]
async fn tokens_are_made_and_accepted_after_a_step_of_a_day() {
    for step_ms in [-DAY_MS, DAY_MS] {
        let t = TestServer::start().await;
        user(&t, "ann@example.com").await;
        let mut browser = t.browser();
        let session = enter(&mut browser, "ann@example.com").await;
        t.clock.advance_ms(step_ms);
        let now = t.clock.now().seconds();
        let path = format!("/v1/client/sessions/{session}/tokens");
        let minted = browser.post(&path, json!({})).await.ok();
        let told = claims(minted["jwt"].as_str().unwrap());
        assert_eq!(told["iat"], now, "{step_ms}");
        assert!(told["fva"][0].as_i64().unwrap() >= 0, "{told}");
        // Backends send browsers around that show a token older than the last change of the client.
        let client = browser.get("/v1/client").await.ok()["response"].take();
        assert!(client["updated_at"].as_i64().unwrap() / 1000 <= now, "{step_ms}");
        let app = escape("http://localhost:3000/");
        let answer = browser.open(&format!("/v1/client/handshake?format=nonce&redirect_url={app}")).await;
        let nonce = answer.header("location").split_once("__clerk_handshake_nonce=").unwrap().1.to_owned();
        let left = t.get(&format!("/v1/clients/handshake_payload?nonce={nonce}")).await.ok();
        let lines = left["directives"].to_string();
        let uat = lines.split_once("__client_uat=").unwrap().1.split(';').next().unwrap();
        assert!(uat.parse::<i64>().unwrap() <= now, "{lines}");
        assert!(lines.contains("__session=ey"), "{lines}");
    }
}

#[tokio::test]
async fn a_lockout_ends_although_the_clock_was_set_back() {
    let t = server(|settings| settings.lockout.max_attempts = 2).await;
    ada(&t).await;
    let mut browser = t.browser();
    for _ in 0..2 {
        begin(&mut browser, json!({"identifier": EMAIL, "password": "wrong-password-1"})).await;
    }
    let right = json!({"identifier": EMAIL, "password": PASSWORD});
    begin(&mut browser, right.clone()).await.is_error(403, "user_locked");
    t.clock.advance_ms(-DAY_MS);
    assert_eq!(begin(&mut browser, right).await.ok()["response"]["status"], "complete");
}

#[tokio::test]
async fn a_code_is_sent_to_a_phone_although_the_clock_was_set_back() {
    let t = server(|_| ()).await;
    ada(&t).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, EMAIL).await;
    let phone = json!({"strategy": "phone_code"});
    step(&mut browser, &id, "prepare_first_factor", phone.clone()).await.ok();
    step(&mut browser, &id, "prepare_first_factor", phone.clone())
        .await
        .is_error(429, "verification_code_too_many_requests");
    t.clock.advance_ms(-DAY_MS);
    step(&mut browser, &id, "prepare_first_factor", phone).await.ok();
}
