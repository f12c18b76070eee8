//! An attempt to sign up: what somebody has said about themselves so far, which of it is proven, and the user that came
//! of it.

use latchkey_base::Time;
use latchkey_base::kinds::{
    ClientId, InstanceId, InvitationId, OrganizationInvitationId, SessionId, SignUpId, UserId,
};
use latchkey_base::rng::Rng;
use latchkey_base::text::fold;
use latchkey_kernel::limits::ATTEMPT_MS;
use latchkey_people::challenges::links::SentLinks;
use latchkey_people::challenges::model::{Challenge, Newcomer};
use latchkey_people::users::model::ContactKind;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// An attempt to sign up. It is stored as one JSON document. It has no `Debug`, because it may hold the digest of a
/// password.
#[derive(Clone, Serialize, Deserialize)]
pub struct SignUp {
    /// The tenant. A column of the table, not part of the document.
    #[serde(skip, default = "InstanceId::unset")]
    pub instance: InstanceId,
    pub id: SignUpId,
    /// The client (browser or device) it was begun on.
    pub client: ClientId,
    /// The user and the session it created, once it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Created>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email_address: Option<Claimed>,
    /// The links that were sent to prove the e-mail address.
    #[serde(default, skip_serializing_if = "SentLinks::is_empty")]
    pub links: SentLinks,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<Claimed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web3_wallet: Option<Claimed>,
    /// The account at another provider by which somebody signs up: what was asked for, and whom it proved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_account: Option<Challenge>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// The password, hashed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Password>,
    /// Metadata the application's page has set; it becomes that of the user.
    pub unsafe_metadata: Box<RawValue>,
    /// The language of the browser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// The person's id in another system, from the application's backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// A flag that only the application's backend sets; it is stored and shown, and changes nothing.
    #[serde(default)]
    pub custom_action: bool,
    /// Whether a ticket let the person in, so that sign-ups need not be open to everybody.
    #[serde(default)]
    pub is_invited: bool,
    /// The invitation to an organization that let them in; it is accepted when the attempt is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invitation: Option<OrganizationInvitationId>,
    /// The invitation to the application that let them in; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application_invitation: Option<InvitationId>,
    /// Metadata of that invitation; it becomes that of the user.
    #[serde(default = "no_metadata")]
    pub public_metadata: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legal_accepted_at: Option<Time>,
    pub created_at: Time,
    /// From when on it counts as abandoned, unless it is complete.
    pub abandon_at: Time,
}

/// An address, number or wallet somebody says is theirs.
#[derive(Clone, Serialize, Deserialize)]
pub struct Claimed {
    /// The address, number or wallet, normalised as users have it.
    pub value: String,
    /// The code or link that was sent to prove it, and what came of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Challenge>,
    /// Whether the value was replaced after a code or link was sent, and none was sent to the new one yet. Attempts to
    /// prove it are then refused with an error of their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_outdated: bool,
}

/// The password of an attempt. Its digest is kept here until the user exists.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Password {
    /// The attempt is not complete: the digest lies in its document.
    Kept {
        digest: String,
        /// The name of its hasher.
        hasher: String,
    },
    /// The user exists: the digest lies with their credentials, and no longer here.
    Moved,
}

/// What a complete attempt created.
#[derive(Clone, Serialize, Deserialize)]
pub struct Created {
    pub user: UserId,
    /// The user's first session.
    pub session: SessionId,
}

/// The status of an attempt at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignUpStatus {
    /// A required field is missing, or an address or number is not proven yet.
    MissingRequirements,
    /// The user was created.
    Complete,
    /// It was not completed in time.
    Abandoned,
}

