//! Lists of users: filters, orders, cursors, and search inside texts.

use latchkey_base::kinds::{InstanceId, UserId};
use latchkey_base::page::Paging;
use latchkey_base::text::search_term;
use latchkey_base::{Code, Error, Id, Problem, Result};
use latchkey_db::{List, SearchIndex, Value};
use latchkey_kernel::reads::Reads;
use latchkey_kernel::registry::Registry;

use super::input::{ListUsers, UserFilters};
use super::model::User;
use super::store;

const SEARCH: SearchIndex =
    SearchIndex { index: "users_search", table: "users", text: "users.search_folded" };

/// Users who hold one of the identifiers that follow.
const HOLDERS: &str =
    "id IN (SELECT user_id FROM identifications WHERE instance_id = ? AND kind = ? AND value_folded IN";
/// The end of [`HOLDERS`] for what people say of themselves: whoever has proven it, or all who say so while nobody has.
/// A stranger who adds somebody's address is not found by it.
const PROVEN_HOLDERS: &str = " AND (claim = '' OR NOT EXISTS (SELECT 1 FROM identifications AS proven \
                              WHERE proven.instance_id = identifications.instance_id AND proven.kind = identifications.kind \
                              AND proven.value_folded = identifications.value_folded AND proven.claim = '')))";

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

/// What a group above registers to tell members of organizations from others: conditions on users that name the
/// instance and end where the ids of organizations follow.
pub struct MemberConditions {
    /// Members of one of the organizations.
    pub members: &'static str,
    /// Members of none of them.
    pub others: &'static str,
}

/// One page of users.
pub async fn fetch(reads: &Reads<'_>, instance: &InstanceId, query: ListUsers) -> Result<Vec<User>> {
    let order = order(&query.order_by)?;
    let paging = query.paging;
    let is_unfiltered = query.filters == UserFilters::default();
    let select = "SELECT instance_id, document FROM users";
    let list = filtered(select, reads.registry(), instance, query.filters)?.page(paging);
    let mut list = if order.is_by_creation { list.order(order.clause) } else { list.sort(order.clause) };
    // With a filter the list may be walked far before a page is full; that must not hold up others.
    let is_indexed = order.is_by_creation && is_unfiltered;
    let mut tx = if is_indexed { reads.page(paging).await? } else { reads.long().await? };
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

pub async fn count(reads: &Reads<'_>, instance: &InstanceId, filters: UserFilters) -> Result<i64> {
    let list = filtered("SELECT count(*) FROM users", reads.registry(), instance, filters)?;
    let mut tx = reads.long().await?;
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

/// Users that pass all filters, in a list of users alone: texts are looked up in their index.
fn filtered(
    select: &'static str,
    registry: &Registry,
    instance: &InstanceId,
    mut filters: UserFilters,
) -> Result<List> {
    let terms = terms(&mut filters);
    let organizations = Signed::split(std::mem::take(&mut filters.organization_id));
    let mut list = filtered_rows(select, instance, filters)?;
    for MemberConditions { members, others } in registry.all() {
        list = list.any_of(members, vec![instance.into()], organizations.include.clone(), ")");
        list = list.any_of(others, vec![instance.into()], organizations.exclude.clone(), ")");
    }
    Ok(terms.into_iter().fold(list, |list, (text, term)| list.search(SEARCH, text.within, Some(term))))
}

/// The same in a list that joins users with something else: texts are compared row by row. The statement names columns
/// of users without their table, so all others have names of their own. Organizations are no filter of it.
pub fn filtered_joined(
    select: &'static str,
    instance: &InstanceId,
    mut filters: UserFilters,
) -> Result<List> {
    let terms = terms(&mut filters);
    let list = filtered_rows(select, instance, filters)?;
    let contains = |list: List, (text, term): (SearchedText, String)| {
        list.maybe(text.containing, Some(containing(&term)))
    };
    Ok(terms.into_iter().fold(list, contains))
}

/// A text of users that can be searched in.
struct SearchedText {
    /// Its column, unless it is the one with all texts, which the index finds alone.
    within: Option<&'static str>,
    /// How it is compared with a pattern.
    containing: &'static str,
}

const ALL: SearchedText = SearchedText { within: None, containing: "users.search_folded LIKE ? ESCAPE '\\'" };
const EMAILS: SearchedText = SearchedText {
    within: Some("users.emails_folded"),
    containing: "users.emails_folded LIKE ? ESCAPE '\\'",
};
const PHONES: SearchedText = SearchedText {
    within: Some("users.phones_folded"),
    containing: "users.phones_folded LIKE ? ESCAPE '\\'",
};
const USERNAME: SearchedText = SearchedText {
    within: Some("users.username_folded"),
    containing: "users.username_folded LIKE ? ESCAPE '\\'",
};
const NAMES: SearchedText =
    SearchedText { within: Some("users.names_folded"), containing: "users.names_folded LIKE ? ESCAPE '\\'" };

/// What is searched for, and in which texts.
fn terms(filters: &mut UserFilters) -> Vec<(SearchedText, String)> {
    let asked = [
        (ALL, &mut filters.query),
        (EMAILS, &mut filters.email_address_query),
        (PHONES, &mut filters.phone_number_query),
        (USERNAME, &mut filters.username_query),
        (NAMES, &mut filters.name_query),
    ];
    let terms = asked.into_iter().filter_map(|(text, term)| Some((text, search_term(&term.take()?))));
    terms.filter(|(_, term)| !term.is_empty()).collect()
}

/// A pattern for texts that contain a term.
pub fn containing(term: &str) -> String {
    let escaped = term.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

/// The clause of an order such as `-created_at`. Of several orders the first counts.
pub fn order_clause(
    text: &str,
    orders: &[(&'static str, &'static str, &'static str)],
) -> Result<&'static str> {
    let first = text.split(',').next().unwrap_or_default();
    // A literal `+` in a query arrives as a space.
    let (is_descending, name) = match first.strip_prefix('-') {
        Some(name) => (true, name),
        None => (false, first.trim_start_matches(['+', ' '])),
    };
    let known = orders.iter().find(|(known, _, _)| *known == name);
    known.map(|(_, ascending, descending)| if is_descending { *descending } else { *ascending }).ok_or_else(
        || {
            let names: Vec<&str> = orders.iter().map(|(name, _, _)| *name).collect();
            Error::param(Code::FormParamValueInvalid, "order_by")
                .saying(format!("`order_by` must be one of: {}.", names.join(", ")))
        },
    )
}

/// Users that pass all filters but those on parts of texts and on organizations.
fn filtered_rows(select: &'static str, instance: &InstanceId, filters: UserFilters) -> Result<List> {
    let holds = |list: List, kind: &str, values: Vec<String>| {
        let values = values.iter().map(|value| store::comparable(kind, value).into()).collect();
        list.any_of(HOLDERS, vec![instance.into(), kind.into()], values, PROVEN_HOLDERS)
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
    Ok(list)
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
pub struct Signed {
    pub include: Vec<Value>,
    pub exclude: Vec<Value>,
}

impl Signed {
    pub fn split(values: Vec<String>) -> Signed {
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
