//! Statements on their own and sent together, and connections that only read.

use latchkey_base::{Error, Result};
use latchkey_db::{Db, Tx, Value};

use crate::support::{Fresh, INSERT, ITEMS, item, items, run, texts};

const APPEND: &str = "UPDATE items SET label = label || $2 WHERE id = $1";

async fn run_many(db: &Db, statements: Vec<(&'static str, Vec<Value>)>) -> Result<()> {
    db.write(move |tx| Box::pin(async move { Ok(tx.run_many(statements).await?) })).await
}

#[tokio::test]
async fn a_statement_says_how_many_rows_it_touched() {
    let db = Fresh::with(ITEMS).await;
    assert_eq!(run(&db, "INSERT INTO items (id) VALUES ('a'), ('b'), ('c')", vec![]).await.unwrap(), 3);
    assert_eq!(run(&db, "UPDATE items SET amount = $1 WHERE id < 'c'", vec![7i64.into()]).await.unwrap(), 2);
    assert_eq!(run(&db, "DELETE FROM items WHERE id = $1", vec!["none".into()]).await.unwrap(), 0);
}

#[tokio::test]
async fn parts_of_a_statement_are_joined_and_parameters_may_repeat() {
    let db = Fresh::with(ITEMS).await;
    run(&db, INSERT, item("a", "a", 1)).await.unwrap();
    let mut tx = db.read().await.unwrap();
    let parts = ["SELECT id FROM items", " WHERE amount = $2 AND (id = $1 OR label = $1)"];
    let found = tx.maybe(&parts, &["a".into(), 1i64.into()], |row| row.text(0)).await.unwrap();
    assert_eq!(found.as_deref(), Some("a"));
}

#[tokio::test]
async fn a_missing_or_surplus_parameter_is_an_error() {
    let db = Fresh::with(ITEMS).await;
    let mut tx = db.read().await.unwrap();
    let sql = "SELECT id FROM items WHERE id = $1 AND label = $2";
    for params in [vec![], vec!["a".into()], vec!["a".into(), "b".into(), "c".into()]] {
        assert!(tx.all(&[sql], &params, |row| row.text(0)).await.is_err(), "{params:?}");
    }
    assert!(run(&db, INSERT, vec!["a".into(), "b".into()]).await.is_err());
}

#[tokio::test]
async fn returning_gives_the_changed_rows() {
    let db = Fresh::with(ITEMS).await;
    let returned = db.write(|tx| {
        Box::pin(async move {
            let sql = "INSERT INTO items (id, amount) VALUES ($1, 1), ($2, 2) RETURNING id";
            Ok(tx.all(&[sql], &["a".into(), "b".into()], |row| row.text(0)).await?)
        })
    });
    assert_eq!(returned.await.unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn statements_sent_together_run_in_their_order() {
    let db = Fresh::with(ITEMS).await;
    let letters = ["b", "c", "d", "e"];
    let appends = letters.iter().map(|letter| (APPEND, vec!["1".into(), (*letter).into()]));
    let statements = std::iter::once((INSERT, item("1", "a", 0))).chain(appends).collect();
    run_many(&db, statements).await.unwrap();
    assert_eq!(texts(&db, "SELECT label FROM items").await, ["abcde"]);
}

#[tokio::test]
async fn a_statement_known_before_does_not_overtake_a_new_one() {
    let db = Fresh::with(ITEMS).await;
    run_many(&db, vec![(INSERT, item("1", "a", 0)), (APPEND, vec!["1".into(), "b".into()])]).await.unwrap();
    let new = "INSERT INTO items (label, id) VALUES ($1, $2)";
    run_many(&db, vec![(new, vec!["c".into(), "2".into()]), (APPEND, vec!["2".into(), "d".into()])])
        .await
        .unwrap();
    assert_eq!(texts(&db, "SELECT label FROM items ORDER BY id").await, ["ab", "cd"]);
}

#[tokio::test]
async fn hundreds_of_statements_sent_together_run_in_their_order() {
    let db = Fresh::with(ITEMS).await;
    let appends = (0..300u32).map(|n| (APPEND, vec!["1".into(), format!("{n} ").into()]));
    run_many(&db, std::iter::once((INSERT, item("1", "", 0))).chain(appends).collect()).await.unwrap();
    let all: String = (0..300).map(|n| format!("{n} ")).collect();
    assert_eq!(texts(&db, "SELECT label FROM items").await, [all]);
}

#[tokio::test]
async fn an_error_among_statements_sent_together_undoes_all_of_them() {
    let db = Fresh::with(ITEMS).await;
    for position in 0..5 {
        let mut statements: Vec<_> = (0..4i64).map(|n| (INSERT, item(&n.to_string(), "x", n))).collect();
        statements.insert(position, ("INSERT INTO items (id) VALUES (NULL)", vec![]));
        assert!(run_many(&db, statements).await.is_err());
        assert_eq!(items(&db).await, 0, "{position}");
    }
    run_many(&db, vec![]).await.unwrap();
    run(&db, INSERT, item("a", "x", 1)).await.unwrap();
}

/// Everything that could write through a connection.
async fn tries(tx: &mut Tx) -> [bool; 3] {
    let returning = "INSERT INTO items (id) VALUES ('c') RETURNING id";
    [
        tx.run(&["INSERT INTO items (id) VALUES ('a')"], &[]).await.is_err(),
        tx.run_many(vec![("INSERT INTO items (id) VALUES ('b')", vec![])]).await.is_err(),
        tx.all(&[returning], &[], |row| row.text(0)).await.is_err(),
    ]
}

#[tokio::test]
async fn a_write_on_a_read_connection_is_refused() {
    let db = Fresh::with(ITEMS).await;
    assert_eq!(tries(&mut db.read().await.unwrap()).await, [true; 3]);
    assert_eq!(tries(&mut db.read_long().await.unwrap()).await, [true; 3]);
    assert_eq!(items(&db).await, 0);
    // Neither the refused connection nor the others are spoilt by it.
    run(&db, INSERT, item("a", "x", 1)).await.unwrap();
    assert_eq!(tries(&mut db.read().await.unwrap()).await, [true; 3]);
    assert_eq!(items(&db).await, 1);
}

#[tokio::test]
async fn a_connection_reads_on_after_a_failed_statement() {
    let db = Fresh::with(ITEMS).await;
    for mut tx in [db.read().await.unwrap(), db.read_long().await.unwrap()] {
        assert!(tx.all(&["SELECT nothing FROM nowhere"], &[], |row| row.int(0)).await.is_err());
        assert_eq!(tx.all(&["SELECT count(*) FROM items"], &[], |row| row.int(0)).await.unwrap(), [0]);
    }
}

#[tokio::test]
async fn an_empty_transaction_succeeds_and_fails_as_it_says() {
    let db = Fresh::empty().await;
    assert_eq!(db.write(|_| Box::pin(async { Ok(1) })).await.unwrap(), 1);
    assert!(db.write(|_| Box::pin(async { Err::<(), Error>(Error::internal("no")) })).await.is_err());
}
