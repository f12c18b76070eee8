//! Lists of invitations: filters and orders.

use latchkey_base::kinds::{InstanceId, OrganizationId};
use latchkey_base::page::Paging;
use latchkey_base::text::search_term;
use latchkey_base::{Result, Time};
use latchkey_db::{List, Value};
use latchkey_kernel::reads::Reads;
use latchkey_people::users::list::{containing, order_clause};
use latchkey_people::users::model::User;

use super::input::{InvitationFilter, ListAllInvitations, ListInvitations};
use super::model::{InvitationParts, folded};
use super::rules::addresses;
use super::store;

/// Every order: its name, ascending, descending.
const ORDERS: [(&str, &str, &str); 2] = [
    ("created_at", "i.created_at ASC, i.id ASC", "i.created_at DESC, i.id DESC"),
    ("email_address", "i.email_folded ASC, i.id ASC", "i.email_folded DESC, i.id DESC"),
];
const NEWEST_FIRST: &str = "-created_at";
/// What became of an invitation; whether its time is over follows from the time of the request.
const STATUS: &str =
    "CASE WHEN i.status = 'pending' AND i.expire_at <= ? THEN 'expired' ELSE i.status END IN";

/// One page of invitations, and how many there are.
pub type InvitationPage = (Vec<InvitationParts>, i64);

/// Those of an organization. Those that a domain caused are not shown, as published.
pub async fn of_organization(
    reads: &Reads<'_>,
    instance: &InstanceId,
    organization: &OrganizationId,
    query: &ListInvitations,
    now: Time,
) -> Result<InvitationPage> {
    let address = query.email_address.as_deref().filter(|address| !address.is_empty()).map(folded);
    let filtered = |list: List| {
        with_status(list, &query.status, now)
            .filter("i.organization_id = ? AND i.domain_id IS NULL", vec![organization.into()])
            .maybe("i.email_folded = ?", address.clone())
    };
    fetch(reads, instance, filtered, &query.order_by, query.paging).await
}

/// Those of an instance, whatever caused them.
pub async fn of_all(
    reads: &Reads<'_>,
    instance: &InstanceId,
    query: &ListAllInvitations,
    now: Time,
) -> Result<InvitationPage> {
    let term = search_term(query.query.as_deref().unwrap_or_default());
    let pattern = Some(term).filter(|term| !term.is_empty()).map(|term| containing(&term));
    let filtered = |list: List| {
        with_status(list, &query.status, now).maybe("i.email_folded LIKE ? ESCAPE '\\'", pattern.clone())
    };
    fetch(reads, instance, filtered, &query.order_by, query.paging).await
}

/// Those of the addresses that a user has proven, whatever caused them.
pub async fn of_user(
    reads: &Reads<'_>,
    user: &User,
    status: &[InvitationFilter],
    paging: Paging,
    now: Time,
) -> Result<InvitationPage> {
    let addresses: Vec<Value> = addresses(user).into_iter().map(Value::from).collect();
    if addresses.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let filtered = |list: List| {
        with_status(list, status, now).any_of("i.email_folded IN", vec![], addresses.clone(), "")
    };
    fetch(reads, &user.instance, filtered, NEWEST_FIRST, paging).await
}

fn with_status(list: List, status: &[InvitationFilter], now: Time) -> List {
    let names = status.iter().map(|status| status.name().into()).collect();
    list.any_of(STATUS, vec![now.into()], names, "")
}

async fn fetch(
    reads: &Reads<'_>,
    instance: &InstanceId,
    filtered: impl Fn(List) -> List,
    order_by: &str,
    paging: Paging,
) -> Result<InvitationPage> {
    let order_by = if order_by.is_empty() { NEWEST_FIRST } else { order_by };
    let order = order_clause(order_by, &ORDERS)?;
    let mut tx = reads.long().await?;
    let page = filtered(store::listed(instance)).order(order).page(paging);
    let page = page.fetch(&mut tx, store::read_parts).await?;
    let count = filtered(store::counted(instance)).count(&mut tx).await?;
    Ok((page, count))
}
