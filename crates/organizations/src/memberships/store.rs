//! The SQL of memberships.

use std::collections::HashSet;
use std::sync::Arc;

use latchkey_base::kinds::{InstanceId, OrganizationId, OrganizationKind, RoleId, RoleSetId, UserId};
use latchkey_base::page::Paging;
use latchkey_base::{Id, Result, Time};
use latchkey_db::{DbError, List, Read, Row, Table, Tx, Value};
use latchkey_kernel::document;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;

use super::model::{ActiveMembership, Membership, MembershipParts};
use crate::access::store as access;
use crate::orgs::model::Organization;
use crate::orgs::store as organizations;

static ORGANIZATION_MEMBERSHIPS: Table =
    Table::new("organization_memberships", &["instance_id", "organization_id", "user_id"])
        .saved(&["role_id", "document", "updated_at"])
        .fixed(&["id", "created_at", "is_unchosen"]);

/// Memberships with the organization and the user. What is left of deleted ones joins nothing, and is not there.
const WITH_PARTS: &str = "SELECT m.instance_id, m.organization_id, m.user_id, m.role_id, m.document, m.updated_at, \
     m.id, m.created_at, o.document, o.members_count, u.document FROM organization_memberships m \
     JOIN organizations o ON o.instance_id = m.instance_id AND o.id = m.organization_id \
     JOIN users u ON u.instance_id = m.instance_id AND u.id = m.user_id";

/// What is read of a membership `m` and its organization `o` for the tokens of its user, behind the id of the instance.
pub const ACTIVE_COLUMNS: &str = ", m.organization_id, m.user_id, m.role_id, m.document, m.updated_at, m.id, m.created_at, \
     o.document, o.members_count";
/// The roles `a` of the instance behind it.
pub const ACTIVE_ROLES: &str = ", a.document";
/// The organization of a membership, and the roles of the instance.
const ACTIVE_PARTS: &str = " FROM organization_memberships m \
     JOIN organizations o ON o.instance_id = m.instance_id AND o.id = m.organization_id \
     LEFT JOIN organization_access a ON a.instance_id = m.instance_id \
     WHERE m.instance_id = $1 AND m.user_id = $2 AND ";

pub async fn find(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    user: &UserId,
) -> Result<Option<Membership>> {
    ORGANIZATION_MEMBERSHIPS.find(tx, &[instance.into(), organization.into(), user.into()], read).await
}

/// One membership with its organization and user.
pub async fn find_parts(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    user: &UserId,
) -> Result<Option<MembershipParts>> {
    let parts = [WITH_PARTS, " WHERE m.instance_id = $1 AND m.organization_id = $2 AND m.user_id = $3"];
    Ok(tx.maybe(&parts, &[instance.into(), organization.into(), user.into()], read_parts).await?)
}

/// The membership of a user in the organization with this id or slug, with all that tokens say of it.
pub async fn find_active(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &str,
    user: &UserId,
) -> Result<Option<ActiveMembership>> {
    let condition = match Id::<OrganizationKind>::parse(organization) {
        Some(_) => "m.organization_id = $3",
        None => "o.slug = $3",
    };
    let params = [instance.into(), user.into(), organization.into()];
    let parts = ["SELECT m.instance_id", ACTIVE_COLUMNS, ACTIVE_ROLES, ACTIVE_PARTS, condition];
    Ok(tx.maybe(&parts, &params, |row| read_active(row, &row.id(0)?, 1)).await?.flatten())
}

/// One membership, to change it. Its organization must be locked.
pub async fn lock(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    user: &UserId,
) -> Result<Option<Membership>> {
    ORGANIZATION_MEMBERSHIPS.lock(tx, &[instance.into(), organization.into(), user.into()], read).await
}

/// Adds a membership. `is_unchosen` says that the user has not chosen the organization.
pub async fn insert(tx: &mut Tx, membership: &Membership, is_unchosen: bool) -> Result<()> {
    let row = [row(membership)?, vec![is_unchosen.into()]].concat();
    ORGANIZATION_MEMBERSHIPS.insert(tx, &row).await
}

