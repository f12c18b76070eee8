//! The machine of states: what may be done when, and what comes next.

use latchkey_base::kinds::UserId;
use latchkey_base::{Code, Error, Problem, Result, Time};
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::{Challenge, State};
use latchkey_people::factors::rules as factors;
use latchkey_people::users::model::{Contact, ContactKind, User};
use latchkey_presence::sessions::model::Session;
use latchkey_presence::sign_ins::model::{SignIn, SignInStep};

use crate::factors::rules::check_open;

/// A first factor, by its name.
pub fn first_strategy(name: &str) -> Result<Strategy> {
    const ALL: [Strategy; 6] = [
        Strategy::Password,
        Strategy::EmailCode,
        Strategy::EmailLink,
        Strategy::PhoneCode,
        Strategy::ResetPasswordEmailCode,
        Strategy::ResetPasswordPhoneCode,
    ];
    strategy(name, |strategy| ALL.contains(&strategy) || strategy.is_wallet())
}

/// A second factor, by its name.
pub fn second_strategy(name: &str) -> Result<Strategy> {
    const ALL: [Strategy; 5] =
        [Strategy::EmailCode, Strategy::EmailLink, Strategy::PhoneCode, Strategy::Totp, Strategy::BackupCode];
    strategy(name, |strategy| ALL.contains(&strategy))
}

fn strategy(name: &str, is_possible: impl Fn(Strategy) -> bool) -> Result<Strategy> {
    let found = Strategy::named(name).filter(|strategy| is_possible(*strategy));
    found.ok_or_else(|| {
        Problem::of(Code::FormParamValueInvalid, "strategy").saying("This strategy is not available.").into()
    })
}

