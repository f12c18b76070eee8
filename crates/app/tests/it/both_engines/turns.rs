//! Connections of PostgreSQL, which callers share.

use futures_util::future::join_all;
use latchkey_testkit::TestServer;
use serde_json::json;
use tokio::sync::oneshot;

/// Whoever waits for a row keeps a connection meanwhile; one tenant must not keep them all.
#[tokio::test]
async fn requests_that_wait_for_a_row_leave_connections_to_other_tenants() {
    let t = TestServer::start().await;
    if t.db().engine() == "SQLite" {
        return;
    }
    let user = t.user_with_email("ann@example.com").await;
    let stranger = json!({"username": "bob-the-stranger"});
    let stranger = t.call(Some(&t.other), "POST", "/v1/users", Some(stranger)).await.ok();
    let (taken, is_taken) = oneshot::channel();
    let (give_up, is_given_up) = oneshot::channel::<()>();
    let id = user.clone();
    let holding = t.db().write(move |tx| {
        Box::pin(async move {
            tx.run(&["UPDATE users SET document = document WHERE id = $1"], &[id.as_str().into()]).await?;
            let _ = taken.send(());
            let _ = is_given_up.await;
            Ok(())
        })
    });
    let holding = latchkey_db::for_caller(format!("backend {}", t.tenant.id).into(), holding);
    let path = format!("/v1/users/{user}");
    let waiting = async {
        is_taken.await.unwrap();
        join_all((0..8).map(|n| t.patch(&path, json!({"first_name": format!("Ann {n}")})))).await
    };
    let other = async {
        while count_waiting(&t).await < 2 {}
        let path = format!("/v1/users/{}", stranger["id"].as_str().unwrap());
        let answer = t.call(Some(&t.other), "GET", &path, None).await;
        give_up.send(()).unwrap();
        answer.ok()
    };
    let (held, answers, shown) = tokio::join!(holding, waiting, other);
    held.unwrap();
    assert_eq!(shown["username"], "bob-the-stranger");
    assert!(answers.into_iter().all(|answer| answer.status == 200));
}

/// Statements that wait for a row now.
async fn count_waiting(t: &TestServer) -> i64 {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let mut tx = t.db().read().await.unwrap();
    tx.maybe(&[sql], &[], |row| row.int(0)).await.unwrap().unwrap_or_default()
}
