//! The SQL of what is left to do for domains.

use latchkey_base::kinds::{InstanceId, OrganizationDomainId};
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, Row, Table, Tx};
use latchkey_kernel::background::WorkRows;
use latchkey_kernel::document;

use super::model::Enrollment;

static ORGANIZATION_ENROLLMENTS: Table =
    Table::new("organization_enrollments", &["instance_id", "domain_id"])
        .saved(&["document", "due_at"])
        .due_by("due_at")
        .fixed(&["organization_id"]);

/// What is left to do, for the job that does it.
pub(super) const WORK: WorkRows = WorkRows::of(&ORGANIZATION_ENROLLMENTS);

/// What is left to do for a domain.
pub async fn find(
    tx: &mut Tx,
    instance: &InstanceId,
    domain: &OrganizationDomainId,
) -> Result<Option<Enrollment>> {
    ORGANIZATION_ENROLLMENTS.find(tx, &[instance.into(), domain.into()], read).await
}

/// What is left to do for a domain, to change it. The organization is locked before.
pub async fn lock(
    tx: &mut Tx,
    instance: &InstanceId,
    domain: &OrganizationDomainId,
) -> Result<Option<Enrollment>> {
    ORGANIZATION_ENROLLMENTS.lock(tx, &[instance.into(), domain.into()], read).await
}

/// Notes what is left, which is to be done after what others have left.
pub async fn put(tx: &mut Tx, enrollment: &Enrollment, now: Time) -> Result<()> {
    let row = [
        (&enrollment.instance).into(),
        (&enrollment.domain).into(),
        document::write(enrollment)?.into(),
        now.into(),
        (&enrollment.organization).into(),
    ];
    ORGANIZATION_ENROLLMENTS.put(tx, &row).await
}

pub async fn delete(tx: &mut Tx, enrollment: &Enrollment) -> Result<()> {
    let key = [(&enrollment.instance).into(), (&enrollment.domain).into()];
    ORGANIZATION_ENROLLMENTS.delete(tx, &key).await.map(|_| ())
}

/// Reads `instance_id, domain_id, document, due_at, organization_id`.
fn read(row: &Row<'_>) -> Result<Enrollment, DbError> {
    let enrollment: Enrollment = document::read("enrollment", row.str(2)?)?;
    Ok(Enrollment { instance: row.id(0)?, domain: row.id(1)?, organization: row.id(4)?, ..enrollment })
}
