//! The steps between saying who one is and having a session: sending what is to be proven, and proving it.

use latchkey_base::kinds::SignInId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;

use super::attempt::{self, Attempt, Stage};
use super::{finish, nobody, rules};
use crate::flows::factors::evidence::Evidence;
use crate::flows::factors::proof::prove;
use crate::flows::factors::rules::choose;
use crate::flows::factors::sending::{Link, Sending, send};
use crate::frontend::redirects;
use crate::resources::challenges::model::Challenge;
use crate::resources::factors::model::Factor;
use crate::resources::factors::rules as factors;
use crate::resources::portal::model::Page;
use crate::resources::sign_ins::model::{SignIn, Step};
use crate::resources::sign_ins::store;
use crate::resources::users::model::{Strategy, User};
use crate::settings::Settings;

/// What somebody wants to have sent.
pub struct Wish {
    /// How.
    pub strategy: Option<Strategy>,
    /// To which of their addresses or numbers, by its id.
    pub recipient: Option<String>,
    /// Where a link leads in the end.
    pub redirect_url: Option<String>,
}

/// Sends the code or link of a first factor.
pub async fn prepare_first(tx: &mut Tx, stage: Stage, id: SignInId, wish: Wish) -> Result<Attempt> {
    let mut attempt = attempt::lock(tx, &stage, &id).await?;
    rules::expects_first_factor(&attempt.sign_in, stage.act.now)?;
    let strategy = wish.strategy.ok_or_else(|| Error::param(Code::FormParamMissing, "strategy"))?;
    let sent = send_first(tx, &stage, &attempt, strategy, wish).await?;
    attempt.sign_in.links.note(&sent);
    attempt.sign_in.first_factor = Some(sent);
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}

/// Sends the code or link of a first factor of an attempt that is locked, or new.
pub async fn send_first(
    tx: &mut Tx,
    stage: &Stage,
    attempt: &Attempt,
    strategy: Strategy,
    wish: Wish,
) -> Result<Challenge> {
    let (factor, is_delivered) = first_factor(stage, attempt, strategy, wish.recipient.as_deref())?;
    let previous = attempt.sign_in.first_factor.as_ref();
    send_factor(tx, stage, attempt, &factor, previous, wish.redirect_url, is_delivered).await
}

