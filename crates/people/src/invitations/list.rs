//! The list of invitations: filters and orders.

use latchkey_base::kinds::InstanceId;
use latchkey_base::text::search_term;
use latchkey_base::{Result, Time};
use latchkey_db::List;
use latchkey_kernel::reads::Reads;

use super::input::ListApplicationInvitations;
use super::model::ApplicationInvitation;
use super::store;
use crate::users::list::{containing, order_clause};

/// Every order: its name, ascending, descending.
const ORDERS: [(&str, &str, &str); 3] = [
    ("created_at", "created_at ASC, id ASC", "created_at DESC, id DESC"),
    ("email_address", "email_folded ASC, id ASC", "email_folded DESC, id DESC"),
    ("expires_at", "expire_at ASC, id ASC", "expire_at DESC, id DESC"),
];
const NEWEST_FIRST: &str = "-created_at";
/// What became of an invitation; whether its time is over follows from the time of the request.
const STATUS: &str = "CASE WHEN status = 'pending' AND expire_at <= ? THEN 'expired' ELSE status END = ?";

/// One page of invitations, and how many there are if that is asked for.
pub async fn fetch(
    reads: &Reads<'_>,
    instance: &InstanceId,
    query: &ListApplicationInvitations,
    now: Time,
) -> Result<(Vec<ApplicationInvitation>, Option<i64>)> {
    let order_by = if query.order_by.is_empty() { NEWEST_FIRST } else { &query.order_by };
    let order = order_clause(order_by, &ORDERS)?;
    let term = search_term(query.query.as_deref().unwrap_or_default());
    let pattern = Some(term).filter(|term| !term.is_empty()).map(|term| containing(&term));
    let filtered = |list: List| {
        let list = match query.status {
            Some(status) => list.filter(STATUS, vec![now.into(), status.name().into()]),
            None => list.filter("status <> 'revoked'", vec![]),
        };
        list.maybe("search_folded LIKE ? ESCAPE '\\'", pattern.clone())
    };
    let mut tx = reads.long().await?;
    let page = filtered(store::listed(instance)).order(order).page(query.paging);
    let page = page.fetch(&mut tx, store::read).await?;
    let count = match query.paginated {
        true => Some(filtered(store::counted(instance)).count(&mut tx).await?),
        false => None,
    };
    Ok((page, count))
}
