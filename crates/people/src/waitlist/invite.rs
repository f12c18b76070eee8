//! Inviting people from the waitlist.

use latchkey_base::kinds::WaitlistEntryId;
use latchkey_base::{Error, Result};
use latchkey_db::{Tx, unique_violation};
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};

use super::model::WaitlistEntry;
use super::{change, completion, rules, store};
use crate::invitations::change::{self as invitations, DraftApplicationInvitation, frontend_url};
use crate::invitations::input::{CreateApplicationInvitation, InvitationTemplate};
use crate::invitations::model::ApplicationInvitation;
use crate::invitations::rules::plain;

/// An entry, and the invitation it shows.
pub type ShownEntry = (WaitlistEntry, Option<ApplicationInvitation>);

/// Invites somebody who waits, by e-mail. Of many who do at once one succeeds.
pub async fn invite(
    cx: &Cx,
    key: &SecretKey,
    id: WaitlistEntryId,
    is_existing_ignored: bool,
) -> Result<ShownEntry> {
    let act = cx.act(key);
    let known = store::find(&mut cx.app.db.read().await?, &act.instance, &id).await?;
    let known = known.ok_or_else(|| change::unknown(&id))?;
    rules::check_invitable(&known, is_existing_ignored)?;
    let input = CreateApplicationInvitation {
        ignore_existing: Some(is_existing_ignored),
        template_slug: Some(InvitationTemplate::WaitlistInvitation),
        ..plain(known.details.email_address)
    };
    let draft = invitations::draft(cx, key, &act, input).await?;
    let url = frontend_url(cx, key).await?;
    let written = cx.write(move |tx| {
        Box::pin(async move { invite_in(tx, &act, &id, is_existing_ignored, (draft, &url)).await })
    });
    written.await.map_err(|error: Error| match unique_violation(&error) {
        Some(column) if column.starts_with("invitations.") => invitations::duplicate(&[]),
        _ => error,
    })
}

async fn invite_in(
    tx: &mut Tx,
    act: &Act,
    id: &WaitlistEntryId,
    is_existing_ignored: bool,
    (draft, frontend_url): (DraftApplicationInvitation, &str),
) -> Result<ShownEntry> {
    let entry = change::lock(tx, act, id).await?;
    rules::check_invitable(&entry, is_existing_ignored)?;
    let invitation = invitations::invite(tx, act, draft).await?;
    let entry = rules::invite(entry, &invitation.id, act.now);
    completion::save(tx, act, &entry, Some(&invitation), frontend_url).await?;
    Ok((entry, Some(invitation)))
}
