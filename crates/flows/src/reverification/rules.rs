//! Decisions about proving anew. Pure: values in, values or refusals out.

use latchkey_base::{Code, Error, Result, Time};
use latchkey_kernel::limits::ATTEMPT_MS;
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::factors::audience::FactorAudience;
use latchkey_people::factors::model::Factor;
use latchkey_people::factors::rules as factors;
use latchkey_people::users::model::User;
use latchkey_presence::sessions::model::{Level, Reverification, ReverificationStatus, Session};

use crate::factors::rules::begun;

/// The first factors that prove anew who it is.
pub fn first_factors(user: &User, settings: &Settings, audience: FactorAudience) -> Vec<Factor> {
    let all = factors::first(user, None, settings).into_iter();
    let known = all.filter(|factor| factor.strategy.reproves());
    known.chain(factors::devices(user, settings, audience)).collect()
}

/// Returns the second factors that a client is offered in a reverification. A passkey that was the first factor is not the
/// second one too.
pub fn second_factors(
    under_way: &Reverification,
    user: &User,
    settings: &Settings,
    audience: FactorAudience,
) -> Vec<Factor> {
    let factors = factors::second(user, settings);
    if under_way.first_factor.as_ref().is_some_and(|first| first.strategy == Strategy::PASSKEY) {
        return factors;
    }
    factors::with_second_passkey(factors, user, settings, audience)
}

/// Begins to prove anew. Who has no second factor proves the first one instead.
pub fn start(mut session: Session, level: Level, user: &User, settings: &Settings) -> Session {
    let level = if factors::has_second(user, settings) { level } else { Level::FirstFactor };
    let sent = session.reverification.take().map(|last| last.sent).unwrap_or_default();
    session.reverification = Some(Reverification { level, first_factor: None, second_factor: None, sent });
    session
}

/// What is under way, if that is what comes next.
pub fn expected(session: &Session, status: ReverificationStatus) -> Result<&Reverification> {
    let missing = || Error::new(Code::SessionReverificationMissing);
    let under_way = session.reverification.as_ref().ok_or_else(missing)?;
    match under_way.status() == status {
        true => Ok(under_way),
        false => Err(Error::new(Code::InvalidActionForSessionReverification)),
    }
}

/// The proof of a first factor that was begun with a registered strategy, unless its time is over.
pub fn open(session: &Session, strategy: Strategy, now: Time) -> Result<Option<&Challenge>> {
    let under_way = expected(session, ReverificationStatus::NeedsFirstFactor)?;
    begun(under_way.first_factor.as_ref(), strategy, now)
}

/// What was sent last to where a factor sends its codes. It is forgotten after a day.
pub fn last_sent<'a>(under_way: &'a Reverification, factor: &Factor, now: Time) -> Option<&'a Challenge> {
    let target = factor.recipient.as_ref().map(|recipient| recipient.value.as_str());
    under_way.sent.iter().find(|last| {
        last.strategy == factor.strategy
            && last.target.as_deref() == target
            && (0..ATTEMPT_MS).contains(&(now.ms() - last.sent_at.ms()))
    })
}

/// Notes that a code was sent, and waits for it.
pub fn asked(mut session: Session, challenge: Challenge, now: Time) -> Session {
    if let Some(under_way) = &mut session.reverification {
        let is_other =
            |last: &Challenge| last.strategy != challenge.strategy || last.target != challenge.target;
        under_way.sent.retain(|last| is_other(last) && now.ms_since(last.sent_at) < ATTEMPT_MS);
        under_way.sent.push(Challenge { secret: None, ..challenge.clone() });
    }
    with_challenge(session, challenge)
}

/// Notes how a factor stands. With the last one the session is as good as one that was just opened by it: whoever has no
/// second factor (any more) has not proven one either, or what they proved at first would get old and never be renewed.
pub fn noted(session: Session, challenge: Challenge, user: &User, settings: &Settings) -> Session {
    let mut session = with_challenge(session, challenge);
    let Some(under_way) = session.reverification.as_ref().filter(|it| !it.is_under_way()) else {
        return session;
    };
    let at = |factor: Option<&Challenge>| factor.and_then(|factor| factor.verified_at);
    let first = under_way.first_factor.as_ref();
    let second = under_way.second_factor.as_ref().or(first.filter(|first| first.proves_both));
    let before = session.second_factor_at.filter(|_| factors::has_second(user, settings));
    let (first, second) = (at(first), at(second));
    session.first_factor_at = first.or(session.first_factor_at);
    session.second_factor_at = second.or(before);
    session
}

