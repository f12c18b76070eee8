//! What goes in comes out: every type, its null, and the texts and bytes that break naive code.

use latchkey_base::Time;
use latchkey_db::{Db, Row, Value};

use crate::support::{Fresh, ITEMS, all, items, on_sqlite, run};

const INSERT_ALL: &str = "INSERT INTO items (id, label, amount, flag, data) VALUES ($1, $2, $3, $4, $5)";

async fn note_of(db: &Db, note: &str) -> String {
    run(db, "DELETE FROM items", vec![]).await.unwrap();
    let insert = "INSERT INTO items (id, note) VALUES ('a', $1)";
    run(db, insert, vec![note.into()]).await.unwrap();
    all(db, "SELECT note FROM items", |row| row.text(0)).await.remove(0)
}

#[tokio::test]
async fn values_of_every_type_round_trip() {
    let db = Fresh::with(ITEMS).await;
    let values =
        vec!["a".into(), "label".into(), i64::MIN.into(), true.into(), Value::from(&[0u8, 255, 39, 0][..])];
    run(&db, INSERT_ALL, values).await.unwrap();
    let values = vec!["b".into(), "".into(), i64::MAX.into(), false.into(), Value::from(Vec::new())];
    run(&db, INSERT_ALL, values).await.unwrap();
    let read = |row: &Row<'_>| {
        Ok((row.text(0)?, row.text(1)?, row.int(2)?, row.bool(3)?, row.bytes(4)?, row.str(1)?.len()))
    };
    let rows = all(&db, "SELECT id, label, amount, flag, data FROM items ORDER BY id", read).await;
    assert_eq!(rows[0], ("a".into(), "label".into(), i64::MIN, true, vec![0, 255, 39, 0], 5));
    assert_eq!(rows[1], ("b".into(), String::new(), i64::MAX, false, vec![], 0));
}

#[tokio::test]
async fn typed_nulls_round_trip() {
    let db = Fresh::with(ITEMS).await;
    let nulls = vec!["a".into(), Value::Text(None), Value::Int(None), Value::Bool(None), Value::Bytes(None)];
    run(&db, INSERT_ALL, nulls).await.unwrap();
    let read = |row: &Row<'_>| Ok((row.maybe_text(1)?, row.maybe_int(2)?, row.maybe_bytes(4)?));
    assert_eq!(all(&db, "SELECT id, label, amount, flag, data FROM items", read).await, [(None, None, None)]);
    assert_eq!(all(&db, "SELECT id FROM items WHERE flag IS NULL", |row| row.text(0)).await, ["a"]);
}

#[tokio::test]
async fn a_null_read_as_a_value_is_an_error() {
    let db = Fresh::with(ITEMS).await;
    run(&db, "INSERT INTO items (id) VALUES ('a')", vec![]).await.unwrap();
    let mut tx = db.read().await.unwrap();
    let sql = "SELECT label, amount, flag, data FROM items";
    assert!(tx.all(&[sql], &[], |row| row.text(0)).await.is_err());
    assert!(tx.all(&[sql], &[], |row| row.int(1)).await.is_err());
    assert!(tx.all(&[sql], &[], |row| row.bool(2)).await.is_err());
    assert!(tx.all(&[sql], &[], |row| row.bytes(3)).await.is_err());
    assert_eq!(tx.all(&[sql], &[], |row| row.maybe_time(1)).await.unwrap(), [None]);
}

#[tokio::test]
async fn times_round_trip_to_the_millisecond() {
    let db = Fresh::with(ITEMS).await;
    let at = Time::from_ms(1_767_225_600_123);
    run(&db, "INSERT INTO items (id, amount) VALUES ('a', $1)", vec![at.into()]).await.unwrap();
    assert!(all(&db, "SELECT amount FROM items", |row| row.time(0)).await == [at]);
}

#[tokio::test]
async fn odd_texts_round_trip() {
    let db = Fresh::with(ITEMS).await;
    for text in [
        "it's \"quoted\" `twice` $1 ? {for_update} \\ % _ --",
        "日本語 Łódź 👩‍👩‍👧‍👦 e\u{301} \u{202e}right to left\u{202c} \u{feff}",
        "line\r\nfeed\ttab\u{1}\u{7f}",
        " leading and trailing ",
        "0x00 1e5 NULL true",
    ] {
        assert_eq!(note_of(&db, text).await, text);
    }
}

#[tokio::test]
async fn a_megabyte_of_text_and_of_bytes_round_trips() {
    let db = Fresh::with(ITEMS).await;
    let text = "ä'\"1234\\".repeat(120_000);
    assert!(text.len() > 1_000_000 && note_of(&db, &text).await == text);
    let bytes: Vec<u8> = (0..1_200_000u32).map(|n| (n % 251) as u8).collect();
    run(&db, "UPDATE items SET data = $1", vec![bytes.clone().into()]).await.unwrap();
    assert!(all(&db, "SELECT data FROM items", |row| row.bytes(0)).await[0] == bytes);
}

#[tokio::test]
async fn flags_are_compared_as_flags() {
    let db = Fresh::with(ITEMS).await;
    run(&db, "INSERT INTO items (id, flag) VALUES ('t', TRUE), ('f', FALSE)", vec![]).await.unwrap();
    let mut tx = db.read().await.unwrap();
    let sql = "SELECT id FROM items WHERE flag = $1";
    assert_eq!(tx.all(&[sql], &[true.into()], |row| row.text(0)).await.unwrap(), ["t"]);
    assert_eq!(tx.all(&[sql], &[false.into()], |row| row.text(0)).await.unwrap(), ["f"]);
    assert_eq!(all(&db, "SELECT id FROM items WHERE NOT flag", |row| row.text(0)).await, ["f"]);
}

#[tokio::test]
async fn a_value_of_the_wrong_type_is_refused() {
    let db = Fresh::with(ITEMS).await;
    let amount = "INSERT INTO items (id, amount) VALUES ('a', $1)";
    let data = "INSERT INTO items (id, data) VALUES ('a', $1)";
    for (sql, value) in [
        (amount, Value::from("twelve")),
        (amount, Value::from("12345678")),
        (amount, Value::from(vec![1u8; 8])),
        (data, Value::from("12345678")),
        (data, Value::from(1i64)),
        (data, Value::from(true)),
    ] {
        // SQLite reads a number out of a text that is one; everything else is refused alike.
        if sql == amount && value == Value::from("12345678") && on_sqlite() {
            continue;
        }
        assert!(run(&db, sql, vec![value.clone()]).await.is_err(), "{value:?}");
    }
    assert_eq!(items(&db).await, 0);
}
