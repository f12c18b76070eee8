//! Decisions about signing up. Pure: values in, values or problems out.

use latchkey_base::locale::is_locale;
use latchkey_base::patch::Patch;
use latchkey_base::secret::Secret;
use latchkey_base::text::{name_problem, typed_phone, username_problem};
use latchkey_base::{Code, Error, Problem, Result, Time};
use latchkey_kernel::cx::Act;
use latchkey_kernel::settings::{Settings, SignUpMode};
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::rules as challenges;
use latchkey_people::challenges::rules::{ChallengeTarget, PreparedChallenge};
use latchkey_people::identifications::rules::{attribute, checked};
use latchkey_people::restrictions::rules::blocked;
use latchkey_people::users::input::CreateUser;
use latchkey_people::users::metadata::stored;
use latchkey_people::users::model::{ContactKind, PasswordState, User, Verification};
use latchkey_people::users::rules as users;
use latchkey_people::users::rules::{Setting, disabled};
use latchkey_presence::sign_ups::fields::needs_proof;
use latchkey_presence::sign_ups::model::{Claimed, SignUp};

use super::input::SignUpForm;
use crate::strategies::{WalletRequest, prepare_wallet};

/// Whether people may sign up at all, or only those who were invited.
pub fn admit(settings: &Settings, is_invited: bool) -> Result<()> {
    match settings.sign_up.mode {
        SignUpMode::Restricted if !is_invited => Err(Error::new(Code::SignUpModeRestricted)),
        SignUpMode::Waitlist if !is_invited => Err(Error::new(Code::SignUpRestrictedWaitlist)),
        SignUpMode::Public | SignUpMode::Restricted | SignUpMode::Waitlist => Ok(()),
    }
}

/// An attempt with what a form says, but for the password. Everything wrong is added to `problems`.
pub fn fill(
    mut sign_up: SignUp,
    form: &SignUpForm,
    settings: &Settings,
    test_mode: bool,
    now: Time,
    problems: &mut Vec<Problem>,
) -> Result<SignUp> {
    let attributes = &settings.attributes;
    let (email, phone) = contacts(form);
    let wallet = given(&form.web3_wallet).map(Some);
    for (kind, said) in
        [(ContactKind::Email, email), (ContactKind::Phone, phone), (ContactKind::Wallet, wallet)]
    {
        match said.map(|text| text.map(|text| claim(kind, text, settings, test_mode))) {
            Some(Some(Ok(value))) => set_claim(sign_up.claimed_mut(kind), value),
            Some(Some(Err(problem))) => problems.push(problem),
            Some(None) => *sign_up.claimed_mut(kind) = None,
            None => (),
        }
    }
    let (min, max) = (settings.username.min_length, settings.username.max_length);
    let texts = [
        ("username", &form.username, &attributes.username, &mut sign_up.username),
        ("first_name", &form.first_name, &attributes.first_name, &mut sign_up.first_name),
        ("last_name", &form.last_name, &attributes.last_name, &mut sign_up.last_name),
    ];
    for (param, text, attribute, field) in texts {
        let Some(text) = said(text) else { continue };
        problems.extend(text.and_then(|text| match param {
            _ if !attribute.enabled => Some(disabled(param)),
            "username" => username_problem(text, min, max),
            _ => name_problem(param, text),
        }));
        *field = text.map(str::to_owned);
    }
    if let Some(metadata) = &form.unsafe_metadata {
        sign_up.unsafe_metadata = stored("unsafe_metadata", metadata.clone(), problems)?;
    }
    match form.legal_accepted {
        Some(true) => sign_up.legal_accepted_at = sign_up.legal_accepted_at.or(Some(now)),
        Some(false) if settings.legal_consent_required => {
            problems.push(Problem::of(Code::LegalNotAccepted, "legal_accepted"));
        }
        Some(false) | None => (),
    }
    // What browsers call their language is not always a language tag, and no reason to turn anybody away.
    if let Some(locale) = given(&form.locale).filter(|locale| is_locale(locale)) {
        sign_up.locale = Some(locale.to_owned());
    }
    Ok(sign_up)
}

