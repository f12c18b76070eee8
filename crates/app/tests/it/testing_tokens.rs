//! Testing tokens.

use latchkey_base::time::Clock;
use latchkey_testkit::TestServer;
use serde_json::json;

#[tokio::test]
async fn token_tells_its_time_in_seconds() {
    let t = TestServer::start().await;
    let token = t.post("/v1/testing_tokens", json!({})).await.ok();
    let now = t.clock.now().seconds();
    assert_eq!((&token["object"], &token["expires_at"]), (&json!("testing_token"), &json!(now + 3600)));
    let text = token["token"].as_str().unwrap();
    assert!(text.starts_with(&format!("{now}-c_")) && text.len() > 40, "{text}");
    assert_ne!(t.post("/v1/testing_tokens", json!({})).await.ok()["token"], token["token"]);
}
