//! The SQL of roles, permissions and role sets.

use latchkey_base::kinds::{InstanceId, RoleId};
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, Row, Table, Tx, Value};
use latchkey_kernel::document;

use super::defaults;
use super::model::Access;

static ORGANIZATION_ACCESS: Table = Table::new("organization_access", &["instance_id"])
    .saved(&["document", "updated_at"])
    .read(&["instance_id", "document"]);

pub async fn find(tx: &mut Tx, instance: &InstanceId) -> Result<Access> {
    let found = ORGANIZATION_ACCESS.find(tx, &[instance.into()], read).await?;
    Ok(found.unwrap_or_else(|| defaults::initial(instance)))
}

/// The roles an instance has, which stay until the transaction is committed: for those who give somebody a role. It is
/// read before organizations are locked.
pub async fn share(tx: &mut Tx, instance: &InstanceId, now: Time) -> Result<Access> {
    match ORGANIZATION_ACCESS.share(tx, &[instance.into()], read).await? {
        Some(access) => Ok(access),
        None => lock(tx, instance, now).await,
    }
}

/// The same, to change it.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, now: Time) -> Result<Access> {
    if let Some(access) = ORGANIZATION_ACCESS.lock(tx, &[instance.into()], read).await? {
        return Ok(access);
    }
    let initial = defaults::initial(instance);
    ORGANIZATION_ACCESS.insert_new(tx, &row(&initial, now)?).await?;
    let locked = ORGANIZATION_ACCESS.lock(tx, &[instance.into()], read).await?;
    Ok(locked.unwrap_or(initial))
}

/// Saves what was changed.
pub async fn save(tx: &mut Tx, access: &Access, now: Time) -> Result<()> {
    ORGANIZATION_ACCESS.save(tx, &row(access, now)?).await
}

/// Whether pending invitations promise a role.
pub async fn is_promised(tx: &mut Tx, instance: &InstanceId, role: &RoleId, now: Time) -> Result<bool> {
    let sql = "SELECT 1 FROM organization_invitations WHERE instance_id = $1 AND role_id = $2 \
               AND status = 'pending' AND expire_at > $3 LIMIT 1";
    Ok(tx.exists(&[sql], &[instance.into(), role.into(), now.into()]).await?)
}

fn row(access: &Access, now: Time) -> Result<Vec<Value>> {
    Ok(vec![(&access.instance).into(), document::write(access)?.into(), now.into()])
}

fn read(row: &Row<'_>) -> Result<Access, DbError> {
    read_document(&row.id(0)?, row.maybe_str(1)?)
}

/// Reads the roles of an instance from their document, for stores that join. Without one there are the initial ones.
pub fn read_document(instance: &InstanceId, text: Option<&str>) -> Result<Access, DbError> {
    match text {
        Some(text) => {
            let access: Access = document::read("role", text)?;
            Ok(Access { instance: instance.clone(), ..access })
        }
        None => Ok(defaults::initial(instance)),
    }
}