/// Address and number of a form. One field may be either, as pages with one input have it.
fn contacts(form: &SignUpForm) -> (FormField<'_>, FormField<'_>) {
    let either = given(&form.email_address_or_phone_number);
    let email = given(&form.email_address).or(either.filter(|text| text.contains('@')));
    let phone = either.filter(|text| !text.contains('@')).map(Some);
    let phone = match said(&form.phone_number) {
        Some(Some(number)) => Some(Some(number)),
        cleared => phone.or(cleared),
    };
    // Pages leave the input of an address empty that they do not ask for again; that takes nothing away.
    (email.map(Some), phone)
}

/// The stored form of an address or number that somebody says is theirs, if it is accepted here.
pub fn claim(kind: ContactKind, text: &str, settings: &Settings, test_mode: bool) -> Result<String, Problem> {
    if !attribute(kind, settings).enabled {
        return Err(disabled(kind.name()));
    }
    let number = Some(text).filter(|_| kind == ContactKind::Phone).and_then(typed_phone);
    let value = checked(kind, number.as_deref().unwrap_or(text))?;
    match blocked(kind, &value, settings, test_mode) {
        Some(problem) => Err(problem),
        None => Ok(value),
    }
}

/// Whether everything somebody has said to be theirs is accepted here, whichever way it came: by a form, from
/// a sign-in, or before the settings changed.
pub fn accepted(sign_up: &SignUp, settings: &Settings, test_mode: bool) -> Result<()> {
    let claimed = contacts_of(sign_up).into_iter();
    Error::collect(claimed.filter_map(|(kind, value)| blocked(kind, &value, settings, test_mode)).collect())
}

/// Another value starts from the beginning; the same one keeps what was proven.
fn set_claim(field: &mut Option<Claimed>, value: String) {
    match field {
        Some(claimed) if claimed.value == value => (),
        _ => {
            let is_outdated = field.as_ref().is_some_and(|old| old.verification.is_some() || old.is_outdated);
            *field = Some(Claimed { is_outdated, ..Claimed::new(value) });
        }
    }
}

/// What of an attempt may be said to be taken. Where answers must not tell who has an account, those are told
/// who have proven that the address is theirs.
pub fn tellable(sign_up: &SignUp, settings: &Settings) -> Vec<(&'static str, String)> {
    let claimed = tellable_contacts(sign_up, settings).into_iter().map(|(kind, value)| (kind.name(), value));
    claimed.chain(sign_up.username.clone().map(|name| ("username", name))).collect()
}

/// The same without the username.
pub fn tellable_contacts(sign_up: &SignUp, settings: &Settings) -> Vec<(ContactKind, String)> {
    let is_silent = settings.attack_protection.enumeration_protection;
    let told = |kind: &ContactKind| !(is_silent && needs_proof(sign_up, *kind, settings));
    contacts_of(sign_up).into_iter().filter(|(kind, _)| told(kind)).collect()
}

/// What an attempt has said to be theirs, of what can stand on lists.
pub fn contacts_of(sign_up: &SignUp) -> Vec<(ContactKind, String)> {
    let kinds = [ContactKind::Email, ContactKind::Phone, ContactKind::Wallet].into_iter();
    kinds.filter_map(|kind| Some((kind, sign_up.claimed(kind)?.value.clone()))).collect()
}

/// The strategy a form names, if it asks for a proof. Others are known, but ask for nothing here.
pub fn strategy(form: &SignUpForm) -> Result<Option<Strategy>> {
    match given(&form.strategy) {
        None | Some("password" | "ticket") => Ok(None),
        Some(name) => match sent(name) {
            Some(strategy) => Ok(Some(strategy)),
            None => Err(Error::param(Code::FormParamValueInvalid, "strategy")
                .saying("This way to sign up is not open.")),
        },
    }
}

/// The strategy of a proof that is asked for.
pub fn named(strategy: Option<&str>) -> Result<Strategy> {
    let name = strategy.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Error::param(Code::FormParamMissing, "strategy"))?;
    sent(name).ok_or_else(|| Error::param(Code::VerificationStrategyInvalid, "strategy"))
}

/// The strategy of a proof that is given by whoever signs up: a code, or a signature.
pub fn given_by_form(strategy: Option<&str>) -> Result<Strategy> {
    match named(strategy)? {
        Strategy::EmailLink => Err(Error::param(Code::VerificationStrategyInvalid, "strategy")),
        strategy => Ok(strategy),
    }
}