/// The factor somebody means, and whether anything is really sent.
fn first_factor(
    stage: &Stage,
    attempt: &Attempt,
    strategy: Strategy,
    named: Option<&str>,
) -> Result<(Factor, bool)> {
    let (sign_in, settings) = (&attempt.sign_in, stage.settings());
    let claim = sign_in.claim.as_ref().ok_or_else(|| Error::new(Code::ClientStateInvalid))?;
    let all = attempt.user.as_ref().map(|user| factors::first(user, sign_in.typed(), settings));
    let all = all.unwrap_or_default();
    if attempt.user.is_some() && !stage.is_guarded() {
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

async fn send_factor(
    tx: &mut Tx,
    stage: &Stage,
    attempt: &Attempt,
    factor: &Factor,
    previous: Option<&Challenge>,
    redirect_url: Option<String>,
    is_delivered: bool,
) -> Result<Challenge> {
    let base_url = stage.site.base_url.as_str();
    let link = match factor.strategy {
        Strategy::EmailLink => {
            let home = || format!("{base_url}{}", Page::SignIn.path());
            // Scripts write what they do not have as nothing.
            let url = redirect_url.filter(|url| !url.is_empty()).unwrap_or_else(home);
            let redirect_url = redirects::checked(&stage.site, Some(&url))?.as_str().to_owned();
            Some(Link { base_url, owner: attempt.sign_in.id.as_str(), redirect_url })
        }
        _ => None,
    };
    let (user, locale) = (attempt.user.as_ref(), attempt.sign_in.locale.as_deref());
    send(tx, &stage.act, Sending { factor, user, locale, previous, link, is_delivered }).await
}

/// Tries a first factor.
pub async fn attempt_first(
    tx: &mut Tx,
    stage: Stage,
    id: SignInId,
    strategy: Strategy,
    evidence: Evidence,
) -> Result<Attempt> {
    let attempt = attempt::lock(tx, &stage, &id).await?;
    rules::expects_first_factor(&attempt.sign_in, stage.act.now)?;
    let attempt = try_first(tx, &stage, attempt, strategy, evidence).await?;
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}

/// Tries a first factor of an attempt that is locked, or new.
pub async fn try_first(
    tx: &mut Tx,
    stage: &Stage,
    mut attempt: Attempt,
    strategy: Strategy,
    evidence: Evidence,
) -> Result<Attempt> {
    // A code that was sent to no address of the user's was not really sent.
    let challenge = attempt.sign_in.first_factor.clone();
    let is_fake =
        challenge.as_ref().is_some_and(|sent| sent.target.is_some() && sent.identification.is_none());
    let is_nobody = is_fake && matches!(evidence, Evidence::Code(_));
    let Some(user) = attempt.user.take().filter(|_| !is_nobody) else {
        return nobody::try_first(stage, attempt, strategy, evidence);
    };
    match check_first(stage, &attempt.sign_in, &user, strategy, challenge.as_ref()) {
        Ok(()) => (),
        // Where answers must not tell who has an account, they do not tell what it has either.
        Err(_) if stage.is_guarded() => return nobody::try_first(stage, attempt, strategy, evidence),
        Err(error) => return Err(error),
    }
    let proof = prove(tx, &stage.act, user, strategy, challenge.as_ref(), evidence).await?;
    attempt.sign_in.first_factor = Some(proof.challenge);
    match proof.refusal {
        Some(refusal) => {
            attempt.refusal = Some(rules::told(refusal, strategy, stage.settings()));
            attempt.user = Some(proof.user);
            Ok(attempt)
        }
        None => finish::after_first(tx, stage, attempt, proof.user, strategy, None).await,
    }
}

/// Refuses a first factor the user does not have, or has not any more since the code was sent.
pub fn check_first(
    stage: &Stage,
    sign_in: &SignIn,
    user: &User,
    strategy: Strategy,
    challenge: Option<&Challenge>,
) -> Result<()> {
    let offered = factors::first(user, sign_in.typed(), stage.settings());
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
pub async fn prepare_second(tx: &mut Tx, stage: Stage, id: SignInId, wish: Wish) -> Result<Attempt> {
    let mut attempt = attempt::lock(tx, &stage, &id).await?;
    rules::expects_second_factor(&attempt.sign_in, stage.act.now)?;
    let user = attempt.user.as_ref().ok_or_else(|| Error::new(Code::ClientStateInvalid))?;
    let all = second_factors(user, &attempt.sign_in, stage.settings());
    let first_sent = || all.iter().find(|factor| factor.recipient.is_some()).map(|factor| factor.strategy);
    let strategy = wish.strategy.or_else(first_sent).ok_or_else(|| Error::new(NO_SECOND))?;
    let named = wish.recipient.as_deref();
    let factor = choose(&all, strategy, named, is_default, NO_SECOND)?;
    let previous = attempt.sign_in.second_factor.as_ref();
    let sent = send_factor(tx, &stage, &attempt, factor, previous, wish.redirect_url, true).await?;
    attempt.sign_in.links.note(&sent);
    attempt.sign_in.second_factor = Some(sent);
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}

const NO_SECOND: Code = Code::NoSecondFactors;

fn is_default(factor: &Factor) -> bool {
    factor.recipient.as_ref().is_some_and(|recipient| recipient.is_default)
}

/// What is to be proven beside the first factor.
fn second_factors(user: &User, sign_in: &SignIn, settings: &Settings) -> Vec<Factor> {
    match sign_in.step {
        Step::NeedsClientTrust => factors::trust(user, sign_in.typed(), settings),
        _ => factors::second(user, settings),
    }
}

/// Tries a second factor.
pub async fn attempt_second(
    tx: &mut Tx,
    stage: Stage,
    id: SignInId,
    strategy: Strategy,
    evidence: Evidence,
) -> Result<Attempt> {
    let mut attempt = attempt::lock(tx, &stage, &id).await?;
    rules::expects_second_factor(&attempt.sign_in, stage.act.now)?;
    let user = attempt.user.take().ok_or_else(|| Error::new(Code::ClientStateInvalid))?;
    let challenge = attempt.sign_in.second_factor.clone();
    let offered = second_factors(&user, &attempt.sign_in, stage.settings());
    check_offered(&offered, strategy, challenge.as_ref(), NO_SECOND)?;
    let proof = prove(tx, &stage.act, user, strategy, challenge.as_ref(), evidence).await?;
    attempt.sign_in.second_factor = Some(proof.challenge);
    attempt.refusal = proof.refusal;
    let attempt = match attempt.refusal.is_some() {
        true => Attempt { user: Some(proof.user), ..attempt },
        false => finish::complete(tx, &stage, attempt, proof.user).await?,
    };
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}
