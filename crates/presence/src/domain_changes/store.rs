//! The SQL of domains that were left.

use latchkey_base::kinds::{InstanceId, SessionId};
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, Row, Table, Tx};
use latchkey_kernel::background::WorkRows;
use latchkey_kernel::document;
use serde::{Deserialize, Serialize};

static DOMAIN_CHANGES: Table = Table::new("domain_changes", &["instance_id", "frontend_api"])
    .saved(&["document", "due_at"])
    .due_by("due_at");

/// What is left to do, for the job that does it.
pub(super) const WORK: WorkRows = WorkRows::of(&DOMAIN_CHANGES);

/// A position in the list of sessions, which is ordered by their beginning and their id.
pub type SessionPosition = (Time, SessionId);

/// A host that an instance has left, and how far its sessions have been ended.
#[derive(Clone, Serialize, Deserialize)]
pub struct DomainChange {
    #[serde(skip, default = "InstanceId::unset")]
    pub instance: InstanceId,
    /// The host that was left.
    #[serde(skip)]
    pub frontend_api: String,
    /// When it was left: sessions that began later are of the new domain.
    pub until: Time,
    /// The last session that has been looked at.
    pub after: Option<SessionPosition>,
    /// Where pictures are served, for the addresses of them in the events.
    pub api_url: String,
}

pub async fn lock(tx: &mut Tx, instance: &InstanceId, left: &str) -> Result<Option<DomainChange>> {
    DOMAIN_CHANGES.lock(tx, &[instance.into(), left.into()], read).await
}

/// Notes that something is left, which is to be done after what others have left.
pub async fn put(tx: &mut Tx, change: &DomainChange, now: Time) -> Result<()> {
    let row = [
        (&change.instance).into(),
        change.frontend_api.as_str().into(),
        document::write(change)?.into(),
        now.into(),
    ];
    DOMAIN_CHANGES.put(tx, &row).await
}

pub async fn delete(tx: &mut Tx, change: &DomainChange) -> Result<()> {
    let key = [(&change.instance).into(), change.frontend_api.as_str().into()];
    DOMAIN_CHANGES.delete(tx, &key).await.map(|_| ())
}

fn read(row: &Row<'_>) -> Result<DomainChange, DbError> {
    let change: DomainChange = document::read("domain change", row.str(2)?)?;
    Ok(DomainChange { instance: row.id(0)?, frontend_api: row.text(1)?, ..change })
}
