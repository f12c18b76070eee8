//! Lists of members: filters and orders.

use latchkey_base::Result;
use latchkey_base::kinds::InstanceId;
use latchkey_base::page::Paging;
use latchkey_base::text::search_term;
use latchkey_db::{List, Value};
use latchkey_kernel::reads::Reads;
use latchkey_people::users::input::UserFilters;
use latchkey_people::users::list::{MemberConditions, containing, filtered_joined, order_clause};

use super::input::ListMemberships;
use super::model::MembershipParts;
use super::store;
use crate::access::model::Access;
use crate::orgs::model::Organization;

/// Every order: its name, ascending, descending.
pub const ORDERS: [(&str, &str, &str); 6] = [
    ("created_at", "m_created_at ASC, m_user ASC", "m_created_at DESC, m_user DESC"),
    (
        "phone_number",
        "primary_phone_folded ASC NULLS LAST, id ASC",
        "primary_phone_folded DESC NULLS LAST, id DESC",
    ),
    (
        "email_address",
        "primary_email_folded ASC NULLS LAST, id ASC",
        "primary_email_folded DESC NULLS LAST, id DESC",
    ),
    ("first_name", "first_name_folded ASC NULLS LAST, id ASC", "first_name_folded DESC NULLS LAST, id DESC"),
    ("last_name", "last_name_folded ASC NULLS LAST, id ASC", "last_name_folded DESC NULLS LAST, id DESC"),
    ("username", "username_folded ASC NULLS LAST, id ASC", "username_folded DESC NULLS LAST, id DESC"),
];
/// What members see of each other: the identifier that stands for a user (`User::identifier`), the username, the names,
/// and the id.
const SHOWN: &str = "(COALESCE(primary_email_folded, primary_phone_folded, username_folded, primary_wallet_folded) \
     LIKE ? ESCAPE '\\' OR username_folded LIKE ? ESCAPE '\\' OR names_folded LIKE ? ESCAPE '\\' \
     OR lower(users.id) LIKE ? ESCAPE '\\')";
/// How lists of users are kept to members.
pub const CONDITIONS: MemberConditions = MemberConditions {
    members: "id IN (SELECT m.user_id FROM organization_memberships m JOIN organizations o ON o.instance_id = m.instance_id \
              AND o.id = m.organization_id WHERE m.instance_id = ? AND m.organization_id IN",
    others: "id NOT IN (SELECT m.user_id FROM organization_memberships m JOIN organizations o ON o.instance_id = m.instance_id \
             AND o.id = m.organization_id WHERE m.instance_id = ? AND m.organization_id IN",
};
const NEWEST_FIRST: &str = "-created_at";

/// One page of the members of an organization, and how many there are.
pub async fn fetch(
    reads: &Reads<'_>,
    organization: &Organization,
    access: &Access,
    query: &ListMemberships,
) -> Result<(Vec<MembershipParts>, i64)> {
    let instance = &organization.instance;
    let order_by = query.order_by.as_deref().filter(|order| !order.is_empty()).unwrap_or(NEWEST_FIRST);
    let order = order_clause(order_by, &ORDERS)?;
    let filters = query.user_filters();
    if filters == UserFilters::default() && query.role.is_empty() && order_by == NEWEST_FIRST {
        let mut tx = reads.page(query.paging).await?;
        let page = store::list_of_organization(&mut tx, instance, &organization.id, query.paging).await?;
        return Ok((page, organization.members_count));
    }
    let mut tx = reads.long().await?;
    let page = filtered(members(), organization, access, query)?;
    let page = page.sort(order).page(query.paging).fetch(&mut tx, store::read_parts).await?;
    let count = filtered(counted(), organization, access, query)?.count(&mut tx).await?;
    Ok((page, count))
}

/// One page of all memberships of an instance, and how many there are.
pub async fn fetch_all(
    reads: &Reads<'_>,
    instance: &InstanceId,
    order_by: Option<&str>,
    paging: Paging,
) -> Result<(Vec<MembershipParts>, i64)> {
    let order_by = order_by.filter(|order| !order.is_empty()).unwrap_or(NEWEST_FIRST);
    let order = order_clause(order_by, &ORDERS)?;
    let mut tx = reads.long().await?;
    let count = store::count_of_instance(&mut tx, instance).await?;
    let page = match order_by == NEWEST_FIRST {
        true => store::list_of_instance(&mut tx, instance, paging).await?,
        false => {
            let list = List::new(members()).filter("instance_id = ?", vec![instance.into()]);
            list.sort(order).page(paging).fetch(&mut tx, store::read_parts).await?
        }
    };
    Ok((page, count))
}

fn filtered(
    select: &'static str,
    organization: &Organization,
    access: &Access,
    query: &ListMemberships,
) -> Result<List> {
    let instance = &organization.instance;
    let list = filtered_joined(select, instance, query.user_filters())?
        .filter("m_organization = ?", vec![(&organization.id).into()]);
    let list = match query.query.as_deref().filter(|_| query.is_for_members) {
        Some(text) => {
            let pattern = Value::from(containing(&search_term(text)));
            list.filter(SHOWN, vec![pattern.clone(), pattern.clone(), pattern.clone(), pattern])
        }
        None => list,
    };
    if query.role.is_empty() {
        return Ok(list);
    }
    let roles = query.role.iter().filter_map(|key| access.role_by_key(key));
    match roles.map(|role| (&role.id).into()).collect::<Vec<Value>>() {
        none if none.is_empty() => Ok(list.filter("FALSE", vec![])),
        roles => Ok(list.any_of("m_role IN", vec![], roles, "")),
    }
}

/// Selects members as users: columns of memberships have names of their own, so that the filters of users apply.
fn members() -> &'static str {
    "SELECT m_instance, m_organization, m_user, m_role, m_document, m_updated_at, m_id, m_created_at, o_document, \
     o_members, document FROM users JOIN (SELECT m.instance_id AS m_instance, m.organization_id AS m_organization, \
     m.user_id AS m_user, m.role_id AS m_role, m.document AS m_document, m.updated_at AS m_updated_at, m.id AS m_id, \
     m.created_at AS m_created_at, o.document AS o_document, o.members_count AS o_members FROM \
     organization_memberships m JOIN organizations o ON o.instance_id = m.instance_id AND o.id = m.organization_id) \
     AS members ON m_instance = instance_id AND m_user = id"
}

/// Counts the same.
fn counted() -> &'static str {
    "SELECT count(*) FROM users JOIN (SELECT instance_id AS m_instance, organization_id AS m_organization, \
     user_id AS m_user, role_id AS m_role FROM organization_memberships) AS members \
     ON m_instance = instance_id AND m_user = id"
}
