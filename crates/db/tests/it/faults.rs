//! What SQLite's writer does when the file is locked by others or the disk is full: nobody is told
//! a lie, neither about what was written nor about what was not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use latchkey_base::Code;
use latchkey_db::{Db, Location};

use crate::support::{Fresh, ITEMS, items, on_sqlite, run, texts, together};

const WITH_DATA: &str = "INSERT INTO items (id, data) VALUES ($1, $2)";

/// Changes a setting of the writer's connection.
async fn set(db: &Db, pragma: &'static str) {
    let set =
        db.write(move |tx| Box::pin(async move { Ok(tx.all(&[pragma], &[], |row| row.int(0)).await?) }));
    set.await.unwrap();
}

#[tokio::test]
async fn on_sqlite_a_body_does_not_run_when_its_transaction_cannot_begin() {
    let fresh = Fresh::with(ITEMS).await;
    let Location::Sqlite(path) = &fresh.location else { return };
    set(&fresh, "PRAGMA busy_timeout = 1").await;
    let holder = rusqlite::Connection::open(path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let ran = Arc::new(AtomicBool::new(false));
    let seen = ran.clone();
    let outcome = fresh.write(move |tx| {
        seen.store(true, Ordering::SeqCst);
        Box::pin(async move { Ok(tx.run(&["INSERT INTO items (id) VALUES ('a')"], &[]).await?) })
    });
    assert_eq!(outcome.await.unwrap_err().code(), Code::ServiceUnavailable);
    assert!(!ran.load(Ordering::SeqCst), "outside of a transaction its statements would stay one by one");
    holder.execute_batch("ROLLBACK").unwrap();
    run(&fresh, "INSERT INTO items (id) VALUES ('b')", vec![]).await.unwrap();
    assert_eq!(texts(&fresh, "SELECT id FROM items").await, ["b"]);
}

#[tokio::test]
async fn on_sqlite_two_servers_on_one_file_wait_for_each_other() {
    if !on_sqlite() {
        return;
    }
    let first = Fresh::with(ITEMS).await;
    let second = first.again();
    let insert = "INSERT INTO items (id) VALUES ($1)";
    let writes = (0..40).map(|n: i64| {
        let db = if n % 2 == 0 { (*first).clone() } else { second.clone() };
        async move { run(&db, insert, vec![n.to_string().into()]).await }
    });
    for outcome in futures_util::future::join_all(writes).await {
        outcome.unwrap();
    }
    assert_eq!(items(&second).await, 40);
}

#[tokio::test]
async fn on_sqlite_a_full_disk_fails_whole_transactions_and_says_so() {
    if !on_sqlite() {
        return;
    }
    let db = Fresh::with(ITEMS).await;
    set(&db, "PRAGMA max_page_count = 40").await;
    let small = |n: i64| vec![format!("{n:02}").into(), vec![7u8; 16].into()];
    let huge = |n: i64| vec![format!("{n:02}").into(), vec![7u8; 1_000_000].into()];
    let params = |n: i64| if n % 5 == 2 { huge(n) } else { small(n) };
    let outcomes = together(&db, (0..20).map(|n| run(&db, WITH_DATA, params(n))).collect()).await;
    let told: Vec<String> = (0..20)
        .zip(&outcomes)
        .filter(|(_, outcome)| outcome.is_ok())
        .map(|(n, _)| format!("{n:02}"))
        .collect();
    for outcome in outcomes.into_iter().filter_map(Result::err) {
        assert_eq!(outcome.code(), Code::ServiceUnavailable);
    }
    assert_eq!(texts(&db, "SELECT id FROM items ORDER BY id").await, told);
    // Room again: everything works as before.
    set(&db, "PRAGMA max_page_count = 1000000").await;
    run(&db, WITH_DATA, huge(99)).await.unwrap();
}
