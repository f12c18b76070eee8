//! What failures lead to, and which factor is meant.

use latchkey_base::{Code, Error, Problem, Result, Time};
use latchkey_kernel::settings::Lockout;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::{Challenge, State};
use latchkey_people::factors::model::Factor;
use latchkey_people::users::model::{Lock, User};

/// A user after one more failure.
pub struct Counted {
    pub user: User,
    /// Whether this failure was the one too many.
    pub is_locked: bool,
}

/// Counts a failure; nothing changes where users are not locked.
pub fn count_failure(mut user: User, lockout: &Lockout, now: Time) -> Counted {
    if !lockout.enabled {
        return Counted { user, is_locked: false };
    }
    if user.lock.is_some() && !user.is_locked(now) {
        // The lock is over: those who waited have all their attempts again.
        user.lock = None;
        user.failed_attempts = 0;
    }
    user.failed_attempts += 1;
    let is_locked = user.failed_attempts >= lockout.max_attempts;
    if is_locked {
        let until = lockout.duration_minutes.map(|minutes| now.plus_ms(minutes.saturating_mul(60_000)));
        user.lock = Some(Lock { until, since: Some(now) });
    }
    Counted { user, is_locked }
}

/// Refuses users who may not sign in at the moment.
pub fn check_open(user: &User, now: Time) -> Result<()> {
    if user.banned {
        return Err(Error::new(Code::UserBanned));
    }
    match user.is_locked(now) {
        true => Err(locked(user, now)),
        false => Ok(()),
    }
}

/// The refusal of a user who is locked.
pub fn locked(user: &User, now: Time) -> Error {
    let until = user.lock.as_ref().and_then(|lock| lock.until);
    let Some(until) = until else { return Error::new(Code::UserLocked) };
    let seconds = (until.ms_since(now) + 999) / 1000;
    let minutes = (seconds + 59) / 60;
    let unit = if minutes == 1 { "minute" } else { "minutes" };
    Problem::new(Code::UserLocked)
        .saying(format!("Your account is locked. You will be able to try again in {minutes} {unit}."))
        .with("lockout_expires_in_seconds", seconds)
        .into()
}

/// The factor somebody chooses: by strategy, and by the id of the address or number if they name one.
/// Otherwise it is the one they typed, or the primary one.
pub fn choose<'a>(
    factors: &'a [Factor],
    strategy: Strategy,
    named: Option<&str>,
    is_typed: impl Fn(&Factor) -> bool,
    missing: Code,
) -> Result<&'a Factor> {
    let fit: Vec<&Factor> = factors.iter().filter(|factor| factor.strategy == strategy).collect();
    let id = |factor: &Factor| factor.recipient.as_ref().and_then(|recipient| recipient.id.clone());
    let is_primary = |factor: &Factor| {
        factor.recipient.as_ref().is_some_and(|recipient| recipient.is_primary == Some(true))
    };
    let first = fit.first().ok_or_else(|| Error::new(missing))?;
    match named {
        Some(named) => {
            let found = fit.iter().find(|factor| id(factor).is_some_and(|id| id.as_str() == named));
            found.copied().ok_or_else(|| Error::new(missing))
        }
        None => {
            let typed = fit.iter().find(|factor| is_typed(factor));
            let primary = || fit.iter().find(|factor| is_primary(factor));
            Ok(typed.or_else(primary).unwrap_or(first))
        }
    }
}

/// The challenge that a code answers: it must have been sent, and by the way that is named.
pub fn sent(challenge: Option<&Challenge>, strategy: Strategy) -> Result<&Challenge> {
    let challenge = challenge.filter(|challenge| challenge.target.is_some());
    let challenge = challenge.ok_or_else(|| Error::new(Code::VerificationMissing))?;
    match challenge.strategy == strategy {
        true => Ok(challenge),
        false => Err(Error::param(Code::VerificationStrategyInvalid, "strategy")),
    }
}

