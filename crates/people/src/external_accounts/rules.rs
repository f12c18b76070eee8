//! Decisions about connected accounts. Pure: values in, values or refusals out.

use latchkey_base::kinds::{ExternalAccountId, IdentificationId};
use latchkey_base::rng::Rng;
use latchkey_base::text::fold;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use serde_json::Map;

use super::model::ExternalAccount;
use crate::challenges::account::ProvenAccount;
use crate::challenges::model::Challenge;
use crate::identifications::input::NewContactStatus;
use crate::identifications::rules as identifications;
use crate::users::credentials::Credentials;
use crate::users::factors::without_mfa;
use crate::users::metadata::stored;
use crate::users::model::{Contact, ContactKind, Contacts, LinkedAccount, PasswordState, User, Verification};

/// An account that is to be connected, and of which nothing is proven yet.
pub fn wanted(provider: &str, challenge: Challenge, now: Time, rng: &dyn Rng) -> ExternalAccount {
    ExternalAccount {
        id: ExternalAccountId::new(now, rng),
        identification: IdentificationId::new(now, rng),
        account: ProvenAccount { provider: provider.to_owned(), ..ProvenAccount::default() },
        verified_at: None,
        challenge: Some(challenge),
        created_at: now,
        updated_at: now,
    }
}

/// The user with an account that was proven to be theirs: a new one, or one that they have already with what the provider
/// says by now. An address of theirs that the provider vouches for is linked to it.
pub fn connected(
    mut user: User,
    account: ProvenAccount,
    proof: Challenge,
    now: Time,
    rng: &dyn Rng,
) -> (User, ExternalAccountId) {
    let is_same = |held: &ExternalAccount| {
        held.is_verified()
            && held.account.provider == account.provider
            && held.account.provider_user_id == account.provider_user_id
    };
    let position = match user.external_accounts.iter().position(is_same) {
        Some(position) => {
            let held = &user.external_accounts[position];
            // Whoever signs in again and again is not changed by it.
            if told(&held.account, account.clone()) == held.account {
                let id = held.id.clone();
                return (linked(user, &id), id);
            }
            position
        }
        None => {
            user.external_accounts.push(wanted(&account.provider, proof.clone(), now, rng));
            user.external_accounts.len() - 1
        }
    };
    let held = &mut user.external_accounts[position];
    fill(held, account, proof, now);
    let id = held.id.clone();
    (linked(user, &id), id)
}

/// The user with an account of theirs that was proven, or that they approved more for.
pub fn confirmed(
    mut user: User,
    id: &ExternalAccountId,
    account: ProvenAccount,
    proof: Challenge,
    now: Time,
) -> User {
    if let Some(held) = user.external_accounts.iter_mut().find(|held| held.id == *id) {
        fill(held, account, proof, now);
    }
    linked(user, id)
}

fn fill(held: &mut ExternalAccount, account: ProvenAccount, proof: Challenge, now: Time) {
    held.account = told(&held.account, account);
    held.verified_at = held.verified_at.or(Some(now));
    held.challenge = Some(Challenge {
        verified_at: proof.verified_at.or(Some(now)),
        secret: None,
        sealed: None,
        failure: None,
        newcomer: None,
        transferable: false,
        details: Map::new(),
        ..proof
    });
    held.updated_at = now;
}

/// What is known of an account once its provider has spoken again. Not everything is told each time: Apple tells names once,
/// and an ID token alone, which comes without scopes, says less than the provider does when it is asked.
fn told(before: &ProvenAccount, mut now: ProvenAccount) -> ProvenAccount {
    // Until it is proven, nothing but the provider is known.
    if before.provider_user_id != now.provider_user_id {
        return now;
    }
    if now.first_name.is_none() && now.last_name.is_none() {
        (now.first_name, now.last_name) = (before.first_name.clone(), before.last_name.clone());
    }
    if now.approved_scopes.is_empty() {
        now.approved_scopes.clone_from(&before.approved_scopes);
        if now.email_address.is_none() {
            now.email_address.clone_from(&before.email_address);
            now.email_address_verified = before.email_address_verified;
        }
        now.username = now.username.or_else(|| before.username.clone());
        now.image_url = now.image_url.or_else(|| before.image_url.clone());
        now.phone_number = now.phone_number.or_else(|| before.phone_number.clone());
        now.label = now.label.or_else(|| before.label.clone());
    }
    now
}

