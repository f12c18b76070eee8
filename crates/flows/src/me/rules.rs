//! What users may do to their own accounts. Pure: values in, values or refusals out.

use latchkey_base::kinds::IdentificationId;
use latchkey_base::patch::Patch;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_kernel::limits::UNVERIFIED_IDENTIFICATIONS;
use latchkey_kernel::settings::{Attribute, Settings};
use latchkey_people::factors::rules::{first as first_factors, has_wallet, second as second_factors};
use latchkey_people::identifications::rules as identifications;
use latchkey_people::identifications::rules::attribute;
use latchkey_people::users::credentials::Credentials;
use latchkey_people::users::factors;
use latchkey_people::users::input::UpdateUser;
use latchkey_people::users::model::{Contact, ContactKind, SecondFactor, User};
use latchkey_people::users::rules::disabled;

/// Whether an update changes what somebody signs in with, rather than how they are called.
pub fn is_sensitive(user: &User, input: &UpdateUser) -> bool {
    let username = user.username.as_ref().map(|username| username.value.as_str());
    let renames = is_other(&input.username, username);
    let primaries = [
        (&input.primary_email_address_id, ContactKind::Email),
        (&input.primary_phone_number_id, ContactKind::Phone),
        (&input.primary_web3_wallet_id, ContactKind::Wallet),
    ];
    let moves = |(given, kind): (&Patch<String>, ContactKind)| {
        let current = user.contacts(kind).primary.as_ref().map(|id| id.as_str());
        given.clone().value().is_some_and(|id| Some(id.as_str()) != current)
    };
    renames || primaries.into_iter().any(moves)
}

/// Refuses what the settings keep users from changing.
pub fn check_update(user: &User, input: &UpdateUser, settings: &Settings) -> Result<()> {
    let attributes = &settings.attributes;
    let username = user.username.as_ref().map(|username| username.value.as_str());
    let texts: [(&str, &Attribute, &Patch<String>, Option<&str>); 3] = [
        ("username", &attributes.username, &input.username, username),
        ("first_name", &attributes.first_name, &input.first_name, user.first_name.as_deref()),
        ("last_name", &attributes.last_name, &input.last_name, user.last_name.as_deref()),
    ];
    for (param, attribute, given, current) in texts {
        check_text(param, attribute, given, current)?;
    }
    let primaries = [
        (&input.primary_email_address_id, ContactKind::Email, "primary_email_address_id"),
        (&input.primary_phone_number_id, ContactKind::Phone, "primary_phone_number_id"),
        (&input.primary_web3_wallet_id, ContactKind::Wallet, "primary_web3_wallet_id"),
    ];
    for (given, kind, param) in primaries {
        let current = user.contacts(kind).primary.as_ref().map(|id| id.as_str());
        let moves = given.clone().value().is_some_and(|id| current.is_some_and(|current| current != id));
        if moves && attribute(kind, settings).immutable {
            return Err(Error::param(Code::ImmutableAttribute, param));
        }
    }
    Ok(())
}

fn check_text(
    param: &str,
    attribute: &Attribute,
    given: &Patch<String>,
    current: Option<&str>,
) -> Result<()> {
    if !is_other(given, current) {
        return Ok(());
    }
    let is_cleared = given.clone().value().is_none_or(|text| text.is_empty());
    match attribute {
        Attribute { enabled: false, .. } if !is_cleared => Err(disabled(param).into()),
        Attribute { immutable: true, .. } if current.is_some() => {
            Err(Error::param(Code::ImmutableAttribute, param))
        }
        _ if is_cleared && attribute.is_required_at_sign_up() => Err(Error::param(Code::FormParamNil, param)),
        _ => Ok(()),
    }
}

/// Whether a text is given that differs from the current one; nothing and an empty text are the same.
fn is_other(given: &Patch<String>, current: Option<&str>) -> bool {
    let change = given.clone().change();
    change.is_some_and(|text| text.as_deref().filter(|text| !text.is_empty()) != current)
}

/// Refuses another contact to somebody who may not have one more.
pub fn check_add(user: &User, kind: ContactKind, settings: &Settings) -> Result<()> {
    let contacts = &user.contacts(kind).all;
    if attribute(kind, settings).immutable && contacts.iter().any(Contact::is_verified) {
        return Err(Error::param(Code::ImmutableAttribute, kind.name()));
    }
    match contacts.iter().filter(|contact| !contact.is_verified()).count() < UNVERIFIED_IDENTIFICATIONS {
        true => Ok(()),
        false => Err(Error::param(Code::TooManyUnverifiedIdentifications, kind.name())),
    }
}

