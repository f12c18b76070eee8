//! Decisions about addresses, numbers and wallets of a user.

use latchkey_base::kinds::IdentificationId;
use latchkey_base::rng::Rng;
use latchkey_base::text::fold;
use latchkey_base::{Code, Error, Problem, Result, Time, text};
use latchkey_kernel::limits::IDENTIFICATIONS_PER_KIND;
use latchkey_kernel::settings::{Attribute, Settings};
use latchkey_kernel::strategy::Strategy;

use super::input::NewContactStatus;
use crate::challenges::links::SentLinks;
use crate::users::model::{Contact, ContactKind, Contacts, SecondFactor, User, Verification};

/// The stored form of an address, number or wallet, or the problem with it.
pub fn checked(kind: ContactKind, value: &str) -> Result<String, Problem> {
    let (stored, format) = match kind {
        ContactKind::Email => (text::email(value), "an e-mail address"),
        ContactKind::Phone => (text::phone(value), "a phone number in E.164 format, such as +14155550100"),
        ContactKind::Wallet => (text::wallet(value), "an Ethereum or Solana address"),
    };
    stored.ok_or_else(|| {
        Problem::of(Code::FormParamFormatInvalid, kind.name())
            .saying(format!("`{}` must be {format}.", kind.name()))
    })
}

/// Whether an instance uses and requires a kind of contact.
pub fn attribute(kind: ContactKind, settings: &Settings) -> &Attribute {
    match kind {
        ContactKind::Email => &settings.attributes.email_address,
        ContactKind::Phone => &settings.attributes.phone_number,
        ContactKind::Wallet => &settings.attributes.web3_wallet,
    }
}

/// A new contact. `value` is in its stored form.
pub fn contact(value: String, status: NewContactStatus, now: Time, rng: &dyn Rng) -> Contact {
    Contact {
        id: IdentificationId::new(now, rng),
        value,
        reserved: status == NewContactStatus::Reserved,
        verification: (status == NewContactStatus::Verified).then(by_admin),
        challenge: None,
        links: SentLinks::default(),
        linked_to: Vec::new(),
        second_factor: SecondFactor::None,
        created_at: now,
        updated_at: now,
    }
}

/// Proof by the application's word.
pub fn by_admin() -> Verification {
    Verification { strategy: Strategy::Admin, attempts: None, expire_at: None }
}

/// What a caller wants of a contact.
#[derive(Clone, Copy, Default)]
pub struct ContactChanges {
    /// Take it as proven, or as unproven.
    pub verified: Option<bool>,
    pub primary: bool,
    /// Use it as second factor, or stop doing so.
    pub second_factor: Option<bool>,
    /// Use it as second factor as soon as it is proven.
    pub factor_once_proven: bool,
    /// Do not make the first of its kind the primary one before it is proven: what users type in about
    /// themselves must not stand for them in tokens.
    pub only_if_proven: bool,
}

/// Adds a contact to a user. The first of its kind becomes the primary one.
pub fn add(
    mut user: User,
    kind: ContactKind,
    value: String,
    changes: ContactChanges,
    now: Time,
    rng: &dyn Rng,
) -> Result<(User, IdentificationId)> {
    let status = if changes.verified == Some(true) {
        NewContactStatus::Verified
    } else {
        NewContactStatus::Unverified
    };
    let mut contact = contact(value, status, now, rng);
    if changes.factor_once_proven {
        contact.second_factor = SecondFactor::Wanted;
    }
    let id = contact.id.clone();
    let contacts = user.contacts_mut(kind);
    if contacts.all.len() >= IDENTIFICATIONS_PER_KIND {
        return Err(Error::param(Code::FormParamArraySizeExceeded, kind.name())
            .saying(format!("A user has at most {IDENTIFICATIONS_PER_KIND} of these.")));
    }
    if contacts.all.iter().any(|existing| existing.value == contact.value) {
        return Err(taken(kind));
    }
    // Where unproven ones must not be primary, the first to be proven becomes it.
    let is_first = contacts.all.is_empty() && !changes.only_if_proven;
    contacts.all.push(contact);
    if is_first {
        contacts.primary = Some(id.clone());
    }
    let rest = ContactChanges { verified: None, primary: changes.primary && !is_first, ..changes };
    let unverified = Code::IdentificationCreateSecondFactorUnverified;
    Ok((update(user, kind, &id, rest, now, unverified)?, id))
}

