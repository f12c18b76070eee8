//! The tickets of invitations to organizations: followed when somebody has signed in, or by a link where they are signed in
//! already.
//! Signing up by one is `flows/sign_up/tickets.rs`.

use latchkey_base::kinds::OrganizationInvitationId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_organizations::invitations::change::{accept, find_by_ticket};
use latchkey_organizations::invitations::model::{Invitation, InvitationParts};
use latchkey_organizations::invitations::{rules, store};
use latchkey_organizations::orgs::rules::check_enabled;
use latchkey_people::users::model::User;

use crate::invited::{self, FollowedLink, NextStep};

/// Whoever has proven the invited address, locked, with the invitation, which is not used up yet. `None` if the ticket is not
/// of an invitation. The client must be locked before.
pub async fn shown(tx: &mut Tx, act: &Act, ticket: &str) -> Result<Option<(User, Invitation)>> {
    let Some(InvitationParts { invitation, .. }) = find_by_ticket(tx, act, ticket).await? else {
        return Ok(None);
    };
    check_enabled(&act.settings)?;
    rules::check_open(&invitation, act.now)?;
    let address = &invitation.details.email_address;
    let missing = Code::OrganizationInvitationIdentificationNotExist;
    let is_invited = |user: &User| rules::is_for(&invitation, user);
    let user = invited::lock_holder(tx, act, address, missing, is_invited).await?;
    Ok(Some((user, invitation)))
}

/// Makes somebody a member who has signed in by an invitation, and is locked.
pub async fn follow(tx: &mut Tx, act: &Act, user: &User, id: &OrganizationInvitationId) -> Result<()> {
    check_enabled(&act.settings)?;
    let found = store::find(tx, &act.instance, id).await?;
    let gone = || Error::new(Code::OrganizationInvitationToDeletedOrganization);
    let invitation = found.ok_or_else(gone)?;
    match rules::is_for(&invitation, user) {
        true => accept(tx, act, user, id).await.map(|_| ()),
        // They have lost the invited address since.
        false => Err(Error::new(Code::OrganizationInvitationIdentificationNotExist)),
    }
}

/// Opens the link of an invitation. Where whoever has the address is signed in, they join. `None` if the ticket is not of
/// an invitation.
pub async fn open_link(cx: &Cx, visitor: &Visitor, ticket: &str) -> Result<Option<FollowedLink>> {
    let act = visitor.act(cx);
    let mut tx = cx.app.db.read().await?;
    let Some(InvitationParts { invitation, .. }) = find_by_ticket(&mut tx, &act, ticket).await? else {
        return Ok(None);
    };
    check_enabled(&act.settings)?;
    let redirect_url = invitation.details.redirect_url.clone();
    let followed = |next| Ok(Some(FollowedLink { redirect_url, next }));
    let is_invited = |user: &User| rules::is_for(&invitation, user);
    let present = invited::present(&mut tx, &act, visitor, is_invited).await?;
    // Whoever opens the link a second time is where they want to be.
    let is_done = |user: &User| invitation.details.accepted_by.as_ref() == Some(&user.id);
    if present.as_ref().is_some_and(is_done) {
        return followed(NextStep::Nothing);
    }
    rules::check_open(&invitation, act.now)?;
    let Some(user) = present else {
        return followed(NextStep::with_account(&mut tx, &act, &invitation.details.email_address).await?);
    };
    drop(tx);
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let user = invited::lock(tx, &act, &user, |user| rules::is_for(&invitation, user)).await?;
            accept(tx, &act, &user, &invitation.id).await
        })
    });
    written.await?;
    followed(NextStep::Nothing)
}
