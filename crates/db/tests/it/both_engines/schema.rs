//! The product's own migrations, read from their folder so that none is forgotten: the same tables
//! on both engines, the same order of texts, and a search index that stays in step.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use latchkey_base::{Error, Result};
use latchkey_db::{Db, List, Location, Migration, SearchIndex};

use crate::support::{Fresh, ITEMS, all, number, on_sqlite, run, texts};

/// Every step of the product's schema.
pub(crate) static PRODUCT: LazyLock<&'static Vec<Migration>> = LazyLock::new(|| {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations"));
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".sql").map(str::to_owned))
        .filter(|name| !name.contains('.'))
        .collect();
    names.sort();
    let read = |name: &str| &*fs::read_to_string(folder.join(name)).unwrap_or_default().leak();
    let step = |name: String| Migration {
        common: read(&format!("{name}.sql")),
        sqlite: read(&format!("{name}.sqlite.sql")),
        postgres: read(&format!("{name}.postgres.sql")),
        name: name.leak(),
    };
    Box::leak(Box::new(names.into_iter().map(step).collect()))
});

/// Type, and whether it may be null, of every column of every table. What belongs to SQLite's search
/// index is not part of the common schema.
type Schema = BTreeMap<String, (String, bool)>;

async fn schema(db: &Db) -> Schema {
    let sql = match db.engine() {
        "SQLite" => {
            "SELECT t.name || '.' || c.name, c.type, 1 - c.\"notnull\" \
             FROM pragma_table_list AS t JOIN pragma_table_info(t.name) AS c \
             WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite%' \
             AND t.name <> 'users_search_pending'"
        }
        _ => {
            "SELECT table_name || '.' || column_name, data_type::text, (is_nullable = 'YES')::int::bigint \
             FROM information_schema.columns WHERE table_schema = 'public'"
        }
    };
    let rows = all(db, sql, |row| Ok((row.text(0)?, (row.text(1)?.to_uppercase(), row.int(2)? == 1)))).await;
    rows.into_iter().filter(|(name, _)| !name.starts_with("schema_migrations.")).collect()
}

/// The same, read from the migrations' text: a column stands on a line of its own.
fn declared() -> Schema {
    let mut table = "";
    let mut columns = Schema::new();
    for line in PRODUCT.iter().flat_map(|step| step.common.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["CREATE", "TABLE", name, "("] => table = name,
            ["ALTER", "TABLE", changed, "ADD", "COLUMN", name, kind, ..] => {
                let kind = kind.trim_end_matches(';').to_owned();
                columns.insert(format!("{changed}.{name}"), (kind, !line.contains("NOT NULL")));
            }
            [name, kind, ..] if line.starts_with("  ") && name.starts_with(|c: char| c.is_lowercase()) => {
                let kind = kind.trim_end_matches(',').to_owned();
                columns.insert(format!("{table}.{name}"), (kind, !line.contains("NOT NULL")));
            }
            _ => (),
        }
    }
    columns
}

fn without_types(schema: Schema) -> BTreeMap<String, bool> {
    schema.into_iter().map(|(name, (_, may_be_null))| (name, may_be_null)).collect()
}

#[tokio::test]
async fn both_engines_have_the_same_tables_columns_and_nulls() {
    let db = Fresh::with(PRODUCT.as_slice()).await;
    let sqlite = Fresh::sqlite();
    sqlite.migrate(PRODUCT.as_slice()).await.unwrap();
    assert_eq!(without_types(schema(&db).await), without_types(schema(&sqlite).await));
}

#[tokio::test]
async fn tables_are_as_the_migrations_declare_them() {
    let db = Fresh::with(PRODUCT.as_slice()).await;
    let as_stored = |kind: &str| match (on_sqlite(), kind) {
        (true, "BIGINT" | "BOOLEAN") => "INTEGER".to_owned(),
        (true, "BYTEA") => "BLOB".to_owned(),
        _ => kind.to_owned(),
    };
    let expected: Schema =
        declared().into_iter().map(|(name, (kind, null))| (name, (as_stored(&kind), null))).collect();
    assert!(expected.contains_key("users.instance_id"), "{expected:?}");
    assert_eq!(schema(&db).await, expected);
}

#[tokio::test]
async fn on_sqlite_every_table_is_strict() {
    if !on_sqlite() {
        return;
    }
    let db = Fresh::with(PRODUCT.as_slice()).await;
    let lax = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 \
        AND name NOT LIKE 'sqlite%' AND name <> 'schema_migrations'";
    assert!(texts(&db, lax).await.is_empty());
}

