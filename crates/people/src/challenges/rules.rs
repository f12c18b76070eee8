//! Sending codes and links, and checking what comes back.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::error::Spec;
use latchkey_base::kinds::IdentificationId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Problem, Result, Time, rng};
use latchkey_jose::digest::constant_time_eq;
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::cx::Act;
use latchkey_kernel::limits::{CHALLENGE_SENDINGS, PHONE_CODE_PAUSE_MS, VERIFICATION_MS};
use latchkey_kernel::strategy::Strategy;

use super::links::digest;
use super::model::{Challenge, ChallengeFailure, State};
use crate::identifications::codes::{digits, is_for_tests};
use crate::users::model::ContactKind;

/// What codes are sealed for.
const SEALED_FOR: &str = "challenge";

/// Where a code or link goes.
pub struct ChallengeTarget<'a> {
    /// E-mail or phone.
    pub kind: ContactKind,
    /// The address or number.
    pub value: &'a str,
    /// The identification it is, unless the account does not exist yet.
    pub identification: Option<&'a IdentificationId>,
}

/// A challenge that was just made, with what must be sent, if anything.
pub struct PreparedChallenge {
    pub challenge: Challenge,
    /// The code, or the secret of the link.
    pub secret: Secret,
    /// Whether a message is to be written: targets for tests know their code.
    pub is_sent: bool,
}

/// A new code for a target. `previous` is the challenge it takes the place of, if any.
pub fn code(
    act: &Act,
    strategy: Strategy,
    target: &ChallengeTarget<'_>,
    previous: Option<&Challenge>,
) -> Result<PreparedChallenge> {
    let is_test = act.test_mode && is_for_tests(target.kind, target.value);
    let sent = pause(target, previous, is_test, act.now)?;
    // Somebody may be reading a code off another screen, where it was shown instead of opening a link.
    let same = previous.filter(|previous| previous.target.as_deref() == Some(target.value));
    let secret = match same.filter(|same| same.state(act.now) == State::Unverified) {
        Some(Challenge { code: Some(shown), .. }) => opened(&act.master, shown)?,
        _ => digits(is_test, &*act.rng),
    };
    let challenge = sending(strategy, target, sealed(&act.master, &secret)?, sent, act.now);
    Ok(PreparedChallenge { challenge, secret, is_sent: !is_test })
}

/// A code by which a link can be answered in the browser that asked for it, for whoever opened the link in another one;
/// and the challenge that takes it. It is the same one each time.
pub fn code_for_link(act: &Act, challenge: Challenge) -> Result<(Challenge, Secret)> {
    if let Some(shown) = &challenge.code {
        let code = opened(&act.master, shown)?;
        return Ok((challenge, code));
    }
    let target = challenge.target.as_deref().unwrap_or_default();
    let code = digits(act.test_mode && is_for_tests(ContactKind::Email, target), &*act.rng);
    let sealed = sealed(&act.master, &code)?;
    Ok((Challenge { code: Some(sealed), ..challenge }, code))
}

fn sealed(master: &MasterKey, code: &Secret) -> Result<String> {
    let sealed = master.seal(SEALED_FOR, code.expose().as_bytes()).map_err(Error::internal)?;
    Ok(URL_SAFE_NO_PAD.encode(sealed))
}

fn opened(master: &MasterKey, sealed: &str) -> Result<Secret> {
    let sealed = URL_SAFE_NO_PAD.decode(sealed).map_err(Error::internal)?;
    let code = master.open(SEALED_FOR, &sealed).map_err(Error::internal)?;
    Ok(Secret::new(String::from_utf8(code).map_err(Error::internal)?))
}

/// A new link for a target. `owner` names the attempt it belongs to.
pub fn link(
    act: &Act,
    target: &ChallengeTarget<'_>,
    owner: &str,
    redirect_url: String,
    previous: Option<&Challenge>,
) -> Result<PreparedChallenge> {
    let is_test = act.test_mode && is_for_tests(target.kind, target.value);
    let sent = pause(target, previous, is_test, act.now)?;
    let secret = format!("{owner}.{}", URL_SAFE_NO_PAD.encode(rng::bytes::<24>(&*act.rng)));
    let digest = digest(&secret);
    let challenge = Challenge {
        redirect_url: Some(redirect_url),
        ..sending(Strategy::EmailLink, target, digest, sent, act.now)
    };
    // Nobody could guess this one, so it is written for tests too; such a message is held in the inbox.
    Ok(PreparedChallenge { challenge, secret: Secret::new(secret), is_sent: true })
}

