//! Search where many rows match. On SQLite more than 2000 hits are found another way than few; the
//! result must not tell which.

use latchkey_base::page::Paging;
use latchkey_db::Db;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

use crate::search::{BODY, TEXTS, Text, check, replace, search};
use crate::support::{Fresh, runtime};

/// Texts that all share one word and otherwise differ.
fn alike(count: usize) -> Vec<Text> {
    let odd = ["50%", "a_b", "it's", "\"so\"", "c:\\d", "x*", "日本語", "-y", "straße"];
    let text = |n: usize| format!("common {} {n} {}", odd[n % odd.len()], odd[n / 7 % odd.len()]);
    (0..count).map(|n| (format!("{n:05}"), text(n), (n % 2 == 0).then(|| format!("title {n}")))).collect()
}

async fn page(db: &Db, term: &str, order: &'static str, paging: Paging) -> Vec<String> {
    let list = search("SELECT id FROM texts", BODY, term).order(order).page(paging);
    list.fetch(&mut db.read_long().await.unwrap(), |row| row.text(0)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_rows_are_found_on_either_side_of_the_threshold() {
    let db = Fresh::with(TEXTS).await;
    for count in [1999, 2000, 2001, 2002] {
        let rows = alike(count);
        replace(&db, &rows).await;
        for term in ["common", "co", "it's 1", "title", "nothing of that kind"] {
            check(&db, &rows, term).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_many_hits_are_in_order() {
    let db = Fresh::with(TEXTS).await;
    replace(&db, &alike(2500)).await;
    let ids = |range: std::ops::Range<usize>| range.map(|n| format!("{n:05}")).collect::<Vec<_>>();
    assert_eq!(page(&db, "common", "id", Paging { limit: 5, offset: 0 }).await, ids(0..5));
    assert_eq!(page(&db, "common", "id", Paging { limit: 10, offset: 2495 }).await, ids(2495..2500));
    let last = page(&db, "common", "id DESC", Paging { limit: 2, offset: 1 }).await;
    assert_eq!(last, ["02498", "02497"]);
    assert_eq!(page(&db, " 77 ", "id", Paging { limit: 5, offset: 0 }).await, ["00077"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rare_term_may_have_any_character_in_it() {
    let db = Fresh::with(TEXTS).await;
    let mut rows = alike(2000);
    let odd = ["q\\7z w", "j_k%vv", "x7\"y'", "kÿz7q", "日本7qx", "a.b-7@q"];
    rows.extend(odd.iter().zip(9000..).map(|(text, n)| (format!("{n}"), format!("common {text}"), None)));
    replace(&db, &rows).await;
    for term in odd.iter().flat_map(|text| [*text, &text[text.len() - 3..], "7qx", "q\\7", "nothing7q"]) {
        check(&db, &rows, term).await;
    }
}

#[test]
fn random_terms_find_exactly_their_rows_among_many() {
    let runtime = runtime();
    let rows = alike(2300);
    let db = runtime.block_on(async {
        let db = Fresh::with(TEXTS).await;
        replace(&db, &rows).await;
        db
    });
    let terms = (any::<Index>(), 0usize..16, 1usize..14);
    let mut runner = TestRunner::new(Config { cases: 40, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&terms, |(row, from, length)| {
        let term: String = row.get(&rows).1.chars().skip(from).take(length).collect();
        runtime.block_on(check(&db, &rows, &term));
        Ok(())
    });
    outcome.unwrap();
}
