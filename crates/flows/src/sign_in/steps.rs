//! The steps between saying who one is and having a session: sending what is to be proven, and proving it.

use latchkey_base::kinds::{SignInId, UserId};
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::redirects;
use latchkey_kernel::strategy::Strategy;
use latchkey_messaging::messages::model::Asker;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::factors::model::Factor;
use latchkey_people::factors::rules as factors;
use latchkey_people::users::model::User;
use latchkey_presence::sign_ins::model::SignIn;
use latchkey_presence::sign_ins::{rules as attempts, store};

use super::attempt::{self, SignInAttempt, SignInContext};
use super::{finish, nobody, password, rules};
use crate::factors::evidence::Evidence;
use crate::factors::proof::prove;
use crate::factors::rules::choose;
use crate::factors::sending::{LinkToSend, Sending, send};
use crate::portal::model::Page;

/// A request to send a code or a link, as proof of a factor.
pub struct FactorRequest {
    /// The way of proof.
    pub strategy: Option<Strategy>,
    /// To which of their addresses or numbers, by its id.
    pub recipient: Option<String>,
    /// Where a link leads in the end.
    pub redirect_url: Option<String>,
}

/// Sends the code or link of a first factor.
pub async fn prepare_first(
    tx: &mut Tx,
    context: SignInContext,
    id: SignInId,
    request: FactorRequest,
) -> Result<SignInAttempt> {
    let mut attempt = attempt::lock(tx, &context, &id).await?;
    rules::expects_first_factor(&attempt.sign_in, context.act.now)?;
    let strategy = request.strategy.ok_or_else(|| Error::param(Code::FormParamMissing, "strategy"))?;
    let sent = send_first(tx, &context, &attempt, strategy, request).await?;
    attempt.sign_in.links.note(&sent);
    attempt.sign_in.first_factor = Some(sent);
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}

/// Sends the code or link of a first factor of an attempt that is locked, or new.
pub async fn send_first(
    tx: &mut Tx,
    context: &SignInContext,
    attempt: &SignInAttempt,
    strategy: Strategy,
    request: FactorRequest,
) -> Result<Challenge> {
    let (factor, is_delivered) = first_factor(context, attempt, strategy, request.recipient.as_deref())?;
    let previous = attempt.sign_in.first_factor.as_ref();
    send_factor(tx, context, attempt, &factor, previous, request.redirect_url, is_delivered).await
}

/// The factor somebody means, and whether anything is really sent.
fn first_factor(
    context: &SignInContext,
    attempt: &SignInAttempt,
    strategy: Strategy,
    named: Option<&str>,
) -> Result<(Factor, bool)> {
    let (sign_in, settings) = (&attempt.sign_in, context.settings());
    let claim = sign_in.claim.as_ref().ok_or_else(|| Error::new(Code::ClientStateInvalid))?;
    let all = attempt.user.as_ref().map(|user| factors::first(user, sign_in.typed(), settings));
    let all = all.unwrap_or_default();
    if attempt.user.is_some() && !context.is_guarded() {
        let chosen = choose(&all, strategy, named, |factor| is_typed(factor, sign_in), NOT_OFFERED)?;
        return Ok((chosen.clone(), true));
    }
    let generic = factors::generic(claim.named_by.kind(), &claim.identifier, settings);
    let shown = choose(&generic, strategy, None, |_| true, NOT_OFFERED)?;
    match all.into_iter().find(|factor| factor.strategy == strategy && is_typed(factor, sign_in)) {
        Some(own) => Ok((own, true)),
        None => Ok((shown.clone(), nobody::may_sign_up(sign_in, strategy))),
    }
}

const NOT_OFFERED: Code = Code::StrategyForUserInvalid;

fn is_typed(factor: &Factor, sign_in: &SignIn) -> bool {
    let id = factor.recipient.as_ref().and_then(|recipient| recipient.id.as_ref());
    id.is_some() && id == sign_in.typed()
}

