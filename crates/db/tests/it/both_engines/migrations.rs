//! Steps of the schema: each applied once, whole or not at all, by however many nodes.

use futures_util::future::join_all;
use latchkey_db::Migration;

use crate::support::{Fresh, INSERT, ITEMS, item, items, on_sqlite, open, run, texts};

const SECOND: Migration = Migration {
    name: "0002_more",
    common: "-- A comment; with a semicolon.\nALTER TABLE items ADD COLUMN extra TEXT;\n",
    sqlite: "INSERT INTO items (id, extra) VALUES ('from', 'SQLite');",
    postgres: "INSERT INTO items (id, extra) VALUES ('from', 'PostgreSQL');",
};

const BOTH: &[Migration] = &[
    Migration {
        name: ITEMS[0].name,
        common: ITEMS[0].common,
        sqlite: ITEMS[0].sqlite,
        postgres: ITEMS[0].postgres,
    },
    SECOND,
];

#[tokio::test]
async fn a_step_is_applied_once() {
    let db = Fresh::empty().await;
    assert_eq!(db.migrate(ITEMS).await.unwrap(), ["0001_items"]);
    run(&db, INSERT, item("a", "x", 1)).await.unwrap();
    assert!(db.migrate(ITEMS).await.unwrap().is_empty());
    assert!(db.again().migrate(ITEMS).await.unwrap().is_empty());
    assert_eq!(items(&db).await, 1);
}

#[tokio::test]
async fn only_missing_steps_are_applied_and_only_the_text_of_this_engine() {
    let db = Fresh::with(ITEMS).await;
    assert_eq!(db.migrate(BOTH).await.unwrap(), ["0002_more"]);
    assert_eq!(texts(&db, "SELECT extra FROM items").await, [db.engine()]);
    assert_eq!(
        texts(&db, "SELECT name FROM schema_migrations ORDER BY name").await,
        ["0001_items", "0002_more"]
    );
}

#[tokio::test]
async fn a_failing_step_leaves_nothing_of_the_run() {
    const BROKEN: &[Migration] = &[
        Migration {
            name: "0001_fine",
            common: "CREATE TABLE fine (\n  id TEXT\n);\n",
            sqlite: "",
            postgres: "",
        },
        Migration {
            name: "0002_broken",
            common: "CREATE TABLE half (\n  id TEXT\n);\nCREATE INDEX nothing ON nowhere (id);\n",
            sqlite: "",
            postgres: "",
        },
    ];
    let db = Fresh::empty().await;
    assert!(db.migrate(BROKEN).await.is_err());
    let mut tx = db.read().await.unwrap();
    for sql in ["SELECT id FROM fine", "SELECT id FROM half", "SELECT name FROM schema_migrations"] {
        assert!(tx.all(&[sql], &[], |row| row.text(0)).await.is_err(), "{sql}");
    }
    drop(tx);
    assert_eq!(db.migrate(ITEMS).await.unwrap(), ["0001_items"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn four_nodes_that_start_together_apply_every_step_once() {
    let fresh = Fresh::empty().await;
    let nodes = (0..4).map(|_| {
        let location = fresh.location.clone();
        tokio::spawn(async move { open(&location).migrate(BOTH).await.unwrap() })
    });
    let applied: Vec<_> = join_all(nodes).await.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(applied, ["0001_items", "0002_more"]);
    assert_eq!(items(&fresh).await, 1);
}

#[test]
fn on_sqlite_a_new_file_can_be_opened_by_many_at_once() {
    if !on_sqlite() {
        return;
    }
    for _ in 0..20 {
        let folder = tempfile::TempDir::new().unwrap();
        let location = latchkey_db::Location::Sqlite(folder.path().join("new.db"));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| open(&location));
            }
        });
    }
}

#[tokio::test]
async fn on_postgres_a_step_may_take_longer_than_a_statement_of_a_request() {
    const SLOW: &[Migration] = &[Migration {
        name: "0001_slow",
        common: "",
        sqlite: "",
        postgres: "DO $$ BEGIN
          IF current_setting('statement_timeout') <> '0' THEN RAISE 'a large index would be cut off'; END IF;
        END $$;",
    }];
    if on_sqlite() {
        return;
    }
    let db = Fresh::empty().await;
    assert_eq!(db.migrate(SLOW).await.unwrap(), ["0001_slow"]);
    assert_eq!(texts(&db, "SHOW statement_timeout").await, ["30s"]);
}