/// The session with what is known of the factor that comes next.
fn with_challenge(mut session: Session, challenge: Challenge) -> Session {
    let Some(under_way) = &mut session.reverification else { return session };
    match under_way.status() {
        ReverificationStatus::NeedsFirstFactor => under_way.first_factor = Some(challenge),
        ReverificationStatus::NeedsSecondFactor => under_way.second_factor = Some(challenge),
        ReverificationStatus::Complete => (),
    }
    session
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_ms(1_700_000_000_000);

    fn session(level: Level) -> Session {
        let document = r#"{"id":"sess_2x4y6z8A0C2E4G6I8K0M2O4Q6S8","client":"client_2x4y6z8A0C2E4G6I8K0M2O4Q6S8",
            "user":"user_2x4y6z8A0C2E4G6I8K0M2O4Q6S8","status":"active","last_active_at":0,"expire_at":0,
            "abandon_at":0,"created_at":0,"updated_at":0}"#;
        let session: Session = serde_json::from_str(document).unwrap();
        let under_way = Reverification { level, first_factor: None, second_factor: None, sent: Vec::new() };
        Session { reverification: Some(under_way), ..session }
    }

    /// A user with an authenticator app, or without one.
    fn user(has_totp: bool) -> User {
        let document = format!(
            r#"{{"id":"user_2x4y6z8A0C2E4G6I8K0M2O4Q6S8","public_metadata":{{}},"private_metadata":{{}},
            "unsafe_metadata":{{}},"totp_enabled":{has_totp},"created_at":0,"updated_at":0}}"#
        );
        serde_json::from_str(&document).unwrap()
    }

    /// What becomes of a session of somebody with a second factor.
    fn noted(session: Session, challenge: Challenge) -> Session {
        super::noted(session, challenge, &user(true), &Settings::default())
    }

    fn status(session: &Session) -> ReverificationStatus {
        session.reverification.as_ref().unwrap().status()
    }

    #[test]
    fn both_factors_count_only_together() {
        let first = noted(session(Level::MultiFactor), Challenge::proven(Strategy::Password, NOW));
        assert_eq!((status(&first), first.first_factor_at), (ReverificationStatus::NeedsSecondFactor, None));
        let later = NOW.plus_ms(1000);
        let both = noted(first, Challenge::proven(Strategy::Totp, later));
        assert_eq!(status(&both), ReverificationStatus::Complete);
        assert_eq!((both.first_factor_at, both.second_factor_at), (Some(NOW), Some(later)));
    }

    #[test]
    fn a_factor_that_is_two_leaves_nothing_to_prove() {
        let both = Challenge { proves_both: true, ..Challenge::proven(Strategy::PASSKEY, NOW) };
        let done = noted(session(Level::MultiFactor), both);
        assert_eq!(status(&done), ReverificationStatus::Complete);
        assert_eq!((done.first_factor_at, done.second_factor_at), (Some(NOW), Some(NOW)));
    }

    #[test]
    fn whoever_has_no_second_factor_has_proven_none() {
        let old = || Session { second_factor_at: Some(NOW), ..session(Level::FirstFactor) };
        let again = |challenge, has_totp| {
            super::noted(old(), challenge, &user(has_totp), &Settings::default()).second_factor_at
        };
        let later = NOW.plus_ms(1000);
        let password = Challenge::proven(Strategy::Password, later);
        assert_eq!(again(password.clone(), false), None);
        assert_eq!(again(password, true), Some(NOW));
        let both = Challenge { proves_both: true, ..Challenge::proven(Strategy::PASSKEY, later) };
        assert_eq!(again(both, false), Some(later));
        assert_eq!(again(Challenge::failed(Strategy::Password, 1, later), false), Some(NOW));
    }

    #[test]
    fn a_failure_moves_nothing() {
        let tried = noted(session(Level::SecondFactor), Challenge::failed(Strategy::Totp, 1, NOW));
        assert_eq!((status(&tried), tried.second_factor_at), (ReverificationStatus::NeedsSecondFactor, None));
        assert!(expected(&tried, ReverificationStatus::NeedsFirstFactor).is_err());
        assert!(expected(&tried, ReverificationStatus::NeedsSecondFactor).is_ok());
    }

    #[test]
    fn what_is_complete_takes_no_more() {
        let done = noted(session(Level::FirstFactor), Challenge::proven(Strategy::Password, NOW));
        let again = noted(done, Challenge::proven(Strategy::Password, NOW.plus_ms(1)));
        assert_eq!(again.first_factor_at, Some(NOW));
        for status in [ReverificationStatus::NeedsFirstFactor, ReverificationStatus::NeedsSecondFactor] {
            assert!(expected(&again, status).is_err());
        }
    }
}
