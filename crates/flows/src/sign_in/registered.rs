//! First factors that groups above registered. Like a ticket they may say themselves who it is.

use std::sync::Arc;

use latchkey_base::kinds::{ClientId, SignInId, UserId};
use latchkey_base::text::fold;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_db::Tx;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::limits::VERIFICATION_MS;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::account::ProvenAccount;
use latchkey_people::challenges::model::{Challenge, ChallengeFailure, State};
use latchkey_people::challenges::rules::failure;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;
use latchkey_presence::sign_ins::model::{AwaitingProof, ClaimedIdentity, Named, SignIn, SignInStep};
use latchkey_presence::sign_ins::store;
use serde_json::Map;

use super::attempt::{self, SignInAttempt, SignInContext};
use super::{finish, rules, ticket};
use crate::factors::proof;
use crate::factors::rules::{check_open, failed_challenge, proven_challenge};
use crate::strategies::{FirstFactor, ProofRequest, ProofVerdict};

/// Begins a proof in an attempt that is under way.
pub async fn prepare(
    cx: &Cx,
    id: SignInId,
    factor: &dyn FirstFactor,
    asked: ProofRequest<'_>,
) -> Result<SignInAttempt> {
    let visitor = asked.visitor;
    let (sign_in, user) = attempt::find(cx, visitor, &id).await?;
    rules::expects_identity(&sign_in, cx.now)?;
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
    let mut attempt = attempt::lock(tx, &context, &id).await?;
    rules::expects_identity(&attempt.sign_in, context.act.now)?;
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
        // It leads to signing up, and nowhere else.
        Some(State::Transferable) => Err(Error::new(Code::VerificationAlreadyVerified)),
        _ => Ok(begun),
    }
}

/// A proof that somebody showed: by which strategy, and what of it was begun.
pub type ExaminedProof = (Strategy, Option<Challenge>);

/// Goes on from a verdict about the proof `examined`: to a session, to the next step, to signing up, or nowhere.
pub async fn judge(
    tx: &mut Tx,
    context: SignInContext,
    id: SignInId,
    factor: Arc<dyn FirstFactor>,
    examined: ExaminedProof,
    verdict: ProofVerdict,
) -> Result<SignInAttempt> {
    let attempt = attempt::lock_alone(tx, &context, &id).await?;
    settle(tx, &context, attempt, &*factor, examined, verdict).await
}

/// The same for somebody who comes back from another site. Where browsers of developers have no cookie here, that may be
/// another client than the one that asks; the session is opened on the client that began.
pub async fn judge_returned(
    tx: &mut Tx,
    context: SignInContext,
    on: ClientId,
    id: SignInId,
    factor: Arc<dyn FirstFactor>,
    examined: ExaminedProof,
    verdict: ProofVerdict,
) -> Result<SignInAttempt> {
    let attempt = attempt::lock_returned(tx, &context, &on, &id).await?;
    settle(tx, &context, attempt, &*factor, examined, verdict).await
}

/// Takes a proof that another site answers, by the digest of its secret. From then on nobody else can answer it.
pub async fn take_returned(
    tx: &mut Tx,
    context: SignInContext,
    on: ClientId,
    id: SignInId,
    digest: String,
) -> Result<Challenge> {
    let mut attempt = attempt::lock_returned(tx, &context, &on, &id).await?;
    let taken = taken(attempt.sign_in.first_factor.take(), &digest, context.act.now)?;
    attempt.sign_in.first_factor = Some(taken.clone());
    store::save(tx, &attempt.sign_in).await?;
    Ok(taken)
}

/// A proof that waits for the answer with this secret, without it.
pub fn taken(asked: Option<Challenge>, digest: &str, now: Time) -> Result<Challenge> {
    let is_asked = |asked: &Challenge| {
        asked.state(now) == State::Unverified && asked.secret.as_deref().is_some_and(|it| it == digest)
    };
    let asked = asked.filter(is_asked).ok_or_else(|| Error::new(Code::OauthCallbackInvalid))?;
    Ok(Challenge { secret: None, ..asked })
}

/// Puts another challenge in the place of one that was taken, unless another request was faster.
pub async fn replace_returned(
    tx: &mut Tx,
    context: SignInContext,
    on: ClientId,
    id: SignInId,
    asked: Challenge,
    held: Challenge,
) -> Result<()> {
    let mut attempt = attempt::lock_returned(tx, &context, &on, &id).await?;
    if attempt.sign_in.first_factor.as_ref() != Some(&asked) {
        return Err(Error::new(Code::OauthCallbackInvalid));
    }
    attempt.sign_in.first_factor = Some(held);
    store::save(tx, &attempt.sign_in).await
}

/// A proof that failed for good.
pub fn failed(asked: Challenge, failure: ChallengeFailure) -> Challenge {
    let details = Map::new();
    Challenge { failure: Some(Box::new(failure)), sealed: None, secret: None, details, ..asked }
}

async fn settle(
    tx: &mut Tx,
    context: &SignInContext,
    attempt: SignInAttempt,
    factor: &dyn FirstFactor,
    examined: ExaminedProof,
    verdict: ProofVerdict,
) -> Result<SignInAttempt> {
    let now = context.act.now;
    rules::expects_identity(&attempt.sign_in, now)?;
    if open(&attempt.sign_in, examined.0, now)? != examined.1.as_ref() {
        // Another request was faster; what was examined is not what stands there now.
        return Err(Error::new(Code::ClientStateInvalid));
    }
    let attempt = Box::pin(go_on(tx, context, attempt, factor, examined, verdict)).await?;
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}

