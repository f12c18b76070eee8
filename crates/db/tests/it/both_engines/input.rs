//! What comes from outside can only be a value: no text of it is ever a statement or an operator.

use latchkey_base::text::fold;
use latchkey_db::{List, Value};

use super::search::{BODY, TEXTS, Text, check, replace, search};
use crate::support::{Fresh, all, number, run};

/// Texts that would do harm, or mean something else, if any of them were read as code.
const HOSTILE: &[&str] = &[
    "\" OR 1=1 --",
    "' OR '1'='1",
    "') ; DROP TABLE texts; --",
    "'; DELETE FROM texts; --",
    "a NEAR b",
    "NEAR(a b, 2)",
    "aaa*",
    "-aaa",
    "^aaa",
    "aaa AND bbb",
    "aaa OR bbb",
    "aaa NOT bbb",
    "aaa + bbb",
    "body:aaa",
    "{body title}: aaa",
    "- {body} : aaa",
    "(aaa)",
    "\"aaa",
    "aaa\"",
    "\"\"\"",
    "\"aaa\" \"bbb\"",
    "%",
    "%%%",
    "___",
    "a_a",
    "a%a",
    "\\",
    "\\%",
    "\\\\\\",
    "aaa\\",
    "$1",
    "?",
    "?1 $2 :name @name",
    "{0}",
    "/* */ --",
    "\u{202e}aaa",
    "\u{feff}",
];

/// Every hostile text, and innocent ones that they would match if they were read as patterns.
fn rows() -> Vec<Text> {
    let innocent = ["aaa", "bbb", "aaa bbb", "a b", "axa", "body", "title", "1", "aaa\u{fe}"];
    let bodies = innocent.iter().chain(HOSTILE).enumerate();
    bodies
        .map(|(n, body)| (format!("{n:03}"), (*body).to_owned(), (n % 2 == 0).then(|| "aaa".into())))
        .collect()
}

#[tokio::test]
async fn hostile_terms_find_only_the_texts_that_contain_them() {
    let db = Fresh::with(TEXTS).await;
    let rows = rows();
    replace(&db, &rows).await;
    for term in HOSTILE {
        check(&db, &rows, term).await;
    }
    assert_eq!(number(&db, "SELECT count(*) FROM texts").await, rows.len() as i64);
}

#[tokio::test]
async fn hostile_values_are_compared_and_stored_as_they_are() {
    let db = Fresh::with(TEXTS).await;
    replace(&db, &[]).await;
    for (n, text) in (0i64..).zip(HOSTILE) {
        let insert = "INSERT INTO texts (id, body_folded, search_folded) VALUES ($1, $2, $2)";
        run(&db, insert, vec![(*text).into(), (*text).into()]).await.unwrap();
        let mut tx = db.read().await.unwrap();
        let by_filter = List::new("SELECT body_folded FROM texts").filter("id = ?", vec![(*text).into()]);
        assert_eq!(by_filter.fetch(&mut tx, |row| row.text(0)).await.unwrap(), [*text]);
        let values: Vec<Value> = HOSTILE.iter().map(|text| (*text).into()).collect();
        let by_set = List::new("SELECT count(*) FROM texts").any_of("id IN", vec![], values, "");
        assert_eq!(by_set.count(&mut tx).await.unwrap(), n + 1);
        let sql = "SELECT body_folded FROM texts WHERE id = $1";
        assert_eq!(
            tx.maybe(&[sql], &[(*text).into()], |row| row.text(0)).await.unwrap().as_deref(),
            Some(*text)
        );
    }
    assert_eq!(number(&db, "SELECT count(*) FROM texts").await, HOSTILE.len() as i64);
}

#[tokio::test]
async fn a_term_of_a_hundred_thousand_characters_is_only_a_term() {
    let db = Fresh::with(TEXTS).await;
    let long = "ab\"c%_\\".repeat(15_000);
    let rows = [("1".into(), long.clone(), None), ("2".into(), long[7..].to_owned(), None)];
    replace(&db, &rows).await;
    let list = search("SELECT id FROM texts", BODY, &long);
    let mut tx = db.read_long().await.unwrap();
    assert_eq!(list.fetch(&mut tx, |row| row.text(0)).await.unwrap(), ["1"]);
    assert_eq!(
        all(&db, "SELECT body_folded FROM texts WHERE id = '1'", |row| row.text(0)).await,
        [fold(&long)]
    );
}
