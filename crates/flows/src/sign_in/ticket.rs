//! Tickets: they say who it is and prove it. Those of invitations are followed once all that is asked for is proven: whoever
//! has one factor only must not join, nor use the ticket up.

use latchkey_base::kinds::SignInId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::restrictions::check::{check_invited, check_sign_in};
use latchkey_people::tickets;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;
use latchkey_presence::sessions::model::Session;
use latchkey_presence::sessions::rules::Entry;
use latchkey_presence::sign_ins::model::{ClaimedIdentity, Named, ShownInvitation};
use latchkey_presence::sign_ins::{rules as attempts, store};

use super::attempt::{self, SignInAttempt, SignInContext};
use super::{finish, rules};
use crate::factors::rules::check_open;
use crate::invitations as application_invitations;
use crate::organizations::tickets as invitations;

/// Tries a ticket as the first factor of an attempt that is under way.
pub async fn attempt_first(
    tx: &mut Tx,
    context: SignInContext,
    id: SignInId,
    ticket: Secret,
) -> Result<SignInAttempt> {
    let mut attempt = attempt::lock_alone(tx, &context, &id).await?;
    // Not locked: the user is whoever the ticket is for, and they are locked with it.
    if let Some(claimed) = attempt.sign_in.user()
        && let Some(user) = users::find(tx, &context.act.instance, claimed).await?
    {
        attempt.sign_in = attempts::due(attempt.sign_in, &user, context.settings());
    }
    rules::expects_identity(&attempt.sign_in, context.act.now)?;
    let present = finish::present(tx, &context, &attempt.client).await?;
    let attempt = redeem(tx, &context, attempt, &ticket, &present).await?;
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}

/// Uses a ticket up in an attempt that is locked, or new. Whoever acts as somebody else needs no more.
pub async fn redeem(
    tx: &mut Tx,
    context: &SignInContext,
    mut attempt: SignInAttempt,
    ticket: &Secret,
    present: &[Session],
) -> Result<SignInAttempt> {
    let act = &context.act;
    if let Some((user, invitation)) = application_invitations::shown(tx, act, ticket.expose()).await? {
        check_invited(tx, act, &user).await?;
        attempt.sign_in.invitation = Some(ShownInvitation::Application(invitation));
        return enter(tx, context, attempt, user, present).await;
    }
    if let Some((user, invitation)) = invitations::shown(tx, act, ticket.expose()).await? {
        // Members invite: that opens the organization, and not the application.
        check_sign_in(tx, act, &user).await?;
        attempt.sign_in.organization = Some(invitation.organization);
        attempt.sign_in.invitation = Some(ShownInvitation::Organization(invitation.id));
        return enter(tx, context, attempt, user, present).await;
    }
    let redeemed = tickets::redeem(tx, act, ticket.expose()).await?;
    let user = redeemed.user;
    attempt.sign_in.invitation = None;
    attempt.sign_in.organization = redeemed.organization;
    match redeemed.actor {
        Some(actor) => {
            // A lock keeps out those who guess, not those who help.
            if user.banned {
                check_open(&user, act.now)?;
            }
            attempt.sign_in.claim = Some(claim(&attempt, &user, Named::Ticket, tickets::rules::invalid)?);
            attempt.sign_in.first_factor = Some(Challenge::proven(Strategy::Ticket, act.now));
            let (lifetime_seconds, organization) =
                (redeemed.lifetime_seconds, attempt.sign_in.organization.clone());
            let entry = Entry { actor: Some(actor), lifetime_seconds, organization, ..Entry::default() };
            finish::open(tx, context, attempt, user, entry).await
        }
        None => enter(tx, context, attempt, user, present).await,
    }
}

/// Follows the invitation whose ticket was shown, if one was.
pub async fn follow(tx: &mut Tx, act: &Act, attempt: &mut SignInAttempt, user: User) -> Result<User> {
    match attempt.sign_in.invitation.take() {
        Some(ShownInvitation::Application(id)) => application_invitations::follow(tx, act, user, &id).await,
        Some(ShownInvitation::Organization(id)) => {
            invitations::follow(tx, act, &user, &id).await?;
            Ok(user)
        }
        None => Ok(user),
    }
}

/// Goes on for the user of a ticket who signs in as themselves.
async fn enter(
    tx: &mut Tx,
    context: &SignInContext,
    mut attempt: SignInAttempt,
    user: User,
    present: &[Session],
) -> Result<SignInAttempt> {
    let now = context.act.now;
    check_open(&user, now)?;
    attempt.sign_in.claim = Some(claim(&attempt, &user, Named::Ticket, tickets::rules::invalid)?);
    attempt.sign_in.first_factor = Some(Challenge::proven(Strategy::Ticket, now));
    rules::check_free(present, Some(&user.id), context.settings())?;
    finish::after_first(tx, context, attempt, user, Strategy::Ticket, None).await
}

/// Who it is, by a proof that says so itself. Somebody who has said so already must be the same.
pub fn claim(
    attempt: &SignInAttempt,
    user: &User,
    named_by: Named,
    mismatch: fn() -> Error,
) -> Result<ClaimedIdentity> {
    match &attempt.sign_in.claim {
        Some(claim) if claim.user.as_ref() == Some(&user.id) => Ok(claim.clone()),
        Some(_) => Err(mismatch()),
        None => {
            // Whoever has nothing but an account elsewhere is known by the proof alone.
            let known = user.identifier().or((named_by == Named::Proof).then_some(""));
            let identifier = known.ok_or_else(|| Error::new(Code::SignInNoIdentification))?;
            Ok(ClaimedIdentity {
                identifier: identifier.to_owned(),
                named_by,
                user: Some(user.id.clone()),
                identification: None,
                may_sign_up: false,
                is_known: attempt.client.known_users.contains(&user.id),
            })
        }
    }
}
