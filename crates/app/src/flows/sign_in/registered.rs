//! First factors that groups above registered. Like a ticket they may say themselves who it is.

use std::sync::Arc;

use latchkey_base::kinds::SignInId;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_db::Tx;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::strategy::Strategy;

use super::attempt::{self, SignInAttempt, SignInContext};
use super::{finish, rules, ticket};
use crate::flows::factors::proof;
use crate::flows::factors::rules::{check_open, failed_challenge, proven_challenge};
use crate::flows::strategies::{FirstFactor, ProofRequest, ProofVerdict};
use crate::people::challenges::model::{Challenge, State};
use crate::people::users::store as users;
use crate::presence::sign_ins::model::{Named, SignIn};
use crate::presence::sign_ins::store;

/// Begins a proof in an attempt that is under way.
pub async fn prepare(
    cx: &Cx,
    id: SignInId,
    factor: &dyn FirstFactor,
    asked: ProofRequest<'_>,
) -> Result<SignInAttempt> {
    let visitor = asked.visitor;
    let (sign_in, user) = attempt::find(cx, visitor, &id).await?;
    rules::expects_ticket(&sign_in, cx.now)?;
    let challenge = factor.prepare(cx, ProofRequest { user: user.as_ref(), ..asked }).await?;
    let context = SignInContext::new(cx, visitor);
    cx.write(move |tx| Box::pin(keep(tx, context, id, challenge))).await
}

async fn keep(
    tx: &mut Tx,
    context: SignInContext,
    id: SignInId,
    challenge: Challenge,
) -> Result<SignInAttempt> {
    let mut attempt = attempt::lock_alone(tx, &context, &id).await?;
    rules::expects_ticket(&attempt.sign_in, context.act.now)?;
    attempt.sign_in.first_factor = Some(challenge);
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}

/// The proof that was begun with a strategy, unless its time is over.
pub fn open(sign_in: &SignIn, strategy: Strategy, now: Time) -> Result<Option<&Challenge>> {
    let begun = sign_in.first_factor.as_ref().filter(|challenge| challenge.strategy == strategy);
    match begun.map(|challenge| challenge.state(now)) {
        Some(State::Expired) => Err(Error::new(Code::VerificationExpired)),
        Some(State::Failed) => Err(Error::new(Code::VerificationFailed)),
        _ => Ok(begun),
    }
}

/// Goes on from a verdict about the proof `examined`: to a session, to the next step, to signing up, or nowhere.
pub async fn judge(
    tx: &mut Tx,
    context: SignInContext,
    id: SignInId,
    factor: Arc<dyn FirstFactor>,
    shown: (Strategy, Option<Challenge>),
    verdict: ProofVerdict,
) -> Result<SignInAttempt> {
    let (act, (strategy, examined)) = (&context.act, shown);
    let mut attempt = attempt::lock_alone(tx, &context, &id).await?;
    rules::expects_ticket(&attempt.sign_in, act.now)?;
    if open(&attempt.sign_in, strategy, act.now)? != examined.as_ref() {
        // Another request was faster; what was examined is not what stands there now.
        return Err(Error::new(Code::ClientStateInvalid));
    }
    let claimed = attempt.sign_in.user().cloned();
    let verdict = match verdict {
        ProofVerdict::User(user, _) if claimed.as_ref().is_some_and(|claimed| *claimed != user) => {
            ProofVerdict::Refused(somebody_else())
        }
        ProofVerdict::Nobody(_) if claimed.is_some() => ProofVerdict::Refused(somebody_else()),
        verdict => verdict,
    };
    let attempt = match verdict {
        ProofVerdict::User(id, proof) => {
            let found = users::lock(tx, &act.instance, &id).await?;
            let user = found.ok_or_else(|| Error::new(Code::SignInIdentificationOrUserDeleted))?;
            check_open(&user, act.now)?;
            let present = finish::present(tx, &context, &attempt.client).await?;
            rules::check_free(&present, Some(&user.id), context.settings())?;
            let user = factor.redeem(tx, act, user, &proof).await?;
            attempt.sign_in.claim = Some(ticket::claim(&attempt, &user, Named::Proof, somebody_else)?);
            let proves_both = factor.proves_both(context.settings());
            let proven = proven_challenge(examined.as_ref(), strategy, act.now);
            let expire_at = examined.as_ref().and_then(|begun| begun.expire_at);
            attempt.sign_in.first_factor = Some(Challenge { proves_both, expire_at, ..proven });
            finish::after_first(tx, &context, attempt, user, strategy, None).await?
        }
        ProofVerdict::Nobody(newcomer) => {
            let proven = proven_challenge(examined.as_ref(), strategy, act.now);
            let newcomer = Some(newcomer);
            attempt.sign_in.first_factor = Some(Challenge { transferable: true, newcomer, ..proven });
            attempt
        }
        ProofVerdict::Refused(refusal) => {
            count(tx, &context, &attempt.sign_in, &refusal).await?;
            attempt.sign_in.first_factor = match examined {
                // What was begun stays as it is: its secret, its end, and where it leads.
                Some(begun) => Some(Challenge { attempts: begun.attempts + 1, ..begun }),
                None => Some(failed_challenge(attempt.sign_in.first_factor.as_ref(), strategy, act.now)),
            };
            attempt.refusal = Some(refusal);
            attempt
        }
    };
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}

/// Counts a failure for whom somebody says they are. Whoever may not sign in now is told so, and nothing is counted;
/// where answers must not tell who has an account, they are told what nobody is.
async fn count(tx: &mut Tx, context: &SignInContext, sign_in: &SignIn, refusal: &Error) -> Result<()> {
    let act = &context.act;
    let claimed = match sign_in.user() {
        Some(user) => users::lock(tx, &act.instance, user).await?,
        None => None,
    };
    let Some(user) = claimed else { return Ok(()) };
    if let Some(user) = rules::admitted(user, sign_in.step, context.settings(), act.now)? {
        proof::count(tx, act, user, Error::new(refusal.code())).await?;
    }
    Ok(())
}

fn somebody_else() -> Error {
    Error::param(Code::StrategyForUserInvalid, "strategy")
}