/// Returns the challenge that was begun with a registered strategy. Fails if its time is over or it was tried too often.
pub fn begun(challenge: Option<&Challenge>, strategy: Strategy, now: Time) -> Result<Option<&Challenge>> {
    let begun = challenge.filter(|challenge| challenge.strategy == strategy);
    match begun.map(|challenge| challenge.state(now)) {
        Some(State::Expired) => Err(Error::new(Code::VerificationExpired)),
        Some(State::Failed) => Err(Error::new(Code::VerificationFailed)),
        _ => Ok(begun),
    }
}

/// The challenge of a factor that needs no code sent (a password, TOTP, a backup code) after it was proven.
pub fn proven_challenge(challenge: Option<&Challenge>, strategy: Strategy, now: Time) -> Challenge {
    Challenge { attempts: earlier_failures(challenge, strategy), ..Challenge::proven(strategy, now) }
}

/// The challenge of such a factor after a failed attempt. A code that was sent before stays valid: somebody may have
/// changed their mind.
pub fn failed_challenge(challenge: Option<&Challenge>, strategy: Strategy, now: Time) -> Challenge {
    match challenge {
        Some(sent) if sent.strategy != strategy => sent.clone(),
        _ => Challenge::failed(strategy, earlier_failures(challenge, strategy) + 1, now),
    }
}

fn earlier_failures(challenge: Option<&Challenge>, strategy: Strategy) -> i64 {
    challenge.filter(|challenge| challenge.strategy == strategy).map_or(0, |challenge| challenge.attempts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_ms(1_700_000_000_000);

    fn lockout() -> Lockout {
        Lockout { enabled: true, max_attempts: 2, duration_minutes: Some(60) }
    }

    fn user() -> User {
        let document = r#"{"id":"user_2x4y6z8A0C2E4G6I8K0M2O4Q6S8","public_metadata":{},"private_metadata":{},
            "unsafe_metadata":{},"delete_self_enabled":true,"create_organization_enabled":true,
            "created_at":0,"updated_at":0}"#;
        serde_json::from_str(document).unwrap()
    }

    #[test]
    fn the_last_allowed_failure_locks() {
        let first = count_failure(user(), &lockout(), NOW);
        assert!(!first.is_locked && first.user.lock.is_none());
        let second = count_failure(first.user, &lockout(), NOW);
        assert!(second.is_locked && second.user.is_locked(NOW));
        assert!(!second.user.is_locked(NOW.plus_ms(3_600_000)));
    }

    #[test]
    fn a_lock_does_not_outlast_a_clock_that_is_set_back() {
        let day = 24 * 3_600_000;
        let locked = count_failure(User { failed_attempts: 1, ..user() }, &lockout(), NOW.plus_ms(day)).user;
        assert!(locked.is_locked(NOW.plus_ms(day)) && !locked.is_locked(NOW));
        // A few seconds are no reason to open it.
        assert!(locked.is_locked(NOW.plus_ms(day - 5_000)));
    }

    #[test]
    fn after_the_lock_everybody_starts_anew() {
        let locked =
            User { failed_attempts: 2, lock: Some(Lock { until: Some(NOW), since: None }), ..user() };
        let counted = count_failure(locked, &lockout(), NOW);
        assert!(!counted.is_locked && counted.user.failed_attempts == 1);
    }

    #[test]
    fn nothing_is_counted_where_nobody_is_locked() {
        let off = Lockout { enabled: false, ..lockout() };
        assert_eq!(count_failure(user(), &off, NOW).user.failed_attempts, 0);
    }

    #[test]
    fn a_locked_user_is_told_for_how_long() {
        let locked = User { lock: Some(Lock { until: Some(NOW.plus_ms(90_000)), since: None }), ..user() };
        let error = check_open(&locked, NOW).err().unwrap();
        assert_eq!(error.code(), Code::UserLocked);
        assert_eq!(error.problems()[0].meta["lockout_expires_in_seconds"], 90);
        assert!(error.problems()[0].detail.as_deref().unwrap().contains("2 minutes"));
        let banned = User { banned: true, ..locked };
        assert_eq!(check_open(&banned, NOW).err().unwrap().code(), Code::UserBanned);
    }
}
