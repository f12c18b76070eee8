//! What is next in an attempt, by what its user has now.

use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::factors::audience::FactorAudience;
use latchkey_people::factors::model::Factor;
use latchkey_people::factors::rules as factors;
use latchkey_people::users::model::User;

use super::model::{SignIn, SignInStep};

/// An attempt as it stands now. Second factors may have come or gone since the first one was proven: one that is
/// gone is not asked for, one that came is. Where nothing is left to be asked for, the first factor is proven once
/// more: to have proven it is not enough while there was something to prove beside it.
pub fn due(sign_in: SignIn, user: &User, settings: &Settings) -> SignIn {
    let has_second = || factors::has_second(user, settings);
    let has_trust = || !factors::trust(user, sign_in.typed(), settings).is_empty();
    match sign_in.step {
        SignInStep::NeedsSecondFactor if !has_second() => from_the_first_factor(sign_in),
        SignInStep::NeedsClientTrust if has_second() => {
            SignIn { step: SignInStep::NeedsSecondFactor, second_factor: None, ..sign_in }
        }
        SignInStep::NeedsClientTrust if !has_trust() => from_the_first_factor(sign_in),
        _ => sign_in,
    }
}

/// Returns the second factors that a client is offered in an attempt. A passkey that was the first factor is not the second
/// one too.
pub fn second_factors(
    sign_in: &SignIn,
    user: &User,
    settings: &Settings,
    audience: FactorAudience,
) -> Vec<Factor> {
    let factors = match sign_in.step {
        SignInStep::NeedsClientTrust => factors::trust(user, sign_in.typed(), settings),
        _ => factors::second(user, settings),
    };
    if sign_in.first_factor.as_ref().is_some_and(|first| first.strategy == Strategy::PASSKEY) {
        return factors;
    }
    factors::with_second_passkey(factors, user, settings, audience)
}

fn from_the_first_factor(sign_in: SignIn) -> SignIn {
    let step = SignInStep::NeedsFirstFactor;
    SignIn { step, first_factor: None, second_factor: None, new_password: None, ..sign_in }
}

#[cfg(test)]
mod tests {
    use latchkey_base::Time;
    use latchkey_base::kinds::{ClientId, InstanceId, SignInId};
    use latchkey_base::rng::SeededRng;
    use latchkey_people::challenges::model::Challenge;

    use super::*;
    use crate::sign_ins::model::ChosenPassword;

    const NOW: Time = Time::from_ms(1_700_000_000_000);

    fn user(more: &str) -> User {
        let document = format!(
            r#"{{"id":"user_2x4y6z8A0C2E4G6I8K0M2O4Q6S8","public_metadata":{{}},"private_metadata":{{}},
            "unsafe_metadata":{{}},"delete_self_enabled":true,"create_organization_enabled":true,
            "created_at":0,"updated_at":0{more}}}"#
        );
        serde_json::from_str(&document).unwrap()
    }

    fn next(step: SignInStep, user: &User) -> (SignInStep, bool, bool) {
        let rng = SeededRng::new(1);
        let proven = || Some(Challenge::proven(Strategy::Password, NOW));
        let blank =
            SignIn::new(&InstanceId::unset(), SignInId::new(NOW, &rng), &ClientId::new(NOW, &rng), None, NOW);
        let chosen = ChosenPassword { digest: String::new(), hasher: String::new(), ends_sessions: true };
        let new_password = Some(chosen);
        let sign_in = SignIn { step, first_factor: proven(), second_factor: proven(), new_password, ..blank };
        let due = due(sign_in, user, &Settings::default());
        assert_eq!(due.new_password.is_some(), due.first_factor.is_some(), "it goes with the first factor");
        (due.step, due.first_factor.is_some(), due.second_factor.is_some())
    }

    #[test]
    fn second_factors_are_asked_for_as_long_as_they_are_there() {
        let app = user(r#","totp_enabled":true"#);
        let address = user(
            r#","email_addresses":{"all":[{"id":"idn_2x4y6z8A0C2E4G6I8K0M2O4Q6S8","value":"ada@example.com",
            "verification":{"strategy":"admin"},"created_at":0,"updated_at":0}]}"#,
        );
        let back = (SignInStep::NeedsFirstFactor, false, false);
        assert_eq!(next(SignInStep::NeedsSecondFactor, &app), (SignInStep::NeedsSecondFactor, true, true));
        assert_eq!(next(SignInStep::NeedsSecondFactor, &address), back);
        assert_eq!(next(SignInStep::NeedsClientTrust, &address), (SignInStep::NeedsClientTrust, true, true));
        assert_eq!(next(SignInStep::NeedsClientTrust, &app), (SignInStep::NeedsSecondFactor, true, false));
        assert_eq!(next(SignInStep::NeedsClientTrust, &user("")), back);
        for step in [SignInStep::NeedsFirstFactor, SignInStep::NeedsNewPassword, SignInStep::Complete] {
            assert_eq!(next(step, &address), (step, true, true));
        }
    }
}
