//! Telling what became of an entry, and noting that somebody followed an invitation. Apart from the rest, because following
//! invitations uses it and inviting from the waitlist uses invitations.

use latchkey_base::Result;
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::events::Event;
use latchkey_kernel::outbox;

use super::model::WaitlistEntry;
use super::{rules, store, view};
use crate::invitations::model::ApplicationInvitation;
use crate::invitations::view::ApplicationInvitationContext;

/// Notes that somebody followed an invitation, if they got one from the waitlist. The entry is locked.
pub async fn complete(
    tx: &mut Tx,
    act: &Act,
    entry: WaitlistEntry,
    invitation: &ApplicationInvitation,
) -> Result<()> {
    match rules::complete(entry, &invitation.id, act.now) {
        Some(entry) => save(tx, act, &entry, Some(invitation), &act.url).await,
        None => Ok(()),
    }
}

/// Saves what became of an entry, and tells it. The ticket of an invitation that can be followed is told with it, so the
/// event is sealed.
pub async fn save(
    tx: &mut Tx,
    act: &Act,
    entry: &WaitlistEntry,
    invitation: Option<&ApplicationInvitation>,
    frontend_url: &str,
) -> Result<()> {
    store::save(tx, entry).await?;
    let context = ApplicationInvitationContext { now: act.now, master: &act.master, frontend_url };
    let told = view::entry(entry, invitation, context);
    outbox::emit_sealed(tx, act, Event::WaitlistEntryUpdated, entry.id.as_str(), &told)
}
