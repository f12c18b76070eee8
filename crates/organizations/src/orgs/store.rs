//! The SQL of organizations.

use std::collections::HashMap;

use latchkey_base::kinds::{InstanceId, OrganizationId, RoleId, RoleSetId, UserId};
use latchkey_base::text::fold;
use latchkey_base::{Id, Result, Time};
use latchkey_db::{DbError, List, Row, Table, Tx, Value};
use latchkey_kernel::document;

use super::model::Organization;

/// Parts of the number of organizations of an instance.
const COUNT_PARTS: i64 = 16;

static ORGANIZATIONS: Table = Table::new("organizations", &["instance_id", "id"])
    .saved(&[
        "document",
        "slug",
        "name_folded",
        "search_folded",
        "role_set_id",
        "created_by",
        "members_count",
        "created_at",
    ])
    .read(&["instance_id", "document", "members_count"]);

static ORGANIZATION_COUNTS: Table = Table::new("organization_counts", &["instance_id", "part"])
    .saved(&["organizations"])
    .read(&["organizations"]);

pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &OrganizationId) -> Result<Option<Organization>> {
    ORGANIZATIONS.find(tx, &[instance.into(), id.into()], read).await
}

/// The organization with this id or slug.
pub async fn find_by_id_or_slug(
    tx: &mut Tx,
    instance: &InstanceId,
    text: &str,
) -> Result<Option<Organization>> {
    let is_slug = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    match Id::parse(text) {
        Some(id) => find(tx, instance, &id).await,
        None if !is_slug => Ok(None),
        None => {
            let parts = [ORGANIZATIONS.of_instance(), " AND slug = $2"];
            Ok(tx.maybe(&parts, &[instance.into(), text.into()], read).await?)
        }
    }
}

/// The organization that has verified a domain.
pub async fn find_by_domain(
    tx: &mut Tx,
    instance: &InstanceId,
    domain: &str,
) -> Result<Option<Organization>> {
    let parts = [
        ORGANIZATIONS.of_instance(),
        " AND id IN (SELECT organization_id FROM organization_domains \
         WHERE instance_id = $1 AND name = $2 AND claim = '' AND verified)",
    ];
    Ok(tx.maybe(&parts, &[instance.into(), domain.into()], read).await?)
}

/// One organization, to change it or its members.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &OrganizationId) -> Result<Option<Organization>> {
    ORGANIZATIONS.lock(tx, &[instance.into(), id.into()], read).await
}

/// One organization, which must stay as it is until we commit: for those who write what belongs to it. Others may do so
/// at once.
pub async fn share(tx: &mut Tx, instance: &InstanceId, id: &OrganizationId) -> Result<Option<Organization>> {
    ORGANIZATIONS.share(tx, &[instance.into(), id.into()], read).await
}

/// Those of these ids that there are.
pub async fn find_all(
    tx: &mut Tx,
    instance: &InstanceId,
    ids: Vec<&OrganizationId>,
) -> Result<Vec<Organization>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let list = List::new(ORGANIZATIONS.select()).filter("instance_id = ?", vec![instance.into()]);
    let ids = ids.into_iter().map(Value::from).collect();
    Ok(list.any_of("id IN", vec![], ids, "").fetch(tx, read).await?)
}

pub async fn insert(tx: &mut Tx, organization: &Organization) -> Result<()> {
    ORGANIZATIONS.insert(tx, &row(organization)?).await?;
    add_to_count(tx, &organization.instance, &organization.id, 1).await
}

/// The same, unless another one has the slug. Says whether it was added.
pub async fn insert_unless_slug_is_taken(tx: &mut Tx, organization: &Organization) -> Result<bool> {
    let sql = "INSERT INTO organizations (instance_id, id, document, slug, name_folded, search_folded, role_set_id, \
         created_by, members_count, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT (instance_id, slug) DO NOTHING";
    let is_added = tx.run(&[sql], &row(organization)?).await? > 0;
    if is_added {
        add_to_count(tx, &organization.instance, &organization.id, 1).await?;
    }
    Ok(is_added)
}

/// Saves a changed organization.
pub async fn save(tx: &mut Tx, organization: &Organization) -> Result<()> {
    ORGANIZATIONS.save(tx, &row(organization)?).await
}

/// Deletes an organization. What is left of its members is deleted by `removals`.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &OrganizationId) -> Result<bool> {
    let is_deleted = ORGANIZATIONS.delete(tx, &[instance.into(), id.into()]).await?;
    if is_deleted {
        add_to_count(tx, instance, id, -1).await?;
    }
    Ok(is_deleted)
}

