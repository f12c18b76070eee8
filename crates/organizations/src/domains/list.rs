//! Lists of domains: filters and orders.

use latchkey_base::kinds::{InstanceId, OrganizationId, OrganizationKind};
use latchkey_base::text::{domain, search_term};
use latchkey_base::{Code, Error, Id, Result};
use latchkey_db::List;
use latchkey_kernel::reads::Reads;
use latchkey_people::users::list::{Signed, containing, order_clause};

use super::input::{ListAllDomains, ListDomains};
use super::model::{DomainMode, DomainParts};
use super::store;

const NEWEST_FIRST: &str = "d.created_at DESC, d.id DESC";
/// Every order: its name, ascending, descending.
const ORDERS: [(&str, &str, &str); 2] = [
    ("created_at", "d.created_at ASC, d.id ASC", NEWEST_FIRST),
    ("name", "d.name ASC, d.id ASC", "d.name DESC, d.id DESC"),
];

/// One page of the domains of an organization, and how many there are.
pub async fn fetch(
    reads: &Reads<'_>,
    instance: &InstanceId,
    organization: &OrganizationId,
    query: &ListDomains,
) -> Result<(Vec<DomainParts>, i64)> {
    let filtered = |all: List| {
        let list = all
            .filter("d.organization_id = ?", vec![organization.into()])
            .maybe("d.verified = ?", query.verified);
        with_modes(list, &query.enrollment_mode)
    };
    let mut tx = reads.page(query.paging).await?;
    let page = filtered(store::all(instance))?.order(NEWEST_FIRST).page(query.paging);
    let page = page.fetch(&mut tx, store::read_parts).await?;
    let count = filtered(store::count(instance))?.count(&mut tx).await?;
    Ok((page, count))
}

/// One page of all domains of an instance, and how many there are.
pub async fn fetch_all(
    reads: &Reads<'_>,
    instance: &InstanceId,
    query: &ListAllDomains,
) -> Result<(Vec<DomainParts>, i64)> {
    let order = order_clause(&query.order_by, &ORDERS)?;
    let page = filtered(store::all(instance), query)?.order(order).page(query.paging);
    let mut tx = reads.long().await?;
    let page = page.fetch(&mut tx, store::read_parts).await?;
    let count = filtered(store::count(instance), query)?.count(&mut tx).await?;
    Ok((page, count))
}

fn filtered(all: List, query: &ListAllDomains) -> Result<List> {
    // What cannot be a name is compared as it is, and found nowhere.
    let names =
        query.domains.iter().map(|name| domain(name).unwrap_or_else(|| name.clone()).into()).collect();
    let list = all
        .maybe("d.organization_id = ?", query.organization_id.as_deref())
        .maybe("d.verified = ?", query.verified)
        .any_of("d.name IN", vec![], names, "");
    let list = with_modes(list, &query.enrollment_mode)?;
    let Some(text) = query.query.as_deref() else { return Ok(list) };
    match search_term(text) {
        term if term.is_empty() => Err(Error::param(Code::FormParamValueInvalid, "query")
            .saying("`query` must not be empty. Leave it out to see all domains.")),
        _ if text.trim().starts_with("org_") => Ok(match Id::<OrganizationKind>::parse(text.trim()) {
            Some(id) => list.filter("d.organization_id = ?", vec![(&id).into()]),
            None => list.filter("FALSE", vec![]),
        }),
        term => Ok(list.filter("d.name LIKE ? ESCAPE '\\'", vec![containing(&term).into()])),
    }
}

/// Keeps domains with one of these modes, and without those that have a `-` before them.
fn with_modes(list: List, given: &[String]) -> Result<List> {
    let modes: Vec<String> = given.iter().flat_map(|text| text.split(',')).map(str::to_owned).collect();
    let is_known = |text: &String| {
        let name = text.trim_start_matches(['-', '+', ' ']);
        DomainMode::ALL.iter().any(|mode| mode.name() == name)
    };
    if !modes.iter().all(is_known) {
        return Err(super::rules::unknown_mode());
    }
    let Signed { include, exclude } = Signed::split(modes);
    Ok(list.any_of("d.enrollment_mode IN", vec![], include, "").any_of(
        "d.enrollment_mode NOT IN",
        vec![],
        exclude,
        "",
    ))
}