/// Takes a contact away, and with the last second factor the backup codes that stand in for it.
pub fn remove(
    user: User,
    held: Credentials,
    kind: ContactKind,
    id: &IdentificationId,
    settings: &Settings,
) -> Result<(User, Credentials)> {
    let contacts = user.contacts(kind);
    let contact = contacts.find(id).ok_or_else(|| Error::not_found(&kind.name().replace('_', " "), id))?;
    if contact.is_verified() {
        let attribute = attribute(kind, settings);
        if attribute.immutable {
            return Err(Error::param(Code::ImmutableAttribute, kind.name()));
        }
        let is_last = !contacts.all.iter().any(|other| other.id != *id && other.is_verified());
        if is_last && attribute.is_required_at_sign_up() {
            return Err(Error::new(Code::LastRequiredIdentificationDeletionFailed));
        }
    }
    let after = identifications::remove(user.clone(), kind, id, settings)?;
    if !has_identifier(&after) && has_identifier(&user) {
        return Err(Error::new(Code::IdentificationDeletionFailed));
    }
    settled(&user, after, held, settings)
}

/// Refuses to take the last way to sign in away.
pub fn check_entrance(before: &User, after: &User, settings: &Settings) -> Result<()> {
    let has_way = |user: &User| has_wallet(user, settings) || !first_factors(user, None, settings).is_empty();
    let has_entrance = |user: &User| has_identifier(user) && has_way(user);
    match has_entrance(after) || !has_entrance(before) {
        true => Ok(()),
        false => Err(Error::new(Code::IdentificationDeletionFailed)),
    }
}

/// Whether anything is left that says who somebody is; what is not proven does not count.
fn has_identifier(user: &User) -> bool {
    let mut contacts = [ContactKind::Email, ContactKind::Phone, ContactKind::Wallet]
        .into_iter()
        .flat_map(|kind| &user.contacts(kind).all);
    user.username.is_some()
        || !user.passkeys.is_empty()
        || user.external_accounts.iter().any(|held| held.is_verified())
        || contacts.any(Contact::is_exclusive)
}

/// What somebody wants of a number as second factor.
#[derive(Clone, Copy, Default)]
pub struct PhoneFactorChanges {
    /// Use codes sent to it.
    pub reserved: Option<bool>,
    /// Ask for it first.
    pub default: Option<bool>,
}

/// Whether the changes add or remove a second factor. Making another number the default does neither.
pub fn changes_factors(phone: &Contact, changes: PhoneFactorChanges) -> bool {
    let is_factor = phone.is_second_factor();
    changes.reserved.is_some_and(|wanted| wanted != is_factor)
        || (changes.default == Some(true) && !is_factor)
}

/// Refuses a number that is wanted as second factor where numbers are none.
pub fn check_factor(is_wanted: bool, settings: &Settings) -> Result<()> {
    match is_wanted && !settings.attributes.phone_number.is_second_factor() {
        true => Err(Error::new(Code::FeatureNotEnabled).saying("Phone numbers are no second factor here.")),
        false => Ok(()),
    }
}

/// Makes a number a second factor, the default one, or neither.
pub fn update_phone(
    user: User,
    held: Credentials,
    id: &IdentificationId,
    changes: PhoneFactorChanges,
    settings: &Settings,
    now: Time,
) -> Result<(User, Credentials)> {
    check_factor(changes.reserved == Some(true) || changes.default == Some(true), settings)?;
    let second_factor = changes.reserved.or(changes.default.filter(|wanted| *wanted));
    let unverified = Code::IdentificationUpdateSecondFactorUnverified;
    let wanted =
        identifications::ContactChanges { second_factor, ..identifications::ContactChanges::default() };
    let mut after = identifications::update(user.clone(), ContactKind::Phone, id, wanted, now, unverified)?;
    let is_default = |phone: &Contact| phone.second_factor == SecondFactor::Default;
    let current = after.phone_numbers.find(id).is_some_and(is_default);
    match changes.default {
        Some(false) if current => {
            return Err(Error::param(
                Code::FormDisableDefaultSecondFactorNotAllowed,
                "default_second_factor",
            ));
        }
        Some(true) if changes.reserved != Some(false) && !current => {
            for phone in
                after.phone_numbers.all.iter_mut().filter(|phone| is_default(phone) || phone.id == *id)
            {
                let is_it = phone.id == *id;
                phone.second_factor = if is_it { SecondFactor::Default } else { SecondFactor::Reserved };
                phone.updated_at = now;
            }
        }
        _ => (),
    }
    settled(&user, after, held, settings)
}

