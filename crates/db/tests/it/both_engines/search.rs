//! Search finds exactly the rows that contain the term, whatever characters it is made of.

use latchkey_base::text::fold;
use latchkey_db::{Db, List, Migration, SearchIndex, Tx};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};

use crate::support::{Fresh, on_sqlite, runtime};

/// A table that is searched the way users are.
pub(crate) const TEXTS: &[Migration] = &[Migration {
    name: "0001_texts",
    common: "CREATE TABLE texts (
  id TEXT NOT NULL PRIMARY KEY,
  body_folded TEXT NOT NULL,
  search_folded TEXT NOT NULL
);
",
    sqlite: "CREATE VIRTUAL TABLE texts_search USING fts5(
  text, content='', contentless_delete=1, detail=none, tokenize='trigram case_sensitive 1'
);
CREATE TRIGGER texts_search_insert AFTER INSERT ON texts BEGIN
  INSERT INTO texts_search (rowid, text) VALUES (new.rowid, new.search_folded);
END;
CREATE TRIGGER texts_search_delete AFTER DELETE ON texts BEGIN
  DELETE FROM texts_search WHERE rowid = old.rowid;
END;",
    postgres: "CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX ix__texts__search ON texts USING gin (search_folded gin_trgm_ops);",
}];

const INDEX: SearchIndex = SearchIndex { index: "texts_search", table: "texts", text: "texts.search_folded" };
pub(crate) const BODY: Option<&str> = Some("texts.body_folded");

/// A row: id, body, title.
pub(crate) type Text = (String, String, Option<String>);

/// What is indexed of a row: body and title, a line each.
fn whole(body: &str, title: Option<&str>) -> String {
    fold(&format!("{body}\n{}", title.unwrap_or_default()))
}

/// Puts these rows, folded, in place of all others.
pub(crate) async fn replace(db: &Db, rows: &[Text]) {
    let insert = "INSERT INTO texts (id, body_folded, search_folded) VALUES ($1, $2, $3)";
    let inserts = rows.iter().map(|(id, body, title)| {
        (insert, vec![id.as_str().into(), fold(body).into(), whole(body, title.as_deref()).into()])
    });
    let statements: Vec<_> = std::iter::once(("DELETE FROM texts", vec![])).chain(inserts).collect();
    db.write(move |tx| Box::pin(async move { Ok(tx.run_many(statements).await?) })).await.unwrap();
}

pub(crate) fn search(select: &'static str, within: Option<&'static str>, term: &str) -> List {
    List::new(select).search(INDEX, within, Some(fold(term)))
}

async fn ids(tx: &mut Tx, within: Option<&'static str>, term: &str) -> Vec<String> {
    let list = search("SELECT id FROM texts", within, term).order("id");
    list.fetch(tx, |row| row.text(0)).await.unwrap()
}

/// Every way to search finds what comparing each row finds.
pub(crate) async fn check(db: &Db, rows: &[Text], term: &str) {
    let folded = fold(term);
    let mut in_body = Vec::new();
    let mut in_either = Vec::new();
    for (id, body, title) in rows {
        let body_has = fold(body).contains(&folded);
        in_body.extend(body_has.then(|| id.clone()));
        in_either.extend(whole(body, title.as_deref()).contains(&folded).then(|| id.clone()));
    }
    in_body.sort();
    in_either.sort();
    let mut tx = db.read().await.unwrap();
    assert_eq!(ids(&mut tx, BODY, term).await, in_body, "{term:?} in the body");
    assert_eq!(ids(&mut tx, None, term).await, in_either, "{term:?} in body or title");
    let count = search("SELECT count(*) FROM texts", None, term).count(&mut tx).await.unwrap();
    assert_eq!(count, in_either.len() as i64, "{term:?} counted");
    drop(tx);
    if !on_sqlite() {
        assert_eq!(ids_by_index(db, term.to_owned()).await, in_either, "{term:?} by the index");
    }
}

/// PostgreSQL walks small tables; this makes it use the index.
async fn ids_by_index(db: &Db, term: String) -> Vec<String> {
    let found = db.write(move |tx| {
        Box::pin(async move {
            tx.all(&["SELECT set_config('enable_seqscan', 'off', true)"], &[], |row| row.text(0)).await?;
            Ok(ids(tx, None, &term).await)
        })
    });
    found.await.unwrap()
}

/// Letters that recur, so that terms are found, and everything that means something to somebody:
/// quotes, wildcards, operators, several bytes, several code points, letters that fold oddly.
pub(crate) fn text(length: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let odd: Vec<char> =
        "\"'%_\\*:-(){}^+.,;$?&|!<>=/~`@# \n\t1AÄäßẞIİıΣσςé\u{301}жЖ日本語😀👩\u{200d}".chars().collect();
    let letter = prop_oneof![3 => select(vec!['a', 'b', 'B']), 2 => select(odd)];
    vec(letter, length).prop_map(String::from_iter)
}

/// A piece of some text, so that it is found at least once.
fn piece(text: &str, from: Index, length: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    let from = if letters.is_empty() { 0 } else { from.index(letters.len()) };
    letters[from..].iter().take(length).collect()
}

#[test]
fn search_finds_exactly_the_rows_that_contain_the_term() {
    let runtime = runtime();
    let db = runtime.block_on(Fresh::with(TEXTS));
    let rows = vec((text(0..25), proptest::option::of(text(0..10))), 1..25);
    let pieces = vec((any::<Index>(), any::<Index>(), 1usize..9), 6);
    let mut runner = TestRunner::new(Config { cases: 60, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&(rows, pieces, vec(text(1..5), 4)), |(rows, pieces, mut terms)| {
        let numbered = rows.into_iter().enumerate();
        let rows: Vec<Text> = numbered.map(|(n, (body, title))| (n.to_string(), body, title)).collect();
        let from_rows = pieces.into_iter().map(|(row, from, length)| piece(&row.get(&rows).1, from, length));
        terms.extend(from_rows.filter(|term| !term.is_empty()));
        runtime.block_on(async {
            replace(&db, &rows).await;
            for term in &terms {
                check(&db, &rows, term).await;
            }
        });
        Ok(())
    });
    outcome.unwrap();
}

#[tokio::test]
async fn without_a_term_there_is_no_search() {
    let db = Fresh::with(TEXTS).await;
    replace(&db, &[("1".into(), "a".into(), None), ("2".into(), "b".into(), None)]).await;
    let list = List::new("SELECT id FROM texts").search(INDEX, BODY, None);
    let found = list.order("id").fetch(&mut db.read().await.unwrap(), |row| row.text(0)).await;
    assert_eq!(found.unwrap(), ["1", "2"]);
}

#[tokio::test]
async fn the_empty_term_is_contained_in_every_text() {
    let db = Fresh::with(TEXTS).await;
    let rows = [("1".into(), "a".into(), None), ("2".into(), String::new(), None)];
    replace(&db, &rows).await;
    check(&db, &rows, "").await;
}
