//! Statements that derive from the constant of a table, and typed ids of rows.

use latchkey_base::kinds::{UserId, UserKind};
use latchkey_base::{Result, Time};
use latchkey_db::{Row, Table, Tx, Value};

use crate::support::{Fresh, ITEMS, items};

static TABLE: Table = Table::new("items", &["id"])
    .saved(&["label", "amount"])
    .fixed(&["note", "flag", "data"])
    .read(&["label", "amount", "note"])
    .aged_by("amount");

type Item = (String, i64, String);

fn read(row: &Row<'_>) -> latchkey_db::Result<Item> {
    Ok((row.text(0)?, row.int(1)?, row.text(2)?))
}

fn row(id: &str, label: &str, amount: i64, note: &str) -> Vec<Value> {
    vec![id.into(), label.into(), amount.into(), note.into(), true.into(), Value::Bytes(None)]
}

fn item(label: &str, amount: i64, note: &str) -> Option<Item> {
    Some((label.to_owned(), amount, note.to_owned()))
}

async fn find(tx: &mut Tx, id: &str) -> Option<Item> {
    TABLE.find(tx, &[id.into()], read).await.unwrap()
}

async fn lifecycle(tx: &mut Tx) -> Result<()> {
    TABLE.insert(tx, &row("a", "first", 1, "kept")).await?;
    assert_eq!(find(tx, "a").await, item("first", 1, "kept"));
    TABLE.save(tx, &row("a", "second", 2, "not written")).await?;
    assert_eq!(TABLE.lock(tx, &["a".into()], read).await?, item("second", 2, "kept"));
    TABLE.save(tx, &row("a", "third", 3, "")[..3]).await?;
    assert_eq!(find(tx, "a").await, item("third", 3, "kept"));
    TABLE.put(tx, &row("a", "fourth", 4, "not written")).await?;
    TABLE.put(tx, &row("b", "other", 5, "new")).await?;
    assert_eq!(find(tx, "a").await, item("fourth", 4, "kept"));
    assert_eq!(find(tx, "b").await, item("other", 5, "new"));
    assert!(!TABLE.insert_new(tx, &row("b", "again", 6, "again")).await?);
    assert!(TABLE.insert_new(tx, &row("c", "again", 6, "again")).await?);
    tx.run_many(vec![
        TABLE.inserting(row("d", "d", 7, "d")),
        TABLE.saving(row("d", "e", 8, "")),
        TABLE.putting(row("e", "e", 9, "e")),
        TABLE.deleting(vec!["c".into()]),
    ])
    .await?;
    assert_eq!((find(tx, "c").await, find(tx, "d").await), (None, item("e", 8, "d")));
    assert!(TABLE.delete(tx, &["d".into()]).await?);
    assert!(!TABLE.delete(tx, &["d".into()]).await?);
    Ok(())
}

#[tokio::test]
async fn rows_are_inserted_found_saved_and_deleted_by_the_constant_of_their_table() {
    let db = Fresh::with(ITEMS).await;
    db.write(|tx| Box::pin(lifecycle(tx))).await.unwrap();
    assert_eq!(items(&db).await, 3);
}

#[tokio::test]
async fn the_oldest_rows_are_deleted_first() {
    let db = Fresh::with(ITEMS).await;
    let deleted = db.write(|tx| {
        Box::pin(async move {
            for (id, time) in [("a", 3), ("b", 1), ("c", 2), ("d", 4)] {
                TABLE.insert(tx, &row(id, id, time, "")).await?;
            }
            let few = TABLE.delete_old(tx, Time::from_ms(4), 2).await?;
            assert_eq!((find(tx, "a").await, find(tx, "b").await), (item("a", 3, ""), None));
            Ok((few, TABLE.delete_old(tx, Time::from_ms(4), 2).await?))
        })
    });
    assert_eq!(deleted.await.unwrap(), (2, 1));
    assert_eq!(items(&db).await, 1);
}

#[tokio::test]
async fn ids_are_read_by_their_kind() {
    let db = Fresh::with(ITEMS).await;
    let text = "user_000000000000000000000000001";
    db.write(move |tx| Box::pin(async move { TABLE.insert(tx, &row(text, "plain", 1, "")).await }))
        .await
        .unwrap();
    let mut tx = db.read().await.unwrap();
    let id = tx.maybe(&["SELECT id FROM items"], &[], |row| row.id(0)).await.unwrap();
    assert_eq!(id, UserId::parse(text));
    let null = "SELECT NULLIF(label, 'plain') FROM items";
    let none = tx.maybe(&[null], &[], |row| row.maybe_id::<UserKind>(0)).await.unwrap();
    assert_eq!(none, Some(None));
    for broken in [null, "SELECT label FROM items"] {
        assert!(tx.maybe(&[broken], &[], |row| row.id::<UserKind>(0)).await.is_err());
    }
    assert!(tx.exists(&["SELECT 1 FROM items WHERE id = $1"], &[text.into()]).await.unwrap());
    assert!(!tx.exists(&["SELECT 1 FROM items WHERE id = $1"], &["other".into()]).await.unwrap());
}
