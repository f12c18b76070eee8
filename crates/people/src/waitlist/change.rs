//! Putting addresses on the waitlist, rejecting and deleting them, each inside the caller's transaction.

use latchkey_base::kinds::WaitlistEntryId;
use latchkey_base::{Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::events::Event;
use latchkey_kernel::outbox;
use latchkey_letters::model::Channel;
use latchkey_messaging::messages::model::{Message, Recipient};
use latchkey_messaging::messages::rules as messages;
use serde_json::Map;

use super::model::WaitlistEntry;
use super::{completion, rules, store, view};
use crate::invitations::view::ApplicationInvitationContext;

/// Puts an address, in its stored form, on the waitlist. One that is there stays as it is. Says whether it is new.
pub async fn put(tx: &mut Tx, act: &Act, email_address: String) -> Result<(WaitlistEntry, bool)> {
    let entry = rules::new(act, email_address);
    // Somebody may add the entry after we looked for it, and delete it before we look again.
    loop {
        let address = &entry.details.email_address;
        if let Some(known) = store::find_by_address(tx, &act.instance, address).await? {
            return Ok((known, false));
        }
        if store::insert_new(tx, &entry).await? {
            break;
        }
    }
    let context = ApplicationInvitationContext { now: act.now, master: &act.master, frontend_url: "" };
    let told = view::entry(&entry, None, context);
    outbox::emit(tx, act, Event::WaitlistEntryCreated, entry.id.as_str(), &told)?;
    Ok((entry, true))
}

/// The message that tells somebody that they are on the waitlist.
pub fn confirmation(entry: &WaitlistEntry) -> Message<'_> {
    let to = Recipient {
        account: None,
        channel: Channel::Email,
        to: &entry.details.email_address,
        identification: None,
        locale: None,
    };
    messages::notice(to, "waitlist_confirmation", Map::new())
}

/// Notes that somebody is not let in.
pub async fn reject(tx: &mut Tx, act: &Act, id: &WaitlistEntryId) -> Result<WaitlistEntry> {
    let entry = rules::reject(lock(tx, act, id).await?, act.now)?;
    completion::save(tx, act, &entry, None, "").await?;
    Ok(entry)
}

/// Forgets somebody about whom nobody has decided.
pub async fn delete(tx: &mut Tx, act: &Act, id: &WaitlistEntryId) -> Result<()> {
    let entry = lock(tx, act, id).await?;
    rules::check_pending(&entry)?;
    store::delete(tx, &entry).await
}

/// An entry, to change it.
pub async fn lock(tx: &mut Tx, act: &Act, id: &WaitlistEntryId) -> Result<WaitlistEntry> {
    store::lock(tx, &act.instance, id).await?.ok_or_else(|| unknown(id))
}

/// The refusal of an id that no entry has.
pub fn unknown(id: &WaitlistEntryId) -> Error {
    Error::not_found("waitlist entry", id)
}