fn sent(name: &str) -> Option<Strategy> {
    let own = [Strategy::EmailCode, Strategy::EmailLink, Strategy::PhoneCode];
    Strategy::named(name).filter(|strategy| own.contains(strategy) || strategy.is_wallet())
}

pub fn proves(strategy: Strategy) -> ContactKind {
    match strategy {
        Strategy::PhoneCode => ContactKind::Phone,
        strategy if strategy.is_wallet() => ContactKind::Wallet,
        _ => ContactKind::Email,
    }
}

/// Asks for a proof. `redirect_url` is where a link leads in the end, `page` the origin of the page that asks.
pub fn prepare(
    act: &Act,
    sign_up: &mut SignUp,
    strategy: Strategy,
    redirect_url: Option<String>,
    page: &str,
    settings: &Settings,
) -> Result<PreparedChallenge> {
    let kind = proves(strategy);
    let owner = sign_up.id.to_string();
    if !attribute(kind, settings).verifications.contains(&strategy) {
        return Err(Error::param(Code::VerificationStrategyInvalid, "strategy"));
    }
    let missing = || Error::param(Code::FormParamMissing, kind.name());
    let claimed = sign_up.claimed_mut(kind).as_mut().ok_or_else(missing)?;
    if claimed.is_verified() {
        return Err(Error::new(Code::VerificationAlreadyVerified));
    }
    let target = ChallengeTarget { kind, value: &claimed.value, identification: None };
    let previous = claimed.verification.as_ref();
    let prepared = match strategy {
        strategy if strategy.is_wallet() => {
            let asked = WalletRequest { strategy, address: &claimed.value, identification: None, page };
            let challenge = prepare_wallet(act, asked)?;
            PreparedChallenge { challenge, secret: Secret::new(String::new()), is_sent: false }
        }
        Strategy::EmailLink => {
            let url = redirect_url.ok_or_else(|| Error::param(Code::FormParamMissing, "redirect_url"))?;
            challenges::link(act, &target, &owner, url, previous)?
        }
        _ => challenges::code(act, strategy, &target, previous)?,
    };
    claimed.verification = Some(prepared.challenge.clone());
    claimed.is_outdated = false;
    sign_up.links.note(&prepared.challenge);
    Ok(prepared)
}

/// The user an attempt makes.
pub fn user(sign_up: &SignUp, on: Setting<'_>) -> Result<User> {
    let values =
        |kind: ContactKind| sign_up.claimed(kind).map(|claimed| claimed.value.clone()).into_iter().collect();
    let input = CreateUser {
        external_id: sign_up.external_id.clone(),
        first_name: sign_up.first_name.clone(),
        last_name: sign_up.last_name.clone(),
        locale: sign_up.locale.clone(),
        email_address: values(ContactKind::Email),
        phone_number: values(ContactKind::Phone),
        web3_wallet: values(ContactKind::Wallet),
        username: sign_up.username.clone(),
        // Only whether there is one counts here; the digest takes another way.
        password_digest: sign_up.password.as_ref().map(|_| Secret::new(String::new())),
        // What people who sign up must have was asked of them already, and the terms are noted below.
        skip_user_requirement: Some(true),
        skip_password_requirement: Some(true),
        skip_legal_checks: Some(true),
        ..CreateUser::default()
    };
    let mut problems = Vec::new();
    let mut user = users::create(&input, on, &mut problems)?;
    user.unsafe_metadata = sign_up.unsafe_metadata.clone();
    user.public_metadata = sign_up.public_metadata.clone();
    if sign_up.newcomer().is_some_and(|newcomer| newcomer.account.is_some()) {
        // The account at the provider says who it is; the caller connects it.
        problems.retain(|problem| problem.code != Code::FormDataMissing);
    }
    Error::collect(problems)?;
    for kind in [ContactKind::Email, ContactKind::Phone, ContactKind::Wallet] {
        let Some(claimed) = sign_up.claimed(kind) else { continue };
        for contact in &mut user.contacts_mut(kind).all {
            contact.verification = proof(claimed);
            // Unproven where the instance does not ask for proof, yet what the person signs in with.
            contact.reserved = !claimed.is_verified() && kind != ContactKind::Wallet;
        }
    }
    user.legal_accepted_at = sign_up.legal_accepted_at;
    user.password =
        sign_up.password.as_ref().map(|_| PasswordState { updated_at: on.now, compromised: false });
    Ok(user)
}

