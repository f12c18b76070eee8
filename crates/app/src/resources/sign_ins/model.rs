//! What an attempt to sign in is.

use latchkey_base::Time;
use latchkey_base::kinds::{ClientId, IdentificationId, InstanceId, SessionId, SignInId, UserId};
use latchkey_base::rng::Rng;
use serde::{Deserialize, Serialize};

use crate::limits::ATTEMPT_MS;
use crate::resources::challenges::links::SentLinks;
use crate::resources::challenges::model::Challenge;
use crate::resources::users::model::Kind;

/// An attempt to sign in on a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SignIn {
    /// The tenant; not part of the document.
    #[serde(skip, default = "InstanceId::unset")]
    pub instance: InstanceId,
    /// Its id.
    pub id: SignInId,
    /// Where.
    pub client: ClientId,
    /// What is next.
    pub step: Step,
    /// Who somebody says they are; absent until they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// The first factor, once it was prepared or tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_factor: Option<Challenge>,
    /// When the password was set that the user had as the first factor was proven, or that they chose then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_set_at: Option<Time>,
    /// The second factor, or what makes the browser trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_factor: Option<Challenge>,
    /// The links that were sent for it.
    #[serde(default, skip_serializing_if = "SentLinks::is_empty")]
    pub links: SentLinks,
    /// The session that came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_session: Option<SessionId>,
    /// The language of the browser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// When it began.
    pub created_at: Time,
    /// When it is over unless it is complete.
    pub abandon_at: Time,
}

/// What is next in an attempt to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Saying who one is.
    NeedsIdentifier,
    /// Proving it.
    NeedsFirstFactor,
    /// Proving it once more, because the user has a second factor.
    NeedsSecondFactor,
    /// Proving it once more, because the browser is not known.
    NeedsClientTrust,
    /// Choosing a new password.
    NeedsNewPassword,
    /// Nothing: there is a session.
    Complete,
}

/// Who somebody says they are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// What was typed, in the form it is stored in.
    pub identifier: String,
    /// What that is.
    pub named_by: Named,
    /// Whose it is. Nobody's, where answers must not tell, or where signing up can go on from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// Which of their identifications it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identification: Option<IdentificationId>,
    /// Whether somebody without an account may go on and sign up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_sign_up: bool,
    /// Whether the user signed in on this client before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_known: bool,
}

/// By what somebody is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    /// An e-mail address.
    EmailAddress,
    /// A phone number.
    PhoneNumber,
    /// A username.
    Username,
    /// A ticket the application gave out.
    Ticket,
}

impl Named {
    /// The kind of contact it is, if it is one.
    pub fn kind(self) -> Option<Kind> {
        match self {
            Named::EmailAddress => Some(Kind::Email),
            Named::PhoneNumber => Some(Kind::Phone),
            Named::Username | Named::Ticket => None,
        }
    }
}

impl SignIn {
    /// An attempt that has only begun.
    pub fn new(
        instance: &InstanceId,
        client: &ClientId,
        locale: Option<String>,
        now: Time,
        rng: &dyn Rng,
    ) -> SignIn {
        SignIn {
            instance: instance.clone(),
            id: SignInId::new(now, rng),
            client: client.clone(),
            step: Step::NeedsIdentifier,
            claim: None,
            first_factor: None,
            password_set_at: None,
            second_factor: None,
            links: SentLinks::default(),
            created_session: None,
            locale,
            created_at: now,
            abandon_at: now.plus_ms(ATTEMPT_MS),
        }
    }

    /// Whose attempt it is, as far as somebody said so and there is such a user.
    pub fn user(&self) -> Option<&UserId> {
        self.claim.as_ref().and_then(|claim| claim.user.as_ref())
    }

    /// The identification that was typed.
    pub fn typed(&self) -> Option<&IdentificationId> {
        self.claim.as_ref().and_then(|claim| claim.identification.as_ref())
    }

    /// Whether its time is over.
    pub fn is_over(&self, now: Time) -> bool {
        self.abandon_at <= now
    }
}