/// Saves a changed membership.
pub async fn save(tx: &mut Tx, membership: &Membership) -> Result<()> {
    ORGANIZATION_MEMBERSHIPS.save(tx, &row(membership)?).await
}

/// Whether others added a user to an organization that they never chose.
pub async fn is_unchosen(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    user: &UserId,
) -> Result<bool> {
    let sql = "SELECT 1 FROM organization_memberships \
               WHERE instance_id = $1 AND organization_id = $2 AND user_id = $3 AND is_unchosen";
    Ok(tx.maybe(&[sql], &[instance.into(), organization.into(), user.into()], |_| Ok(())).await?.is_some())
}

/// Notes that a user has chosen an organization.
pub async fn mark_chosen(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    user: &UserId,
) -> Result<()> {
    let sql = "UPDATE organization_memberships SET is_unchosen = FALSE \
               WHERE instance_id = $1 AND organization_id = $2 AND user_id = $3 AND is_unchosen";
    tx.run(&[sql], &[instance.into(), organization.into(), user.into()]).await?;
    Ok(())
}

/// Notes that a user has chosen none of the organizations they are in.
pub async fn mark_all_unchosen(tx: &mut Tx, instance: &InstanceId, user: &UserId) -> Result<()> {
    let sql = "UPDATE organization_memberships SET is_unchosen = TRUE \
               WHERE instance_id = $1 AND user_id = $2 AND NOT is_unchosen";
    tx.run(&[sql], &[instance.into(), user.into()]).await?;
    Ok(())
}

pub async fn delete(tx: &mut Tx, membership: &Membership) -> Result<bool> {
    let Membership { instance, organization, user, .. } = membership;
    ORGANIZATION_MEMBERSHIPS.delete(tx, &[instance.into(), organization.into(), user.into()]).await
}

/// Whether an organization has a member besides `user` with one of these roles. What is left of deleted users does not
/// count.
pub async fn has_other_with(tx: &mut Tx, membership: &Membership, roles: &[&RoleId]) -> Result<bool> {
    let Membership { instance, organization, user, .. } = membership;
    let roles: Vec<Value> = roles.iter().map(|&id| id.into()).collect();
    if roles.is_empty() {
        return Ok(false);
    }
    let list = List::new(
        "SELECT 1 FROM organization_memberships m JOIN users u ON u.instance_id = m.instance_id AND u.id = m.user_id",
    )
    .filter(
        "m.instance_id = ? AND m.organization_id = ? AND m.user_id <> ?",
        vec![instance.into(), organization.into(), user.into()],
    )
    .any_of("m.role_id IN", vec![], roles, "");
    Ok(!list.page(FIRST).fetch(tx, |_| Ok(())).await?.is_empty())
}

/// Returns whether an organization with a role set has a member with one of the roles `losing`, and none with one of the
/// roles `managing`.
pub async fn has_organization_without(
    tx: &mut Tx,
    (instance, set): (&InstanceId, &RoleSetId),
    losing: &[&RoleId],
    managing: &[&RoleId],
) -> Result<bool> {
    if losing.is_empty() {
        return Ok(false);
    }
    let values = |roles: &[&RoleId]| -> Vec<Value> { roles.iter().map(|&id| id.into()).collect() };
    let list = List::new(
        "SELECT 1 FROM organization_memberships m \
         JOIN organizations o ON o.instance_id = m.instance_id AND o.id = m.organization_id",
    )
    .filter("m.instance_id = ? AND o.role_set_id = ?", vec![instance.into(), set.into()])
    .any_of("m.role_id IN", vec![], values(losing), "")
    .any_of(
        "NOT EXISTS (SELECT 1 FROM organization_memberships k \
         JOIN users u ON u.instance_id = k.instance_id AND u.id = k.user_id \
         WHERE k.instance_id = m.instance_id AND k.organization_id = m.organization_id AND k.role_id IN",
        vec![],
        values(managing),
        ")",
    );
    Ok(!list.page(FIRST).fetch(tx, |_| Ok(())).await?.is_empty())
}

