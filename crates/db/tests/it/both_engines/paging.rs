//! Paging through any table, by offset or by the last row seen, meets every row exactly once.

use latchkey_base::page::Paging;
use latchkey_db::{Db, List, Row};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::{Fresh, ITEMS, runtime};

const SELECT: &str = "SELECT amount, id FROM items";

/// What rows are ordered by. Few amounts, so that many rows share one.
type Key = (i64, String);

fn read(row: &Row<'_>) -> latchkey_db::Result<Key> {
    Ok((row.int(0)?, row.text(1)?))
}

async fn replace(db: &Db, rows: &[Key]) {
    let insert = "INSERT INTO items (amount, id) VALUES ($1, $2)";
    let inserts = rows.iter().map(|(amount, id)| (insert, vec![(*amount).into(), id.as_str().into()]));
    let statements: Vec<_> = std::iter::once(("DELETE FROM items", vec![])).chain(inserts).collect();
    db.write(move |tx| Box::pin(async move { Ok(tx.run_many(statements).await?) })).await.unwrap();
}

/// Every row, page by page; `next` cuts the page that follows those seen.
async fn walk(db: &Db, limit: i64, next: impl Fn(List, &[Key]) -> List) -> Vec<Key> {
    let mut tx = db.read().await.unwrap();
    let mut seen = Vec::new();
    loop {
        let page = next(List::new(SELECT), &seen).fetch(&mut tx, read).await.unwrap();
        assert!(page.len() <= limit as usize);
        let is_last = page.len() < limit as usize;
        seen.extend(page);
        if is_last {
            return seen;
        }
    }
}

async fn check(db: &Db, mut rows: Vec<Key>, limit: i64) {
    replace(db, &rows).await;
    rows.sort();
    let by_offset = |order: &'static str| {
        walk(db, limit, move |list, seen| list.order(order).page(Paging { limit, offset: seen.len() as i64 }))
    };
    let by_key = |order: &'static str, after: &'static str| {
        walk(db, limit, move |list, seen| {
            let list = match seen.last() {
                Some((amount, id)) => list.filter(after, vec![(*amount).into(), id.as_str().into()]),
                None => list,
            };
            list.order(order).page(Paging { limit, offset: 0 })
        })
    };
    assert_eq!(by_offset("amount, id").await, rows);
    assert_eq!(by_key("amount, id", "(amount, id) > (?, ?)").await, rows);
    rows.reverse();
    assert_eq!(by_offset("amount DESC, id DESC").await, rows);
    assert_eq!(by_key("amount DESC, id DESC", "(amount, id) < (?, ?)").await, rows);
}

#[test]
fn pages_meet_every_row_exactly_once_in_order() {
    let runtime = runtime();
    let db = runtime.block_on(Fresh::with(ITEMS));
    let ids = btree_set("[A-Za-z0-9_日ä]{1,4}", 0..40);
    let rows = ids.prop_flat_map(|ids| {
        let amounts = vec(-2i64..3, ids.len());
        (Just(ids), amounts).prop_map(|(ids, amounts)| amounts.into_iter().zip(ids).collect::<Vec<Key>>())
    });
    let cases = (rows.prop_shuffle(), 1i64..8);
    let mut runner = TestRunner::new(Config { cases: 40, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&cases, |(rows, limit)| {
        runtime.block_on(check(&db, rows, limit));
        Ok(())
    });
    outcome.unwrap();
}