/// Changes a contact. `unverified` is the refusal of a second factor that is not verified.
pub fn update(
    mut user: User,
    kind: ContactKind,
    id: &IdentificationId,
    changes: ContactChanges,
    now: Time,
    unverified: Code,
) -> Result<User> {
    let has_default = user.phone_numbers.all.iter().any(|phone| phone.second_factor == SecondFactor::Default);
    let entrances = entrances(&user);
    let contacts = user.contacts_mut(kind);
    let contact = contacts.find_mut(id).ok_or_else(|| Error::not_found(kind.name(), id))?;
    match changes.verified {
        Some(true) if !contact.is_verified() => {
            contact.verification = Some(by_admin());
            contact.challenge = None;
            contact.reserved = false;
            contact.updated_at = now;
        }
        Some(false) if contact.is_verified() => {
            contact.verification = None;
            contact.challenge = None;
            contact.second_factor = SecondFactor::None;
            contact.updated_at = now;
        }
        _ => (),
    }
    match changes.second_factor {
        Some(true) if !contact.is_verified() => {
            return Err(Error::param(unverified, "reserved_for_second_factor"));
        }
        Some(true) if contact.second_factor == SecondFactor::None && entrances <= 1 => {
            return Err(Error::param(Code::IdentificationUpdateFailed, "reserved_for_second_factor"));
        }
        Some(true) if contact.second_factor == SecondFactor::None => {
            contact.second_factor = if has_default { SecondFactor::Reserved } else { SecondFactor::Default };
            contact.updated_at = now;
        }
        Some(false) if contact.second_factor != SecondFactor::None => {
            contact.second_factor = SecondFactor::None;
            contact.updated_at = now;
        }
        _ => (),
    }
    if changes.primary {
        make_primary(contacts, id, "primary")?;
    }
    settle_second_factors(&mut user);
    Ok(user)
}

/// How many identifications are no second factor, which signs nobody in by itself.
fn entrances(user: &User) -> usize {
    let is_factor = |phone: &&Contact| phone.second_factor != SecondFactor::None;
    user.identification_count() - user.phone_numbers.all.iter().filter(is_factor).count()
}

/// Takes a contact as proven. Where none of its kind is the primary one, it becomes that.
pub fn verified(
    mut user: User,
    kind: ContactKind,
    id: &IdentificationId,
    proof: Verification,
    now: Time,
) -> User {
    let contacts = user.contacts_mut(kind);
    if let Some(contact) = contacts.find_mut(id).filter(|contact| !contact.is_verified()) {
        contact.verification = Some(proof);
        contact.challenge = None;
        contact.links = SentLinks::default();
        contact.reserved = false;
        contact.updated_at = now;
        contacts.primary.get_or_insert_with(|| id.clone());
        settle_second_factors(&mut user);
    }
    user
}

/// The same for a number that was added to be a second factor: it is one from now on, unless nothing else would be
/// left to sign in with.
pub fn verified_factor(user: User, id: &IdentificationId, proof: Verification, now: Time) -> User {
    let has_entrance = entrances(&user) > 0;
    let mut user = verified(user, ContactKind::Phone, id, proof, now);
    if let Some(phone) = user.phone_numbers.find_mut(id).filter(|_| has_entrance) {
        phone.second_factor = SecondFactor::Reserved;
        settle_second_factors(&mut user);
    }
    user
}

/// Makes a verified contact the primary one.
pub fn make_primary(contacts: &mut Contacts, id: &IdentificationId, param: &str) -> Result<()> {
    let contact = contacts.find(id).ok_or_else(|| Error::param(Code::FormResourceNotFound, param))?;
    if !contact.is_verified() {
        return Err(Error::param(Code::FormVerificationNeeded, param));
    }
    contacts.primary = Some(id.clone());
    Ok(())
}

