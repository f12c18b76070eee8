//! Decisions about users. Pure: values in, values or problems out.

use latchkey_base::kinds::{IdentificationId, ImageId, InstanceId, UserId};
use latchkey_base::locale::is_locale;
use latchkey_base::patch::Patch;
use latchkey_base::rng::Rng;
use latchkey_base::text::{name_problem, username_problem};
use latchkey_base::{Code, Error, Id, Problem, Result, Time};
use latchkey_kernel::limits::{EXTERNAL_ID_CHARS, IDENTIFICATIONS_PER_KIND};
use latchkey_kernel::settings::{Attribute, Settings};

use super::input::{CreateUser, CreatedStatus, UpdateUser};
use super::metadata::stored;
use super::model::{ContactKind, Contacts, Entitlements, Lock, User, Username};
use crate::identifications::input::NewContactStatus;
use crate::identifications::rules as identifications;
use crate::identifications::rules::{checked, contact};

/// Characters of a time zone. The longest name in the IANA database has 32.
const TIMEZONE_CHARS: usize = 64;

/// What a rule may use besides its input.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    pub instance: &'a InstanceId,
    pub settings: &'a Settings,
    pub now: Time,
    /// For new ids.
    pub rng: &'a dyn Rng,
}

/// A new user. Everything wrong with the input is added to `problems`.
pub fn create(input: &CreateUser, on: Setting<'_>, problems: &mut Vec<Problem>) -> Result<User> {
    let Setting { instance, settings, now, rng } = on;
    let attributes = &settings.attributes;
    let statuses = |given: &[CreatedStatus]| -> Vec<NewContactStatus> {
        given
            .iter()
            .map(|status| {
                if *status == CreatedStatus::Reserved {
                    NewContactStatus::Reserved
                } else {
                    NewContactStatus::Verified
                }
            })
            .collect()
    };
    let email_statuses = statuses(&input.email_address_identification_status);
    let phone_statuses = statuses(&input.phone_number_identification_status);
    let contacts = |kind,
                    values: &[String],
                    statuses: &[NewContactStatus],
                    attribute: &Attribute,
                    problems: &mut Vec<Problem>| {
        // Backends vouch for wallets, though nobody can prove to hold one.
        if !values.is_empty() && !attribute.enabled && kind != ContactKind::Wallet {
            problems.push(disabled(ContactKind::name(kind)));
        }
        new_contacts(kind, values, statuses, now, rng, problems)
    };
    let email_addresses = contacts(
        ContactKind::Email,
        &input.email_address,
        &email_statuses,
        &attributes.email_address,
        problems,
    );
    let phone_numbers = contacts(
        ContactKind::Phone,
        &input.phone_number,
        &phone_statuses,
        &attributes.phone_number,
        problems,
    );
    let web3_wallets =
        contacts(ContactKind::Wallet, &input.web3_wallet, &[], &attributes.web3_wallet, problems);
    let username = given(&input.username).map(|name| username(name, settings, now, rng, problems));
    check_texts(&input.external_id, &input.first_name, &input.last_name, &input.locale, problems);
    problems.extend(given(&input.timezone).and_then(timezone_problem));
    for (param, name, attribute) in [
        ("first_name", &input.first_name, &attributes.first_name),
        ("last_name", &input.last_name, &attributes.last_name),
    ] {
        problems.extend((given(name).is_some() && !attribute.enabled).then(|| disabled(param)));
    }
    let created_at = past("created_at", &input.created_at, now, problems).unwrap_or(now);
    let legal_accepted_at = past("legal_accepted_at", &input.legal_accepted_at, now, problems);
    let is_locked = input.locked == Some(true);
    let user = User {
        instance: instance.clone(),
        id: UserId::new(now, rng),
        external_id: given(&input.external_id).map(str::to_owned),
        username,
        first_name: given(&input.first_name).map(str::to_owned),
        last_name: given(&input.last_name).map(str::to_owned),
        locale: given(&input.locale).map(str::to_owned),
        timezone: given(&input.timezone).map(str::to_owned),
        image: None,
        email_addresses,
        phone_numbers,
        web3_wallets,
        passkeys: Vec::new(),
        external_accounts: Vec::new(),
        trusted_devices: Vec::new(),
        public_metadata: stored("public_metadata", input.public_metadata.clone(), problems)?,
        private_metadata: stored("private_metadata", input.private_metadata.clone(), problems)?,
        unsafe_metadata: stored("unsafe_metadata", input.unsafe_metadata.clone(), problems)?,
        password: None,
        totp_enabled: false,
        backup_code_enabled: false,
        mfa_enabled_at: None,
        mfa_disabled_at: None,
        banned: input.banned == Some(true),
        lock: if is_locked { Some(new_lock(settings, now)?) } else { None },
        failed_attempts: 0,
        delete_self_enabled: input.delete_self_enabled,
        create_organization_enabled: input.create_organization_enabled,
        create_organizations_limit: input.create_organizations_limit,
        bypass_client_trust: input.bypass_client_trust == Some(true),
        last_sign_in_at: None,
        last_active_at: None,
        legal_accepted_at,
        entitlements: Entitlements::default(),
        created_at,
        updated_at: now,
    };
    if problems.is_empty() {
        problems.extend(missing(input, &user, settings));
    }
    Ok(user)
}

