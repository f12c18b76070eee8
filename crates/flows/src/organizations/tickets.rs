//! The tickets of invitations to organizations: followed by signing in, or by a link where somebody is signed in already.
//! Signing up by one is `flows/sign_up/tickets.rs`.

use latchkey_base::kinds::OrganizationId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_organizations::invitations::change::{accept, find_by_ticket};
use latchkey_organizations::invitations::model::{Invitation, InvitationParts};
use latchkey_organizations::invitations::rules;
use latchkey_organizations::orgs::rules::check_enabled;
use latchkey_people::users::model::{ContactKind, User};
use latchkey_people::users::store as users;
use latchkey_presence::sessions::store as sessions;

/// Makes whoever has proven the invited address a member, and returns them, locked, with the organization. `None` if the
/// ticket is not of an invitation. The client must be locked before.
///
/// An account that only reserves the address is not entered: whoever made it may be a stranger, who would join with the
/// one who is invited, and know the password of their account.
pub async fn follow(tx: &mut Tx, act: &Act, ticket: &str) -> Result<Option<(User, OrganizationId)>> {
    let Some(InvitationParts { invitation, .. }) = find_by_ticket(tx, act, ticket).await? else {
        return Ok(None);
    };
    check_enabled(&act.settings)?;
    rules::check_open(&invitation, act.now)?;
    let address = &invitation.details.email_address;
    let holder = users::lock_by_identifier(tx, &act.instance, ContactKind::Email.name(), address).await?;
    let user = holder.ok_or_else(|| Error::new(Code::OrganizationInvitationIdentificationNotExist))?;
    if !rules::is_for(&invitation, &user) {
        return Err(unproven());
    }
    accept(tx, act, &user, &invitation.id).await?;
    Ok(Some((user, invitation.organization)))
}

/// The refusal to enter an account that only reserves the invited address.
pub fn unproven() -> Error {
    Error::param(Code::FormVerificationNeeded, "ticket").saying(
        "There is an account with the invited address that has not proven it. Sign in to it, verify the address, and accept the invitation there.",
    )
}

/// What the link of an invitation leads to.
pub struct FollowedLink {
    /// Where the invitation says that the link leads.
    pub redirect_url: Option<String>,
    pub next: NextStep,
}

/// What is left to do for whoever opened the link of an invitation.
pub enum NextStep {
    /// There is an account with the address.
    SignIn,
    /// There is none.
    SignUp,
    /// There is none, and the ticket is of no use any more.
    SignUpWithoutTicket,
    /// They are signed in, and have what they were invited to.
    Nothing,
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
    let present = present(&mut tx, &act, visitor, &invitation).await?;
    // Whoever opens the link a second time is where they want to be.
    let is_done = |user: &User| invitation.details.accepted_by.as_ref() == Some(&user.id);
    if present.as_ref().is_some_and(is_done) {
        return followed(NextStep::Nothing);
    }
    rules::check_open(&invitation, act.now)?;
    let address = &invitation.details.email_address;
    let is_held = users::is_held(&mut tx, &act.instance, ContactKind::Email.name(), address).await?;
    drop(tx);
    match present {
        Some(user) => {
            let written = cx.write(move |tx| {
                Box::pin(async move {
                    let user = users::lock(tx, &act.instance, &user.id).await?;
                    let user = user.filter(|user| rules::is_for(&invitation, user));
                    let user = user.ok_or_else(|| Error::new(Code::SignedOut))?;
                    accept(tx, &act, &user, &invitation.id).await
                })
            });
            written.await?;
            followed(NextStep::Nothing)
        }
        None if is_held => followed(NextStep::SignIn),
        None => followed(NextStep::SignUp),
    }
}

/// Who is signed in on the client of a visitor and has proven the invited address. Whoever acts as them is not them.
async fn present(tx: &mut Tx, act: &Act, visitor: &Visitor, invitation: &Invitation) -> Result<Option<User>> {
    let Some(client) = visitor.client_id() else { return Ok(None) };
    let live = sessions::live_of_client(tx, &act.instance, &client, &act.settings, act.now).await?;
    let mut themselves = live.into_iter().filter(|present| present.session.actor.is_none());
    Ok(themselves.find(|present| rules::is_for(invitation, &present.user)).map(|present| present.user))
}