/// Who asks for a code: whoever was signed in on this client before, or has shown a first factor, is no stranger.
fn asker(attempt: &SignInAttempt) -> Asker {
    let client = &attempt.client;
    let is_known = attempt.user.as_ref().is_some_and(|user| client.known_users.contains(&user.id));
    let first = attempt.sign_in.first_factor.as_ref();
    match is_known || first.is_some_and(|first| first.verified_at.is_some()) {
        true => Asker::Known,
        false => Asker::Stranger,
    }
}

async fn send_factor(
    tx: &mut Tx,
    context: &SignInContext,
    attempt: &SignInAttempt,
    factor: &Factor,
    previous: Option<&Challenge>,
    redirect_url: Option<String>,
    is_delivered: bool,
) -> Result<Challenge> {
    let base_url = context.site.base_url.as_str();
    let link = match factor.strategy {
        Strategy::EmailLink => {
            let home = || format!("{base_url}{}", Page::SignIn.path());
            // Scripts write what they do not have as nothing.
            let url = redirect_url.filter(|url| !url.is_empty()).unwrap_or_else(home);
            let page = redirects::allowed_in(tx, &context.site, Some(&url)).await?;
            let redirect_url = page.as_str().to_owned();
            Some(LinkToSend { base_url, owner: attempt.sign_in.id.as_str(), redirect_url })
        }
        _ => None,
    };
    let (user, locale) = (attempt.user.as_ref(), attempt.sign_in.locale.as_deref());
    let asker = asker(attempt);
    let page = context.page.as_str();
    send(tx, &context.act, Sending { factor, asker, user, locale, previous, link, page, is_delivered }).await
}

/// Tries a first factor.
pub async fn attempt_first(
    tx: &mut Tx,
    context: SignInContext,
    id: SignInId,
    strategy: Strategy,
    evidence: Evidence,
) -> Result<SignInAttempt> {
    let attempt = attempt::lock(tx, &context, &id).await?;
    rules::expects_first_factor(&attempt.sign_in, context.act.now)?;
    let attempt = try_first(tx, &context, attempt, strategy, evidence).await?;
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}

/// Tries a first factor of an attempt that is locked, or new.
pub async fn try_first(
    tx: &mut Tx,
    context: &SignInContext,
    mut attempt: SignInAttempt,
    strategy: Strategy,
    evidence: Evidence,
) -> Result<SignInAttempt> {
    // A code that was sent to no address of the user's was not really sent, nor is a wallet theirs that was not found.
    let challenge = attempt.sign_in.first_factor.clone().map(|sent| sent.answered_by(strategy));
    let is_fake =
        challenge.as_ref().is_some_and(|sent| sent.target.is_some() && sent.identification.is_none());
    let is_nobody = is_fake && matches!(evidence, Evidence::Code(_) | Evidence::Signature(_));
    let Some(user) = attempt.user.take().filter(|_| !is_nobody) else {
        return nobody::try_first(context, attempt, strategy, evidence);
    };
    match check_first(context, &attempt.sign_in, &user, strategy, challenge.as_ref()) {
        Ok(()) => (),
        // Where answers must not tell who has an account, they do not tell what it has either.
        Err(_) if context.is_guarded() => return nobody::try_first(context, attempt, strategy, evidence),
        Err(error) => return Err(error),
    }
    let proof = prove(tx, &context.act, user, strategy, challenge.as_ref(), evidence).await?;
    attempt.sign_in.first_factor = Some(proof.challenge);
    match proof.refusal {
        Some(refusal) => {
            attempt.refusal = Some(rules::public_refusal(refusal, strategy, context.settings()));
            attempt.user = Some(proof.user);
            Ok(attempt)
        }
        None => finish::after_first(tx, context, attempt, proof.user, strategy, None).await,
    }
}

/// Refuses a first factor the user does not have, or has not any more since the code was sent.
pub fn check_first(
    context: &SignInContext,
    sign_in: &SignIn,
    user: &User,
    strategy: Strategy,
    challenge: Option<&Challenge>,
) -> Result<()> {
    let offered = factors::first(user, sign_in.typed(), context.settings());
    check_offered(&offered, strategy, challenge, NOT_OFFERED)
}

