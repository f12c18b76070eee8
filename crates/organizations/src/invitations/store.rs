//! The SQL of invitations.

use latchkey_base::kinds::{
    InstanceId, OrganizationDomainId, OrganizationId, OrganizationInvitationId, UserId,
};
use latchkey_base::page::Paging;
use latchkey_base::{Result, Time};
use latchkey_db::{DbError, List, Row, Table, Tx, Value};
use latchkey_kernel::document;
use latchkey_kernel::key_tickets::TicketQuery;
use latchkey_people::tickets::store::list_tickets;
use latchkey_people::users::store as users;

use super::model::{Invitation, InvitationParts, InvitationStatus, folded};
use crate::orgs::store as organizations;

static ORGANIZATION_INVITATIONS: Table = Table::new("organization_invitations", &["instance_id", "id"])
    .saved(&["role_id", "status", "document"])
    .fixed(&[
        "organization_id",
        "email_folded",
        "domain_id",
        "inviter_id",
        "created_at",
        "expire_at",
        "sender_id",
        "key_id",
    ]);

/// Invitations with the organization and the inviter. What is left of deleted organizations joins nothing, and is not
/// there.
const WITH_PARTS: &str = "SELECT i.instance_id, i.id, i.role_id, i.status, i.document, i.organization_id, \
     i.email_folded, i.domain_id, i.inviter_id, i.created_at, i.expire_at, i.sender_id, i.key_id, o.document, \
     o.members_count, u.document \
     FROM organization_invitations i \
     JOIN organizations o ON o.instance_id = i.instance_id AND o.id = i.organization_id \
     LEFT JOIN users u ON u.instance_id = i.instance_id AND u.id = i.inviter_id";

pub async fn find(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &OrganizationInvitationId,
) -> Result<Option<Invitation>> {
    ORGANIZATION_INVITATIONS.find(tx, &[instance.into(), id.into()], read).await
}

/// One invitation with its organization and inviter.
pub async fn find_parts(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &OrganizationInvitationId,
) -> Result<Option<InvitationParts>> {
    let parts = [WITH_PARTS, " WHERE i.instance_id = $1 AND i.id = $2"];
    Ok(tx.maybe(&parts, &[instance.into(), id.into()], read_parts).await?)
}

/// One invitation, to change it. Its organization must be locked.
pub async fn lock(
    tx: &mut Tx,
    instance: &InstanceId,
    id: &OrganizationInvitationId,
) -> Result<Option<Invitation>> {
    ORGANIZATION_INVITATIONS.lock(tx, &[instance.into(), id.into()], read).await
}

pub async fn insert(tx: &mut Tx, invitation: &Invitation) -> Result<()> {
    ORGANIZATION_INVITATIONS.insert(tx, &row(invitation)?).await
}

/// Saves what became of an invitation.
pub async fn save(tx: &mut Tx, invitation: &Invitation) -> Result<()> {
    ORGANIZATION_INVITATIONS.save(tx, &row(invitation)?).await
}

/// All of an instance, with their parts, to be filtered.
pub fn listed(instance: &InstanceId) -> List {
    List::new(WITH_PARTS).filter("i.instance_id = ?", vec![instance.into()])
}

/// The same, to be counted.
pub fn counted(instance: &InstanceId) -> List {
    List::new(
        "SELECT count(*) FROM organization_invitations i \
         JOIN organizations o ON o.instance_id = i.instance_id AND o.id = i.organization_id",
    )
    .filter("i.instance_id = ?", vec![instance.into()])
}

/// Deletes up to `limit` invitations to an organization that was deleted. Says how many.
pub async fn delete_some(tx: &mut Tx, instance: &InstanceId, organization: &str, limit: i64) -> Result<u64> {
    let sql = "DELETE FROM organization_invitations WHERE instance_id = $1 AND id IN \
               (SELECT id FROM organization_invitations WHERE instance_id = $1 AND organization_id = $2 LIMIT $3)";
    Ok(tx.run(&[sql], &[instance.into(), organization.into(), limit.into()]).await?)
}

const PENDING: &str = "SELECT 1 FROM organization_invitations WHERE instance_id = $1 AND organization_id = $2 \
     AND email_folded = $3 AND status = 'pending' AND expire_at > $4";

/// Whether somebody sent an invitation to an address that can still be accepted. Those that a domain caused do not
/// count.
pub async fn has_pending(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    email_address: &str,
    now: Time,
) -> Result<bool> {
    let params = [instance.into(), organization.into(), folded(email_address).into(), now.into()];
    Ok(tx.exists(&[PENDING, " AND domain_id IS NULL"], &params).await?)
}

