//! What happens when something is proven: the next step, or a session.

use latchkey_base::Result;
use latchkey_db::Tx;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::restrictions::check::check_sign_in;
use latchkey_people::users::credentials::{CredentialsChange, StoredPassword};
use latchkey_people::users::model::User;
use latchkey_presence::clients::model::Client;
use latchkey_presence::sessions::ending;
use latchkey_presence::sessions::model::{Session, SessionStatus};
use latchkey_presence::sessions::rules::Entry;
use latchkey_presence::sessions::store as sessions;
use latchkey_presence::sign_ins::model::{AwaitingProof, ChosenPassword, SignInStep};

use super::attempt::{SignInAttempt, SignInContext};
use super::{password, rules, ticket};
use crate::enter::{self, NewSession};
use crate::factors::proof::verified;
use crate::factors::rules::check_open;
use crate::strategies;

/// Goes on after the first factor was proven, with a new password if one was chosen.
pub async fn after_first(
    tx: &mut Tx,
    context: &SignInContext,
    mut attempt: SignInAttempt,
    user: User,
    strategy: Strategy,
    new_password: Option<ChosenPassword>,
) -> Result<SignInAttempt> {
    let is_password_new = new_password.is_some();
    attempt.sign_in.new_password = new_password;
    attempt.sign_in.password_set_at = user.password.as_ref().map(|password| password.updated_at);
    let step = rules::after_first(&attempt.sign_in, &user, strategy, is_password_new, context.settings());
    attempt.sign_in.step = step;
    match step {
        // Boxed, as below: what the steps of a sign-in hold would add up on the stack.
        SignInStep::Complete => Box::pin(complete(tx, context, attempt, user)).await,
        _ => {
            attempt.user = Some(user);
            Ok(attempt)
        }
    }
}

/// Notes that the user has the addresses and numbers whose codes or links were part of the proof.
async fn with_proven_contacts(
    tx: &mut Tx,
    context: &SignInContext,
    attempt: &SignInAttempt,
    mut user: User,
) -> Result<User> {
    let factors = [&attempt.sign_in.first_factor, &attempt.sign_in.second_factor];
    for challenge in factors.into_iter().flatten().filter(|challenge| challenge.verified_at.is_some()) {
        user = verified(tx, &context.act, user, challenge).await?;
    }
    Ok(user)
}

/// Redeems what waited until everything was proven: whoever has one factor only must not add another way in.
async fn redeem_awaiting(
    tx: &mut Tx,
    context: &SignInContext,
    attempt: &mut SignInAttempt,
    user: User,
) -> Result<User> {
    let Some(AwaitingProof { strategy, proof }) = attempt.sign_in.awaiting.take() else { return Ok(user) };
    match strategies::find(&context.act.registry, strategy.name(), context.settings()) {
        Some((_, factor)) => factor.redeem(tx, &context.act, user, &proof).await,
        // No group answers to it any more.
        None => Ok(user),
    }
}

/// Sets the password that was chosen, if one was.
async fn set_password(
    tx: &mut Tx,
    context: &SignInContext,
    attempt: &mut SignInAttempt,
    user: User,
) -> Result<User> {
    let Some(ChosenPassword { digest, hasher, ends_sessions }) = attempt.sign_in.new_password.take() else {
        return Ok(user);
    };
    if ends_sessions {
        let clients = &mut attempt.clients;
        ending::end_all_of_user(tx, &context.act, clients, &user.id, None, SessionStatus::Revoked).await?;
        if let Some(client) = attempt.clients.take(&attempt.client.id) {
            attempt.client = client;
        }
    }
    let change = CredentialsChange::to_password(StoredPassword { digest, hasher });
    password::set(tx, &context.act, user, change).await
}

/// Opens the session of an attempt in which all that is asked for was proven.
pub async fn complete(
    tx: &mut Tx,
    context: &SignInContext,
    mut attempt: SignInAttempt,
    user: User,
) -> Result<SignInAttempt> {
    check_open(&user, context.act.now)?;
    let user = with_proven_contacts(tx, context, &attempt, user).await?;
    let user = redeem_awaiting(tx, context, &mut attempt, user).await?;
    let user = set_password(tx, context, &mut attempt, user).await?;
    let user = ticket::follow(tx, &context.act, &mut attempt, user).await?;
    if !is_by_ticket(&attempt) {
        check_sign_in(tx, &context.act, &user).await?;
    }
    let present = present(tx, context, &attempt.client).await?;
    rules::check_free(&present, Some(&user.id), context.settings())?;
    let proves_both = attempt.sign_in.first_factor.as_ref().is_some_and(|first| first.proves_both);
    let second_factor = proves_both || attempt.sign_in.second_factor.is_some();
    let organization = attempt.sign_in.organization.clone();
    let entry = Entry { first_factor: true, second_factor, organization, ..Entry::default() };
    Box::pin(open(tx, context, attempt, user, entry)).await
}

/// Whether a ticket proved who it is. What the lists say of its user was asked when it was used, unless the application
/// itself lets them in by a sign-in token.
fn is_by_ticket(attempt: &SignInAttempt) -> bool {
    attempt.sign_in.first_factor.as_ref().is_some_and(|proof| proof.strategy == Strategy::Ticket)
}

/// Opens a session.
pub async fn open(
    tx: &mut Tx,
    context: &SignInContext,
    mut attempt: SignInAttempt,
    user: User,
    entry: Entry,
) -> Result<SignInAttempt> {
    let (act, client) = (&context.act, attempt.client);
    let strategy = attempt.sign_in.first_factor.as_ref().map(|challenge| challenge.strategy.name());
    let (opened, secret) = match attempt.is_elsewhere {
        true => (enter::open_on_other_client(tx, act, client, user, entry, strategy).await?, None),
        false => {
            let (opened, secret) =
                enter::open(tx, act, &context.client, client, user, entry, strategy).await?;
            (opened, Some(secret))
        }
    };
    let NewSession { client, session, user } = opened;
    attempt.sign_in.step = SignInStep::Complete;
    attempt.sign_in.created_session = Some(session.id);
    Ok(SignInAttempt { client, secret, user: Some(user), ..attempt })
}

/// Who is signed in on a client.
pub async fn present(tx: &mut Tx, context: &SignInContext, client: &Client) -> Result<Vec<Session>> {
    let act = &context.act;
    let live = sessions::live_of_client(tx, &act.instance, &client.id, &act.settings, act.now).await?;
    Ok(live.into_iter().map(|present| present.session).collect())
}