#[tokio::test]
async fn texts_sort_by_their_bytes() {
    let db = Fresh::with(ITEMS).await;
    let sorted = ["", "-", "A", "AB", "Aa", "B", "_", "a", "a b", "aB", "aa", "z", "Ä", "ß", "日", "😀"];
    for id in sorted.iter().rev() {
        run(&db, "INSERT INTO items (id) VALUES ($1)", vec![(*id).into()]).await.unwrap();
    }
    assert_eq!(texts(&db, "SELECT id FROM items ORDER BY id").await, sorted);
    assert_eq!(texts(&db, "SELECT max(id) FROM items WHERE id < 'Aa'").await, ["AB"]);
    assert_eq!(number(&db, "SELECT count(*) FROM items WHERE id > 'AB' AND id < 'aB'").await, 5);
}

async fn with_instance() -> Fresh {
    let db = Fresh::of_the_product(PRODUCT.as_slice()).await;
    let sql = "INSERT INTO instances (id, environment, frontend_api, settings, settings_revision, created_at) \
        VALUES ('i', 'development', 'h', '{}', 0, 0)";
    run(&db, sql, vec![]).await.unwrap();
    db
}

async fn add_user(db: &Db, id: &'static str, emails: &'static str, outcome: Result<()>) -> Result<()> {
    let sql = "INSERT INTO users (instance_id, id, document, created_at, updated_at, banned, emails_folded, \
        phones_folded, names_folded, search_folded) VALUES ('i', $1, '{}', 0, 0, FALSE, $2, '', '', $2)";
    let params = [id.into(), emails.into()];
    db.write(move |tx| {
        Box::pin(async move {
            tx.run(&[sql], &params).await?;
            outcome
        })
    })
    .await
}

async fn found(db: &Db, term: &str) -> Vec<String> {
    const INDEX: SearchIndex =
        SearchIndex { index: "users_search", table: "users", text: "users.search_folded" };
    let list = List::new("SELECT id FROM users").search(INDEX, None, Some(term.to_owned()));
    list.order("id").fetch(&mut db.read_long().await.unwrap(), |row| row.text(0)).await.unwrap()
}

#[tokio::test]
async fn the_search_index_of_users_follows_every_change() {
    let db = with_instance().await;
    add_user(&db, "user_1", "ada@example.com", Ok(())).await.unwrap();
    assert!(add_user(&db, "user_2", "adam@example.com", Err(Error::internal("undone"))).await.is_err());
    assert_eq!(found(&db, "ada").await, ["user_1"]);
    add_user(&db, "user_3", "grace@example.com", Ok(())).await.unwrap();
    assert_eq!(found(&db, "example").await, ["user_1", "user_3"]);
    run(&db, "UPDATE users SET search_folded = 'lovelace@example.com' WHERE id = 'user_1'", vec![])
        .await
        .unwrap();
    run(&db, "UPDATE users SET updated_at = 1", vec![]).await.unwrap();
    assert!(found(&db, "ada@").await.is_empty());
    assert_eq!(found(&db, "lovelace").await, ["user_1"]);
    run(&db, "DELETE FROM users WHERE id = 'user_3'", vec![]).await.unwrap();
    assert_eq!(found(&db, "example").await, ["user_1"]);
    run(&db, "DELETE FROM instances", vec![]).await.unwrap();
    assert!(found(&db, "example").await.is_empty());
}

#[tokio::test]
async fn on_sqlite_the_search_index_of_users_survives_a_vacuum() {
    if !on_sqlite() {
        return;
    }
    let db = with_instance().await;
    add_user(&db, "user_1", "ada@example.com", Ok(())).await.unwrap();
    add_user(&db, "user_2", "grace@example.com", Ok(())).await.unwrap();
    run(&db, "DELETE FROM users WHERE id = 'user_1'", vec![]).await.unwrap();
    let Location::Sqlite(path) = &db.location else { return };
    // The index knows rows by their rowid, which a vacuum may only keep.
    rusqlite::Connection::open(path).unwrap().execute_batch("VACUUM").unwrap();
    assert_eq!(found(&db, "grace").await, ["user_2"]);
    add_user(&db, "user_3", "alan@example.com", Ok(())).await.unwrap();
    assert_eq!(found(&db, "alan").await, ["user_3"]);
}
