//! Ends invitations to the application with the secret key that made them: their links sign users in and up.

use latchkey_base::{Id, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::instances::store as instances;
use latchkey_kernel::key_tickets::{KeyTickets, PendingTicket, TicketPage, TicketQuery};

use super::model::ApplicationInvitation;
use super::{change, store};
use crate::tickets::model::TicketStatus;

/// The pending invitations of an instance to the application.
pub const TICKETS: KeyTickets = KeyTickets {
    name: "invitation",
    batch: 100,
    list: |tx, query| Box::pin(list_pending(tx, query)),
    end: |tx, act, id| Box::pin(end(tx, act, id)),
};

async fn list_pending(tx: &mut Tx, query: TicketQuery) -> Result<TicketPage> {
    let pending = store::list_pending(tx, &query).await?;
    let rows = pending.into_iter().map(|invitation| (as_ticket(invitation), true));
    Ok(TicketPage::new(rows.collect(), query.limit))
}

fn as_ticket(invitation: ApplicationInvitation) -> PendingTicket {
    let ApplicationInvitation { id, details, key, created_at, expire_at, .. } = invitation;
    PendingTicket { id: id.to_string(), subject: Some(details.email_address), key, created_at, expire_at }
}

async fn end(tx: &mut Tx, act: &Act, id: String) -> Result<()> {
    match Id::parse(&id) {
        Some(id) => change::revoke_pending(tx, act, &id).await,
        None => Ok(()),
    }
}

/// Returns an invitation as revoked if its secret key was revoked. Such an invitation may be pending still: a request that was
/// in progress made it after the pending invitations of the key had ended.
pub(super) async fn checked_by_key(
    tx: &mut Tx,
    mut invitation: ApplicationInvitation,
) -> Result<ApplicationInvitation> {
    let ApplicationInvitation { instance, key, status, .. } = &invitation;
    if let (Some(key), TicketStatus::Pending) = (key, status)
        && !instances::has_good_tickets(tx, instance, key).await?
    {
        invitation.status = TicketStatus::Revoked;
    }
    Ok(invitation)
}
