//! Whether the database takes writes: told by a write, tried seldom.

use std::time::Duration;

use latchkey_db::Location;

use crate::support::{Fresh, ITEMS};

/// Keeps everybody else from writing until it is dropped.
enum Blockade {
    Sqlite { _holder: rusqlite::Connection },
    Postgres { _holder: tokio_postgres::Client },
}

async fn block(location: &Location) -> Blockade {
    match location {
        Location::Sqlite(path) => {
            let holder = rusqlite::Connection::open(path).unwrap();
            holder.execute_batch("BEGIN IMMEDIATE").unwrap();
            Blockade::Sqlite { _holder: holder }
        }
        Location::Postgres(url) => {
            let (holder, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            let lock = "BEGIN; LOCK TABLE schema_migrations, items IN ACCESS EXCLUSIVE MODE";
            holder.batch_execute(lock).await.unwrap();
            Blockade::Postgres { _holder: holder }
        }
    }
}

#[tokio::test]
async fn writes_that_do_not_get_through_are_told_and_so_is_their_return() {
    let db = Fresh::with(ITEMS).await;
    let blockade = block(&db.location).await;
    let refusal = db.check_writes().await.unwrap_err();
    let reason = std::error::Error::source(&refusal).unwrap().to_string();
    assert!(reason.contains("takes no writes"), "{reason}");
    drop(blockade);
    let back = async {
        while db.check_writes().await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), back).await.expect("it recovers by itself");
}

#[tokio::test]
async fn asking_often_costs_one_write() {
    let db = Fresh::with(ITEMS).await;
    let Location::Sqlite(path) = &db.location else { return };
    db.check_writes().await.unwrap();
    let watcher = rusqlite::Connection::open(path).unwrap();
    // Another number once somebody else has written.
    let version = || watcher.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0)).unwrap();
    let before = version();
    for _ in 0..100 {
        db.check_writes().await.unwrap();
    }
    assert_eq!(version(), before);
}

#[tokio::test]
async fn a_write_that_fails_makes_the_next_question_a_write() {
    let db = Fresh::with(ITEMS).await;
    db.check_writes().await.unwrap();
    let blockade = block(&db.location).await;
    db.check_writes().await.expect("the last try counts for some seconds");
    drop(blockade);
    let broken =
        db.write(|tx| Box::pin(async move { Ok(tx.run(&["UPDATE nothing SET x = 1"], &[]).await?) }));
    broken.await.unwrap_err();
    let _blockade = block(&db.location).await;
    assert!(db.check_writes().await.is_err());
}