/// Goes on with an attempt that is locked, or new.
pub async fn go_on(
    tx: &mut Tx,
    context: &SignInContext,
    mut attempt: SignInAttempt,
    factor: &dyn FirstFactor,
    (strategy, examined): ExaminedProof,
    verdict: ProofVerdict,
) -> Result<SignInAttempt> {
    let act = &context.act;
    let verdict = match is_of_another(attempt.sign_in.claim.as_ref(), &verdict, context.is_guarded()) {
        true => ProofVerdict::Refused(somebody_else()),
        false => verdict,
    };
    match verdict {
        ProofVerdict::User(id, proof) => {
            let user = lock_open(tx, context, &attempt, &id).await?;
            let asks_for_new_password = factor.asks_for_new_password(&proof);
            let user = match factor.adds_way_in() {
                true => {
                    attempt.sign_in.awaiting = Some(AwaitingProof { strategy, proof });
                    user
                }
                false => factor.redeem(tx, act, user, &proof).await?,
            };
            attempt.sign_in.claim = Some(ticket::claim(&attempt, &user, Named::Proof, somebody_else)?);
            let proves_both = factor.proves_both(context.settings());
            let proven = proven(examined.as_ref(), strategy, act.now);
            attempt.sign_in.first_factor = Some(Challenge { proves_both, ..proven });
            if asks_for_new_password && user.password.is_some() {
                attempt.sign_in.password_set_at = user.password.as_ref().map(|password| password.updated_at);
                attempt.sign_in.step = SignInStep::NeedsNewPassword;
                attempt.user = Some(user);
                return Ok(attempt);
            }
            finish::after_first(tx, context, attempt, user, strategy, None).await
        }
        ProofVerdict::Maybe(id, identification, proof) => {
            let user = lock_open(tx, context, &attempt, &id).await?;
            let claim = ticket::claim(&attempt, &user, Named::Proof, somebody_else)?;
            attempt.sign_in.claim = Some(match identification {
                None => claim,
                Some(id) => ClaimedIdentity {
                    identifier: user.email_addresses.find(&id).ok_or_else(somebody_else)?.value.clone(),
                    named_by: Named::EmailAddress,
                    identification: Some(id),
                    ..claim
                },
            });
            attempt.sign_in.awaiting = Some(AwaitingProof { strategy, proof });
            attempt.sign_in.step = SignInStep::NeedsFirstFactor;
            attempt.sign_in.first_factor = None;
            attempt.user = Some(user);
            Ok(attempt)
        }
        ProofVerdict::Nobody(newcomer) => {
            let proven = proven(examined.as_ref(), strategy, act.now);
            let failure = newcomer
                .account
                .as_ref()
                .map(|_| Box::new(failure(&Error::new(Code::ExternalAccountNotFound))));
            let newcomer = Some(newcomer);
            attempt.sign_in.first_factor =
                Some(Challenge { transferable: true, newcomer, failure, ..proven });
            Ok(attempt)
        }
        ProofVerdict::Refused(refusal) => {
            count(tx, context, &attempt.sign_in, &refusal).await?;
            attempt.sign_in.first_factor = match examined {
                // What was begun stays as it is: its secret, its end, and where it leads.
                Some(begun) => Some(Challenge { attempts: begun.attempts + 1, ..begun }),
                None => Some(failed_challenge(attempt.sign_in.first_factor.as_ref(), strategy, act.now)),
            };
            attempt.refusal = Some(refusal);
            Ok(attempt)
        }
    }
}

/// Whether a proof is of somebody else than they said they are. Where answers must not tell who has an account, a proof of
/// somebody new is judged alike whether there is a user of that name or not: they may go on and sign up only with what they
/// typed, which they have proven to be theirs.
fn is_of_another(claim: Option<&ClaimedIdentity>, verdict: &ProofVerdict, is_guarded: bool) -> bool {
    let Some(ClaimedIdentity { identifier, user: claimed, .. }) = claim else { return false };
    match verdict {
        ProofVerdict::User(user, _) | ProofVerdict::Maybe(user, ..) => claimed.as_ref() != Some(user),
        ProofVerdict::Nobody(newcomer) => {
            let contacts = [&newcomer.email_address, &newcomer.phone_number].map(Option::as_deref);
            let elsewhere = newcomer.account.as_ref().and_then(ProvenAccount::proven_email);
            let mut proven = contacts.into_iter().chain([elsewhere]).flatten();
            // A user may have what they typed without having proven it: it is not that user then.
            (claimed.is_some() || is_guarded) && !proven.any(|proven| fold(proven) == fold(identifier))
        }
        ProofVerdict::Refused(_) => false,
    }
}

/// What was begun as it stands once it is proven: nothing is left that it could be answered by.
fn proven(examined: Option<&Challenge>, strategy: Strategy, now: Time) -> Challenge {
    let begun = examined.and_then(|begun| begun.expire_at);
    let expire_at = begun.or(Some(now.plus_ms(VERIFICATION_MS)));
    let (secret, sealed, newcomer, details) = (None, None, None, Map::new());
    let proven = proven_challenge(examined, strategy, now);
    Challenge { expire_at, secret, sealed, newcomer, details, ..proven }
}

/// The user whom a proof names, locked, if they may sign in here now.
async fn lock_open(
    tx: &mut Tx,
    context: &SignInContext,
    attempt: &SignInAttempt,
    id: &UserId,
) -> Result<User> {
    let act = &context.act;
    let found = users::lock(tx, &act.instance, id).await?;
    let user = found.ok_or_else(|| Error::new(Code::SignInIdentificationOrUserDeleted))?;
    check_open(&user, act.now)?;
    let present = finish::present(tx, context, &attempt.client).await?;
    rules::check_free(&present, Some(&user.id), context.settings())?;
    Ok(user)
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