/// Links the user's address that the provider vouches for to the account.
fn linked(mut user: User, id: &ExternalAccountId) -> User {
    let Some(held) = user.external_accounts.iter().find(|held| held.id == *id) else { return user };
    let link = LinkedAccount { kind: held.account.provider.clone(), id: held.identification.clone() };
    let Some(address) = held.account.proven_email().map(fold) else { return user };
    for contact in user.email_addresses.all.iter_mut().filter(|contact| fold(&contact.value) == address) {
        if contact.is_verified() && !contact.linked_to.contains(&link) {
            contact.linked_to.push(link.clone());
        }
    }
    user
}

/// The user with the address that the provider of an account vouches for, in its stored form: as a new one, or proven from
/// now on.
pub fn with_proven_address(
    mut user: User,
    address: &str,
    provider: &str,
    now: Time,
    rng: &dyn Rng,
) -> Result<User> {
    let proof = Verification { strategy: from_provider(provider)?, attempts: None, expire_at: None };
    let is_it = |contact: &&Contact| fold(&contact.value) == fold(address);
    let held = user.email_addresses.all.iter().find(is_it).map(|contact| contact.id.clone());
    let id = match held {
        Some(id) => id,
        None => {
            let contact =
                identifications::contact(address.to_owned(), NewContactStatus::Unverified, now, rng);
            let id = contact.id.clone();
            user.email_addresses.all.push(contact);
            id
        }
    };
    Ok(identifications::verified(user, ContactKind::Email, &id, proof, now))
}

/// How an address is proven that a provider vouches for, such as `from_oauth_google`.
pub fn from_provider(provider: &str) -> Result<Strategy> {
    Strategy::from_account(provider).ok_or_else(|| Error::internal("this is not the name of a strategy"))
}

/// The user as somebody finds them who has proven, by an account that vouches for it, the address that whoever made the user
/// never did. That may have been a stranger: nothing stays by which they could come in again, nor what they said of
/// themselves, and the password must be changed. What the application wrote stays, and the username, by which others may know
/// the user.
pub fn taken_over(
    (user, credentials): (User, Credentials),
    account: &ProvenAccount,
    settings: &Settings,
    now: Time,
    rng: &dyn Rng,
) -> Result<(User, Credentials)> {
    let address = account.proven_email().ok_or_else(|| Error::internal("nothing vouches for the address"))?;
    let (user, credentials) = without_mfa(user, credentials);
    let attributes = &settings.attributes;
    let mut user = User {
        first_name: account.first_name.clone().filter(|_| attributes.first_name.enabled),
        last_name: account.last_name.clone().filter(|_| attributes.last_name.enabled),
        image: None,
        unsafe_metadata: stored("unsafe_metadata", Map::new(), &mut Vec::new())?,
        locale: None,
        timezone: None,
        legal_accepted_at: None,
        phone_numbers: Contacts::default(),
        web3_wallets: Contacts::default(),
        passkeys: Vec::new(),
        trusted_devices: Vec::new(),
        external_accounts: Vec::new(),
        ..user
    };
    let addresses = &mut user.email_addresses;
    addresses.all.retain(|contact| fold(&contact.value) == fold(address));
    addresses.primary = addresses.all.first().map(|contact| contact.id.clone());
    if let Some(password) = &mut user.password {
        // Changed as of now: an attempt in which it was shown must not go on.
        *password = PasswordState { updated_at: now, compromised: true };
    }
    Ok((with_proven_address(user, address, &account.provider, now, rng)?, credentials))
}

/// Takes a connected account away, and returns it.
pub fn without(mut user: User, id: &str) -> Result<(User, ExternalAccount)> {
    let position = position(&user, id)?;
    if user.external_accounts[position].is_verified() {
        identifications::check_not_last(&user)?;
    }
    let account = user.external_accounts.remove(position);
    for contact in &mut user.email_addresses.all {
        contact.linked_to.retain(|link| link.id != account.identification);
    }
    Ok((user, account))
}

/// An account of a user, by its id or that of its identification: some providers are shown under the latter.
pub fn position(user: &User, id: &str) -> Result<usize> {
    let is_it = |held: &ExternalAccount| held.id.as_str() == id || held.identification.as_str() == id;
    user.external_accounts.iter().position(is_it).ok_or_else(|| Error::new(Code::ExternalAccountNotFound))
}