/// Whether members of an organization have roles besides these.
pub async fn has_role_outside(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    roles: &[&RoleId],
) -> Result<bool> {
    let roles = roles.iter().map(|&id| id.into()).collect();
    let list = List::new("SELECT 1 FROM organization_memberships")
        .filter("instance_id = ? AND organization_id = ?", vec![instance.into(), organization.into()])
        .any_of("role_id NOT IN", vec![], roles, "");
    Ok(!list.page(FIRST).fetch(tx, |_| Ok(())).await?.is_empty())
}

const FIRST: Paging = Paging { limit: 1, offset: 0 };

/// A page of the members of an organization, newest first. How many there are stands on the organization.
pub async fn list_of_organization(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    page: Paging,
) -> Result<Vec<MembershipParts>> {
    let list = List::new(WITH_PARTS)
        .filter("m.instance_id = ? AND m.organization_id = ?", vec![instance.into(), organization.into()]);
    Ok(list.order("m.created_at DESC, m.user_id DESC").page(page).fetch(tx, read_parts).await?)
}

/// A page of the memberships of a user, newest first.
pub async fn list_of_user(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    page: Paging,
) -> Result<Vec<MembershipParts>> {
    let list = List::new(WITH_PARTS)
        .filter("m.instance_id = ? AND m.user_id = ?", vec![instance.into(), user.into()]);
    Ok(list.order("m.created_at DESC, m.organization_id DESC").page(page).fetch(tx, read_parts).await?)
}

/// Counts memberships that have their organization and user.
fn counted() -> List {
    List::new(
        "SELECT count(*) FROM organization_memberships m \
         JOIN organizations o ON o.instance_id = m.instance_id AND o.id = m.organization_id \
         JOIN users u ON u.instance_id = m.instance_id AND u.id = m.user_id",
    )
}

pub async fn count_of_user(tx: &mut Tx, instance: &InstanceId, user: &UserId) -> Result<i64> {
    let list = counted().filter("m.instance_id = ? AND m.user_id = ?", vec![instance.into(), user.into()]);
    Ok(list.count(tx).await?)
}

/// How many memberships somebody has, as far as they are counted.
pub struct CountedMemberships {
    pub all: i64,
    /// Those among them of organizations that others added them to and that they never chose.
    pub unchosen: i64,
}

/// Counts up to `limit` memberships of a user.
pub async fn count_unchosen(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    limit: i64,
) -> Result<CountedMemberships> {
    let sql = "SELECT count(*), count(CASE WHEN is_unchosen THEN 1 END) FROM (SELECT m.is_unchosen \
               FROM organization_memberships m \
               JOIN organizations o ON o.instance_id = m.instance_id AND o.id = m.organization_id \
               WHERE m.instance_id = $1 AND m.user_id = $2 LIMIT $3) counted";
    let read: Read<CountedMemberships> =
        |row| Ok(CountedMemberships { all: row.int(0)?, unchosen: row.int(1)? });
    let found = tx.maybe(&[sql], &[instance.into(), user.into(), limit.into()], read).await?;
    Ok(found.unwrap_or(CountedMemberships { all: 0, unchosen: 0 }))
}

/// The roles of a user in up to `limit` organizations, those joined last.
pub async fn roles_of_user(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    limit: i64,
) -> Result<Vec<(OrganizationId, RoleId)>> {
    let sql = "SELECT m.organization_id, m.role_id FROM organization_memberships m \
               JOIN organizations o ON o.instance_id = m.instance_id AND o.id = m.organization_id \
               WHERE m.instance_id = $1 AND m.user_id = $2 ORDER BY m.created_at DESC, m.organization_id DESC LIMIT $3";
    let params = [instance.into(), user.into(), limit.into()];
    Ok(tx.all(&[sql], &params, |row| Ok((row.id(0)?, row.id(1)?))).await?)
}

/// Whether some users have more than `limit` memberships together.
pub async fn are_more(
    tx: &mut Tx,
    instance: &InstanceId,
    users: &HashSet<&UserId>,
    limit: i64,
) -> Result<bool> {
    let users = users.iter().map(|&id| id.into()).collect();
    let list = List::new("SELECT 1 FROM organization_memberships")
        .filter("instance_id = ?", vec![instance.into()])
        .any_of("user_id IN", vec![], users, "");
    let found = list.page(Paging { limit: limit + 1, offset: 0 }).fetch(tx, |_| Ok(())).await?;
    Ok(found.len() as i64 > limit)
}