/// What the instance requires and the user lacks.
fn missing(input: &CreateUser, user: &User, settings: &Settings) -> Option<Problem> {
    let attributes = &settings.attributes;
    let has_password = input.password.is_some() || input.password_digest.is_some();
    let needs_identifiers = input.skip_user_requirement != Some(true);
    let mut missing = Vec::new();
    let mut require = |is_required: bool, has: bool, name: &'static str| {
        if is_required && !has {
            missing.push(name);
        }
    };
    require(
        needs_identifiers && attributes.email_address.required,
        !input.email_address.is_empty(),
        "email_address",
    );
    require(
        needs_identifiers && attributes.phone_number.required,
        !input.phone_number.is_empty(),
        "phone_number",
    );
    require(
        needs_identifiers && attributes.web3_wallet.required,
        !input.web3_wallet.is_empty(),
        "web3_wallet",
    );
    require(needs_identifiers && attributes.username.required, user.username.is_some(), "username");
    // Names identify nobody, so they are not skipped with what does.
    require(attributes.first_name.required, user.first_name.is_some(), "first_name");
    require(attributes.last_name.required, user.last_name.is_some(), "last_name");
    // Whoever has but a username can only sign in with a password, so that cannot be skipped.
    let is_only_way = ![&attributes.email_address, &attributes.phone_number, &attributes.web3_wallet]
        .iter()
        .any(|attribute| attribute.enabled);
    let needs_password = is_only_way || input.skip_password_requirement != Some(true);
    require(attributes.password.required && needs_password, has_password, "password");
    let needs_consent = settings.legal_consent_required && input.skip_legal_checks != Some(true);
    require(needs_consent, user.legal_accepted_at.is_some(), "legal_accepted_at");
    if missing.is_empty() && user.identification_count() == 0 {
        missing = vec!["email_address", "phone_number", "web3_wallet", "username"];
        let text = "A user needs at least one e-mail address, phone number, wallet or username.";
        return Some(Problem::new(Code::FormDataMissing).saying(text).with("missing_fields", missing));
    }
    let text = format!("This instance requires: {}.", missing.join(", "));
    (!missing.is_empty())
        .then(|| Problem::new(Code::FormDataMissing).saying(text).with("missing_fields", missing))
}

