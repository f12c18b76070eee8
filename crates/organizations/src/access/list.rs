//! Pages of roles, permissions and role sets. All of them are in memory already, and there are few.

use std::cmp::Ordering;

use latchkey_base::text::fold;
use latchkey_base::{Code, Error, Result, Time};

use super::input::ListAccess;
use super::model::{Permission, Role, RoleSet};

/// What of something is searched and ordered by.
pub struct Listed<'a> {
    id: &'a str,
    key: &'a str,
    name: &'a str,
    created_at: Time,
}

impl<'a> From<&'a Permission> for Listed<'a> {
    fn from(it: &'a Permission) -> Listed<'a> {
        Listed { id: it.id.as_str(), key: &it.key, name: &it.name, created_at: it.created_at }
    }
}

impl<'a> From<&'a Role> for Listed<'a> {
    fn from(it: &'a Role) -> Listed<'a> {
        Listed { id: it.id.as_str(), key: &it.key, name: &it.name, created_at: it.created_at }
    }
}

impl<'a> From<&'a RoleSet> for Listed<'a> {
    fn from(it: &'a RoleSet) -> Listed<'a> {
        Listed { id: it.id.as_str(), key: &it.key, name: &it.name, created_at: it.created_at }
    }
}

/// The order two of them have.
type Order = fn(&Listed<'_>, &Listed<'_>) -> Ordering;

/// One page, and how many there are.
pub fn page<'a, T>(all: &'a [T], query: &ListAccess) -> Result<(Vec<&'a T>, i64)>
where
    Listed<'a>: From<&'a T>,
{
    let (is_descending, order) = order(&query.order_by)?;
    let text = query.query.as_deref().unwrap_or_default().trim();
    let term = fold(text);
    let is_wanted = |it: &Listed| it.id == text || fold(it.name).contains(&term) || it.key.contains(&term);
    let all = all.iter().map(|it| (it, Listed::from(it)));
    let mut found: Vec<(&T, Listed)> = all.filter(|(_, listed)| is_wanted(listed)).collect();
    found.sort_by(|(_, one), (_, other)| {
        let ascending = order(one, other).then_with(|| one.id.cmp(other.id));
        if is_descending { ascending.reverse() } else { ascending }
    });
    let count = found.len() as i64;
    let (skip, take) = (query.paging.offset, query.paging.limit);
    let size = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
    Ok((found.into_iter().map(|(it, _)| it).skip(size(skip)).take(size(take)).collect(), count))
}

/// Reads an order such as `-created_at`. Of several the first counts.
fn order(text: &str) -> Result<(bool, Order)> {
    let first = text.split(',').next().unwrap_or_default();
    // A literal `+` in a query arrives as a space.
    let (is_descending, name) = match first.strip_prefix('-') {
        Some(name) => (true, name),
        None => (false, first.trim_start_matches(['+', ' '])),
    };
    let order: Order = match name {
        "created_at" => |one, other| one.created_at.cmp(&other.created_at),
        "name" => |one, other| fold(one.name).cmp(&fold(other.name)),
        "key" => |one, other| one.key.cmp(other.key),
        _ => {
            return Err(Error::param(Code::FormParamValueInvalid, "order_by")
                .saying("`order_by` must be one of: created_at, name, key."));
        }
    };
    Ok((is_descending, order))
}

#[cfg(test)]
mod tests {
    use latchkey_base::kinds::InstanceId;
    use latchkey_base::page::Paging;
    use latchkey_base::rng::SeededRng;

    use super::super::defaults;
    use super::*;

    fn keys(query: &str, order_by: &str, limit: i64, offset: i64) -> (Vec<String>, i64) {
        let access = defaults::initial(&InstanceId::new(Time::from_ms(0), &SeededRng::new(1)));
        let paging = Paging { limit, offset };
        let query = ListAccess { query: Some(query.to_owned()), order_by: order_by.to_owned(), paging };
        let (page, count) = page(&access.permissions, &query).unwrap();
        (page.into_iter().map(|it| it.key.clone()).collect(), count)
    }

    #[test]
    fn a_page_has_what_was_asked_for_in_its_order() {
        let domains = ["org:sys_domains:manage".to_owned(), "org:sys_domains:read".to_owned()];
        assert_eq!(keys("DOMAINS", "key", 10, 0), (domains.to_vec(), 2));
        assert_eq!(keys("sys_domains", "-key", 1, 1), (vec![domains[0].clone()], 2));
        assert_eq!(keys("", "+name", 500, 0).1, 9);
        assert_eq!(keys("no such thing", "name", 10, 0), (vec![], 0));
        assert_eq!(keys("", "key", 10, i64::MAX), (vec![], 9));
    }

    #[test]
    fn an_unknown_order_is_refused() {
        for bad in ["", "id", "-", "--name", "name desc"] {
            let error = order(bad).err().map(|error| error.code());
            assert_eq!(error, Some(Code::FormParamValueInvalid), "{bad}");
        }
    }
}