/// A page of all memberships of an instance, newest first.
pub async fn list_of_instance(
    tx: &mut Tx,
    instance: &InstanceId,
    page: Paging,
) -> Result<Vec<MembershipParts>> {
    let list = List::new(WITH_PARTS).filter("m.instance_id = ?", vec![instance.into()]);
    Ok(list.order("m.created_at DESC, m.id DESC").page(page).fetch(tx, read_parts).await?)
}

pub async fn count_of_instance(tx: &mut Tx, instance: &InstanceId) -> Result<i64> {
    Ok(counted().filter("m.instance_id = ?", vec![instance.into()]).count(tx).await?)
}

/// Up to `limit` memberships in an organization, with their users, oldest first. For an organization that was deleted.
pub async fn some_of_organization(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    limit: i64,
) -> Result<Vec<Membership>> {
    let parts = [
        ORGANIZATION_MEMBERSHIPS.of_instance(),
        " AND organization_id = $2 ORDER BY created_at, user_id LIMIT $3",
    ];
    Ok(tx.all(&parts, &[instance.into(), organization.into(), limit.into()], read).await?)
}

/// Up to `limit` memberships of a user, in the order in which organizations are locked.
pub async fn some_of_user(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    limit: i64,
) -> Result<Vec<Membership>> {
    let parts =
        [ORGANIZATION_MEMBERSHIPS.of_instance(), " AND user_id = $2 ORDER BY organization_id LIMIT $3"];
    Ok(tx.all(&parts, &[instance.into(), user.into(), limit.into()], read).await?)
}

/// Whether somebody has a role.
pub async fn is_role_held(tx: &mut Tx, instance: &InstanceId, role: &RoleId) -> Result<bool> {
    let list = List::new(WITH_PARTS)
        .filter("m.instance_id = ? AND m.role_id = ?", vec![instance.into(), role.into()]);
    Ok(!list.page(FIRST).fetch(tx, |_| Ok(())).await?.is_empty())
}

/// The first organization with a role set, by its id, of which a member has a role: `from` or one behind it.
pub async fn first_organization_with(
    tx: &mut Tx,
    instance: &InstanceId,
    set: &RoleSetId,
    role: &RoleId,
    from: Option<&OrganizationId>,
) -> Result<Option<OrganizationId>> {
    let parts = [
        WITH_PARTS,
        " WHERE m.instance_id = $1 AND m.role_id = $2 AND o.role_set_id = $3 AND m.organization_id >= $4 \
         ORDER BY m.organization_id LIMIT 1",
    ];
    let from = from.map_or("", |id| id.as_str());
    Ok(tx.maybe(&parts, &[instance.into(), role.into(), set.into(), from.into()], |row| row.id(1)).await?)
}

/// How many members of organizations with a role set have each role.
pub async fn count_by_role(
    tx: &mut Tx,
    instance: &InstanceId,
    set: &RoleSetId,
) -> Result<Vec<(RoleId, i64)>> {
    let sql = "SELECT m.role_id, count(*) FROM organizations o JOIN organization_memberships m \
               ON m.instance_id = o.instance_id AND m.organization_id = o.id \
               WHERE o.instance_id = $1 AND o.role_set_id = $2 GROUP BY m.role_id";
    Ok(tx.all(&[sql], &[instance.into(), set.into()], |row| Ok((row.id(0)?, row.int(1)?))).await?)
}

/// Up to `limit` members of an organization with one of these roles, which few have. Those who have been there longest.
pub async fn oldest_with_roles(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    roles: &[RoleId],
    limit: i64,
) -> Result<Vec<User>> {
    if roles.is_empty() {
        return Ok(Vec::new());
    }
    let list = List::new(WITH_PARTS)
        .filter("m.instance_id = ? AND m.organization_id = ?", vec![instance.into(), organization.into()])
        .any_of("m.role_id IN", vec![], roles.iter().map(Value::from).collect(), "")
        .order("m.created_at ASC, m.user_id ASC")
        .page(Paging { limit, offset: 0 });
    Ok(list.fetch(tx, read_parts).await?.into_iter().map(|parts| parts.user).collect())
}

