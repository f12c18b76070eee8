//! Lists: filters, optional filters, sets of values, orders and pages.

use latchkey_base::page::Paging;
use latchkey_db::{Db, List, Value};

use crate::support::{Fresh, ITEMS};

const SELECT: &str = "SELECT id FROM items";

/// Items `000` to `299`; every third has no amount, the others a tenth of their number.
async fn numbered() -> Fresh {
    let db = Fresh::with(ITEMS).await;
    let insert = "INSERT INTO items (id, label, amount, flag) VALUES ($1, $2, $3, $4)";
    let statements = (0..300i64).map(|n| {
        let amount = (n % 3 != 0).then_some(n / 10);
        (insert, vec![id(n).into(), id(n).into(), amount.into(), (n % 2 == 0).into()])
    });
    let statements: Vec<_> = statements.collect();
    db.write(move |tx| Box::pin(async move { Ok(tx.run_many(statements).await?) })).await.unwrap();
    db
}

fn id(n: i64) -> String {
    format!("{n:03}")
}

fn ids(numbers: impl IntoIterator<Item = i64>) -> Vec<String> {
    numbers.into_iter().map(id).collect()
}

async fn fetch(db: &Db, list: List) -> Vec<String> {
    list.fetch(&mut db.read().await.unwrap(), |row| row.text(0)).await.unwrap()
}

#[tokio::test]
async fn a_list_without_conditions_has_every_row() {
    let db = numbered().await;
    assert_eq!(fetch(&db, List::new(SELECT).order("id")).await, ids(0..300));
    let count = List::new("SELECT count(*) FROM items").count(&mut db.read().await.unwrap()).await;
    assert_eq!(count.unwrap(), 300);
}

#[tokio::test]
async fn filters_hold_together() {
    let db = numbered().await;
    let list = List::new(SELECT)
        .filter("flag = ?", vec![true.into()])
        .filter("id >= ? AND id < ?", vec!["010".into(), "020".into()])
        .filter("amount IS NOT NULL", vec![]);
    assert_eq!(fetch(&db, list.order("id")).await, ids([10, 14, 16]));
}

#[tokio::test]
async fn alternatives_inside_one_filter_do_not_loosen_the_others() {
    let db = numbered().await;
    let list = List::new(SELECT)
        .filter("flag = ?", vec![false.into()])
        .filter("id = ? OR id = ?", vec!["001".into(), "002".into()])
        .any_of("id = ? OR id IN", vec!["003".into()], vec!["001".into(), "004".into()], "");
    assert_eq!(fetch(&db, list.order("id")).await, ids([1]));
}

#[tokio::test]
async fn an_optional_filter_counts_only_when_it_has_a_value() {
    let db = numbered().await;
    let list =
        |amount: Option<i64>| List::new(SELECT).maybe("amount = ?", amount).maybe("id < ?", Some("012"));
    assert_eq!(fetch(&db, list(Some(1)).order("id")).await, ids([10, 11]));
    assert_eq!(fetch(&db, list(None).order("id")).await, ids(0..12));
}

#[tokio::test]
async fn any_of_finds_exactly_the_values_however_many() {
    let db = numbered().await;
    for length in [1, 3, 4, 5, 17, 100, 256, 300] {
        let wanted: Vec<i64> = (0..length).map(|n| n * 7 % 300).collect();
        let values: Vec<Value> = wanted.iter().map(|&n| id(n).into()).collect();
        let mut found = wanted.clone();
        found.sort();
        found.dedup();
        let list = List::new(SELECT).any_of("id IN", vec![], values.clone(), "").order("id");
        assert_eq!(fetch(&db, list).await, ids(found.clone()), "{length}");
        let list = List::new(SELECT).any_of("id NOT IN", vec![], values, "").order("id");
        let rest = (0..300).filter(|n| !found.contains(n));
        assert_eq!(fetch(&db, list).await, ids(rest), "not in {length}");
    }
}

#[tokio::test]
async fn any_of_nothing_is_no_condition() {
    let db = numbered().await;
    let list = List::new(SELECT).any_of("id IN", vec![], vec![], "").any_of("id NOT IN", vec![], vec![], "");
    assert_eq!(fetch(&db, list.order("id")).await, ids(0..300));
}

#[tokio::test]
async fn any_of_takes_values_before_it_and_text_after_it() {
    let db = numbered().await;
    let list = List::new(SELECT).filter("flag = ?", vec![true.into()]).any_of(
        "id IN (SELECT id FROM items WHERE amount = ? AND label IN",
        vec![2i64.into()],
        vec!["020".into(), "021".into(), "022".into(), "032".into()],
        ")",
    );
    assert_eq!(fetch(&db, list.order("id")).await, ids([20, 22]));
}

#[tokio::test]
async fn pages_are_cut_from_the_ordered_list() {
    let db = numbered().await;
    let page = |limit, offset| List::new(SELECT).order("id DESC").page(Paging { limit, offset });
    assert_eq!(fetch(&db, page(3, 0)).await, ids([299, 298, 297]));
    assert_eq!(fetch(&db, page(2, 297)).await, ids([2, 1]));
    assert_eq!(fetch(&db, page(10, 298)).await, ids([1, 0]));
    assert!(fetch(&db, page(10, 300)).await.is_empty() && fetch(&db, page(0, 0)).await.is_empty());
}

#[tokio::test]
async fn rows_without_a_value_come_where_the_order_says() {
    let db = numbered().await;
    let few = |order| List::new(SELECT).filter("id < ?", vec!["013".into()]).order(order);
    let without = [0, 3, 6, 9, 12];
    let ascending = fetch(&db, few("amount ASC NULLS LAST, id ASC")).await;
    assert_eq!(ascending, [ids([1, 2, 4, 5, 7, 8, 10, 11]), ids(without)].concat());
    let descending = fetch(&db, few("amount DESC NULLS LAST, id ASC")).await;
    assert_eq!(descending, [ids([10, 11, 1, 2, 4, 5, 7, 8]), ids(without)].concat());
    let first = fetch(&db, few("amount ASC NULLS FIRST, id ASC")).await;
    assert_eq!(first, [ids(without), ids([1, 2, 4, 5, 7, 8, 10, 11])].concat());
}

#[tokio::test]
async fn a_count_leaves_order_and_page_aside() {
    let db = numbered().await;
    let list = List::new("SELECT count(*) FROM items").filter("amount < ?", vec![3i64.into()]);
    let list = list.order("id").page(Paging { limit: 1, offset: 5 });
    assert_eq!(list.count(&mut db.read().await.unwrap()).await.unwrap(), 20);
}