fn sending(
    strategy: Strategy,
    target: &ChallengeTarget<'_>,
    secret: String,
    sent: i64,
    now: Time,
) -> Challenge {
    Challenge {
        identification: target.identification.cloned(),
        target: Some(target.value.to_owned()),
        secret: Some(secret),
        sent,
        expire_at: Some(now.plus_ms(VERIFICATION_MS)),
        verified_at: None,
        ..Challenge::proven(strategy, now)
    }
}

/// How often was sent with this time. Texts cost money and mails annoy, so there is a bound to both.
fn pause(
    target: &ChallengeTarget<'_>,
    previous: Option<&Challenge>,
    is_test: bool,
    now: Time,
) -> Result<i64> {
    let same = previous.filter(|previous| previous.target.as_deref() == Some(target.value));
    let Some(previous) = same.filter(|_| !is_test) else { return Ok(1) };
    let since_ms = now.ms() - previous.sent_at.ms();
    // Less than nothing means that the clock was set back.
    let too_soon = target.kind == ContactKind::Phone && (0..PHONE_CODE_PAUSE_MS).contains(&since_ms);
    match too_soon || previous.sent >= CHALLENGE_SENDINGS {
        true => {
            let wait_ms = if too_soon { PHONE_CODE_PAUSE_MS - since_ms } else { VERIFICATION_MS };
            Err(Error::new(Code::VerificationCodeTooManyRequests).retry_after((wait_ms + 999) / 1000))
        }
        false => Ok(previous.sent + 1),
    }
}

/// The outcome of an attempt: the challenge as it stands after it, and what to tell.
pub struct AttemptOutcome {
    /// To be saved in any case: a failed attempt counts.
    pub challenge: Challenge,
    /// Why it was refused, if it was.
    pub refusal: Option<Error>,
}

/// Tries a code.
pub fn attempt_code(
    master: &MasterKey,
    challenge: Challenge,
    code: &Secret,
    now: Time,
) -> Result<AttemptOutcome> {
    let sealed = challenge.secret.as_deref().ok_or_else(|| Error::new(Code::VerificationMissing))?;
    let expected = opened(master, sealed)?;
    Ok(attempt(challenge, constant_time_eq(expected.expose().as_bytes(), code.expose().as_bytes()), now))
}

/// Tries the secret of a link.
pub fn attempt_link(challenge: Challenge, secret: &str, now: Time) -> AttemptOutcome {
    let is_right = is_link(&challenge, secret);
    attempt(challenge, is_right, now)
}

/// Whether a secret is the one in the link of a challenge, whatever became of it.
pub fn is_link(challenge: &Challenge, secret: &str) -> bool {
    let expected = challenge.secret.as_deref().unwrap_or_default();
    let given = digest(secret);
    challenge.strategy == Strategy::EmailLink && constant_time_eq(expected.as_bytes(), given.as_bytes())
}

/// Why a challenge fails, as it is kept and shown later: what the answer would have said.
pub fn failure(error: &Error) -> ChallengeFailure {
    let problem = error.problems().first().cloned().unwrap_or_else(|| Problem::new(error.code()));
    let Spec(_, code, message) = problem.code.spec();
    ChallengeFailure {
        code: code.to_owned(),
        message: message.to_owned(),
        long_message: problem.detail.unwrap_or_else(|| message.to_owned()),
        meta: problem.meta,
    }
}

/// Tries what a registered strategy judges. It is asked only while the challenge is open.
pub fn attempt_proof(
    challenge: Challenge,
    now: Time,
    examine: impl FnOnce(&Challenge) -> Result<()>,
) -> AttemptOutcome {
    let wrong = match challenge.state(now) {
        State::Unverified => examine(&challenge).err(),
        State::Verified | State::Transferable | State::Failed | State::Expired => None,
    };
    let tried = attempt(challenge, wrong.is_none(), now);
    let is_wrong = tried.refusal.as_ref().is_some_and(|refusal| refusal.code() == Code::FormCodeIncorrect);
    match wrong.filter(|_| is_wrong) {
        Some(wrong) => AttemptOutcome { refusal: Some(wrong), ..tried },
        None => tried,
    }
}

fn attempt(mut challenge: Challenge, is_right: bool, now: Time) -> AttemptOutcome {
    let refusal = match challenge.state(now) {
        State::Verified | State::Transferable => Some(Error::new(Code::VerificationAlreadyVerified)),
        State::Expired => Some(Error::new(Code::VerificationExpired)),
        State::Failed => Some(Error::new(Code::VerificationFailed)),
        State::Unverified if is_right => {
            challenge.attempts += 1;
            challenge.verified_at = Some(now);
            None
        }
        State::Unverified => {
            challenge.attempts += 1;
            Some(match challenge.state(now) {
                State::Failed => Error::new(Code::VerificationFailed),
                _ => Error::param(Code::FormCodeIncorrect, "code"),
            })
        }
    };
    AttemptOutcome { challenge, refusal }
}
