//! Lists of organizations: filters and orders.

use latchkey_base::kinds::InstanceId;
use latchkey_base::text::search_term;
use latchkey_base::{Id, Result};
use latchkey_db::List;
use latchkey_kernel::reads::Reads;
use latchkey_people::users::list::{Signed, containing, order_clause};

use super::input::ListOrganizations;
use super::model::Organization;
use super::store;

/// Organizations of one of the users that follow.
const OF_USERS: &str =
    "id IN (SELECT organization_id FROM organization_memberships WHERE instance_id = ? AND user_id IN";
const NOT_OF_USERS: &str =
    "id NOT IN (SELECT organization_id FROM organization_memberships WHERE instance_id = ? AND user_id IN";

/// Every order: its name, ascending, descending.
const ORDERS: [(&str, &str, &str); 3] = [
    ("created_at", "created_at ASC, id ASC", "created_at DESC, id DESC"),
    ("name", "name_folded ASC, id ASC", "name_folded DESC, id DESC"),
    ("members_count", "members_count ASC, id ASC", "members_count DESC, id DESC"),
];

/// One page of organizations, and how many there are.
pub async fn fetch(
    reads: &Reads<'_>,
    instance: &InstanceId,
    query: &ListOrganizations,
) -> Result<(Vec<Organization>, i64)> {
    let order = order_clause(&query.order_by, &ORDERS)?;
    let page = filtered("SELECT instance_id, document, members_count FROM organizations", instance, query);
    let mut tx = reads.long().await?;
    let organizations = page.order(order).page(query.paging).fetch(&mut tx, store::read).await?;
    let count = match is_filtered(query) {
        true => filtered("SELECT count(*) FROM organizations", instance, query).count(&mut tx).await?,
        false => store::count(&mut tx, instance).await?,
    };
    Ok((organizations, count))
}

fn is_filtered(query: &ListOrganizations) -> bool {
    let has_text = query.query.as_deref().is_some_and(|text| !text.trim().is_empty());
    has_text || !query.user_id.is_empty() || !query.organization_id.is_empty()
}

fn filtered(select: &'static str, instance: &InstanceId, query: &ListOrganizations) -> List {
    let (users, ids) = (Signed::split(query.user_id.clone()), Signed::split(query.organization_id.clone()));
    let list = List::new(select)
        .filter("instance_id = ?", vec![instance.into()])
        .any_of(OF_USERS, vec![instance.into()], users.include, ")")
        .any_of(NOT_OF_USERS, vec![instance.into()], users.exclude, ")")
        .any_of("id IN", vec![], ids.include, "")
        .any_of("id NOT IN", vec![], ids.exclude, "");
    let text = query.query.as_deref().unwrap_or_default().trim();
    let is_id = Id::<latchkey_base::kinds::OrganizationKind>::parse(text).is_some();
    match search_term(text) {
        term if term.is_empty() => list,
        _ if is_id => list.filter("id = ?", vec![text.into()]),
        term => list.filter("search_folded LIKE ? ESCAPE '\\'", vec![containing(&term).into()]),
    }
}
