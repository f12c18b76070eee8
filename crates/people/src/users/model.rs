//! What a user is made of.

use latchkey_base::Time;
use latchkey_base::kinds::{IdentificationId, ImageId, InstanceId, TrustedDeviceId, UserId};
use latchkey_base::text::fold;
use latchkey_kernel::strategy::Strategy;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::challenges::links::SentLinks;
use crate::challenges::model::Challenge;
use crate::external_accounts::model::ExternalAccount;

/// A user, as stored. What is absent or empty is left out of the document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct User {
    /// The tenant; not part of the document.
    #[serde(skip, default = "nowhere")]
    pub instance: InstanceId,
    pub id: UserId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<Username>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// Name in the IANA time zone database, such as `Europe/Berlin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageId>,
    #[serde(default, skip_serializing_if = "Contacts::is_empty")]
    pub email_addresses: Contacts,
    #[serde(default, skip_serializing_if = "Contacts::is_empty")]
    pub phone_numbers: Contacts,
    #[serde(default, skip_serializing_if = "Contacts::is_empty")]
    pub web3_wallets: Contacts,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passkeys: Vec<Passkey>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_accounts: Vec<ExternalAccount>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted_devices: Vec<TrustedDevice>,
    pub public_metadata: Box<RawValue>,
    pub private_metadata: Box<RawValue>,
    pub unsafe_metadata: Box<RawValue>,
    /// Whether there is a password, and what is known about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<PasswordState>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub totp_enabled: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub backup_code_enabled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mfa_enabled_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mfa_disabled_at: Option<Time>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub banned: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Lock>,
    /// Failed sign-ins since the last good one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_attempts: i64,
    /// Whether the user may delete their account and create organizations, and how many; without it, what the instance says.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "permission")]
    pub delete_self_enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "permission")]
    pub create_organization_enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_organizations_limit: Option<i64>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub bypass_client_trust: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sign_in_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_active_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legal_accepted_at: Option<Time>,
    /// What they may use, as billing says it.
    #[serde(default, skip_serializing_if = "Entitlements::is_empty")]
    pub entitlements: Entitlements,
    pub created_at: Time,
    pub updated_at: Time,
}

/// What somebody may use: written by whoever sells it, shown in tokens. It lies in the document of its owner because
/// every token is made from that; a table of its own would cost the most frequent statement a join.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entitlements {
    /// The slug of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The slugs of the features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
}

impl Entitlements {
    pub fn is_empty(&self) -> bool {
        self.plan.is_none() && self.features.is_empty()
    }
}

/// The username, which is an identification like the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Username {
    pub id: IdentificationId,
    pub value: String,
}

/// The identifications of one kind, and which of them is the primary one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Contacts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<IdentificationId>,
    pub all: Vec<Contact>,
}

/// An e-mail address, a phone number or a wallet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contact {
    pub id: IdentificationId,
    pub value: String,
    /// Unverified, yet usable for signing in, and nobody else may claim it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reserved: bool,
    /// How it was verified; absent while it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// The proof the user was last asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Challenge>,
    #[serde(default, skip_serializing_if = "SentLinks::is_empty")]
    pub links: SentLinks,
    /// Connected accounts that vouch for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub linked_to: Vec<LinkedAccount>,
    /// Phone numbers only: whether codes sent here are a second factor.
    #[serde(default, skip_serializing_if = "SecondFactor::is_none")]
    pub second_factor: SecondFactor,
    pub created_at: Time,
    pub updated_at: Time,
}

/// How an identification was verified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    pub strategy: Strategy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_at: Option<Time>,
}

/// A connected account an identification is linked to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkedAccount {
    /// The provider's strategy, such as `oauth_google`.
    pub kind: String,
    pub id: IdentificationId,
}

/// Whether a phone number serves as second factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecondFactor {
    /// No.
    #[default]
    None,
    /// Not yet: it will once it is verified.
    Wanted,
    /// Yes.
    Reserved,
    /// Yes, and it is the one asked first.
    Default,
}

impl SecondFactor {
    fn is_none(&self) -> bool {
        *self == SecondFactor::None
    }
}

/// What the document knows about the password; the digest lies elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PasswordState {
    pub updated_at: Time,
    /// Marked as compromised: the user must choose another at the next sign-in.
    #[serde(default, skip_serializing_if = "is_false")]
    pub compromised: bool,
}

/// A lock on signing in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lock {
    /// When it ends by itself, if it does.
    pub until: Option<Time>,
    /// When it began. Locks from before this was noted have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

impl Lock {
    /// Whether it lasts. One that begins later than now was made before the clock was set back, and would last longer
    /// than locks do; a minute is what the clocks of servers may differ by.
    fn is_in_force(&self, now: Time) -> bool {
        let Some(until) = self.until else { return true };
        until > now && self.since.is_none_or(|since| since <= now.plus_ms(CLOCKS_DIFFER_MS))
    }
}

/// By how much the clocks of servers may differ.
const CLOCKS_DIFFER_MS: i64 = 60_000;

/// What is shown of a passkey. Its public key lies elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passkey {
    pub id: IdentificationId,
    pub name: String,
    /// The domain it belongs to, on whose pages alone browsers offer it.
    pub rp_id: String,
    /// How it was registered.
    pub verification: Verification,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Time>,
    pub created_at: Time,
    pub updated_at: Time,
}

/// A device the user enrolled in a native app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrustedDevice {
    pub id: TrustedDeviceId,
    pub platform: String,
    pub app_identifier: String,
    pub name: Option<String>,
    pub created_at: Time,
    pub updated_at: Time,
    pub last_used_at: Option<Time>,
    pub revoked_at: Option<Time>,
}

/// The kinds of contact a user has lists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactKind {
    Email,
    Phone,
    Wallet,
}

