//! Who may read the files of a SQLite database.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use latchkey_db::{Db, Location, Options};

use crate::support::{ITEMS, run};

async fn open(path: &Path) -> Db {
    let location = Location::Sqlite(path.to_owned());
    let db = Db::open(&Options { location, connections: 1, before_commit: "", numbering: "" }).unwrap();
    db.migrate(ITEMS).await.unwrap();
    run(&db, "INSERT INTO items (id) VALUES ('a') ON CONFLICT (id) DO NOTHING", vec![]).await.unwrap();
    db
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn the_files_of_a_database_are_for_their_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made/deep");
    let files = ["test.db", "test.db-wal", "test.db-shm"].map(|name| made.join(name));
    let first = open(&files[0]).await;
    assert_eq!((mode(&made), mode(made.parent().unwrap())), (0o700, 0o700));
    assert_eq!(files.clone().map(|path| mode(&path)), [0o600; 3]);
    // As an older server, or a copy from elsewhere, left them.
    files.iter().for_each(|path| fs::set_permissions(path, Permissions::from_mode(0o664)).unwrap());
    let second = open(&files[0]).await;
    assert_eq!(files.map(|path| mode(&path)), [0o600; 3]);
    drop((first, second));
}
