//! Several at once: no lost updates, no work done twice, and callers that go away in the middle.

use std::sync::Arc;

use futures_util::future::join_all;
use latchkey_base::Result;
use latchkey_db::Db;
use tokio::sync::{Barrier, oneshot};

use crate::support::{Fresh, INSERT, ITEMS, item, items, number, on_sqlite, run, texts};

async fn increment(db: &Db) -> Result<()> {
    db.write(|tx| {
        Box::pin(async move {
            let sql = "SELECT amount FROM items WHERE id = $1";
            let amount = tx.lock(&[sql], &["a".into()], |row| row.int(0)).await?.unwrap();
            let sql = "UPDATE items SET amount = $2 WHERE id = $1";
            tx.run(&[sql], &["a".into(), (amount + 1).into()]).await?;
            Ok(())
        })
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_row_loses_no_update() {
    let db = Fresh::with(ITEMS).await;
    run(&db, INSERT, item("a", "x", 0)).await.unwrap();
    for outcome in join_all((0..50).map(|_| increment(&db))).await {
        outcome.unwrap();
    }
    assert_eq!(number(&db, "SELECT amount FROM items").await, 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_locked_in_one_order_never_deadlock() {
    let db = Fresh::with(ITEMS).await;
    run(&db, "INSERT INTO items (id, amount) VALUES ('a', 0), ('b', 0), ('c', 0)", vec![]).await.unwrap();
    let add = || {
        db.write(|tx| {
            Box::pin(async move {
                let sql = "SELECT amount FROM items ORDER BY id";
                let amounts = tx.lock_all(&[sql], &[], |row| row.int(0)).await?;
                tx.run(&["UPDATE items SET amount = $1"], &[(amounts[2] + 1).into()]).await?;
                Ok(())
            })
        })
    };
    for outcome in join_all((0..30).map(|_| add())).await {
        outcome.unwrap();
    }
    assert_eq!(number(&db, "SELECT min(amount) FROM items").await, 30);
}

/// Takes five items away. On PostgreSQL two of these hold their rows at the same time.
async fn take_five(db: &Db, both_hold: Arc<Barrier>) -> Vec<String> {
    let taken = db.write(move |tx| {
        Box::pin(async move {
            let sql = "SELECT id FROM items ORDER BY id LIMIT $1";
            let ids = tx.claim(&[sql], &[5i64.into()], |row| row.text(0)).await?;
            if !on_sqlite() {
                both_hold.wait().await;
            }
            for id in &ids {
                tx.run(&["DELETE FROM items WHERE id = $1"], &[id.as_str().into()]).await?;
            }
            Ok(ids)
        })
    });
    taken.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_claimers_get_different_rows() {
    let db = Fresh::with(ITEMS).await;
    let ids: Vec<String> = (0..10).map(|n: i64| n.to_string()).collect();
    for id in &ids {
        run(&db, "INSERT INTO items (id) VALUES ($1)", vec![id.as_str().into()]).await.unwrap();
    }
    let both_hold = Arc::new(Barrier::new(2));
    let mut taken = join_all([take_five(&db, both_hold.clone()), take_five(&db, both_hold)]).await.concat();
    taken.sort();
    assert_eq!(taken, ids);
    assert_eq!(items(&db).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_a_cancelled_write_is_undone_and_its_connection_not_used_again() {
    if on_sqlite() {
        return;
    }
    let db = Fresh::with(ITEMS).await;
    run(&db, INSERT, item("a", "before", 0)).await.unwrap();
    // More often than there are connections, so that a leaked one would show.
    for n in 1..=20 {
        let (tell, told) = oneshot::channel();
        let inner = (*db).clone();
        let task = tokio::spawn(async move {
            let write = inner.write(move |tx| {
                Box::pin(async move {
                    tx.run(&["UPDATE items SET label = 'during' WHERE id = 'a'"], &[]).await?;
                    tx.run(&[INSERT], &item("b", "during", n)).await?;
                    let _ = tell.send(());
                    std::future::pending::<Result<()>>().await
                })
            });
            write.await
        });
        told.await.unwrap();
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!(texts(&db, "SELECT label FROM items").await, ["before"]);
    }
    // The row is free again, and as many connections as ever serve.
    let touch = "UPDATE items SET amount = amount + 1 WHERE id = 'a'";
    for outcome in join_all((0..20).map(|_| run(&db, touch, vec![]))).await {
        outcome.unwrap();
    }
    assert_eq!(number(&db, "SELECT amount FROM items").await, 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_write_is_there_as_a_whole_or_not_at_all() {
    let db = Fresh::with(ITEMS).await;
    for n in 0..200i64 {
        let inner = (*db).clone();
        let task = tokio::spawn(async move {
            let write = inner.write(move |tx| {
                Box::pin(async move {
                    tx.run(&[INSERT], &item(&format!("{n} first"), "first", n)).await?;
                    tx.run(&[INSERT], &item(&format!("{n} second"), "second", n)).await?;
                    Ok(())
                })
            });
            write.await
        });
        for _ in 0..n % 7 {
            tokio::task::yield_now().await;
        }
        task.abort();
        let _ = task.await;
    }
    // Whatever was handed over before this one has ended when it returns.
    run(&db, INSERT, item("last", "last", -1)).await.unwrap();
    let halves = "SELECT count(*) FROM (SELECT amount FROM items WHERE amount >= 0 GROUP BY amount HAVING count(*) <> 2) AS h";
    assert_eq!(number(&db, halves).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_read_leaves_the_database_usable() {
    let db = Fresh::with(ITEMS).await;
    for n in 0..50 {
        let inner = (*db).clone();
        let task = tokio::spawn(async move {
            let mut tx = inner.read_long().await.unwrap();
            let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT count(*) FROM n";
            tx.all(&[sql], &[], |row| row.int(0)).await.unwrap()
        });
        for _ in 0..n % 5 {
            tokio::task::yield_now().await;
        }
        task.abort();
        let _ = task.await;
    }
    assert_eq!(items(&db).await, 0);
    run(&db, INSERT, item("a", "x", 0)).await.unwrap();
    assert_eq!(items(&db).await, 1);
}