/// Up to `limit` members of an organization with one of these roles, oldest first, those behind `after` only.
pub async fn some_with_roles(
    tx: &mut Tx,
    organization: (&InstanceId, &OrganizationId),
    roles: &[RoleId],
    after: Option<(Time, &UserId)>,
    limit: i64,
) -> Result<Vec<MembershipParts>> {
    let (instance, organization) = organization;
    let roles: Vec<Value> = roles.iter().map(Value::from).collect();
    if roles.is_empty() {
        return Ok(Vec::new());
    }
    // As an expression the role is no reason to take the index of roles, from which all members with one of them would
    // have to be sorted for each page.
    let list = List::new(WITH_PARTS)
        .filter("m.instance_id = ? AND m.organization_id = ?", vec![instance.into(), organization.into()])
        .any_of("(m.role_id || '') IN", vec![], roles, "");
    let list = match after {
        Some((at, user)) => list.filter("(m.created_at, m.user_id) > (?, ?)", vec![at.into(), user.into()]),
        None => list,
    };
    let list = list.order("m.created_at ASC, m.user_id ASC").page(Paging { limit, offset: 0 });
    Ok(list.fetch(tx, read_parts).await?)
}

fn row(membership: &Membership) -> Result<Vec<Value>> {
    Ok(vec![
        (&membership.instance).into(),
        (&membership.organization).into(),
        (&membership.user).into(),
        (&membership.role).into(),
        document::write(&membership.metadata)?.into(),
        membership.updated_at.into(),
        (&membership.id).into(),
        membership.created_at.into(),
    ])
}

/// Reads a membership from `instance_id, organization_id, user_id, role_id, document, updated_at, id, created_at`.
pub fn read(row: &Row<'_>) -> Result<Membership, DbError> {
    Ok(Membership {
        instance: row.id(0)?,
        organization: row.id(1)?,
        user: row.id(2)?,
        role: row.id(3)?,
        metadata: document::read("membership", row.str(4)?)?,
        updated_at: row.time(5)?,
        id: row.id(6)?,
        created_at: row.time(7)?,
    })
}

/// Reads the same with `document, members_count` of the organization and `document` of the user behind it.
pub fn read_parts(row: &Row<'_>) -> Result<MembershipParts, DbError> {
    let membership = read(row)?;
    let organization = organizations::read_document(&membership.instance, row.str(8)?, row.int(9)?)?;
    let user = users::read_document(&membership.instance, row.str(10)?)?;
    Ok(MembershipParts { membership, organization, user })
}

/// Reads what `ACTIVE_COLUMNS` and `ACTIVE_ROLES` name, from the column `at` on; none if there is no such membership.
pub fn read_active(
    row: &Row<'_>,
    instance: &InstanceId,
    at: usize,
) -> Result<Option<ActiveMembership>, DbError> {
    let Some((membership, organization)) = read_member(row, instance, at)? else { return Ok(None) };
    let access = Arc::new(access::read_document(instance, row.maybe_str(at + 9)?)?);
    Ok(Some(ActiveMembership { membership, organization, access }))
}

/// Reads what `ACTIVE_COLUMNS` names alone.
pub fn read_member(
    row: &Row<'_>,
    instance: &InstanceId,
    at: usize,
) -> Result<Option<(Membership, Organization)>, DbError> {
    let Some(organization) = row.maybe_str(at + 7)? else { return Ok(None) };
    let membership = Membership {
        instance: instance.clone(),
        organization: row.id(at)?,
        user: row.id(at + 1)?,
        role: row.id(at + 2)?,
        metadata: document::read("membership", row.str(at + 3)?)?,
        updated_at: row.time(at + 4)?,
        id: row.id(at + 5)?,
        created_at: row.time(at + 6)?,
    };
    let organization = organizations::read_document(instance, organization, row.int(at + 8)?)?;
    Ok(Some((membership, organization)))
}
