//! The SQL of invitations to the application.

use latchkey_base::kinds::{InstanceId, InvitationId};
use latchkey_base::text::{fold, readable_email};
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, List, Row, Table, Tx, Value};
use latchkey_kernel::document;
use latchkey_kernel::key_tickets::TicketQuery;

use super::model::{ApplicationInvitation, folded};
use crate::tickets::model::TicketStatus;
use crate::tickets::store::{PENDING, list_tickets};

static INVITATIONS: Table = Table::new("invitations", &["instance_id", "id"])
    .saved(&["status", "document"])
    .fixed(&["claim", "email_folded", "search_folded", "created_at", "expire_at", "key_id"]);

pub async fn find(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &InvitationId,
) -> Result<Option<ApplicationInvitation>> {
    INVITATIONS.find(tx, &[instance.into(), id.into()], read).await
}

/// One invitation, to change it.
pub async fn lock(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &InvitationId,
) -> Result<Option<ApplicationInvitation>> {
    INVITATIONS.lock(tx, &[instance.into(), id.into()], read).await
}

/// Adds an invitation. Those of the same address whose time is over make room for it.
pub async fn insert(tx: &mut Tx, invitation: &ApplicationInvitation) -> Result<()> {
    let sql = "UPDATE invitations SET claim = id WHERE instance_id = $1 AND email_folded = $2 AND claim = '' \
               AND status = 'pending' AND expire_at <= $3";
    let address = folded(&invitation.details.email_address);
    tx.run(&[sql], &[(&invitation.instance).into(), address.into(), invitation.created_at.into()]).await?;
    INVITATIONS.insert(tx, &row(invitation)?).await
}

/// Saves what became of an invitation.
pub async fn save(tx: &mut Tx, invitation: &ApplicationInvitation) -> Result<()> {
    INVITATIONS.save(tx, &row(invitation)?).await
}

/// Deletes an invitation, whatever its status is. Returns whether it existed.
pub async fn delete(tx: &mut Tx, instance: &InstanceId, id: &InvitationId) -> Result<bool> {
    INVITATIONS.delete(tx, &[instance.into(), id.into()]).await
}

/// Whether an invitation to an address can still be followed.
pub async fn has_pending(tx: &mut Tx, instance: &InstanceId, email_address: &str, now: Time) -> Result<bool> {
    let sql = "SELECT 1 FROM invitations WHERE instance_id = $1 AND email_folded = $2 AND status = 'pending' \
               AND expire_at > $3";
    Ok(tx.exists(&[sql], &[instance.into(), folded(email_address).into(), now.into()]).await?)
}

/// Lists invitations that can still be followed, in the order of their ids.
pub async fn list_pending(tx: &mut Tx, query: &TicketQuery) -> Result<Vec<ApplicationInvitation>> {
    list_tickets(tx, &INVITATIONS, (PENDING, query), read).await
}

/// Those of these ids that are there.
pub async fn find_all(
    tx: &mut Tx,
    instance: &InstanceId,
    ids: &[InvitationId],
) -> Result<Vec<ApplicationInvitation>> {
    match ids.is_empty() {
        true => Ok(Vec::new()),
        false => {
            let ids = ids.iter().map(Value::from).collect();
            Ok(listed(instance).any_of("id IN", vec![], ids, "").fetch(tx, read).await?)
        }
    }
}

/// All of an instance, to be filtered.
pub fn listed(instance: &InstanceId) -> List {
    List::new(INVITATIONS.select()).filter("instance_id = ?", vec![instance.into()])
}

/// The same, to be counted.
pub fn counted(instance: &InstanceId) -> List {
    List::new("SELECT count(*) FROM invitations").filter("instance_id = ?", vec![instance.into()])
}

fn row(invitation: &ApplicationInvitation) -> Result<Vec<Value>> {
    let address = &invitation.details.email_address;
    // People look for a domain as they read it, and for what they were shown.
    let texts = [
        Some(folded(address)),
        readable_email(address).as_deref().map(fold),
        Some(fold(invitation.id.as_str())),
    ];
    let search = texts.into_iter().flatten().collect::<Vec<_>>().join("\n");
    let claim = if invitation.is_beside_others { invitation.id.as_str() } else { "" };
    Ok(vec![
        (&invitation.instance).into(),
        (&invitation.id).into(),
        invitation.status.name().into(),
        document::write(&invitation.details)?.into(),
        claim.into(),
        folded(address).into(),
        search.into(),
        invitation.created_at.into(),
        invitation.expire_at.into(),
        invitation.key.as_ref().into(),
    ])
}

pub fn read(row: &Row<'_>) -> Result<ApplicationInvitation, DbError> {
    let unknown = || DbError::Failed("an invitation has an unknown status".into());
    Ok(ApplicationInvitation {
        instance: row.id(0)?,
        id: row.id(1)?,
        status: TicketStatus::parse(row.str(2)?).ok_or_else(unknown)?,
        details: document::read("invitation", row.str(3)?)?,
        is_beside_others: !row.str(4)?.is_empty(),
        created_at: row.time(7)?,
        expire_at: row.time(8)?,
        key: row.maybe_id(9)?,
    })
}
