use latchkey_testkit::TestServer;
use serde_json::json;

#[tokio::test]
async fn created_user_can_be_read_back() {
    let t = TestServer::start().await;
    let created =
        t.post("/v1/users", json!({"email_address": ["Ada@Example.com"], "first_name": "Ada"})).await.ok();
    assert_eq!(created["email_addresses"][0]["email_address"], "ada@example.com");
    let id = created["id"].as_str().unwrap();
    assert_eq!(t.get(&format!("/v1/users/{id}")).await.ok(), created);
}
