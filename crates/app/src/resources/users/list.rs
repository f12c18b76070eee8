//! Lists of users: filters, orders, cursors, and search inside texts.

use latchkey_base::kinds::{InstanceId, UserId};
use latchkey_base::page::Paging;
use latchkey_base::text::fold;
use latchkey_base::{Code, Error, Id, Problem, Result};
use latchkey_db::{Db, List, SearchIndex, Value};

use super::input::{Filters, ListUsers};
use super::model::User;
use super::store;

const SEARCH: SearchIndex =
    SearchIndex { index: "users_search", table: "users", text: "users.search_folded" };

/// Users who hold one of the identifiers that follow.
const HOLDERS: &str =
    "id IN (SELECT user_id FROM identifications WHERE instance_id = ? AND kind = ? AND value_folded IN";

/// Every order: its name, ascending, descending. Users without the value come last either way.
const ORDERS: &[(&str, &str, &str)] = &[
    ("created_at", "created_at ASC, id ASC", "created_at DESC, id DESC"),
    ("updated_at", "updated_at ASC, id ASC", "updated_at DESC, id DESC"),
    (
        "email_address",
        "primary_email_folded ASC NULLS LAST, id ASC",
        "primary_email_folded DESC NULLS LAST, id DESC",
    ),
    (
        "web3wallet",
        "primary_wallet_folded ASC NULLS LAST, id ASC",
        "primary_wallet_folded DESC NULLS LAST, id DESC",
    ),
    ("first_name", "first_name_folded ASC NULLS LAST, id ASC", "first_name_folded DESC NULLS LAST, id DESC"),
    ("last_name", "last_name_folded ASC NULLS LAST, id ASC", "last_name_folded DESC NULLS LAST, id DESC"),
    (
        "phone_number",
        "primary_phone_folded ASC NULLS LAST, id ASC",
        "primary_phone_folded DESC NULLS LAST, id DESC",
    ),
    ("username", "username_folded ASC NULLS LAST, id ASC", "username_folded DESC NULLS LAST, id DESC"),
    ("last_active_at", "last_active_at ASC NULLS LAST, id ASC", "last_active_at DESC NULLS LAST, id DESC"),
    ("last_sign_in_at", "last_sign_in_at ASC NULLS LAST, id ASC", "last_sign_in_at DESC NULLS LAST, id DESC"),
];

/// One page of users.
pub async fn fetch(db: &Db, instance: &InstanceId, query: ListUsers) -> Result<Vec<User>> {
    let order = order(&query.order_by)?;
    let paging = Paging { limit: query.limit, offset: query.offset };
    let is_unfiltered = query.filters == Filters::default();
    let mut list = filtered("SELECT instance_id, document FROM users", instance, query.filters)?
        .order(order.clause)
        .page(paging);
    // With a filter the list may be walked far before a page is full; that must not hold up others.
    let is_quick = order.is_by_creation && is_unfiltered && paging.offset <= 1000;
    let mut tx = if is_quick { db.read().await? } else { db.read_long().await? };
    if let Some(cursor) = query.starting_after {
        check_cursor(&order, paging)?;
        let unknown =
            || Error::param(Code::FormResourceNotFound, "starting_after").saying("No user has that id.");
        let id: UserId = Id::parse(&cursor).ok_or_else(unknown)?;
        let at = store::created_at(&mut tx, instance, &id).await?.ok_or_else(unknown)?;
        let after =
            if order.is_descending { "(created_at, id) < (?, ?)" } else { "(created_at, id) > (?, ?)" };
        list = list.filter(after, vec![at.into(), (&id).into()]);
    }
    Ok(list.fetch(&mut tx, store::read).await?)
}

/// How many users there are.
pub async fn count(db: &Db, instance: &InstanceId, filters: Filters) -> Result<i64> {
    let list = filtered("SELECT count(*) FROM users", instance, filters)?;
    let mut tx = db.read_long().await?;
    Ok(list.count(&mut tx).await?)
}

struct Order {
    clause: &'static str,
    is_by_creation: bool,
    is_descending: bool,
}

fn order(text: &str) -> Result<Order> {
    // A literal `+` in a query arrives as a space. Of several orders the first counts.
    let first = text.split(',').next().unwrap_or_default();
    let (is_descending, name) = match first.strip_prefix('-') {
        Some(name) => (true, name),
        None => (false, first.trim_start_matches(['+', ' '])),
    };
    let known = ORDERS.iter().find(|(known, _, _)| *known == name);
    let (name, ascending, descending) = known.ok_or_else(|| {
        let names: Vec<&str> = ORDERS.iter().map(|(name, _, _)| *name).collect();
        Error::param(Code::FormParamValueInvalid, "order_by")
            .saying(format!("`order_by` must be one of: {}.", names.join(", ")))
    })?;
    Ok(Order {
        clause: if is_descending { descending } else { ascending },
        is_by_creation: *name == "created_at",
        is_descending,
    })
}

