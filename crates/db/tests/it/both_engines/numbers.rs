//! Rows that get numbers: none missing, none twice, in the order of the commits.

use futures_util::future::join_all;
use latchkey_base::{Code, Error};
use latchkey_db::{Migration, Numbered};

use crate::support::Fresh;

const LOG: &[Migration] = &[Migration {
    name: "0001_log",
    common: "CREATE TABLE heads (
  series TEXT NOT NULL PRIMARY KEY,
  last BIGINT NOT NULL
);
CREATE TABLE log (
  series TEXT NOT NULL,
  text TEXT NOT NULL,
  number BIGINT NOT NULL,
  PRIMARY KEY (series, number),
  CONSTRAINT uq__log__text UNIQUE (text)
);
",
    sqlite: "",
    postgres: "",
}];

const INSERT: &str = "INSERT INTO log (series, text, number) VALUES ($1, $2, $3)";

fn row(series: &str, text: &str) -> Numbered {
    Numbered { series: series.to_owned(), statement: (INSERT, vec![series.into(), text.into()]) }
}

async fn numbers(db: &Fresh, series: &str) -> Vec<i64> {
    let sql = "SELECT number FROM log WHERE series = $1 ORDER BY number";
    db.read().await.unwrap().all(&[sql], &[series.into()], |row| row.int(0)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_is_told_its_last_number() {
    let db = Fresh::with(LOG).await;
    let two = db.write_numbered(|tx| {
        Box::pin(async move {
            tx.append(row("a", "first"));
            tx.append(row("a", "second"));
            Ok("done")
        })
    });
    assert_eq!(two.await.unwrap(), ("done", Some(2)));
    let none = db.write_numbered(|_| Box::pin(async { Ok(()) })).await.unwrap();
    assert_eq!(none, ((), None));
    assert_eq!(db.write_all(vec![], vec![row("b", "third")]).await.unwrap(), Some(1));
    assert_eq!((numbers(&db, "a").await, numbers(&db, "b").await), (vec![1, 2], vec![1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_undone_takes_no_number() {
    let db = Fresh::with(LOG).await;
    let refused = db.write(|tx| {
        Box::pin(async move {
            tx.append(row("a", "never"));
            Err::<(), _>(Error::new(Code::BadRequest))
        })
    });
    refused.await.unwrap_err();
    db.write_all(vec![], vec![row("a", "first")]).await.unwrap();
    // The row itself is refused after it was given its number.
    db.write_all(vec![], vec![row("a", "first")]).await.unwrap_err();
    assert_eq!(db.write_all(vec![], vec![row("a", "second")]).await.unwrap(), Some(2));
    assert_eq!(numbers(&db, "a").await, [1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_leave_no_gap_whether_they_succeed_or_not() {
    let db = Fresh::with(LOG).await;
    let many = (0..200).map(|number| {
        let db = &db;
        async move {
            let series = ["a", "b", "c"][number % 3];
            // A third of them want a text that is taken.
            let text = if number % 5 == 0 { "taken".to_owned() } else { format!("text {number}") };
            let row = row(series, &text);
            match number % 2 {
                0 => db.write_all(vec![], vec![row]).await,
                _ => {
                    let write = db.write_numbered(move |tx| {
                        Box::pin(async move {
                            tx.append(row);
                            Ok(())
                        })
                    });
                    write.await.map(|((), last)| last)
                }
            }
        }
    });
    let told = join_all(many).await.into_iter().flatten().flatten().count();
    let mut kept = 0;
    for series in ["a", "b", "c"] {
        let found = numbers(&db, series).await;
        assert_eq!(found, (1..=found.len() as i64).collect::<Vec<_>>());
        kept += found.len();
    }
    assert_eq!((told, kept), (161, 161));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_sees_a_number_before_all_lower_ones() {
    let db = Fresh::with(LOG).await;
    let writing = join_all((0..100).map(|number| {
        let db = &db;
        async move { db.write_all(vec![], vec![row("a", &format!("{number}"))]).await.unwrap() }
    }));
    let reading = async {
        for _ in 0..100 {
            let found = numbers(&db, "a").await;
            assert_eq!(found, (1..=found.len() as i64).collect::<Vec<_>>());
            tokio::task::yield_now().await;
        }
    };
    futures_util::future::join(writing, reading).await;
    assert_eq!(numbers(&db, "a").await.len(), 100);
}