/// How many organizations there are.
pub async fn count(tx: &mut Tx, instance: &InstanceId) -> Result<i64> {
    let parts = tx.all(&[ORGANIZATION_COUNTS.of_instance()], &[instance.into()], |row| row.int(0)).await?;
    Ok(parts.into_iter().sum())
}

async fn add_to_count(tx: &mut Tx, instance: &InstanceId, id: &OrganizationId, number: i64) -> Result<()> {
    let part = id.as_str().bytes().map(i64::from).sum::<i64>() % COUNT_PARTS;
    let sql = "INSERT INTO organization_counts (instance_id, part, organizations) VALUES ($1, $2, $3) \
         ON CONFLICT (instance_id, part) \
         DO UPDATE SET organizations = organization_counts.organizations + excluded.organizations";
    tx.run(&[sql], &[instance.into(), part.into(), number.into()]).await?;
    Ok(())
}

/// How many organizations there are that a user created.
pub async fn count_created_by(tx: &mut Tx, instance: &InstanceId, user: &UserId) -> Result<i64> {
    let list = List::new("SELECT count(*) FROM organizations")
        .filter("instance_id = ? AND created_by = ?", vec![instance.into(), user.into()]);
    Ok(list.count(tx).await?)
}

/// How many invitations to an organization wait for an answer. Those of a domain are not counted: nobody sent them.
pub async fn count_pending_invitations(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &OrganizationId,
    now: Time,
) -> Result<i64> {
    let list = List::new("SELECT count(*) FROM organization_invitations").filter(
        "instance_id = ? AND organization_id = ? AND status = 'pending' AND expire_at > ? AND domain_id IS NULL",
        vec![instance.into(), id.into(), now.into()],
    );
    Ok(list.count(tx).await?)
}

/// The same of several organizations. Those without any are left out.
pub async fn count_pending_invitations_of(
    tx: &mut Tx,
    instance: &InstanceId,
    ids: Vec<&OrganizationId>,
    now: Time,
) -> Result<HashMap<OrganizationId, i64>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let list = List::new("SELECT organization_id, count(*) FROM organization_invitations").filter(
        "instance_id = ? AND status = 'pending' AND expire_at > ? AND domain_id IS NULL",
        vec![instance.into(), now.into()],
    );
    let ids = ids.into_iter().map(Value::from).collect();
    let list = list.any_of("organization_id IN", vec![], ids, "").group("organization_id");
    Ok(list.fetch(tx, |row| Ok((row.id(0)?, row.int(1)?))).await?.into_iter().collect())
}

/// Whether an organization has a member with one of these roles.
pub async fn has_member_with(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &OrganizationId,
    roles: &[&RoleId],
) -> Result<bool> {
    let roles: Vec<Value> = roles.iter().map(|&id| id.into()).collect();
    if roles.is_empty() {
        return Ok(false);
    }
    let list = List::new("SELECT 1 FROM organization_memberships")
        .filter("instance_id = ? AND organization_id = ?", vec![instance.into(), id.into()])
        .any_of("role_id IN", vec![], roles, "");
    Ok(!list
        .page(latchkey_base::page::Paging { limit: 1, offset: 0 })
        .fetch(tx, |_| Ok(()))
        .await?
        .is_empty())
}

/// The first organization with a role set.
pub async fn first_with_role_set(
    tx: &mut Tx,
    instance: &InstanceId,
    set: &RoleSetId,
) -> Result<Option<OrganizationId>> {
    let sql = "SELECT id FROM organizations WHERE instance_id = $1 AND role_set_id = $2 ORDER BY id LIMIT 1";
    Ok(tx.maybe(&[sql], &[instance.into(), set.into()], |row| row.id(0)).await?)
}

fn row(organization: &Organization) -> Result<Vec<Value>> {
    let name = fold(&organization.name);
    let search = [name.as_str(), organization.slug.as_deref().unwrap_or_default()].join("\n");
    Ok(vec![
        (&organization.instance).into(),
        (&organization.id).into(),
        document::write(organization)?.into(),
        organization.slug.as_deref().into(),
        name.into(),
        search.into(),
        (&organization.role_set).into(),
        organization.created_by.as_ref().map(|id| id.as_str()).into(),
        organization.members_count.into(),
        organization.created_at.into(),
    ])
}

/// Reads an organization from `instance_id, document, members_count`.
pub fn read(row: &Row<'_>) -> Result<Organization, DbError> {
    read_document(&row.id(0)?, row.str(1)?, row.int(2)?)
}

/// Reads an organization from its document, for stores that join.
pub fn read_document(instance: &InstanceId, text: &str, members_count: i64) -> Result<Organization, DbError> {
    let organization: Organization = document::read("organization", text)?;
    Ok(Organization { instance: instance.clone(), members_count, ..organization })
}