fn proof(claimed: &Claimed) -> Option<Verification> {
    let proven = claimed.verification.as_ref().filter(|challenge| challenge.verified_at.is_some())?;
    Some(Verification {
        strategy: proven.strategy,
        attempts: Some(proven.attempts),
        expire_at: proven.expire_at,
    })
}

/// What a form says about a field, if it does: its new text, or that it has none any more.
type FormField<'a> = Option<Option<&'a str>>;

/// What a form says about a field that can be cleared.
fn said(text: &Patch<String>) -> FormField<'_> {
    match text {
        Patch::Absent => None,
        Patch::Null => Some(None),
        Patch::Value(text) => Some(Some(text.as_str()).filter(|text| !text.is_empty())),
    }
}

/// An optional text, where empty means not given.
fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use latchkey_base::kinds::{ClientId, InstanceId};
    use latchkey_base::rng::SeededRng;
    use latchkey_jose::seal::MasterKey;
    use latchkey_people::challenges::model::Challenge;
    use latchkey_presence::sign_ups::model::Password;
    use latchkey_web::network::Network;

    use super::*;

    const NOW: Time = Time::from_ms(1_700_000_000_000);
    const PAGE: &str = "http://localhost:3000";

    fn act() -> Act {
        let rng = SeededRng::new(9);
        Act {
            instance: InstanceId::new(NOW, &rng),
            key: None,
            now: NOW,
            rng: Arc::new(rng),
            master: Arc::new(MasterKey::from_bytes([7; 32])),
            client_ip: String::new(),
            network: Network::UNKNOWN,
            user_agent: String::new(),
            languages: String::new(),
            test_mode: false,
            settings: Arc::default(),
            url: "http://latchkey.test".into(),
            api_url: "http://latchkey.test".into(),
            registry: Arc::default(),
        }
    }

    fn filled(form: SignUpForm, settings: &Settings) -> (SignUp, Vec<Code>) {
        let rng = SeededRng::new(5);
        let blank = SignUp::new(&InstanceId::new(NOW, &rng), &ClientId::new(NOW, &rng), NOW, &rng);
        again(blank, form, settings)
    }

    fn again(sign_up: SignUp, form: SignUpForm, settings: &Settings) -> (SignUp, Vec<Code>) {
        let mut problems = Vec::new();
        let sign_up = fill(sign_up, &form, settings, false, NOW, &mut problems).ok().unwrap();
        (sign_up, problems.iter().map(|problem| problem.code).collect())
    }

    fn address(text: &str) -> SignUpForm {
        SignUpForm { email_address: Some(text.into()), ..SignUpForm::default() }
    }

    fn code<T>(outcome: Result<T>) -> Option<Code> {
        outcome.err().map(|error| error.code())
    }

    #[test]
    fn doors_are_open_to_all_or_to_the_invited() {
        let mut settings = Settings::default();
        assert_eq!(code(admit(&settings, false)), None);
        settings.sign_up.mode = SignUpMode::Restricted;
        assert_eq!(code(admit(&settings, false)), Some(Code::SignUpModeRestricted));
        settings.sign_up.mode = SignUpMode::Waitlist;
        assert_eq!(code(admit(&settings, false)), Some(Code::SignUpRestrictedWaitlist));
        assert_eq!(code(admit(&settings, true)), None);
    }

    #[test]
    fn another_address_loses_the_proof_of_the_one_before() {
        let settings = Settings::default();
        let (mut sign_up, _) = filled(address("Ada@Example.com"), &settings);
        assert!(prepare(&act(), &mut sign_up, Strategy::EmailCode, None, PAGE, &settings).is_ok());
        let (sign_up, _) = again(sign_up, address("ada@example.com"), &settings);
        assert!(sign_up.claimed(ContactKind::Email).unwrap().verification.is_some());
        let (mut sign_up, _) = again(sign_up, address("eve@example.com"), &settings);
        let claimed = sign_up.claimed(ContactKind::Email).unwrap();
        assert!(claimed.verification.is_none() && claimed.is_outdated);
        assert!(prepare(&act(), &mut sign_up, Strategy::EmailCode, None, PAGE, &settings).is_ok());
        assert!(!sign_up.claimed(ContactKind::Email).unwrap().is_outdated);
    }

    #[test]
    fn proofs_are_asked_for_as_the_settings_say() {
        let settings = Settings::default();
        let (mut sign_up, _) = filled(address("ada@example.com"), &settings);
        let mut refused = |strategy| code(prepare(&act(), &mut sign_up, strategy, None, PAGE, &settings));
        assert_eq!(refused(Strategy::EmailLink), Some(Code::VerificationStrategyInvalid));
        assert_eq!(refused(Strategy::PhoneCode), Some(Code::FormParamMissing));
        let claimed = sign_up.email_address.as_mut().unwrap();
        claimed.verification = Some(Challenge::proven(Strategy::EmailCode, NOW));
        let again = prepare(&act(), &mut sign_up, Strategy::EmailCode, None, PAGE, &settings);
        assert_eq!(code(again), Some(Code::VerificationAlreadyVerified));
    }

    #[test]
    fn strategies_that_ask_for_nothing_are_known_and_others_are_not() {
        let of = |name: &str| strategy(&SignUpForm { strategy: Some(name.into()), ..SignUpForm::default() });
        assert!(
            matches!(of("password"), Ok(None))
                && matches!(of("ticket"), Ok(None))
                && matches!(of(""), Ok(None))
        );
        assert!(matches!(of("phone_code"), Ok(Some(Strategy::PhoneCode))));
        assert_eq!(code(of("oauth_google")), Some(Code::FormParamValueInvalid));
        assert_eq!(code(named(Some("totp"))), Some(Code::VerificationStrategyInvalid));
        assert_eq!(code(given_by_form(Some("email_link"))), Some(Code::VerificationStrategyInvalid));
        assert_eq!(code(given_by_form(None)), Some(Code::FormParamMissing));
    }

    #[test]
    fn nothing_is_told_about_an_address_that_is_not_proven_where_answers_must_not_tell() {
        let mut settings = Settings::default();
        let form = SignUpForm { username: Patch::Value("countess".into()), ..address("ada@example.com") };
        let (mut sign_up, _) = filled(form, &settings);
        let told = |sign_up: &SignUp, settings: &Settings| {
            tellable(sign_up, settings).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(told(&sign_up, &settings), ["email_address", "username"]);
        settings.attack_protection.enumeration_protection = true;
        assert_eq!(told(&sign_up, &settings), ["username"]);
        let claimed = sign_up.email_address.as_mut().unwrap();
        claimed.verification = Some(Challenge::proven(Strategy::EmailCode, NOW));
        assert_eq!(told(&sign_up, &settings), ["email_address", "username"]);
    }

    #[test]
    fn subaddresses_are_refused_where_they_are_blocked() {
        let mut settings = Settings::default();
        assert_eq!(filled(address("ada+1@example.com"), &settings).1, []);
        settings.restrictions.block_email_subaddresses = true;
        assert_eq!(filled(address("ada+1@example.com"), &settings).1, [Code::NotAllowedAccess]);
        assert_eq!(filled(address("ada@example.com"), &settings).1, []);
    }

    #[test]
    fn user_has_what_was_proven_and_how() {
        let settings = Settings::default();
        let form = SignUpForm {
            phone_number: Patch::Value("+4915112345678".into()),
            first_name: Patch::Value("Ada".into()),
            legal_accepted: Some(true),
            ..address("ada@example.com")
        };
        let (mut sign_up, _) = filled(form, &settings);
        sign_up.password = Some(Password::Moved);
        let proven = Challenge { attempts: 2, ..Challenge::proven(Strategy::EmailLink, NOW) };
        sign_up.email_address.as_mut().unwrap().verification = Some(proven);
        let act = act();
        let on = Setting { instance: &act.instance, settings: &settings, now: NOW, rng: &*act.rng };
        let user = user(&sign_up, on).ok().unwrap();
        let (email, phone) = (&user.email_addresses.all[0], &user.phone_numbers.all[0]);
        let proof = Verification { strategy: Strategy::EmailLink, attempts: Some(2), expire_at: None };
        assert_eq!((email.verification.as_ref(), email.reserved), (Some(&proof), false));
        assert_eq!((phone.verification.as_ref(), phone.reserved), (None, true));
        assert_eq!((user.legal_accepted_at, user.first_name.as_deref()), (Some(NOW), Some("Ada")));
        assert!(user.password.is_some_and(|password| password.updated_at == NOW && !password.compromised));
    }
}