/// Takes a contact away. If it was the primary one, the oldest verified one takes its place.
pub fn remove(mut user: User, kind: ContactKind, id: &IdentificationId, settings: &Settings) -> Result<User> {
    let contact = user.contacts(kind).find(id).ok_or_else(|| Error::not_found(kind.name(), id))?;
    if !contact.linked_to.is_empty() {
        return Err(Error::new(Code::DeleteLinkedIdentificationDisallowed));
    }
    check_not_last(&user)?;
    if user.contacts(kind).all.len() <= 1 && attribute(kind, settings).required {
        return Err(Error::new(Code::LastRequiredIdentificationDeletionFailed));
    }
    let contacts = user.contacts_mut(kind);
    contacts.all.retain(|contact| contact.id != *id);
    if contacts.primary.as_ref() == Some(id) {
        contacts.primary =
            contacts.all.iter().find(|contact| contact.is_verified()).map(|contact| contact.id.clone());
    }
    settle_second_factors(&mut user);
    Ok(user)
}

/// Takes an unproven address away that turned out to be somebody else's, even if it is the last one. If it was the primary one,
/// the oldest verified one takes its place.
pub fn without_address(mut user: User, address: &str) -> User {
    let addresses = &mut user.email_addresses;
    addresses.all.retain(|contact| contact.is_verified() || fold(&contact.value) != fold(address));
    if addresses.primary().is_none() {
        addresses.primary =
            addresses.all.iter().find(|contact| contact.is_verified()).map(|contact| contact.id.clone());
    }
    user
}

/// Replaces all contacts of a kind by one, which becomes the primary one.
pub fn replace(
    mut user: User,
    kind: ContactKind,
    value: String,
    status: NewContactStatus,
    now: Time,
    rng: &dyn Rng,
) -> Result<(User, IdentificationId)> {
    if user.contacts(kind).all.iter().any(|contact| !contact.linked_to.is_empty()) {
        return Err(Error::new(Code::DeleteLinkedIdentificationDisallowed));
    }
    let contact = contact(value, status, now, rng);
    let id = contact.id.clone();
    *user.contacts_mut(kind) = Contacts { primary: Some(id.clone()), all: vec![contact] };
    Ok((user, id))
}

/// Takes a passkey away.
pub fn without_passkey(mut user: User, id: &IdentificationId) -> Result<User> {
    if !user.passkeys.iter().any(|passkey| passkey.id == *id) {
        return Err(Error::new(Code::PasskeyNotRegistered));
    }
    check_not_last(&user)?;
    user.passkeys.retain(|passkey| passkey.id != *id);
    Ok(user)
}

/// A user keeps at least one identification.
pub fn check_not_last(user: &User) -> Result<()> {
    match user.identification_count() > 1 {
        true => Ok(()),
        false => Err(Error::new(Code::IdentificationDeletionFailed)),
    }
}

/// A number that was wanted as a second factor (`Wanted`) is so no more once it is proven, by whatever way. As long as any number is a second factor,
/// one of them is the default.
fn settle_second_factors(user: &mut User) {
    let phones = &mut user.phone_numbers;
    let is_over = |phone: &&mut Contact| phone.second_factor == SecondFactor::Wanted && phone.is_verified();
    for phone in phones.all.iter_mut().filter(is_over) {
        phone.second_factor = SecondFactor::None;
    }
    if phones.all.iter().any(|phone| phone.second_factor == SecondFactor::Default) {
        return;
    }
    if let Some(next) = phones.all.iter_mut().find(|phone| phone.second_factor == SecondFactor::Reserved) {
        next.second_factor = SecondFactor::Default;
    }
}

/// The refusal of an identifier that somebody has already.
pub fn taken(kind: ContactKind) -> Error {
    taken_problem(kind.name()).into()
}

/// The same as one problem among several.
pub fn taken_problem(param: &str) -> Problem {
    Problem::of(Code::FormIdentifierExists, param)
        .saying(format!("That {} is taken. Use another.", param.replace('_', " ")))
}
