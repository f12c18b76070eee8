//! The list of those who wait: filters and orders.

use std::collections::HashMap;

use latchkey_base::Result;
use latchkey_base::kinds::{InstanceId, InvitationId};
use latchkey_base::text::search_term;
use latchkey_db::{List, Tx};
use latchkey_kernel::reads::Reads;

use super::input::ListWaitlistEntries;
use super::invite::ShownEntry;
use super::model::WaitlistEntry;
use super::store;
use crate::invitations::store as invitations;
use crate::users::list::{containing, order_clause};

/// Every order: its name, ascending, descending.
const ORDERS: [(&str, &str, &str); 3] = [
    ("created_at", "created_at ASC, id ASC", "created_at DESC, id DESC"),
    ("email_address", "email_folded ASC, id ASC", "email_folded DESC, id DESC"),
    ("invited_at", "invited_at ASC NULLS LAST, id ASC", "invited_at DESC NULLS LAST, id DESC"),
];
const NEWEST_FIRST: &str = "-created_at";

/// One page of entries, each with its invitation, and how many there are.
pub async fn fetch(
    reads: &Reads<'_>,
    instance: &InstanceId,
    query: &ListWaitlistEntries,
) -> Result<(Vec<ShownEntry>, i64)> {
    let order_by = if query.order_by.is_empty() { NEWEST_FIRST } else { &query.order_by };
    let order = order_clause(order_by, &ORDERS)?;
    let term = search_term(query.query.as_deref().unwrap_or_default());
    let pattern = Some(term).filter(|term| !term.is_empty()).map(|term| containing(&term));
    let filtered = |list: List| {
        list.maybe("status = ?", query.status.map(|status| status.name()))
            .maybe("search_folded LIKE ? ESCAPE '\\'", pattern.clone())
    };
    let mut tx = reads.long().await?;
    let page = filtered(store::listed(instance));
    let page = if order.starts_with("invited_at") { page.sort(order) } else { page.order(order) };
    let page = page.page(query.paging);
    let page = page.fetch(&mut tx, store::read).await?;
    let count = filtered(store::counted(instance)).count(&mut tx).await?;
    Ok((with_invitations(&mut tx, instance, page).await?, count))
}

/// Entries with the invitations they show.
pub async fn with_invitations(
    tx: &mut Tx,
    instance: &InstanceId,
    entries: Vec<WaitlistEntry>,
) -> Result<Vec<ShownEntry>> {
    let ids: Vec<InvitationId> =
        entries.iter().filter_map(|entry| entry.details.invitation.clone()).collect();
    let found = invitations::find_all(tx, instance, &ids).await?;
    let mut found: HashMap<String, _> =
        found.into_iter().map(|invitation| (invitation.id.as_str().to_owned(), invitation)).collect();
    let mut invitation =
        |entry: &WaitlistEntry| entry.details.invitation.as_ref().and_then(|id| found.remove(id.as_str()));
    Ok(entries.into_iter().map(|entry| (entry.clone(), invitation(&entry))).collect())
}