/// Refuses to leave somebody without a way to sign in, or without what the instance requires.
pub fn check_password_removal(user: &User, settings: &Settings) -> Result<()> {
    let without = User { password: None, ..user.clone() };
    let has_other = !first_factors(&without, None, settings).is_empty()
        || has_wallet(user, settings)
        || !user.passkeys.is_empty();
    match has_other && !settings.attributes.password.is_required_at_sign_up() {
        true => Ok(()),
        false => Err(Error::new(Code::PasswordRequired)),
    }
}

/// Takes the authenticator app away.
pub fn without_totp(user: User, held: Credentials, settings: &Settings) -> Result<(User, Credentials)> {
    if !user.totp_enabled {
        return Err(Error::new(Code::ResourceNotFound).saying("No authenticator app is set up."));
    }
    let (after, held) = factors::without_totp(user.clone(), held);
    settled(&user, after, held, settings)
}

/// Who must have a second factor keeps one. Who has none left has no use for backup codes: they would come
/// alive again with the next factor, when nobody remembers them.
fn settled(
    before: &User,
    after: User,
    held: Credentials,
    settings: &Settings,
) -> Result<(User, Credentials)> {
    if !has_second_factor(before, settings) || has_second_factor(&after, settings) {
        return Ok((after, held));
    }
    match settings.is_second_factor_required() {
        true => Err(Error::new(Code::SecondFactorDeletionNotAllowed)),
        false => Ok(factors::without_backup_codes(after, held)),
    }
}

/// Whether somebody has a second factor that the instance uses.
pub fn has_second_factor(user: &User, settings: &Settings) -> bool {
    !second_factors(user, settings).is_empty()
}

/// Gives backup codes, if there are any to give, to somebody who has a second factor and no codes yet, if the instance
/// uses them.
pub fn with_first_codes(
    user: User,
    held: Credentials,
    codes: Option<Vec<String>>,
    settings: &Settings,
) -> (User, Credentials, Option<Vec<String>>) {
    let is_due = has_second_factor(&user, settings) && held.backup_codes.is_empty();
    match codes.filter(|_| is_due && settings.attributes.backup_code.is_second_factor()) {
        Some(codes) => {
            let (user, held) = with_codes(user, held, codes.clone());
            (user, held, Some(codes))
        }
        None => (user, held, None),
    }
}

/// Puts backup codes in the place of those that were there.
pub fn with_codes(user: User, held: Credentials, codes: Vec<String>) -> (User, Credentials) {
    (User { backup_code_enabled: true, ..user }, Credentials { backup_codes: codes, ..held })
}

#[cfg(test)]
mod tests {
    use latchkey_base::Id;
    use serde_json::json;

    use super::*;

    const NOW: Time = Time::from_ms(1_700_000_000_000);
    const FIRST: &str = "idn_2x4y6z8A0C2E4G6I8K0M2O4Q6S1";
    const SECOND: &str = "idn_2x4y6z8A0C2E4G6I8K0M2O4Q6S2";

    fn contact(id: &str, value: &str, is_verified: bool) -> serde_json::Value {
        let mut contact = json!({"id": id, "value": value, "created_at": 0, "updated_at": 0});
        if is_verified {
            contact["verification"] = json!({"strategy": "admin"});
        }
        contact
    }

    /// Somebody with two numbers, of which only the first is verified, and a name.
    fn user() -> User {
        let phones = [contact(FIRST, "+4915100000001", true), contact(SECOND, "+4915100000002", false)];
        let document = json!({
            "id": "user_2x4y6z8A0C2E4G6I8K0M2O4Q6S8", "first_name": "Ada", "public_metadata": {},
            "private_metadata": {}, "unsafe_metadata": {}, "delete_self_enabled": true,
            "create_organization_enabled": true, "created_at": 0, "updated_at": 0,
            "phone_numbers": {"primary": FIRST, "all": phones},
        });
        serde_json::from_str(&document.to_string()).unwrap()
    }

