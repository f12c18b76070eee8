//! Ends sign-in tokens with the secret key that made them.

use latchkey_base::{Id, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::key_tickets::KeyTickets;

use super::{CODES, store};
use crate::tickets::model::TicketStatus;
use crate::tickets::rules;

/// The pending sign-in tokens of an instance.
pub const TICKETS: KeyTickets = KeyTickets {
    name: "sign-in token",
    batch: 100,
    list: |tx, query| Box::pin(store::list_pending(tx, query)),
    end: |tx, act, id| Box::pin(end(tx, act, id)),
};

async fn end(tx: &mut Tx, act: &Act, id: String) -> Result<()> {
    let Some(id) = Id::parse(&id) else { return Ok(()) };
    let found = store::lock(tx, &act.instance, &id).await?;
    let Some(mut token) = found.filter(|token| token.grant.status == TicketStatus::Pending) else {
        return Ok(());
    };
    token.grant = rules::revoke(token.grant, &CODES, act.now)?;
    store::save(tx, &token).await
}
