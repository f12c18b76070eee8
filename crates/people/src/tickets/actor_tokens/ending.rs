//! Ends actor tokens with the secret key that made them.

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Id, Result, Time};
use latchkey_db::Tx;
use latchkey_kernel::key_tickets::KeyTickets;

use super::{CODES, store};
use crate::tickets::model::TicketStatus;
use crate::tickets::rules;

/// The pending actor tokens of an instance.
pub const TICKETS: KeyTickets = KeyTickets {
    name: "actor token",
    list: |tx, query| Box::pin(store::list_pending(tx, query)),
    end: |tx, instance, id, now| Box::pin(end(tx, instance, id, now)),
};

async fn end(tx: &mut Tx, instance: InstanceId, id: String, now: Time) -> Result<()> {
    let Some(id) = Id::parse(&id) else { return Ok(()) };
    let found = store::lock(tx, &instance, &id).await?;
    let Some(mut token) = found.filter(|token| token.grant.status == TicketStatus::Pending) else {
        return Ok(());
    };
    token.grant = rules::revoke(token.grant, &CODES, now)?;
    store::save(tx, &token).await
}