/// The same, whoever or whatever caused it.
pub async fn has_any_pending(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    email_address: &str,
    now: Time,
) -> Result<bool> {
    let params = [instance.into(), organization.into(), folded(email_address).into(), now.into()];
    Ok(tx.exists(&[PENDING], &params).await?)
}

/// Up to `limit` invitations that a domain caused, until then if a time is given, and that are not answered; to change
/// them. Their organization must be locked.
pub async fn lock_pending_of_domain(
    tx: &mut Tx,
    instance: &InstanceId,
    domain: &OrganizationDomainId,
    until: Option<Time>,
    limit: i64,
) -> Result<Vec<Invitation>> {
    let pending = List::new(ORGANIZATION_INVITATIONS.select())
        .filter("instance_id = ?", vec![instance.into()])
        .filter("domain_id = ? AND status = 'pending'", vec![domain.into()])
        .maybe("created_at <= ?", until);
    Ok(pending.order("created_at, id").page(Paging { limit, offset: 0 }).lock(tx, read).await?)
}

/// Lists invitations with a link that no member sent and that can still be accepted, in the order of their ids.
pub async fn list_pending_of_backends(tx: &mut Tx, query: &TicketQuery) -> Result<Vec<Invitation>> {
    const PENDING: &str =
        " AND status = 'pending' AND expire_at > $2 AND id > $3 AND domain_id IS NULL AND sender_id IS NULL";
    list_tickets(tx, &ORGANIZATION_INVITATIONS, (PENDING, query), read).await
}

/// Returns up to `limit` pending invitations to an organization that a member sent until then, to change them. The
/// organization must be locked.
pub async fn lock_pending_of_sender(
    tx: &mut Tx,
    instance: &InstanceId,
    (organization, sender): (&OrganizationId, &UserId),
    (until, now): (Time, Time),
    limit: i64,
) -> Result<Vec<Invitation>> {
    let pending = List::new(ORGANIZATION_INVITATIONS.select())
        .filter("instance_id = ?", vec![instance.into()])
        .filter("sender_id = ? AND organization_id = ?", vec![sender.into(), organization.into()])
        .filter("status = 'pending' AND created_at <= ? AND expire_at > ?", vec![until.into(), now.into()]);
    Ok(pending.order("created_at, id").page(Paging { limit, offset: 0 }).lock(tx, read).await?)
}

/// Deletes what is left of earlier invitations to an organization that domains caused and that were taken back, before a
/// new one is made: a domain that is changed again and again keeps no more than one for each address.
pub async fn forget_withdrawn(
    tx: &mut Tx,
    instance: &InstanceId,
    organization: &OrganizationId,
    email_address: &str,
) -> Result<()> {
    let sql = "DELETE FROM organization_invitations WHERE instance_id = $1 AND email_folded = $2 \
               AND organization_id = $3 AND domain_id IS NOT NULL AND status = 'revoked'";
    tx.run(&[sql], &[instance.into(), folded(email_address).into(), organization.into()]).await?;
    Ok(())
}

fn row(invitation: &Invitation) -> Result<Vec<Value>> {
    Ok(vec![
        (&invitation.instance).into(),
        (&invitation.id).into(),
        (&invitation.role).into(),
        invitation.status.name().into(),
        document::write(&invitation.details)?.into(),
        (&invitation.organization).into(),
        folded(&invitation.details.email_address).into(),
        invitation.domain.as_ref().map(|id| id.as_str()).into(),
        invitation.inviter.as_ref().map(|id| id.as_str()).into(),
        invitation.created_at.into(),
        invitation.expire_at.into(),
        invitation.sender().map(|id| id.as_str()).into(),
        invitation.key.as_ref().into(),
    ])
}

fn read(row: &Row<'_>) -> Result<Invitation, DbError> {
    let unknown = || DbError::Failed("an invitation has an unknown status".into());
    Ok(Invitation {
        instance: row.id(0)?,
        id: row.id(1)?,
        role: row.id(2)?,
        status: InvitationStatus::parse(row.str(3)?).ok_or_else(unknown)?,
        details: document::read("invitation", row.str(4)?)?,
        organization: row.id(5)?,
        domain: row.maybe_id(7)?,
        inviter: row.maybe_id(8)?,
        created_at: row.time(9)?,
        expire_at: row.time(10)?,
        is_from_member: row.maybe_str(11)?.is_some(),
        key: row.maybe_id(12)?,
    })
}

/// Reads an invitation with its parts.
pub fn read_parts(row: &Row<'_>) -> Result<InvitationParts, DbError> {
    let invitation = read(row)?;
    let organization = organizations::read_document(&invitation.instance, row.str(13)?, row.int(14)?)?;
    let inviter = row.maybe_str(15)?.map(|text| users::read_document(&invitation.instance, text));
    Ok(InvitationParts { inviter: inviter.transpose()?, organization, invitation })
}
