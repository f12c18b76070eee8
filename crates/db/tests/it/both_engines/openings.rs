//! Where a database lies, and that opening it twice does no harm.

use latchkey_db::{Db, Location, Options};

use crate::support::{Fresh, INSERT, ITEMS, all, item, items, on_sqlite, open, run};

#[test]
fn locations_are_read_from_text() {
    let sqlite = |path: &str| Ok(Location::Sqlite(path.into()));
    assert_eq!(Location::parse("sqlite:./data/latchkey.db"), sqlite("./data/latchkey.db"));
    assert_eq!(Location::parse("sqlite:/var/lib/latchkey.db"), sqlite("/var/lib/latchkey.db"));
    assert_eq!(Location::parse("sqlite://latchkey.db"), sqlite("latchkey.db"));
    assert_eq!(Location::parse("sqlite:///var/lib/latchkey.db"), sqlite("/var/lib/latchkey.db"));
    for url in ["postgres://u@host/db", "postgresql://u@host:5432/db?sslmode=disable"] {
        assert_eq!(Location::parse(url), Ok(Location::Postgres(url.into())));
    }
    for bad in ["", "sqlite:", "sqlite://", "mysql://host/db", "latchkey.db", "postgres:db"] {
        assert!(Location::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn an_absolute_path_stays_absolute_however_many_slashes_lead_to_it() {
    let parsed = Location::parse("sqlite:////var/lib/latchkey.db");
    assert!(matches!(&parsed, Ok(Location::Sqlite(path)) if path.is_absolute()), "{parsed:?}");
}

#[tokio::test]
async fn on_sqlite_missing_folders_are_made() {
    if !on_sqlite() {
        return;
    }
    let folder = tempfile::TempDir::new().unwrap();
    let location = Location::Sqlite(folder.path().join("a/b/latchkey.db"));
    open(&location).migrate(ITEMS).await.unwrap();
    assert!(folder.path().join("a/b/latchkey.db").exists());
}

#[tokio::test]
async fn what_was_written_is_there_when_the_database_is_opened_again() {
    let db = Fresh::with(ITEMS).await;
    run(&db, INSERT, item("a", "x", 1)).await.unwrap();
    assert_eq!(items(&db.again()).await, 1);
}

#[tokio::test]
async fn on_sqlite_folding_leaves_nothing_outside_of_the_file() {
    let db = Fresh::with(ITEMS).await;
    let Location::Sqlite(path) = &db.location else { return };
    run(&db, INSERT, item("a", "x", 1)).await.unwrap();
    let log = || std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
    assert!(log() > 0);
    db.fold().await.unwrap();
    assert_eq!((log(), items(&db).await), (0, 1));
}

#[tokio::test]
async fn a_database_that_is_out_of_reach_is_an_error() {
    let location = match on_sqlite() {
        true => Location::Sqlite("/dev/null/latchkey.db".into()),
        false => Location::Postgres("postgres://nobody@127.0.0.1:1/none?sslmode=disable".into()),
    };
    let opened = Db::open(&Options { location, connections: 1, before_commit: "", numbering: "" });
    let failed = match opened {
        Err(_) => true,
        Ok(db) => db.read().await.is_err() && run(&db, "SELECT 1", vec![]).await.is_err(),
    };
    assert!(failed);
}

#[tokio::test]
async fn on_postgres_options_in_the_url_are_kept() {
    let fresh = Fresh::empty().await;
    let Location::Postgres(url) = &fresh.location else { return };
    let db = open(&Location::Postgres(format!("{url}&options=-c%20search_path%3Dtenant")));
    assert_eq!(all(&db, "SHOW search_path", |row| row.text(0)).await, ["tenant"]);
    assert_eq!(all(&db, "SHOW statement_timeout", |row| row.text(0)).await, ["30s"]);
}
