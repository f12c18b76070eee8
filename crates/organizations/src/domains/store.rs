//! The SQL of domains of organizations.

use latchkey_base::Result;
use latchkey_base::kinds::{InstanceId, OrganizationDomainId, OrganizationId};
use latchkey_db::{DbError, List, Row, Table, Tx, Value};
use latchkey_kernel::document;

use super::model::{DomainParts, OrganizationDomain};
use crate::orgs::store as organizations;

static ORGANIZATION_DOMAINS: Table = Table::new("organization_domains", &["instance_id", "id"])
    .saved(&["claim", "enrollment_mode", "verified", "document"])
    .fixed(&["organization_id", "name", "created_at"])
    .read(&["instance_id", "document"]);

/// Domains with their organizations. What is left of a deleted organization joins nothing, and is not there.
const WITH_PARTS: &str = "SELECT d.instance_id, d.document, o.document, o.members_count, \
     (SELECT count(*) FROM organization_invitations i WHERE i.instance_id = d.instance_id AND i.domain_id = d.id \
     AND i.status = 'pending'), \
     (SELECT count(*) FROM organization_suggestions s WHERE s.instance_id = d.instance_id AND s.domain_id = d.id \
     AND s.status = 'pending') \
     FROM organization_domains d JOIN organizations o ON o.instance_id = d.instance_id AND o.id = d.organization_id";

/// All domains of an instance, to be filtered.
pub fn all(instance: &InstanceId) -> List {
    List::new(WITH_PARTS).filter("d.instance_id = ?", vec![instance.into()])
}

/// How many there are, to be filtered in the same way.
pub fn count(instance: &InstanceId) -> List {
    List::new(
        "SELECT count(*) FROM organization_domains d \
         JOIN organizations o ON o.instance_id = d.instance_id AND o.id = d.organization_id",
    )
    .filter("d.instance_id = ?", vec![instance.into()])
}

/// One domain of an organization.
pub async fn find(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    id: &OrganizationDomainId,
) -> Result<Option<OrganizationDomain>> {
    let found = ORGANIZATION_DOMAINS.find(tx, &[instance.into(), id.into()], read).await?;
    Ok(found.filter(|domain| domain.organization == *organization))
}

/// The same with its organization.
pub async fn find_parts(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    id: &OrganizationDomainId,
) -> Result<Option<DomainParts>> {
    let parts = [WITH_PARTS, " WHERE d.instance_id = $1 AND d.organization_id = $2 AND d.id = $3"];
    Ok(tx.maybe(&parts, &[instance.into(), organization.into(), id.into()], read_parts).await?)
}

/// All domains of an organization; there are few.
pub async fn of_organization(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
) -> Result<Vec<OrganizationDomain>> {
    let parts = [ORGANIZATION_DOMAINS.of_instance(), " AND organization_id = $2"];
    Ok(tx.all(&parts, &[instance.into(), organization.into()], read).await?)
}

/// The verified domains of these names, in the order in which organizations are locked.
pub async fn find_verified(
    tx: &mut Tx,
    instance: &InstanceId,
    names: Vec<&str>,
) -> Result<Vec<OrganizationDomain>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let names = names.into_iter().map(Value::from).collect();
    let list = List::new(ORGANIZATION_DOMAINS.select())
        .filter("instance_id = ?", vec![instance.into()])
        .filter("claim = ''", vec![])
        .any_of("name IN", vec![], names, "");
    Ok(list.sort("organization_id, id").fetch(tx, read).await?)
}

pub async fn insert(tx: &mut Tx, domain: &OrganizationDomain) -> Result<()> {
    ORGANIZATION_DOMAINS.insert(tx, &row(domain)?).await
}

/// Saves a changed domain.
pub async fn save(tx: &mut Tx, domain: &OrganizationDomain) -> Result<()> {
    ORGANIZATION_DOMAINS.save(tx, &row(domain)?).await
}

pub async fn delete(tx: &mut Tx, domain: &OrganizationDomain) -> Result<bool> {
    ORGANIZATION_DOMAINS.delete(tx, &[(&domain.instance).into(), (&domain.id).into()]).await
}

/// Deletes up to `limit` domains of an organization that was deleted. Says how many.
pub async fn delete_some(tx: &mut Tx, instance: &InstanceId, organization: &str, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM organization_domains WHERE instance_id = $1 AND id IN \
               (SELECT id FROM organization_domains WHERE instance_id = $1 AND organization_id = $2 LIMIT $3)";
    Ok(tx.run(&[sql], &[instance.into(), organization.into(), limit.into()]).await?)
}

fn row(domain: &OrganizationDomain) -> Result<Vec<Value>> {
    let claim = if domain.is_verified() { "" } else { domain.id.as_str() };
    Ok(vec![
        (&domain.instance).into(),
        (&domain.id).into(),
        claim.into(),
        domain.enrollment_mode.name().into(),
        domain.is_verified().into(),
        document::write(domain)?.into(),
        (&domain.organization).into(),
        domain.name.as_str().into(),
        domain.created_at.into(),
    ])
}

/// Reads a domain from `instance_id, document`.
fn read(row: &Row<'_>) -> Result<OrganizationDomain, DbError> {
    let domain: OrganizationDomain = document::read("organization domain", row.str(1)?)?;
    Ok(OrganizationDomain { instance: row.id(0)?, ..domain })
}

/// Reads what [`WITH_PARTS`] selects.
pub fn read_parts(row: &Row<'_>) -> Result<DomainParts, DbError> {
    let domain = read(row)?;
    let organization = organizations::read_document(&domain.instance, row.str(2)?, row.int(3)?)?;
    Ok(DomainParts {
        domain,
        organization,
        pending_invitations: row.int(4)?,
        pending_suggestions: row.int(5)?,
    })
}
