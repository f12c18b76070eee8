//! All or nothing, each by itself, and done when acknowledged.

use std::panic::resume_unwind;

use latchkey_base::{Code, Error, Result};
use latchkey_db::{Db, Tx};

use crate::support::{Fresh, INSERT, ITEMS, item, items, on_sqlite, run, texts, together};

/// What the body of a transaction does after it has written.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Well,
    Refused,
    Panicked,
}

/// Writes two items, then ends as told.
async fn write_two(db: &Db, n: i64, end: End) -> Result<()> {
    db.write(move |tx| {
        Box::pin(async move {
            tx.run(&[INSERT], &item(&format!("{n:02} first"), "first", n)).await?;
            tx.run(&[INSERT], &item(&format!("{n:02} second"), "second", n)).await?;
            match end {
                End::Well => Ok(()),
                End::Refused => Err(Error::new(Code::IncorrectPassword)),
                // Unwinds like `panic!`, without a report that would read like a failed test.
                End::Panicked => resume_unwind(Box::new("on purpose")),
            }
        })
    })
    .await
}

/// The ids that are there when exactly these wrote.
fn both_of(numbers: impl Iterator<Item = i64>) -> Vec<String> {
    numbers.flat_map(|n| [format!("{n:02} first"), format!("{n:02} second")]).collect()
}

#[tokio::test]
async fn a_failed_transaction_leaves_nothing_and_keeps_its_error() {
    let db = Fresh::with(ITEMS).await;
    let error = write_two(&db, 1, End::Refused).await.unwrap_err();
    assert_eq!((error.code(), items(&db).await), (Code::IncorrectPassword, 0));
    write_two(&db, 1, End::Well).await.unwrap();
    assert_eq!(items(&db).await, 2);
}

#[tokio::test]
async fn a_failed_statement_undoes_those_before_it() {
    let db = Fresh::with(ITEMS).await;
    let outcome = db.write(|tx| {
        Box::pin(async move {
            tx.run(&[INSERT], &item("a", "x", 1)).await?;
            tx.run(&["INSERT INTO nowhere (id) VALUES ('a')"], &[]).await?;
            Ok(())
        })
    });
    assert!(outcome.await.is_err());
    assert_eq!(items(&db).await, 0);
}