/// A user with the given attributes changed.
pub fn update(mut user: User, input: &UpdateUser, on: Setting<'_>) -> Result<User> {
    let Setting { settings, now, rng, .. } = on;
    let mut problems = Vec::new();
    let value = |patch: &Patch<String>| patch.clone().value();
    check_texts(
        &value(&input.external_id),
        &value(&input.first_name),
        &value(&input.last_name),
        &value(&input.locale),
        &mut problems,
    );
    problems
        .extend(value(&input.timezone).filter(|name| !name.is_empty()).as_deref().and_then(timezone_problem));
    check_names(&user, input, settings, &mut problems);
    let keep_text = |target: &mut Option<String>, patch: &Patch<String>| {
        if let Some(change) = patch.clone().change() {
            *target = change.filter(|text| !text.is_empty());
        }
    };
    keep_text(&mut user.external_id, &input.external_id);
    keep_text(&mut user.first_name, &input.first_name);
    keep_text(&mut user.last_name, &input.last_name);
    keep_text(&mut user.locale, &input.locale);
    keep_text(&mut user.timezone, &input.timezone);
    if let Some(change) = input.username.clone().change() {
        let current = user.username.take();
        user.username = match change.filter(|name| !name.is_empty()) {
            Some(name) => match current {
                Some(current) if current.value == name => Some(current),
                current => {
                    let fresh = username(&name, settings, now, rng, &mut problems);
                    Some(Username { id: current.map_or(fresh.id, |current| current.id), ..fresh })
                }
            },
            None => None,
        };
        if user.username.is_none() && user.identification_count() == 0 {
            return Err(Error::param(Code::FormParamNil, "username")
                .saying("The username is the user's last identification."));
        }
        if user.username.is_none() && settings.attributes.username.required {
            return Err(Error::param(Code::FormParamNil, "username")
                .saying("Users of this instance must have a username."));
        }
    }
    if let Some(change) = input.legal_accepted_at.clone().change() {
        user.legal_accepted_at = past("legal_accepted_at", &change, now, &mut problems);
    }
    if let Some(created_at) = past("created_at", &input.created_at, now, &mut problems) {
        user.created_at = created_at;
    }
    if let Some(change) = input.create_organizations_limit.clone().change() {
        user.create_organizations_limit = change;
    }
    // Who has not accepted yet can be changed all the same; what cannot be done is to take it back.
    if settings.legal_consent_required
        && input.skip_legal_checks != Some(true)
        && input.legal_accepted_at == Patch::Null
    {
        problems.push(Problem::of(Code::FormParamMissing, "legal_accepted_at"));
    }
    for (field, given) in [
        (&mut user.delete_self_enabled, &input.delete_self_enabled),
        (&mut user.create_organization_enabled, &input.create_organization_enabled),
    ] {
        *field = given.clone().change().unwrap_or(*field);
    }
    user.bypass_client_trust = input.bypass_client_trust.unwrap_or(user.bypass_client_trust);
    Error::collect(problems)?;
    make_primary(&mut user.email_addresses, &input.primary_email_address_id, "primary_email_address_id")?;
    make_primary(&mut user.phone_numbers, &input.primary_phone_number_id, "primary_phone_number_id")?;
    make_primary(&mut user.web3_wallets, &input.primary_web3_wallet_id, "primary_web3_wallet_id")?;
    if let Some(change) = input.profile_image_id.clone().change() {
        let parse = |text: String| {
            Id::parse(&text).ok_or_else(|| Error::param(Code::ImageNotFound, "profile_image_id"))
        };
        user.image = change.map(parse).transpose()?;
    }
    Ok(user)
}

/// Whether somebody may delete their own account.
pub fn may_delete_self(user: &User, settings: &Settings) -> bool {
    user.delete_self_enabled.unwrap_or(settings.actions.delete_self)
}

/// Whether somebody may create organizations.
pub fn may_create_organizations(user: &User, settings: &Settings) -> bool {
    user.create_organization_enabled.unwrap_or(settings.actions.create_organization)
}

/// How many organizations somebody may create, if that is said; 0 is no limit.
pub fn organizations_limit(user: &User, settings: &Settings) -> Option<i64> {
    user.create_organizations_limit.or(settings.actions.create_organizations_limit)
}

/// Bans a user. Banning twice changes nothing.
pub fn ban(user: User) -> User {
    User { banned: true, ..user }
}

/// Lifts a ban.
pub fn unban(user: User) -> User {
    User { banned: false, ..user }
}

/// Locks a user for as long as the settings say.
pub fn lock(user: User, settings: &Settings, now: Time) -> Result<User> {
    let lock = new_lock(settings, now)?;
    match user.is_locked(now) {
        true => Ok(user),
        false => Ok(User { lock: Some(lock), ..user }),
    }
}

/// Unlocks a user and forgets failed attempts. Locks outlast the setting they come from.
pub fn unlock(user: User, settings: &Settings) -> Result<User> {
    match settings.lockout.enabled || user.lock.is_some() {
        true => Ok(User { lock: None, failed_attempts: 0, ..user }),
        false => Err(lockout_is_off()),
    }
}

/// Gives the user a picture, or takes it away.
pub fn set_image(user: User, image: Option<ImageId>) -> User {
    User { image, ..user }
}

fn new_lock(settings: &Settings, now: Time) -> Result<Lock> {
    match settings.lockout.enabled {
        true => {
            let until = settings.lockout.duration_minutes.map(|minutes| now.plus_ms(minutes * 60_000));
            Ok(Lock { until, since: Some(now) })
        }
        false => Err(lockout_is_off()),
    }
}

fn lockout_is_off() -> Error {
    Error::new(Code::FeatureNotEnabled).saying("Locking users is switched off for this instance.")
}

fn new_contacts(
    kind: ContactKind,
    values: &[String],
    statuses: &[NewContactStatus],
    now: Time,
    rng: &dyn Rng,
    problems: &mut Vec<Problem>,
) -> Contacts {
    let param = kind.name();
    if !statuses.is_empty() && statuses.len() != values.len() {
        problems.push(
            Problem::of(Code::FormParamArrayLengthMismatch, &format!("{param}_identification_status"))
                .saying(format!("Give one status for each `{param}`, or none.")),
        );
    }
    if values.len() > IDENTIFICATIONS_PER_KIND {
        problems.push(
            Problem::of(Code::FormParamArraySizeExceeded, param)
                .saying(format!("At most {IDENTIFICATIONS_PER_KIND} of these.")),
        );
        return Contacts::default();
    }
    let mut all = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        match checked(kind, value) {
            Ok(value) => all.push(contact(value, statuses.get(index).copied().unwrap_or_default(), now, rng)),
            Err(problem) => problems.push(problem),
        }
    }
    let is_repeated =
        (1..all.len()).any(|index| all[..index].iter().any(|earlier| earlier.value == all[index].value));
    if is_repeated {
        problems.push(Problem::of(Code::FormParamDuplicate, param));
    }
    Contacts { primary: all.first().map(|first| first.id.clone()), all }
}

