//! Ends invitations to organizations with the secret key that made them: their links sign users in and up.

use latchkey_base::kinds::OrganizationInvitationId;
use latchkey_base::{Code, Error, Id, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::instances::store as instances;
use latchkey_kernel::key_tickets::{KeyTickets, PendingTicket, TicketPage, TicketQuery};

use super::change::{self, InvitationPlace};
use super::model::Invitation;
use super::store;
use crate::access::store as access;
use crate::orgs::store as organizations;

/// The pending invitations of an instance to organizations that have a link and that no member sent. Ending one locks its
/// organization, so each has a transaction of its own.
pub const TICKETS: KeyTickets = KeyTickets {
    name: "organization invitation",
    batch: 1,
    list: |tx, query| Box::pin(list_pending(tx, query)),
    end: |tx, act, id| Box::pin(end(tx, act, id)),
};

async fn list_pending(tx: &mut Tx, query: TicketQuery) -> Result<TicketPage> {
    let pending = store::list_pending_of_backends(tx, &query).await?;
    let rows = pending.into_iter().map(|invitation| (as_ticket(invitation), true));
    Ok(TicketPage::new(rows.collect(), query.limit))
}

fn as_ticket(invitation: Invitation) -> PendingTicket {
    let Invitation { id, details, key, created_at, expire_at, .. } = invitation;
    PendingTicket { id: id.to_string(), subject: Some(details.email_address), key, created_at, expire_at }
}

async fn end(tx: &mut Tx, act: &Act, id: String) -> Result<()> {
    let Some(id) = Id::parse(&id) else { return Ok(()) };
    let id: OrganizationInvitationId = id;
    let Some(found) = store::find(tx, &act.instance, &id).await? else { return Ok(()) };
    let access = access::share(tx, &act.instance, act.now).await?;
    let organization = organizations::lock(tx, &act.instance, &found.organization).await?;
    // The invitations to a deleted organization are deleted with it.
    let Some(organization) = organization else { return Ok(()) };
    let pending = store::find(tx, &act.instance, &id).await?;
    if pending.is_some_and(|invitation| invitation.is_open(act.now)) {
        let place = InvitationPlace { access: &access, organization: &organization, frontend_url: &act.url };
        change::revoke(tx, act, place, &id).await?;
    }
    Ok(())
}

/// Rejects an invitation whose secret key was revoked. Such an invitation may be pending still: a request that was in progress
/// made it after the pending invitations of the key had ended.
pub(super) async fn check_key(tx: &mut Tx, invitation: &Invitation) -> Result<()> {
    match &invitation.key {
        Some(key) if !instances::has_good_tickets(tx, &invitation.instance, key).await? => {
            Err(Error::new(Code::OrganizationInvitationRevoked))
        }
        _ => Ok(()),
    }
}