impl ContactKind {
    /// The name in the index and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            ContactKind::Email => "email_address",
            ContactKind::Phone => "phone_number",
            ContactKind::Wallet => "web3_wallet",
        }
    }
}

/// A row of the index of identifiers.
#[derive(Clone, Debug, PartialEq)]
pub struct IdentifierClaim {
    pub id: IdentificationId,
    pub kind: String,
    pub value_folded: String,
    /// Nobody else may hold it.
    pub exclusive: bool,
}

impl User {
    pub fn contacts(&self, kind: ContactKind) -> &Contacts {
        match kind {
            ContactKind::Email => &self.email_addresses,
            ContactKind::Phone => &self.phone_numbers,
            ContactKind::Wallet => &self.web3_wallets,
        }
    }

    /// The contacts of a kind, to change them.
    pub fn contacts_mut(&mut self, kind: ContactKind) -> &mut Contacts {
        match kind {
            ContactKind::Email => &mut self.email_addresses,
            ContactKind::Phone => &mut self.phone_numbers,
            ContactKind::Wallet => &mut self.web3_wallets,
        }
    }

    /// Whether signing in is locked at this moment.
    pub fn is_locked(&self, now: Time) -> bool {
        self.lock.as_ref().is_some_and(|lock| lock.is_in_force(now))
    }

    pub fn has_second_factor(&self) -> bool {
        self.totp_enabled || self.phone_numbers.all.iter().any(Contact::is_second_factor)
    }

    /// Whether anything that they have was proven, by which they are known again. Whoever made an account of which nothing is
    /// may be a stranger to all that it names; a password or a username proves nothing about that.
    pub fn has_proven_anything(&self) -> bool {
        let mut contacts = [&self.email_addresses, &self.phone_numbers, &self.web3_wallets].into_iter();
        contacts.any(|contacts| contacts.all.iter().any(Contact::is_verified))
            || self.external_accounts.iter().any(ExternalAccount::is_verified)
            || self.trusted_devices.iter().any(|device| device.revoked_at.is_none())
            || !self.passkeys.is_empty()
            || self.totp_enabled
            || self.backup_code_enabled
    }

    /// What the user is best known by: the primary address, else the number, the username or a wallet.
    pub fn identifier(&self) -> Option<&str> {
        let contacts = [&self.email_addresses, &self.phone_numbers];
        let mut primary = contacts.into_iter().filter_map(|contacts| contacts.primary());
        let primary = primary.next().map(|contact| contact.value.as_str());
        let username = || self.username.as_ref().map(|username| username.value.as_str());
        let wallet = || self.web3_wallets.primary().map(|contact| contact.value.as_str());
        primary.or_else(username).or_else(wallet)
    }

    /// How many identifications of any kind there are.
    pub fn identification_count(&self) -> usize {
        self.claims().len() + self.passkeys.len()
    }

    /// The rows of the index of identifiers that belong to this user.
    pub fn claims(&self) -> Vec<IdentifierClaim> {
        let contacts =
            [ContactKind::Email, ContactKind::Phone, ContactKind::Wallet].into_iter().flat_map(|kind| {
                self.contacts(kind).all.iter().map(move |contact| IdentifierClaim {
                    id: contact.id.clone(),
                    kind: kind.name().to_owned(),
                    value_folded: fold(&contact.value),
                    exclusive: contact.is_exclusive(),
                })
            });
        let username = self.username.iter().map(|username| IdentifierClaim {
            id: username.id.clone(),
            kind: "username".to_owned(),
            value_folded: fold(&username.value),
            exclusive: true,
        });
        let proven = self.external_accounts.iter().filter(|held| held.is_verified());
        let accounts = proven.map(|held| IdentifierClaim {
            id: held.identification.clone(),
            kind: held.account.provider.clone(),
            value_folded: held.account.provider_user_id.clone(),
            exclusive: true,
        });
        contacts.chain(username).chain(accounts).collect()
    }
}

impl Contacts {
    fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn find(&self, id: &IdentificationId) -> Option<&Contact> {
        self.all.iter().find(|contact| contact.id == *id)
    }

    /// The contact with that id, to change it.
    pub fn find_mut(&mut self, id: &IdentificationId) -> Option<&mut Contact> {
        self.all.iter_mut().find(|contact| contact.id == *id)
    }

    pub fn primary(&self) -> Option<&Contact> {
        self.primary.as_ref().and_then(|id| self.find(id))
    }
}

impl Contact {
    /// Whether it is proven to belong to the user.
    pub fn is_verified(&self) -> bool {
        self.verification.is_some()
    }

    /// Whether codes sent here are a second factor.
    pub fn is_second_factor(&self) -> bool {
        matches!(self.second_factor, SecondFactor::Reserved | SecondFactor::Default)
    }

    /// Whether nobody else may hold it.
    pub fn is_exclusive(&self) -> bool {
        self.is_verified() || self.reserved
    }
}

/// Stands in while a document is being read, until the store sets the instance of the row.
fn nowhere() -> InstanceId {
    InstanceId::unset()
}

/// What is said of one user alone. Older documents have `true` for everybody of whom nothing was said.
mod permission {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Said(Permission),
        Flag(bool),
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Permission {
        Allowed,
        Denied,
    }

    pub(super) fn serialize<S: Serializer>(said: &Option<bool>, serializer: S) -> Result<S::Ok, S::Error> {
        let name = |is_allowed: bool| if is_allowed { Permission::Allowed } else { Permission::Denied };
        said.map(name).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
        Ok(match Option::deserialize(deserializer)? {
            Some(Stored::Said(Permission::Allowed)) => Some(true),
            Some(Stored::Said(Permission::Denied) | Stored::Flag(false)) => Some(false),
            Some(Stored::Flag(true)) | None => None,
        })
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}
