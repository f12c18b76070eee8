//! Ends link tokens with the secret key that made them.

use latchkey_base::Result;
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::key_tickets::{KeyTickets, PendingTicket, TicketPage, TicketQuery};

use super::model::{PortalLinkToken, PortalLinkTokenId};
use super::{rules, store};

/// The link tokens of an instance that are neither revoked nor expired.
pub const TICKETS: KeyTickets = KeyTickets {
    name: "admin portal link token",
    batch: 100,
    list: |tx, query| Box::pin(list_pending(tx, query)),
    end: |tx, act, id| Box::pin(end(tx, act, id)),
};

async fn list_pending(tx: &mut Tx, query: TicketQuery) -> Result<TicketPage> {
    let tokens = store::list_unexpired(tx, &query).await?;
    Ok(TicketPage::new(tokens.into_iter().map(as_ticket).collect(), query.limit))
}

/// A token as a ticket, and whether it is pending.
fn as_ticket(token: PortalLinkToken) -> (PendingTicket, bool) {
    let PortalLinkToken { id, organization, key, details, created_at, expire_at, .. } = token;
    let subject = organization.map(|organization| organization.to_string());
    let ticket = PendingTicket { id: id.to_string(), subject, key, created_at, expire_at };
    (ticket, details.revocation.is_none())
}

async fn end(tx: &mut Tx, act: &Act, id: String) -> Result<()> {
    let Some(id) = PortalLinkTokenId::parse(&id) else { return Ok(()) };
    let Some(token) = store::lock(tx, &act.instance, &id).await? else { return Ok(()) };
    let reason = "The secret key that made it was revoked.".to_owned();
    store::save(tx, &rules::revoke(token, Some(reason), act.now)?).await
}