fn check_offered(
    offered: &[Factor],
    strategy: Strategy,
    challenge: Option<&Challenge>,
    missing: Code,
) -> Result<()> {
    let sent_to =
        challenge.filter(|sent| sent.strategy == strategy).and_then(|sent| sent.identification.as_ref());
    choose(offered, strategy, sent_to.map(|id| id.as_str()), |_| false, missing).map(|_| ())
}

/// Sends the code or link of a second factor.
pub async fn prepare_second(
    tx: &mut Tx,
    context: SignInContext,
    id: SignInId,
    request: FactorRequest,
) -> Result<SignInAttempt> {
    let mut attempt = attempt::lock(tx, &context, &id).await?;
    rules::expects_second_factor(&attempt.sign_in, context.act.now)?;
    let user = attempt.user.as_ref().ok_or_else(|| Error::new(Code::ClientStateInvalid))?;
    let all = attempts::second_factors(&attempt.sign_in, user, context.settings(), context.audience);
    let first_sent = || all.iter().find(|factor| factor.recipient.is_some()).map(|factor| factor.strategy);
    let strategy = request.strategy.or_else(first_sent).ok_or_else(|| Error::new(NO_SECOND))?;
    let named = request.recipient.as_deref();
    let factor = choose(&all, strategy, named, is_default, NO_SECOND)?;
    let previous = attempt.sign_in.second_factor.as_ref();
    let sent = send_factor(tx, &context, &attempt, factor, previous, request.redirect_url, true).await?;
    attempt.sign_in.links.note(&sent);
    attempt.sign_in.second_factor = Some(sent);
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}

const NO_SECOND: Code = Code::NoSecondFactors;

fn is_default(factor: &Factor) -> bool {
    factor.recipient.as_ref().is_some_and(|recipient| recipient.is_default)
}

/// Stores the challenge of a registered second factor.
pub async fn store_second(
    tx: &mut Tx,
    context: SignInContext,
    id: SignInId,
    challenge: Challenge,
) -> Result<SignInAttempt> {
    let mut attempt = attempt::lock(tx, &context, &id).await?;
    rules::expects_second_factor(&attempt.sign_in, context.act.now)?;
    let user = attempt.user.as_ref().ok_or_else(|| Error::new(Code::ClientStateInvalid))?;
    let offered = attempts::second_factors(&attempt.sign_in, user, context.settings(), context.audience);
    check_offered(&offered, challenge.strategy, None, NO_SECOND)?;
    attempt.sign_in.second_factor = Some(challenge);
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}

/// Tries a second factor. `sign_out` names the user if their sessions end with it.
pub async fn attempt_second(
    tx: &mut Tx,
    context: SignInContext,
    id: SignInId,
    (strategy, evidence): (Strategy, Evidence),
    sign_out: Option<UserId>,
) -> Result<SignInAttempt> {
    let clients = password::lock_clients(tx, &context, sign_out).await?;
    let mut attempt = attempt::lock(tx, &context, &id).await?;
    attempt.clients = clients;
    rules::expects_second_factor(&attempt.sign_in, context.act.now)?;
    let user = attempt.user.take().ok_or_else(|| Error::new(Code::ClientStateInvalid))?;
    let challenge = attempt.sign_in.second_factor.clone().map(|sent| sent.answered_by(strategy));
    let offered = attempts::second_factors(&attempt.sign_in, &user, context.settings(), context.audience);
    check_offered(&offered, strategy, challenge.as_ref(), NO_SECOND)?;
    let proof = prove(tx, &context.act, user, strategy, challenge.as_ref(), evidence).await?;
    attempt.sign_in.second_factor = Some(proof.challenge);
    attempt.refusal = proof.refusal;
    let attempt = match attempt.refusal.is_some() {
        true => SignInAttempt { user: Some(proof.user), ..attempt },
        false => finish::complete(tx, &context, attempt, proof.user).await?,
    };
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}