/// The user of an attempt, unless they may not sign in at the moment. Where answers must not tell who has
/// an account, such a user is nobody until something is proven.
pub fn admitted(user: User, step: SignInStep, settings: &Settings, now: Time) -> Result<Option<User>> {
    let is_proven = is_past_first(step);
    match check_open(&user, now) {
        Ok(()) => Ok(Some(user)),
        Err(_) if settings.attack_protection.enumeration_protection && !is_proven => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

fn is_past_first(step: SignInStep) -> bool {
    !matches!(step, SignInStep::NeedsIdentifier | SignInStep::NeedsFirstFactor)
}

/// Refuses to go on from a first factor that would prove nothing now. Somebody who finds a stranger in their
/// account changes the password or removes the address; an attempt of that stranger must not outlive it.
pub fn still_proven(sign_in: &SignIn, user: &User) -> Result<()> {
    if !is_past_first(sign_in.step) || sign_in.step == SignInStep::Complete {
        return Ok(());
    }
    let sent_to = sign_in.first_factor.as_ref().and_then(|challenge| challenge.identification.as_ref());
    let kinds = [ContactKind::Email, ContactKind::Phone, ContactKind::Wallet];
    let held = |id| kinds.iter().find_map(|kind| user.contacts(*kind).find(id));
    if sent_to.is_some_and(|id| !held(id).is_some_and(Contact::is_exclusive)) {
        return Err(Error::new(Code::SignInIdentificationOrUserDeleted));
    }
    match user.password.as_ref().map(|password| password.updated_at) == sign_in.password_set_at {
        true => Ok(()),
        false => Err(Error::new(Code::ClientStateInvalid)),
    }
}

/// Refuses the first factor when it is not its turn.
pub fn expects_first_factor(sign_in: &SignIn, now: Time) -> Result<()> {
    let is_proven = is_proven(sign_in.first_factor.as_ref(), now);
    match sign_in.step {
        SignInStep::NeedsFirstFactor if !is_proven => Ok(()),
        _ if is_proven => Err(Error::new(Code::VerificationAlreadyVerified)),
        _ => Err(Error::new(Code::ClientStateInvalid)),
    }
}

/// Refuses what says itself who it is, such as a ticket, when it is not the turn of the first factor.
pub fn expects_identity(sign_in: &SignIn, now: Time) -> Result<()> {
    match sign_in.step {
        SignInStep::NeedsIdentifier => Ok(()),
        _ => expects_first_factor(sign_in, now),
    }
}

/// Refuses the second factor when it is not its turn.
pub fn expects_second_factor(sign_in: &SignIn, now: Time) -> Result<()> {
    match sign_in.step {
        SignInStep::NeedsSecondFactor | SignInStep::NeedsClientTrust => Ok(()),
        _ if is_proven(sign_in.second_factor.as_ref(), now) => {
            Err(Error::new(Code::VerificationAlreadyVerified))
        }
        _ => Err(Error::new(Code::ClientStateInvalid)),
    }
}

/// Refuses a new password when it is not its turn.
pub fn expects_new_password(sign_in: &SignIn) -> Result<()> {
    match sign_in.step {
        SignInStep::NeedsNewPassword => Ok(()),
        _ => Err(Error::new(Code::ClientStateInvalid)),
    }
}

fn is_proven(challenge: Option<&Challenge>, now: Time) -> bool {
    let state = challenge.map(|challenge| challenge.state(now));
    matches!(state, Some(State::Verified | State::Transferable))
}

/// Whether a strategy is for choosing a new password.
pub fn is_reset(strategy: Strategy) -> bool {
    matches!(strategy, Strategy::ResetPasswordEmailCode | Strategy::ResetPasswordPhoneCode)
}

/// What comes after the first factor was proven by a strategy. `is_password_new` says that a new password
/// was chosen already.
pub fn after_first(
    sign_in: &SignIn,
    user: &User,
    strategy: Strategy,
    is_password_new: bool,
    settings: &Settings,
) -> SignInStep {
    if is_reset(strategy) && !is_password_new {
        return SignInStep::NeedsNewPassword;
    }
    if sign_in.first_factor.as_ref().is_some_and(|first| first.proves_both) {
        return SignInStep::Complete;
    }
    if factors::has_second(user, settings) {
        return SignInStep::NeedsSecondFactor;
    }
    let is_known = sign_in.claim.as_ref().is_some_and(|claim| claim.is_known) || user.bypass_client_trust;
    let is_asked = settings.sign_in.client_trust && strategy == Strategy::Password && !is_known;
    match is_asked && !factors::trust(user, sign_in.typed(), settings).is_empty() {
        true => SignInStep::NeedsClientTrust,
        false => SignInStep::Complete,
    }
}

/// Refuses one more session where there is one already: any in a browser that holds one at a time, one of
/// the same user elsewhere.
pub fn check_free(present: &[Session], user: Option<&UserId>, settings: &Settings) -> Result<()> {
    if present.is_empty() {
        return Ok(());
    }
    if settings.session.single_session {
        return Err(Error::new(Code::SessionExists));
    }
    if present.iter().any(|session| session.actor.is_some()) {
        return Err(Error::new(Code::SessionCreationNotAllowed));
    }
    match present.iter().find(|session| Some(&session.user) == user) {
        Some(session) => {
            let problem = Problem::new(Code::IdentifierAlreadySignedIn);
            Err(problem.with("session_id", session.id.as_str()).into())
        }
        None => Ok(()),
    }
}

/// What somebody is told whose first factor was refused. Where answers must not tell who has an account,
/// they do not tell more than to nobody.
pub fn public_refusal(refusal: Error, strategy: Strategy, settings: &Settings) -> Error {
    if !settings.attack_protection.enumeration_protection {
        return refusal;
    }
    match (refusal.code(), strategy) {
        (Code::FormPasswordIncorrect | Code::UserLocked, Strategy::Password) => wrong_password(),
        (Code::UserLocked, strategy) if strategy.is_wallet() => wrong_signature(),
        (Code::UserLocked, _) => Error::param(Code::FormCodeIncorrect, "code"),
        _ => refusal,
    }
}

/// The refusal of a password that does not tell what was wrong.
pub fn wrong_password() -> Error {
    Error::param(Code::FormPasswordOrIdentifierIncorrect, "password")
}

/// The refusal of a signature. It names no field: pages have none for signatures, and would not show it.
pub fn wrong_signature() -> Error {
    Error::new(Code::FormIncorrectSignature)
}

#[cfg(test)]
mod tests {
    use latchkey_base::kinds::{ClientId, InstanceId, SignInId};
    use latchkey_base::rng::SeededRng;
    use latchkey_presence::sign_ins::model::{ClaimedIdentity, Named};

    use super::*;

    const NOW: Time = Time::from_ms(1_700_000_000_000);

    fn sign_in(step: SignInStep) -> SignIn {
        let rng = SeededRng::new(1);
        let client = ClientId::new(NOW, &rng);
        SignIn { step, ..SignIn::new(&InstanceId::unset(), SignInId::new(NOW, &rng), &client, None, NOW) }
    }

    fn user(more: &str) -> User {
        let document = format!(
            r#"{{"id":"user_2x4y6z8A0C2E4G6I8K0M2O4Q6S8","public_metadata":{{}},"private_metadata":{{}},
            "unsafe_metadata":{{}},"delete_self_enabled":true,"create_organization_enabled":true,
            "email_addresses":{{"all":[{{"id":"idn_2x4y6z8A0C2E4G6I8K0M2O4Q6S8","value":"ada@example.com",
            "verification":{{"strategy":"admin"}},"created_at":0,"updated_at":0}}]}},
            "created_at":0,"updated_at":0{more}}}"#
        );
        serde_json::from_str(&document).unwrap()
    }

    fn code(outcome: Result<()>) -> Option<Code> {
        outcome.err().map(|error| error.code())
    }

    #[test]
    fn each_step_has_its_turn() {
        let first = |step| code(expects_first_factor(&sign_in(step), NOW));
        let second = |step| code(expects_second_factor(&sign_in(step), NOW));
        let password = |step| code(expects_new_password(&sign_in(step)));
        let off = Some(Code::ClientStateInvalid);
        for (step, may) in [
            (SignInStep::NeedsIdentifier, [off, off, off]),
            (SignInStep::NeedsFirstFactor, [None, off, off]),
            (SignInStep::NeedsSecondFactor, [off, None, off]),
            (SignInStep::NeedsClientTrust, [off, None, off]),
            (SignInStep::NeedsNewPassword, [off, off, None]),
            (SignInStep::Complete, [off, off, off]),
        ] {
            assert_eq!([first(step), second(step), password(step)], may, "{step:?}");
        }
        let factor = Some(Challenge::proven(Strategy::Password, NOW));
        let proven = SignIn { first_factor: factor, ..sign_in(SignInStep::NeedsSecondFactor) };
        assert_eq!(code(expects_first_factor(&proven, NOW)), Some(Code::VerificationAlreadyVerified));
    }

    #[test]
    fn what_comes_next_depends_on_user_browser_and_settings() {
        let mut settings = Settings::default();
        let next = |user: &User, strategy, is_new, is_known, settings: &Settings| {
            let claim = ClaimedIdentity {
                identifier: String::new(),
                named_by: Named::Username,
                user: None,
                identification: None,
                may_sign_up: false,
                is_known,
            };
            let sign_in = SignIn { claim: Some(claim), ..sign_in(SignInStep::NeedsFirstFactor) };
            after_first(&sign_in, user, strategy, is_new, settings)
        };
        let (plain, app) = (user(""), user(r#","totp_enabled":true"#));
        let reset = Strategy::ResetPasswordEmailCode;
        assert_eq!(next(&plain, Strategy::Password, false, false, &settings), SignInStep::Complete);
        assert_eq!(next(&app, Strategy::Password, false, true, &settings), SignInStep::NeedsSecondFactor);
        assert_eq!(next(&app, reset, false, true, &settings), SignInStep::NeedsNewPassword);
        assert_eq!(next(&app, reset, true, true, &settings), SignInStep::NeedsSecondFactor);
        settings.sign_in.client_trust = true;
        assert_eq!(next(&plain, Strategy::Password, false, false, &settings), SignInStep::NeedsClientTrust);
        assert_eq!(next(&plain, Strategy::Password, false, true, &settings), SignInStep::Complete);
        assert_eq!(next(&plain, Strategy::EmailCode, false, false, &settings), SignInStep::Complete);
        assert_eq!(next(&app, Strategy::Password, false, false, &settings), SignInStep::NeedsSecondFactor);
    }

    #[test]
    fn locked_users_are_nobody_only_where_nothing_may_be_told() {
        let locked = || user(r#","lock":{"until":null}"#);
        let mut settings = Settings::default();
        let refused =
            admitted(locked(), SignInStep::NeedsFirstFactor, &settings, NOW).err().map(|error| error.code());
        assert_eq!(refused, Some(Code::UserLocked));
        settings.attack_protection.enumeration_protection = true;
        assert!(matches!(admitted(locked(), SignInStep::NeedsFirstFactor, &settings, NOW), Ok(None)));
        assert!(admitted(locked(), SignInStep::NeedsSecondFactor, &settings, NOW).is_err());
        let refusal = public_refusal(Error::new(Code::UserLocked), Strategy::Password, &settings);
        assert_eq!(refusal.code(), Code::FormPasswordOrIdentifierIncorrect);
    }
}