    fn id(text: &str) -> IdentificationId {
        Id::parse(text).unwrap()
    }

    fn code<T>(outcome: Result<T>) -> Option<Code> {
        outcome.err().map(|error| error.code())
    }

    fn named(patch: Patch<String>) -> UpdateUser {
        UpdateUser { first_name: patch, ..UpdateUser::default() }
    }

    #[test]
    fn only_what_signs_in_is_sensitive_and_only_if_it_changes() {
        let primary = |id: &str| UpdateUser {
            primary_phone_number_id: Patch::Value(id.into()),
            ..UpdateUser::default()
        };
        assert!(!is_sensitive(&user(), &named(Patch::Value("Eva".into()))));
        assert!(!is_sensitive(&user(), &primary(FIRST)));
        assert!(is_sensitive(&user(), &primary(SECOND)));
        let username = |patch| UpdateUser { username: patch, ..UpdateUser::default() };
        assert!(is_sensitive(&user(), &username(Patch::Value("ada".into()))));
        assert!(!is_sensitive(&user(), &username(Patch::Null)));
    }

    #[test]
    fn an_immutable_name_may_be_sent_but_not_changed() {
        let mut settings = Settings::default();
        settings.attributes.first_name.immutable = true;
        assert_eq!(code(check_update(&user(), &named(Patch::Value("Ada".into())), &settings)), None);
        for patch in [Patch::Value("Eva".into()), Patch::Null, Patch::Value(String::new())] {
            let refused = code(check_update(&user(), &named(patch), &settings));
            assert_eq!(refused, Some(Code::ImmutableAttribute));
        }
        let nameless = User { first_name: None, ..user() };
        assert_eq!(code(check_update(&nameless, &named(Patch::Value("Ada".into())), &settings)), None);
    }

    #[test]
    fn what_is_not_proven_does_not_count_as_identifier() {
        let settings = Settings::default();
        let removed = remove(user(), Credentials::default(), ContactKind::Phone, &id(FIRST), &settings);
        assert_eq!(code(removed), Some(Code::IdentificationDeletionFailed));
        let (left, _) =
            remove(user(), Credentials::default(), ContactKind::Phone, &id(SECOND), &settings).ok().unwrap();
        assert_eq!(left.phone_numbers.all.len(), 1);
    }

    #[test]
    fn backup_codes_go_with_the_last_second_factor() {
        let settings = Settings::default();
        let held = Credentials { backup_codes: vec!["abcdefgh".into()], ..Credentials::default() };
        let changes = |wanted| PhoneFactorChanges { reserved: Some(wanted), default: None };
        let (user, held) =
            update_phone(user(), held, &id(FIRST), changes(true), &settings, NOW).ok().unwrap();
        assert!(user.has_second_factor() && !held.backup_codes.is_empty());
        let mut required = Settings::default();
        required.sign_in.second_factor_required = true;
        let kept = update_phone(user.clone(), held.clone(), &id(FIRST), changes(false), &required, NOW);
        assert_eq!(code(kept), Some(Code::SecondFactorDeletionNotAllowed));
        let (user, held) = update_phone(user, held, &id(FIRST), changes(false), &settings, NOW).ok().unwrap();
        assert!(!user.has_second_factor() && held.backup_codes.is_empty());
    }

    #[test]
    fn an_unproven_number_is_no_second_factor() {
        let changes = PhoneFactorChanges { reserved: None, default: Some(true) };
        let settings = Settings::default();
        let refused = update_phone(user(), Credentials::default(), &id(SECOND), changes, &settings, NOW);
        assert_eq!(code(refused), Some(Code::IdentificationUpdateSecondFactorUnverified));
    }

    #[test]
    fn first_codes_are_made_once() {
        let settings = Settings::default();
        let fresh = vec!["abcdefgh".to_owned()];
        let none = with_first_codes(user(), Credentials::default(), Some(fresh.clone()), &settings);
        assert_eq!(none.2, None);
        let user = User { totp_enabled: true, ..user() };
        let (user, held, codes) =
            with_first_codes(user, Credentials::default(), Some(fresh.clone()), &settings);
        assert_eq!((user.backup_code_enabled, codes), (true, Some(fresh.clone())));
        assert_eq!(with_first_codes(user, held, Some(fresh), &settings).2, None);
    }
}
