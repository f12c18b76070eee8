//! Search where many rows match. On SQLite few hits are found another way than many, and what is few depends on
//! the page, its order and the size of the table; the result must not tell which.

use latchkey_base::page::Paging;
use latchkey_db::{Db, List};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

use super::search::{BODY, TEXTS, Text, check, replace, search};
use crate::support::{Fresh, runtime};

/// Texts that all share one word and otherwise differ.
fn alike(count: usize) -> Vec<Text> {
    let odd = ["50%", "a_b", "it's", "\"so\"", "c:\\d", "x*", "日本語", "-y", "straße"];
    let text = |n: usize| format!("common {} {n} {}", odd[n % odd.len()], odd[n / 7 % odd.len()]);
    (0..count).map(|n| (format!("{n:05}"), text(n), (n % 2 == 0).then(|| format!("title {n}")))).collect()
}

async fn page(db: &Db, term: &str, order: &'static str, paging: Paging) -> Vec<String> {
    fetch(db, search("SELECT id FROM texts", BODY, term).order(order).page(paging)).await
}

async fn fetch(db: &Db, list: List) -> Vec<String> {
    list.fetch(&mut db.read_long().await.unwrap(), |row| row.text(0)).await.unwrap()
}

/// Rows in the order of their ids: each `hit` has the word in it, all others something else.
fn with_hits(count: usize, others: &str, hit: impl Fn(usize) -> bool) -> Vec<Text> {
    let text = |n: usize| format!("{} {}", if hit(n) { "needle" } else { others }, n * 7919 % 10_007);
    (0..count).map(|n| (format!("{n:05}"), text(n), None)).collect()
}

/// Pages of a search in every order are those of all its hits in that order.
async fn check_pages(db: &Db, rows: &[Text]) {
    let mut hits: Vec<&Text> = rows.iter().filter(|(_, body, _)| body.contains("needle")).collect();
    let count = search("SELECT count(*) FROM texts", None, "needle");
    let count = count.count(&mut db.read_long().await.unwrap()).await.unwrap();
    assert_eq!(count, hits.len() as i64);
    for order in ["id", "id DESC", "body_folded, id", "body_folded DESC, id"] {
        match order.split(' ').next() {
            Some("id") => hits.sort(),
            _ => hits.sort_by(|left, right| left.1.cmp(&right.1)),
        }
        if order.contains("DESC") {
            hits.reverse();
        }
        let last = hits.len().saturating_sub(3);
        for (limit, offset) in
            [(1, 0), (10, 0), (500, 0), (10, last / 2), (10, last), (10, hits.len()), (0, 0)]
        {
            let list = search("SELECT id FROM texts", BODY, "needle");
            let list = list.page(Paging { limit: limit as i64, offset: offset as i64 });
            let list = if order.starts_with("id") { list.order(order) } else { list.sort(order) };
            let expected: Vec<&str> =
                hits.iter().skip(offset).take(limit).map(|hit| hit.0.as_str()).collect();
            let count = hits.len();
            assert_eq!(fetch(db, list).await, expected, "{count} hits by {order}, {limit} after {offset}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_the_same_on_either_side_of_every_threshold() {
    let db = Fresh::with(TEXTS).await;
    // Of 1200 rows 109 hits are even with walking for a page of ten, 400 with walking over all of them.
    for hits in [0, 1, 99, 100, 101, 109, 110, 111, 219, 220, 399, 400, 401, 801, 1199, 1200] {
        let rows = with_hits(1200, "hay", |n| n * hits / 1200 != (n + 1) * hits / 1200);
        replace(&db, &rows).await;
        check_pages(&db, &rows).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hits_at_the_far_end_of_the_list_are_found() {
    for hits in [120, 300, 900] {
        // The index finds the trigrams of the word in the last ones, too.
        for others in ["hay", "nee eed edl dle"] {
            let first = with_hits(3000, others, |n| n < hits);
            let last = with_hits(3000, others, |n| n >= 3000 - hits);
            for rows in [first, last] {
                // A database of its own, so that the sample is of these rows.
                let db = Fresh::with(TEXTS).await;
                replace(&db, &rows).await;
                check_pages(&db, &rows).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hits_that_other_conditions_leave_few_of_are_found() {
    let db = Fresh::with(TEXTS).await;
    let rows = with_hits(3000, "hay", |n| n % 4 == 0);
    replace(&db, &rows).await;
    for (text, expected) in [
        ("body_folded LIKE '% 7919'", vec![]),
        ("id = '02996'", vec!["02996"]),
        ("id > '02990'", vec!["02992", "02996"]),
        ("substr(id, 4, 2) = '96'", vec!["00096", "00196", "00296"]),
    ] {
        let list = search("SELECT id FROM texts", BODY, "needle").filter(text, vec![]);
        assert_eq!(
            fetch(&db, list.order("id").page(Paging { limit: 3, offset: 0 })).await,
            expected,
            "{text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_rows_are_found_on_either_side_of_the_threshold() {
    let db = Fresh::with(TEXTS).await;
    for count in [299, 300, 301, 2002] {
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