#[tokio::test]
async fn a_transaction_that_goes_on_after_a_failed_statement_is_not_acknowledged() {
    let db = Fresh::with(ITEMS).await;
    run(&db, INSERT, item("a", "x", 1)).await.unwrap();
    let outcome = db.write(|tx| {
        Box::pin(async move {
            tx.run(&[INSERT], &item("b", "x", 2)).await?;
            assert!(tx.run(&[INSERT], &item("a", "x", 3)).await.is_err());
            assert!(tx.run(&[INSERT], &item("c", "x", 4)).await.is_err(), "it is over");
            assert!(tx.all(&["SELECT id FROM items"], &[], |row| row.text(0)).await.is_err());
            Ok(())
        })
    });
    assert!(outcome.await.is_err());
    assert_eq!(texts(&db, "SELECT id FROM items").await, ["a"]);
    run(&db, INSERT, item("c", "x", 4)).await.unwrap();
    assert_eq!(items(&db).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_transactions_at_once_only_the_failed_ones_are_undone() {
    let db = Fresh::with(ITEMS).await;
    let end = |n: i64| if n % 3 == 0 { End::Refused } else { End::Well };
    let outcomes = together(&db, (0..64).map(|n| write_two(&db, n, end(n))).collect()).await;
    for (n, outcome) in (0..).zip(outcomes) {
        assert_eq!(outcome.is_ok(), end(n) == End::Well, "{n}");
    }
    let kept = both_of((0..64).filter(|&n| end(n) == End::Well));
    assert_eq!(texts(&db, "SELECT id FROM items ORDER BY id").await, kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_undoes_its_own_transaction_only_and_the_next_ones_run() {
    let db = Fresh::with(ITEMS).await;
    let end = |n: i64| if n % 4 == 1 { End::Panicked } else { End::Well };
    let outcomes = together(&db, (0..20).map(|n| write_two(&db, n, end(n))).collect()).await;
    for (n, outcome) in (0..).zip(outcomes) {
        match end(n) {
            End::Well => outcome.unwrap(),
            _ => assert_eq!(outcome.unwrap_err().code(), Code::Internal),
        }
    }
    write_two(&db, 20, End::Well).await.unwrap();
    let kept = both_of((0..21).filter(|&n| end(n) == End::Well));
    assert_eq!(texts(&db, "SELECT id FROM items ORDER BY id").await, kept);
}

#[tokio::test]
async fn a_transaction_sees_its_own_writes_and_others_see_none_before_it_ends() {
    let db = Fresh::with(ITEMS).await;
    let outside = db.clone();
    let inside = db.write(move |tx| {
        Box::pin(async move {
            tx.run(&[INSERT], &item("a", "x", 1)).await?;
            let own = tx.maybe(&["SELECT id FROM items"], &[], |row| row.text(0)).await?;
            Ok((own, items(&outside).await))
        })
    });
    assert_eq!(inside.await.unwrap(), (Some("a".to_owned()), 0));
    assert_eq!(items(&db).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_is_seen_by_every_reader_at_once() {
    let db = Fresh::with(ITEMS).await;
    let other = db.again();
    // Readers from before the write must not remember what they saw.
    let mut early: Tx = db.read().await.unwrap();
    for n in 1..=50 {
        run(&db, INSERT, item(&n.to_string(), "x", n)).await.unwrap();
        let sql = "SELECT count(*) FROM items";
        let mut long = db.read_long().await.unwrap();
        let counts = [
            early.all(&[sql], &[], |row| row.int(0)).await.unwrap()[0],
            long.all(&[sql], &[], |row| row.int(0)).await.unwrap()[0],
            items(&db).await,
            items(&other).await,
        ];
        assert_eq!(counts, [n; 4]);
    }
}

#[tokio::test]
async fn on_sqlite_a_body_that_awaits_something_else_is_an_error_and_writes_nothing() {
    if !on_sqlite() {
        return;
    }
    let db = Fresh::with(ITEMS).await;
    let sleeps = db.write(|tx| {
        Box::pin(async move {
            tx.run(&[INSERT], &item("a", "x", 1)).await?;
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            Ok(())
        })
    });
    assert_eq!(sleeps.await.unwrap_err().code(), Code::Internal);
    let yields = db.write(|tx| {
        Box::pin(async move {
            tx.run(&[INSERT], &item("b", "x", 1)).await?;
            tokio::task::yield_now().await;
            tx.run(&[INSERT], &item("c", "x", 1)).await?;
            Ok(())
        })
    });
    assert_eq!(yields.await.unwrap_err().code(), Code::Internal);
    assert_eq!(items(&db).await, 0);
    run(&db, INSERT, item("d", "x", 1)).await.unwrap();
}

#[tokio::test]
async fn a_transaction_that_changes_very_many_rows_is_kept_or_undone_whole() {
    const MANY: i64 = 30_000;
    let db = Fresh::with(ITEMS).await;
    let fill = "INSERT INTO items (id, note) \
                WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $1) \
                SELECT CAST(i AS TEXT), $2 FROM n";
    run(&db, fill, vec![MANY.into(), "x".repeat(300).into()]).await.unwrap();
    for is_kept in [false, true] {
        let outcome = db.write(move |tx| {
            Box::pin(async move {
                tx.run(&["UPDATE items SET note = $1"], &["y".repeat(300).into()]).await?;
                tx.run(&["DELETE FROM items"], &[]).await?;
                if is_kept { Ok(()) } else { Err(Error::new(Code::IncorrectPassword)) }
            })
        });
        let outcome: Result<()> = outcome.await;
        assert_eq!(outcome.err().map(|error| error.code()), (!is_kept).then_some(Code::IncorrectPassword));
        assert_eq!(items(&db).await, if is_kept { 0 } else { MANY });
    }
}