fn username(
    name: &str,
    settings: &Settings,
    now: Time,
    rng: &dyn Rng,
    problems: &mut Vec<Problem>,
) -> Username {
    match settings.attributes.username.enabled {
        true => problems.extend(username_problem(
            name,
            settings.username.min_length,
            settings.username.max_length,
        )),
        false => problems.push(disabled("username")),
    }
    Username { id: IdentificationId::new(now, rng), value: name.to_owned() }
}

fn make_primary(contacts: &mut Contacts, id: &Patch<String>, param: &str) -> Result<()> {
    let Some(text) = id.clone().value() else { return Ok(()) };
    let unknown =
        || Error::param(Code::FormResourceNotFound, param).saying("The user has none with that id.");
    let id = Id::parse(&text).ok_or_else(unknown)?;
    if contacts.find(&id).is_none() {
        return Err(unknown());
    }
    identifications::make_primary(contacts, &id, param)
}

/// Refuses new names where they are switched off, and to take one away that is required.
fn check_names(user: &User, input: &UpdateUser, settings: &Settings, problems: &mut Vec<Problem>) {
    let attributes = &settings.attributes;
    for (param, attribute, patch, current) in [
        ("first_name", &attributes.first_name, &input.first_name, &user.first_name),
        ("last_name", &attributes.last_name, &input.last_name, &user.last_name),
    ] {
        let Some(change) = patch.clone().change() else { continue };
        let change = change.filter(|name| !name.is_empty());
        match &change {
            _ if change == *current => (),
            Some(_) if !attribute.enabled => problems.push(disabled(param)),
            None if attribute.required => problems
                .push(Problem::of(Code::FormParamNil, param).saying("Users of this instance must have one.")),
            _ => (),
        }
    }
}

fn check_texts(
    external_id: &Option<String>,
    first: &Option<String>,
    last: &Option<String>,
    locale: &Option<String>,
    problems: &mut Vec<Problem>,
) {
    if external_id.as_ref().is_some_and(|id| id.chars().count() > EXTERNAL_ID_CHARS) {
        problems.push(
            Problem::of(Code::FormParamMaxLengthExceeded, "external_id")
                .saying(format!("At most {EXTERNAL_ID_CHARS} characters.")),
        );
    }
    problems.extend(first.as_ref().and_then(|name| name_problem("first_name", name)));
    problems.extend(last.as_ref().and_then(|name| name_problem("last_name", name)));
    if locale.as_ref().is_some_and(|locale| !locale.is_empty() && !is_locale(locale)) {
        problems.push(
            Problem::of(Code::FormParamFormatInvalid, "locale")
                .saying("`locale` must be a BCP 47 language tag, such as `en-US`."),
        );
    }
}

/// Rejects a time zone that has not the shape of a name in the IANA database. The database itself is not asked, because
/// it grows several times a year, and browsers know newer names than servers.
fn timezone_problem(name: &str) -> Option<Problem> {
    let is_part = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+'))
    };
    let is_name = name.len() <= TIMEZONE_CHARS
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.split('/').all(is_part);
    (!is_name).then(|| {
        Problem::of(Code::FormParamFormatInvalid, "timezone")
            .saying("`timezone` must be a name of the IANA time zone database, such as `Europe/Berlin`.")
    })
}

/// Reads an RFC 3339 time that must not lie in the future.
pub fn past(param: &str, text: &Option<String>, now: Time, problems: &mut Vec<Problem>) -> Option<Time> {
    let text = text.as_deref()?;
    match Time::parse_rfc3339(text) {
        Some(time) if time <= now => Some(time),
        Some(_) => {
            problems.push(Problem::of(Code::FormDisallowFutureDate, param));
            None
        }
        None => {
            problems.push(Problem::of(Code::FormParamInvalidTime, param));
            None
        }
    }
}

/// The refusal of an attribute that is switched off.
pub fn disabled(param: &str) -> Problem {
    Problem::of(Code::FormParamUnknown, param).saying(format!("`{param}` is switched off for this instance."))
}

/// An optional text, where empty means none.
fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}