impl SignUp {
    /// A new attempt, with nothing filled in.
    pub fn new(instance: &InstanceId, client: &ClientId, now: Time, rng: &dyn Rng) -> SignUp {
        SignUp {
            instance: instance.clone(),
            id: SignUpId::new(now, rng),
            client: client.clone(),
            created: None,
            email_address: None,
            links: SentLinks::default(),
            phone_number: None,
            web3_wallet: None,
            external_account: None,
            username: None,
            first_name: None,
            last_name: None,
            password: None,
            unsafe_metadata: no_metadata(),
            locale: None,
            external_id: None,
            custom_action: false,
            is_invited: false,
            invitation: None,
            application_invitation: None,
            public_metadata: no_metadata(),
            legal_accepted_at: None,
            created_at: now,
            abandon_at: now.plus_ms(ATTEMPT_MS),
        }
    }

    /// Its status at that time.
    pub fn status(&self, now: Time) -> SignUpStatus {
        match self {
            SignUp { created: Some(_), .. } => SignUpStatus::Complete,
            SignUp { abandon_at, .. } if *abandon_at <= now => SignUpStatus::Abandoned,
            _ => SignUpStatus::MissingRequirements,
        }
    }

    /// The address, number or wallet that was given.
    pub fn claimed(&self, kind: ContactKind) -> Option<&Claimed> {
        match kind {
            ContactKind::Email => self.email_address.as_ref(),
            ContactKind::Phone => self.phone_number.as_ref(),
            ContactKind::Wallet => self.web3_wallet.as_ref(),
        }
    }

    /// The same, to set or change it.
    pub fn claimed_mut(&mut self, kind: ContactKind) -> &mut Option<Claimed> {
        match kind {
            ContactKind::Email => &mut self.email_address,
            ContactKind::Phone => &mut self.phone_number,
            ContactKind::Wallet => &mut self.web3_wallet,
        }
    }

    /// Who signs up by an account at another provider, once that is proven.
    pub fn newcomer(&self) -> Option<&Newcomer> {
        let proven = self.external_account.as_ref().filter(|asked| !asked.transferable)?;
        let is_confirmed = |newcomer: &&Newcomer| {
            if newcomer.is_unconfirmed {
                self.claimed_address_of(newcomer).is_some_and(Claimed::is_verified)
            } else {
                proven.verified_at.is_some()
            }
        };
        proven.newcomer.as_deref().filter(is_confirmed)
    }

    /// Returns whether the account at another provider counts once the address that the provider vouches for is verified here.
    pub fn awaits_address_of_account(&self) -> bool {
        let newcomer = self.external_account.as_ref().filter(|asked| !asked.transferable);
        let newcomer = newcomer.and_then(|asked| asked.newcomer.as_deref());
        let unconfirmed = newcomer.filter(|newcomer| newcomer.is_unconfirmed);
        let claimed = unconfirmed.and_then(|newcomer| self.claimed_address_of(newcomer));
        claimed.is_some_and(|claimed| !claimed.is_verified())
    }

    /// Returns the address of the attempt, if it is the one that the provider of the account vouches for.
    fn claimed_address_of(&self, newcomer: &Newcomer) -> Option<&Claimed> {
        let address = newcomer.account.as_ref()?.proven_email()?;
        self.email_address.as_ref().filter(|claimed| fold(&claimed.value) == fold(address))
    }

    /// All identifiers that were given: the password must not be equal to one of them.
    pub fn identifiers(&self) -> Vec<String> {
        let claimed = [ContactKind::Email, ContactKind::Phone, ContactKind::Wallet]
            .into_iter()
            .filter_map(|kind| self.claimed(kind));
        claimed.map(|claimed| claimed.value.clone()).chain(self.username.clone()).collect()
    }
}

impl Claimed {
    /// One that is not proven yet.
    pub fn new(value: String) -> Claimed {
        Claimed { value, verification: None, is_outdated: false }
    }

    pub fn is_verified(&self) -> bool {
        self.verification.as_ref().is_some_and(|challenge| challenge.verified_at.is_some())
    }
}

/// Metadata that says nothing.
#[expect(clippy::expect_used, reason = "an empty object is JSON")]
pub fn no_metadata() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("an empty object is JSON")
}
