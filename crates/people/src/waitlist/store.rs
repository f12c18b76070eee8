//! The SQL of the waitlist.

use latchkey_base::Result;
use latchkey_base::kinds::{InstanceId, WaitlistEntryId};
use latchkey_base::text::{fold, readable_email};
use latchkey_db::{DbError, List, Row, Table, Tx, Value};
use latchkey_kernel::document;

use super::model::{WaitlistEntry, WaitlistStatus};
use crate::invitations::model::folded;

static WAITLIST_ENTRIES: Table = Table::new("waitlist_entries", &["instance_id", "id"])
    .saved(&["status", "document", "invited_at"])
    .fixed(&["email_folded", "search_folded", "created_at"]);

pub async fn find(tx: &mut Tx, instance: &InstanceId, id: &WaitlistEntryId) -> Result<Option<WaitlistEntry>> {
    WAITLIST_ENTRIES.find(tx, &[instance.into(), id.into()], read).await
}

/// One entry, to change it.
pub async fn lock(tx: &mut Tx, instance: &InstanceId, id: &WaitlistEntryId) -> Result<Option<WaitlistEntry>> {
    WAITLIST_ENTRIES.lock(tx, &[instance.into(), id.into()], read).await
}

/// The entry of an address.
pub async fn find_by_address(
    tx: &mut Tx,
    instance: &InstanceId,
    email_address: &str,
) -> Result<Option<WaitlistEntry>> {
    let params = [instance.into(), folded(email_address).into()];
    Ok(tx.maybe(&[WAITLIST_ENTRIES.of_instance(), " AND email_folded = $2"], &params, read).await?)
}

/// The same, to change it.
pub async fn lock_by_address(
    tx: &mut Tx,
    instance: &InstanceId,
    email_address: &str,
) -> Result<Option<WaitlistEntry>> {
    let params = [instance.into(), folded(email_address).into()];
    Ok(tx.lock(&[WAITLIST_ENTRIES.of_instance(), " AND email_folded = $2"], &params, read).await?)
}

/// Adds an entry unless its address has one. Says whether it did; of many at once one does.
pub async fn insert_new(tx: &mut Tx, entry: &WaitlistEntry) -> Result<bool> {
    let sql = "INSERT INTO waitlist_entries \
               (instance_id, id, status, document, invited_at, email_folded, search_folded, created_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (instance_id, email_folded) DO NOTHING";
    Ok(tx.run(&[sql], &row(entry)?).await? > 0)
}

/// Saves what became of an entry.
pub async fn save(tx: &mut Tx, entry: &WaitlistEntry) -> Result<()> {
    WAITLIST_ENTRIES.save(tx, &row(entry)?).await
}

pub async fn delete(tx: &mut Tx, entry: &WaitlistEntry) -> Result<()> {
    WAITLIST_ENTRIES.delete(tx, &[(&entry.instance).into(), (&entry.id).into()]).await?;
    Ok(())
}

/// All of an instance, to be filtered.
pub fn listed(instance: &InstanceId) -> List {
    List::new(WAITLIST_ENTRIES.select()).filter("instance_id = ?", vec![instance.into()])
}

/// The same, to be counted.
pub fn counted(instance: &InstanceId) -> List {
    List::new("SELECT count(*) FROM waitlist_entries").filter("instance_id = ?", vec![instance.into()])
}

fn row(entry: &WaitlistEntry) -> Result<Vec<Value>> {
    let address = &entry.details.email_address;
    // People look for a domain as they read it, and for what they were shown.
    let texts =
        [Some(folded(address)), readable_email(address).as_deref().map(fold), Some(fold(entry.id.as_str()))];
    let search = texts.into_iter().flatten().collect::<Vec<_>>().join("\n");
    Ok(vec![
        (&entry.instance).into(),
        (&entry.id).into(),
        entry.status.name().into(),
        document::write(&entry.details)?.into(),
        entry.invited_at.into(),
        folded(address).into(),
        search.into(),
        entry.created_at.into(),
    ])
}

pub fn read(row: &Row<'_>) -> Result<WaitlistEntry, DbError> {
    let unknown = || DbError::Failed("an entry of the waitlist has an unknown status".into());
    Ok(WaitlistEntry {
        instance: row.id(0)?,
        id: row.id(1)?,
        status: WaitlistStatus::parse(row.str(2)?).ok_or_else(unknown)?,
        details: document::read("waitlist entry", row.str(3)?)?,
        invited_at: row.maybe_time(4)?,
        created_at: row.time(7)?,
    })
}
