//! Violated constraints are reported alike, so that callers can tell what is taken.

use latchkey_base::{Code, Result};
use latchkey_db::{Db, DbError, Value, unique_violation};

use super::schema::PRODUCT;
use crate::support::{Fresh, INSERT, ITEMS, item, items, run};

/// The column a failed write blames.
fn blamed(outcome: Result<u64>) -> Option<String> {
    let error = outcome.unwrap_err();
    assert_eq!(error.code(), Code::Internal);
    unique_violation(&error).map(str::to_owned)
}

#[tokio::test]
async fn a_taken_value_is_reported_as_table_and_last_column() {
    let db = Fresh::with(ITEMS).await;
    run(&db, INSERT, item("a", "x", 1)).await.unwrap();
    assert_eq!(blamed(run(&db, INSERT, item("a", "y", 2)).await).as_deref(), Some("items.id"));
    assert_eq!(blamed(run(&db, INSERT, item("b", "x", 1)).await).as_deref(), Some("items.amount"));
    run(&db, INSERT, item("b", "x", 2)).await.unwrap();
    let update = run(&db, "UPDATE items SET amount = 1 WHERE id = 'b'", vec![]).await;
    assert_eq!(blamed(update).as_deref(), Some("items.amount"));
    assert_eq!(items(&db).await, 2);
}

#[tokio::test]
async fn a_taken_value_is_an_error_of_its_own_inside_the_transaction() {
    let db = Fresh::with(ITEMS).await;
    run(&db, INSERT, item("a", "x", 1)).await.unwrap();
    let outcome = db.write(|tx| {
        Box::pin(async move {
            match tx.run(&[INSERT], &item("a", "x", 2)).await {
                Err(DbError::Unique(column)) => assert_eq!(column, "items.id"),
                other => assert!(other.is_err_and(|_| false), "not a unique violation"),
            }
            Ok(())
        })
    });
    // PostgreSQL cannot go on after a failed statement, so nobody may.
    assert!(outcome.await.is_err());
}

#[tokio::test]
async fn a_taken_value_is_reported_through_statements_sent_together() {
    let db = Fresh::with(ITEMS).await;
    let outcome = db.write(|tx| {
        let statements = vec![(INSERT, item("a", "x", 1)), (INSERT, item("a", "x", 2))];
        Box::pin(async move { Ok(tx.run_many(statements).await?) })
    });
    assert_eq!(blamed(outcome.await.map(|()| 0)).as_deref(), Some("items.id"));
    assert_eq!(items(&db).await, 0);
}

#[tokio::test]
async fn nulls_are_never_taken() {
    let db = Fresh::with(ITEMS).await;
    for id in ["a", "b"] {
        run(&db, INSERT, vec![id.into(), Value::Text(None), 1i64.into()]).await.unwrap();
    }
    assert_eq!(items(&db).await, 2);
}

#[tokio::test]
async fn other_violations_are_not_mistaken_for_a_taken_value() {
    let db = Fresh::with(PRODUCT.as_slice()).await;
    let null = "INSERT INTO instances (id, environment, frontend_api, settings, settings_revision, created_at) VALUES ('i', NULL, 'h', '', 0, 0)";
    assert_eq!(blamed(run(&db, null, vec![]).await), None);
    let orphan = "INSERT INTO images (instance_id, id, content_type, bytes, created_at) VALUES ('none', 'a', '', $1, 0)";
    assert_eq!(blamed(run(&db, orphan, vec![vec![0u8].into()]).await), None);
    assert_eq!(blamed(run(&db, "SELEKT", vec![]).await), None);
}

#[tokio::test]
async fn on_conflict_do_nothing_leaves_the_transaction_usable() {
    let db = Fresh::with(ITEMS).await;
    run(&db, INSERT, item("a", "x", 1)).await.unwrap();
    let sql = "INSERT INTO items (id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id";
    let outcome = db.write(move |tx| {
        Box::pin(async move {
            let taken = tx.maybe(&[sql], &["a".into()], |row| row.text(0)).await?;
            let free = tx.maybe(&[sql], &["b".into()], |row| row.text(0)).await?;
            Ok((taken, free))
        })
    });
    assert_eq!(outcome.await.unwrap(), (None, Some("b".to_owned())));
    assert_eq!(items(&db).await, 2);
}

async fn add_user(db: &Db, id: &str, external_id: &str) -> Result<u64> {
    let sql = "INSERT INTO users (instance_id, id, document, created_at, updated_at, banned, external_id, \
        emails_folded, phones_folded, names_folded, search_folded) VALUES ('i', $1, '{}', 0, 0, FALSE, $2, '', '', '', '')";
    run(db, sql, vec![id.into(), external_id.into()]).await
}

#[tokio::test]
async fn the_products_own_constraints_are_reported_by_their_columns() {
    let db = Fresh::with(PRODUCT.as_slice()).await;
    let instance = "INSERT INTO instances (id, environment, frontend_api, settings, settings_revision, created_at) VALUES ('i', 'development', 'h', '{}', 0, 0)";
    run(&db, instance, vec![]).await.unwrap();
    add_user(&db, "user_1", "ext_1").await.unwrap();
    assert_eq!(blamed(add_user(&db, "user_1", "ext_2").await).as_deref(), Some("users.id"));
    assert_eq!(blamed(add_user(&db, "user_2", "ext_1").await).as_deref(), Some("users.external_id"));
    let claim = "INSERT INTO identifications (instance_id, id, user_id, kind, value_folded, claim) \
        VALUES ('i', $1, 'user_1', 'email_address', $2, '')";
    let add = |id: &str, value: &str| run(&db, claim, vec![id.into(), value.into()]);
    add("idn_1", "ada@example.com").await.unwrap();
    assert_eq!(blamed(add("idn_1", "eve@example.com").await).as_deref(), Some("identifications.id"));
    assert_eq!(blamed(add("idn_2", "ada@example.com").await).as_deref(), Some("identifications.claim"));
}
