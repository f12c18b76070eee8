//! Tickets: they say who it is and prove it.

use latchkey_base::kinds::SignInId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;

use super::attempt::{self, Attempt, Stage};
use super::{finish, rules};
use crate::flows::factors::rules::check_open;
use crate::resources::challenges::model::Challenge;
use crate::resources::sessions::model::Session;
use crate::resources::sessions::rules::Entry;
use crate::resources::sign_ins::model::{Claim, Named};
use crate::resources::sign_ins::{rules as attempts, store};
use crate::resources::tickets;
use crate::resources::users::model::{Strategy, User};
use crate::resources::users::store as users;

/// Tries a ticket as the first factor of an attempt that is under way.
pub async fn attempt_first(tx: &mut Tx, stage: Stage, id: SignInId, ticket: Secret) -> Result<Attempt> {
    let mut attempt = attempt::lock_alone(tx, &stage, &id).await?;
    // Not locked: the user is whoever the ticket is for, and they are locked with it.
    if let Some(claimed) = attempt.sign_in.user()
        && let Some(user) = users::find(tx, &stage.act.instance, claimed).await?
    {
        attempt.sign_in = attempts::due(attempt.sign_in, &user, stage.settings());
    }
    rules::expects_ticket(&attempt.sign_in, stage.act.now)?;
    let present = finish::present(tx, &stage, &attempt.client).await?;
    let attempt = redeem(tx, &stage, attempt, &ticket, &present).await?;
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}

/// Uses a ticket up in an attempt that is locked, or new. Whoever acts as somebody else needs no more.
pub async fn redeem(
    tx: &mut Tx,
    stage: &Stage,
    mut attempt: Attempt,
    ticket: &Secret,
    present: &[Session],
) -> Result<Attempt> {
    let act = &stage.act;
    let redeemed = tickets::redeem(tx, act, ticket.expose()).await?;
    let user = redeemed.user;
    match redeemed.actor.is_some() {
        // A lock keeps out those who guess, not those who help.
        true if !user.banned => (),
        _ => check_open(&user, act.now)?,
    }
    attempt.sign_in.claim = Some(claim(&attempt, &user)?);
    attempt.sign_in.first_factor = Some(Challenge::met(Strategy::Ticket, act.now));
    match redeemed.actor {
        Some(actor) => {
            let lifetime_seconds = redeemed.lifetime_seconds;
            let entry = Entry { actor: Some(actor), lifetime_seconds, ..Entry::default() };
            finish::open(tx, stage, attempt, user, entry).await
        }
        None => {
            rules::check_free(present, Some(&user.id), stage.settings())?;
            finish::after_first(tx, stage, attempt, user, Strategy::Ticket, None).await
        }
    }
}

/// Who it is. Somebody who has said so already must be the one the ticket is for.
fn claim(attempt: &Attempt, user: &User) -> Result<Claim> {
    match &attempt.sign_in.claim {
        Some(claim) if claim.user.as_ref() == Some(&user.id) => Ok(claim.clone()),
        Some(_) => Err(tickets::rules::invalid()),
        None => {
            let identifier = user.identifier().ok_or_else(|| Error::new(Code::SignInNoIdentification))?;
            Ok(Claim {
                identifier: identifier.to_owned(),
                named_by: Named::Ticket,
                user: Some(user.id.clone()),
                identification: None,
                may_sign_up: false,
                is_known: attempt.client.known_users.contains(&user.id),
            })
        }
    }
}
