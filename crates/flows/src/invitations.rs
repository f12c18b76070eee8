//! The tickets of invitations to the application: followed when somebody has signed in, or by a link where they are signed in
//! already.
//! Signing up by one is `flows/sign_up/tickets.rs`.

use latchkey_base::kinds::InvitationId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::document;
use latchkey_people::invitations::change::{accept, find_by_ticket};
use latchkey_people::invitations::model::ApplicationInvitation;
use latchkey_people::invitations::{rules, store};
use latchkey_people::tickets;
use latchkey_people::tickets::model::TicketStatus;
use latchkey_people::users::change::save_user;
use latchkey_people::users::input::Metadata;
use latchkey_people::users::metadata::{Mode, apply};
use latchkey_people::users::model::User;

use crate::invited::{self, FollowedLink, NextStep};

/// Whoever has proven the invited address, locked, with the invitation, which is not used up yet. `None` if the ticket is not
/// of an invitation. The client must be locked before.
pub async fn shown(tx: &mut Tx, act: &Act, ticket: &str) -> Result<Option<(User, InvitationId)>> {
    let Some(invitation) = find_by_ticket(tx, act, ticket).await? else { return Ok(None) };
    rules::check_open(&invitation, act.now)?;
    let address = &invitation.details.email_address;
    let is_invited = |user: &User| rules::is_for(&invitation, user);
    let user = invited::lock_holder(tx, act, address, Code::InvitationAccountNotExists, is_invited).await?;
    Ok(Some((user, invitation.id)))
}

/// Uses up an invitation for somebody who has signed in by it, and is locked.
pub async fn follow(tx: &mut Tx, act: &Act, user: User, id: &InvitationId) -> Result<User> {
    let invitation = store::find(tx, &act.instance, id).await?.ok_or_else(tickets::rules::invalid)?;
    match rules::is_for(&invitation, &user) {
        true => take(tx, act, user, &invitation).await,
        // They have lost the invited address since.
        false => Err(Error::new(Code::InvitationAccountNotExists)),
    }
}

/// Uses up an invitation for somebody who has an account, and is locked. They have its metadata from now on, beside their
/// own.
async fn take(tx: &mut Tx, act: &Act, user: User, invitation: &ApplicationInvitation) -> Result<User> {
    let invitation = accept(tx, act, &user, &invitation.id).await?;
    let given = document::value(&invitation.details.public_metadata).as_object().cloned();
    let metadata = Metadata { public_metadata: given, ..Metadata::default() };
    let after = apply(user.clone(), metadata, Mode::Merge)?;
    save_user(tx, act, &user, after).await
}

/// Opens the link of an invitation. Where whoever has the address is signed in, they follow it at once. `None` if the
/// ticket is not of an invitation.
pub async fn open_link(cx: &Cx, visitor: &Visitor, ticket: &str) -> Result<Option<FollowedLink>> {
    let act = visitor.act(cx);
    let mut tx = cx.app.db.read().await?;
    let Some(invitation) = find_by_ticket(&mut tx, &act, ticket).await? else { return Ok(None) };
    let redirect_url = invitation.details.redirect_url.clone();
    let followed = |next| Ok(Some(FollowedLink { redirect_url, next }));
    let is_invited = |user: &User| rules::is_for(&invitation, user);
    let present = invited::present(&mut tx, &act, visitor, is_invited).await?;
    // Whoever opens the link a second time is where they want to be.
    let is_done = |user: &User| invitation.details.accepted_by.as_ref() == Some(&user.id);
    if present.as_ref().is_some_and(is_done) {
        return followed(NextStep::Nothing);
    }
    // As published: whose invitation has expired signs up like everybody else, and proves the address then.
    if invitation.status == TicketStatus::Pending && !invitation.is_open(act.now) {
        return followed(NextStep::SignUpWithoutTicket);
    }
    rules::check_open(&invitation, act.now)?;
    let Some(user) = present else {
        return followed(NextStep::with_account(&mut tx, &act, &invitation.details.email_address).await?);
    };
    drop(tx);
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let user = invited::lock(tx, &act, &user, |user| rules::is_for(&invitation, user)).await?;
            take(tx, &act, user, &invitation).await
        })
    });
    written.await?;
    followed(NextStep::Nothing)
}