/// A cursor over values that are not unique or may change would skip or repeat users.
fn check_cursor(order: &Order, paging: Paging) -> Result<()> {
    let problem =
        |param: &str, text: &str| Err(Error::param(Code::FormParamValueInvalid, param).saying(text));
    match (order.is_by_creation, paging.offset) {
        (false, _) => problem(
            "order_by",
            "`starting_after` requires `order_by` to be `created_at`, `+created_at` or `-created_at`.",
        ),
        (true, 0) => Ok(()),
        (true, _) => problem("offset", "`starting_after` cannot be combined with an `offset`."),
    }
}

fn filtered(select: &'static str, instance: &InstanceId, filters: Filters) -> Result<List> {
    let holds = |list: List, kind: &str, values: Vec<String>| {
        let values = values.iter().map(|value| fold(value).into()).collect();
        list.any_of(HOLDERS, vec![instance.into(), kind.into()], values, ")")
    };
    let mut list = List::new(select).filter("instance_id = ?", vec![instance.into()]);
    list = holds(list, "email_address", filters.email_address);
    list = holds(list, "phone_number", filters.phone_number);
    list = holds(list, "username", filters.username);
    list = holds(list, "web3_wallet", filters.web3_wallet);
    let ids = Signed::split(filters.user_id);
    list = list.any_of("id IN", vec![], ids.include, "").any_of("id NOT IN", vec![], ids.exclude, "");
    let external = Signed::split(filters.external_id);
    list = list.any_of("external_id IN", vec![], external.include, "");
    list = list.any_of("(external_id IS NULL OR external_id NOT IN", vec![], external.exclude, ")");
    // No organizations exist yet, so nobody is a member of any.
    if !Signed::split(filters.organization_id).include.is_empty() {
        list = list.filter("FALSE", vec![]);
    }
    list = provider(list, instance, filters.provider, filters.provider_user_id)?;
    list = list
        .maybe("banned = ?", filters.banned)
        .maybe("last_active_at < ?", filters.last_active_at_before)
        .maybe("last_active_at > ?", filters.last_active_at_after)
        .maybe("last_active_at >= ?", filters.last_active_at_since)
        .maybe("created_at < ?", filters.created_at_before)
        .maybe("created_at > ?", filters.created_at_after)
        .maybe("last_sign_in_at < ?", filters.last_sign_in_at_before)
        .maybe("last_sign_in_at > ?", filters.last_sign_in_at_after);
    let term = |text: Option<String>| text.map(|text| fold(text.trim())).filter(|text| !text.is_empty());
    Ok(list
        .search(SEARCH, None, term(filters.query))
        .search(SEARCH, Some("users.emails_folded"), term(filters.email_address_query))
        .search(SEARCH, Some("users.phones_folded"), term(filters.phone_number_query))
        .search(SEARCH, Some("users.username_folded"), term(filters.username_query))
        .search(SEARCH, Some("users.names_folded"), term(filters.name_query)))
}

fn provider(list: List, instance: &InstanceId, provider: Option<String>, ids: Vec<String>) -> Result<List> {
    let missing = |param: &str| {
        let text = "`provider` and `provider_user_id` must be used together.";
        Err(Problem::of(Code::FormConditionalParamMissing, param).saying(text).into())
    };
    match (provider, ids.is_empty()) {
        (None, true) => Ok(list),
        (Some(_), true) => missing("provider_user_id"),
        (None, false) => missing("provider"),
        (Some(provider), false) => {
            let ids = ids.into_iter().map(Value::from).collect();
            Ok(list.any_of(HOLDERS, vec![instance.into(), provider.into()], ids, ")"))
        }
    }
}

/// Ids to include and to exclude, told apart by a sign.
struct Signed {
    include: Vec<Value>,
    exclude: Vec<Value>,
}

impl Signed {
    fn split(values: Vec<String>) -> Signed {
        let (exclude, include): (Vec<_>, Vec<_>) =
            values.into_iter().partition(|value| value.starts_with('-'));
        Signed {
            include: include
                .iter()
                .map(|value| value.strip_prefix(['+', ' ']).unwrap_or(value).into())
                .collect(),
            exclude: exclude.iter().map(|value| value[1..].into()).collect(),
        }
    }
}
