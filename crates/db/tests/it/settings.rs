//! SQLite is built and opened the way the measurements and the durability promise need it.

use latchkey_db::{Db, Read};

use crate::support::{Fresh, all, number, on_sqlite};

/// What the writer's own connection answers.
async fn on_writer<T: Send + 'static>(db: &Db, sql: &'static str, read: Read<T>) -> T {
    let rows = db.write(move |tx| Box::pin(async move { Ok(tx.all(&[sql], &[], read).await?) })).await;
    rows.unwrap().remove(0)
}

#[tokio::test]
async fn on_sqlite_the_compile_flags_took_effect() {
    if !on_sqlite() {
        return;
    }
    let db = Fresh::sqlite();
    let options = all(&db, "PRAGMA compile_options", |row| row.text(0)).await;
    let has = |wanted: &str| options.iter().any(|option| option == wanted);
    for wanted in [
        "DEFAULT_MEMSTATUS=0",
        "DQS=0",
        "ENABLE_FTS5",
        "LIKE_DOESNT_MATCH_BLOBS",
        "OMIT_SHARED_CACHE",
        "STMTJRNL_SPILL=131071",
        "THREADSAFE=1",
        "USE_ALLOCA",
    ] {
        assert!(has(wanted), "{wanted} is missing in {options:?}");
    }
    for unwanted in ["ENABLE_MEMORY_MANAGEMENT", "ENABLE_API_ARMOR"] {
        assert!(!has(unwanted), "{unwanted} is in {options:?}");
    }
}

#[tokio::test]
async fn on_sqlite_the_writer_syncs_fully_into_a_write_ahead_log() {
    if !on_sqlite() {
        return;
    }
    let db = Fresh::sqlite();
    const FULL: i64 = 2;
    assert_eq!(on_writer(&db, "PRAGMA journal_mode", |row| row.text(0)).await, "wal");
    assert_eq!(on_writer(&db, "PRAGMA synchronous", |row| row.int(0)).await, FULL);
    assert_eq!(on_writer(&db, "PRAGMA foreign_keys", |row| row.int(0)).await, 1);
    assert!(on_writer(&db, "PRAGMA busy_timeout", |row| row.int(0)).await > 0);
}

#[tokio::test]
async fn on_sqlite_readers_see_the_write_ahead_log_and_wait_when_busy() {
    if !on_sqlite() {
        return;
    }
    let db = Fresh::sqlite();
    assert_eq!(all(&db, "PRAGMA journal_mode", |row| row.text(0)).await, ["wal"]);
    assert!(number(&db, "PRAGMA busy_timeout").await > 0);
}

#[tokio::test]
async fn on_sqlite_full_text_search_has_trigrams() {
    if !on_sqlite() {
        return;
    }
    let db = Fresh::sqlite();
    let hits = db.write(|tx| {
        Box::pin(async move {
            tx.run(&["CREATE VIRTUAL TABLE t USING fts5(a, tokenize='trigram')"], &[]).await?;
            tx.run(&["INSERT INTO t (a) VALUES ('latchkey')"], &[]).await?;
            Ok(tx.all(&["SELECT a FROM t WHERE t MATCH $1"], &["chk".into()], |row| row.text(0)).await?)
        })
    });
    assert_eq!(hits.await.unwrap(), ["latchkey"]);
}

#[tokio::test]
async fn on_postgres_statements_are_cut_off_after_a_while() {
    if on_sqlite() {
        return;
    }
    let db = Fresh::empty().await;
    assert_eq!(all(&db, "SHOW statement_timeout", |row| row.text(0)).await, ["30s"]);
    assert_eq!(all(&db, "SHOW idle_in_transaction_session_timeout", |row| row.text(0)).await, ["30s"]);
}
