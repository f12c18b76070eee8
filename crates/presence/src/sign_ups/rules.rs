//! What the application's backend may do to an attempt.

use latchkey_base::{Code, Error, Result, Time};
use latchkey_kernel::limits::EXTERNAL_ID_CHARS;

use super::input::UpdateSignUp;
use super::model::{SignUp, SignUpStatus};

/// An attempt that is neither complete nor given up.
pub fn open(sign_up: SignUp, now: Time) -> Result<SignUp> {
    match sign_up.status(now) {
        SignUpStatus::MissingRequirements => Ok(sign_up),
        SignUpStatus::Complete | SignUpStatus::Abandoned => Err(Error::new(Code::SignUpCannotBeUpdated)),
    }
}

/// Changes what the backend knows better than the person.
pub fn update(sign_up: SignUp, input: &UpdateSignUp, now: Time) -> Result<SignUp> {
    let mut sign_up = open(sign_up, now)?;
    if let Some(change) = input.external_id.clone().change() {
        sign_up.external_id = change.filter(|id| !id.is_empty());
    }
    if sign_up.external_id.as_ref().is_some_and(|id| id.chars().count() > EXTERNAL_ID_CHARS) {
        return Err(Error::param(Code::FormParamMaxLengthExceeded, "external_id")
            .saying(format!("At most {EXTERNAL_ID_CHARS} characters.")));
    }
    sign_up.custom_action = input.custom_action.unwrap_or(sign_up.custom_action);
    Ok(sign_up)
}

#[cfg(test)]
mod tests {
    use latchkey_base::kinds::{ClientId, InstanceId};
    use latchkey_base::patch::Patch;
    use latchkey_base::rng::SeededRng;
    use latchkey_kernel::limits::ATTEMPT_MS;

    use super::*;

    const NOW: Time = Time::from_ms(1_700_000_000_000);

    fn sign_up() -> SignUp {
        let rng = SeededRng::new(5);
        SignUp::new(&InstanceId::new(NOW, &rng), &ClientId::new(NOW, &rng), NOW, &rng)
    }

    fn id(text: &str) -> UpdateSignUp {
        UpdateSignUp { external_id: Patch::Value(text.into()), custom_action: None }
    }

    #[test]
    fn what_is_left_out_stays_and_null_takes_away() {
        let changed = update(sign_up(), &id("engine"), NOW).ok().unwrap();
        let marked = UpdateSignUp { external_id: Patch::Absent, custom_action: Some(true) };
        let changed = update(changed, &marked, NOW).ok().unwrap();
        assert_eq!((changed.external_id.as_deref(), changed.custom_action), (Some("engine"), true));
        let cleared = UpdateSignUp { external_id: Patch::Null, custom_action: None };
        let changed = update(changed, &cleared, NOW).ok().unwrap();
        assert_eq!((changed.external_id, changed.custom_action), (None, true));
    }

    #[test]
    fn what_is_over_or_too_long_is_refused() {
        let late = NOW.plus_ms(ATTEMPT_MS);
        let refused = |outcome: Result<SignUp>| outcome.err().map(|error| error.code());
        assert_eq!(refused(update(sign_up(), &id("x"), late)), Some(Code::SignUpCannotBeUpdated));
        let long = id(&"x".repeat(EXTERNAL_ID_CHARS + 1));
        assert_eq!(refused(update(sign_up(), &long, NOW)), Some(Code::FormParamMaxLengthExceeded));
    }
}
