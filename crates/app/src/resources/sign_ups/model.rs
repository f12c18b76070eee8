//! What an attempt to sign up is.

use latchkey_base::Time;
use latchkey_base::kinds::{ClientId, InstanceId, SessionId, SignUpId, UserId};
use latchkey_base::rng::Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits::ATTEMPT_MS;
use crate::resources::challenges::links::SentLinks;
use crate::resources::challenges::model::Challenge;
use crate::resources::users::model::Kind;

/// An attempt to sign up. It has no `Debug`: it may hold the digest of a password.
#[derive(Clone, Serialize, Deserialize)]
pub struct SignUp {
    /// The tenant; not part of the document.
    #[serde(skip, default = "InstanceId::unset")]
    pub instance: InstanceId,
    /// Its id.
    pub id: SignUpId,
    /// The client it is made on.
    pub client: ClientId,
    /// What came of it, once it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Created>,
    /// The e-mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email_address: Option<Claimed>,
    /// The links that were sent for it.
    #[serde(default, skip_serializing_if = "SentLinks::is_empty")]
    pub links: SentLinks,
    /// The phone number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<Claimed>,
    /// The wallet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web3_wallet: Option<Claimed>,
    /// The username.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// The first name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// The last name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// The password, hashed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Password>,
    /// What the application's page keeps about the person.
    pub unsafe_metadata: Map<String, Value>,
    /// The language of the browser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// The person's id in another system, from the application's backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// A mark of the application's backend.
    #[serde(default)]
    pub custom_action: bool,
    /// Whether a ticket let the person in, so that sign-ups need not be open to everybody.
    #[serde(default)]
    pub is_invited: bool,
    /// When the terms were accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legal_accepted_at: Option<Time>,
    /// When it began.
    pub created_at: Time,
    /// When it is given up unless it is complete.
    pub abandon_at: Time,
}

/// An address, number or wallet somebody says is theirs.
#[derive(Clone, Serialize, Deserialize)]
pub struct Claimed {
    /// The address itself, in its stored form.
    pub value: String,
    /// The proof that was asked for, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Challenge>,
    /// A proof was asked for the value that stood here before, and none for this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_outdated: bool,
}

/// Where the digest of the password is.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Password {
    /// Here.
    Kept {
        /// The digest.
        digest: String,
        /// The name of its hasher.
        hasher: String,
    },
    /// With the user's other credentials.
    Moved,
}

/// What came of a complete attempt.
#[derive(Clone, Serialize, Deserialize)]
pub struct Created {
    /// The user.
    pub user: UserId,
    /// Their first session.
    pub session: SessionId,
}

/// Where an attempt stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Something is missing or unproven.
    MissingRequirements,
    /// The user exists.
    Complete,
    /// Left lying too long.
    Abandoned,
}

impl SignUp {
    /// An attempt that knows nothing yet.
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
            username: None,
            first_name: None,
            last_name: None,
            password: None,
            unsafe_metadata: Map::new(),
            locale: None,
            external_id: None,
            custom_action: false,
            is_invited: false,
            legal_accepted_at: None,
            created_at: now,
            abandon_at: now.plus_ms(ATTEMPT_MS),
        }
    }

    /// Where it stands at a moment.
    pub fn status(&self, now: Time) -> Status {
        match self {
            SignUp { created: Some(_), .. } => Status::Complete,
            SignUp { abandon_at, .. } if *abandon_at <= now => Status::Abandoned,
            _ => Status::MissingRequirements,
        }
    }

    /// What is claimed of a kind.
    pub fn claimed(&self, kind: Kind) -> Option<&Claimed> {
        match kind {
            Kind::Email => self.email_address.as_ref(),
            Kind::Phone => self.phone_number.as_ref(),
            Kind::Wallet => self.web3_wallet.as_ref(),
        }
    }

    /// What is claimed of a kind, to change it.
    pub fn claimed_mut(&mut self, kind: Kind) -> &mut Option<Claimed> {
        match kind {
            Kind::Email => &mut self.email_address,
            Kind::Phone => &mut self.phone_number,
            Kind::Wallet => &mut self.web3_wallet,
        }
    }

    /// What the password must not be equal to.
    pub fn identifiers(&self) -> Vec<String> {
        let claimed =
            [Kind::Email, Kind::Phone, Kind::Wallet].into_iter().filter_map(|kind| self.claimed(kind));
        claimed.map(|claimed| claimed.value.clone()).chain(self.username.clone()).collect()
    }
}

impl Claimed {
    /// Something that is yet to be proven.
    pub fn new(value: String) -> Claimed {
        Claimed { value, verification: None, is_outdated: false }
    }

    /// Whether it is proven.
    pub fn is_verified(&self) -> bool {
        self.verification.as_ref().is_some_and(|challenge| challenge.verified_at.is_some())
    }
}
