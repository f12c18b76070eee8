//! The SQL of how far members have been given other roles.

use latchkey_base::Result;
use latchkey_base::kinds::{InstanceId, RoleSetMigrationId};
use latchkey_db::{DbError, Row, Table, Tx, Value};
use latchkey_kernel::background::WorkRows;
use latchkey_kernel::document;

use super::model::RoleMigrationWork;

static ROLE_SET_MIGRATIONS: Table =
    Table::new("role_set_migrations", &["instance_id", "id"]).saved(&["document", "due_at"]).due_by("due_at");

/// What is left to do, for the job that does it.
pub(super) const WORK: WorkRows = WorkRows::of(&ROLE_SET_MIGRATIONS);

pub async fn find(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &RoleSetMigrationId,
) -> Result<Option<RoleMigrationWork>> {
    ROLE_SET_MIGRATIONS.find(tx, &[instance.into(), id.into()], read).await
}

/// The work, to go on with it, unless another node does.
pub async fn claim(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &RoleSetMigrationId,
) -> Result<Option<RoleMigrationWork>> {
    ROLE_SET_MIGRATIONS.claim(tx, &[instance.into(), id.into()], read).await
}

pub async fn insert(tx: &mut Tx, work: &RoleMigrationWork) -> Result<()> {
    ROLE_SET_MIGRATIONS.insert(tx, &row(work)?).await
}

/// Saves how far it is. What is left is to be done after what others have left.
pub async fn save(tx: &mut Tx, work: &RoleMigrationWork) -> Result<()> {
    ROLE_SET_MIGRATIONS.save(tx, &row(work)?).await
}

pub async fn delete(tx: &mut Tx, work: &RoleMigrationWork) -> Result<bool> {
    ROLE_SET_MIGRATIONS.delete(tx, &[(&work.instance).into(), (&work.migration.id).into()]).await
}

fn row(work: &RoleMigrationWork) -> Result<Vec<Value>> {
    Ok(vec![
        (&work.instance).into(),
        (&work.migration.id).into(),
        document::write(work)?.into(),
        work.updated_at.into(),
    ])
}

fn read(row: &Row<'_>) -> Result<RoleMigrationWork, DbError> {
    let work: RoleMigrationWork = document::read("role set migration", row.str(2)?)?;
    Ok(RoleMigrationWork { instance: row.id(0)?, ..work })
}
