//! Work in the background: what is old goes, what is not stays.

use latchkey_testkit::{TestServer, tables};
use serde_json::json;

use crate::frontend;

const DAY_MS: i64 = 24 * 3600 * 1000;

async fn count(t: &TestServer, table: &str) -> i64 {
    assert!(tables().iter().any(|known| known.name == table));
    let mut tx = t.db().read().await.unwrap();
    tx.maybe(&["SELECT count(*) FROM ", table], &[], |row| row.int(0)).await.unwrap().unwrap()
}

#[tokio::test]
async fn sessions_and_then_their_clients_go_long_after_their_end() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let presence = t.signed_in(&t.tenant, &user).await;
    t.clock.advance_ms(36 * DAY_MS);
    t.run_jobs().await;
    t.get(&format!("/v1/sessions/{}", presence.session)).await.ok();
    t.clock.advance_ms(2 * DAY_MS);
    let fresh = t.signed_in(&t.tenant, &user).await;
    t.run_jobs().await;
    t.get(&format!("/v1/sessions/{}", presence.session)).await.is_error(404, "resource_not_found");
    t.get(&format!("/v1/clients/{}", presence.client)).await.ok();
    t.clock.advance_ms(8 * DAY_MS);
    t.run_jobs().await;
    t.get(&format!("/v1/clients/{}", presence.client)).await.is_error(404, "resource_not_found");
    t.get(&format!("/v1/sessions/{}", fresh.session)).await.ok();
    t.get(&format!("/v1/clients/{}", fresh.client)).await.ok();
}

#[tokio::test]
async fn clients_on_which_nobody_ever_signed_in_go_after_days_and_others_stay() {
    let t = TestServer::start().await;
    let user = frontend::user(&t, "ann@example.com").await["id"].as_str().unwrap().to_owned();
    let known = t.signed_in(&t.tenant, &user).await.client;
    let mut browsers = [t.browser(), t.browser(), t.browser()];
    for browser in &mut browsers {
        browser.post("/v1/client", json!({})).await.ok();
    }
    let [mut signed_out, mut seen, _] = browsers;
    frontend::sign_in(&mut signed_out, "ann@example.com").await;
    signed_out.delete("/v1/client/sessions").await.ok();
    t.clock.advance_ms(2 * DAY_MS);
    seen.post("/v1/client/sign_ins", json!({"identifier": "ann@example.com"})).await.ok();
    t.clock.advance_ms(DAY_MS + 1);
    assert_eq!(count(&t, "clients").await, 4);
    t.run_jobs().await;
    assert_eq!(count(&t, "clients").await, 3);
    t.get(&format!("/v1/clients/{known}")).await.ok();
    assert_eq!(seen.get("/v1/client").await.ok()["response"]["object"], "client");
    assert_eq!(signed_out.get("/v1/client").await.ok()["response"]["object"], "client");
    t.clock.advance_ms(3 * DAY_MS);
    t.run_jobs().await;
    assert_eq!(count(&t, "clients").await, 2);
}

#[tokio::test]
async fn tokens_and_handshakes_go_when_their_time_is_over() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let body = json!({
        "expired_token": person.presence.session_token,
        "refresh_token": person.presence.refresh_token,
        "request_origin": latchkey_testkit::APP_ORIGIN,
    });
    t.post(&format!("/v1/sessions/{}/refresh", person.presence.session), body).await.ok();
    let tables = ["handshakes", "renewed_tokens", "actor_tokens", "sign_in_tokens"];
    t.run_jobs().await;
    for table in tables {
        assert_eq!(count(&t, table).await, 1, "{table}");
    }
    t.clock.advance_ms(2 * DAY_MS);
    t.run_jobs().await;
    assert_eq!([count(&t, "handshakes").await, count(&t, "renewed_tokens").await], [0, 0]);
    assert_eq!([count(&t, "actor_tokens").await, count(&t, "sign_in_tokens").await], [1, 1]);
    t.clock.advance_ms(30 * DAY_MS);
    t.run_jobs().await;
    assert_eq!([count(&t, "actor_tokens").await, count(&t, "sign_in_tokens").await], [0, 1]);
    t.clock.advance_ms(30 * DAY_MS);
    t.run_jobs().await;
    for table in tables {
        assert_eq!(count(&t, table).await, 0, "{table}");
    }
}

#[tokio::test]
async fn many_old_rows_go_in_several_transactions() {
    let t = TestServer::start().await;
    for _ in 0..450 {
        t.handshake(&t.tenant, &["a=b"]).await;
    }
    t.clock.advance_ms(DAY_MS);
    t.handshake(&t.tenant, &["a=b"]).await;
    t.run_jobs().await;
    assert_eq!(count(&t, "handshakes").await, 1);
}
