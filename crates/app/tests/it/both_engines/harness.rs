//! What tests may rely on: that others leave nothing behind.

use latchkey_testkit::TestServer;

/// Every row, without columns of bytes: what is sealed looks different each time.
async fn rows(t: &TestServer) -> Vec<String> {
    let is_text = |row: &String| row.split(' ').next().is_some_and(|table| !table.contains('.'));
    t.everything().await.into_iter().filter(is_text).collect()
}

#[tokio::test]
async fn every_server_begins_with_the_same_rows_whatever_was_there_before() {
    let first = rows(&TestServer::start().await).await;
    for _ in 0..3 {
        let t = TestServer::start().await;
        assert_eq!(rows(&t).await, first);
        for tenant in [&t.tenant, &t.other] {
            t.person(tenant, 1).await;
        }
        assert!(rows(&t).await.len() > first.len() + 20);
        let found = t.get("/v1/users?query=person").await.ok();
        assert_eq!(found.as_array().unwrap().len(), 1, "the search index is filled anew");
    }
}
