//! What an attempt to sign in is.

use latchkey_base::Time;
use latchkey_base::kinds::{
    ClientId, IdentificationId, InstanceId, InvitationId, OrganizationId, OrganizationInvitationId,
    SessionId, SignInId, UserId,
};
use latchkey_kernel::limits::ATTEMPT_MS;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::links::SentLinks;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::users::model::ContactKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An attempt to sign in on a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SignIn {
    /// The tenant; not part of the document.
    #[serde(skip, default = "InstanceId::unset")]
    pub instance: InstanceId,
    pub id: SignInId,
    /// The client it is made on.
    pub client: ClientId,
    pub step: SignInStep,
    /// Who somebody says they are; absent until they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimedIdentity>,
    /// The first factor, once it was prepared or tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_factor: Option<Challenge>,
    /// When the password was set that the user had as the first factor was proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_set_at: Option<Time>,
    /// The second factor, or what makes the browser trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_factor: Option<Challenge>,
    #[serde(default, skip_serializing_if = "SentLinks::is_empty")]
    pub links: SentLinks,
    /// The password that was chosen. It counts once all that is asked for is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_password: Option<ChosenPassword>,
    /// What is to be redeemed once all that is asked for is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaiting: Option<AwaitingProof>,
    /// The invitation whose ticket was shown. It is followed once all that is asked for is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invitation: Option<ShownInvitation>,
    /// The organization that the session begins with, if a ticket says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<OrganizationId>,
    /// The session that came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_session: Option<SessionId>,
    /// The language of the browser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    pub created_at: Time,
    /// When it is over unless it is complete.
    pub abandon_at: Time,
}

/// A password chosen in the course of an attempt: whoever has one factor only must not replace the one there is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChosenPassword {
    pub digest: String,
    /// The name of its hasher.
    pub hasher: String,
    /// Whether the other sessions of the user end then.
    pub ends_sessions: bool,
}

/// A proof by a registered strategy that is worth nothing alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AwaitingProof {
    pub strategy: Strategy,
    /// As the strategy itself reads it.
    pub proof: Value,
}

/// An invitation whose ticket somebody showed to sign in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownInvitation {
    /// To the application.
    Application(InvitationId),
    /// To an organization.
    Organization(OrganizationInvitationId),
}

/// What is next in an attempt to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignInStep {
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
pub struct ClaimedIdentity {
    /// What was typed, in the form it is stored in.
    pub identifier: String,
    /// What that is.
    pub named_by: Named,
    /// The user who has it. `None` if nobody has it and the sign-in goes on all the same: because answers must not tell who
    /// has an account, or because it may become a sign-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
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
    EmailAddress,
    PhoneNumber,
    Username,
    Wallet,
    /// A ticket the application gave out.
    Ticket,
    /// A proof that says who it is, by a registered strategy.
    Proof,
}

impl Named {
    /// The kind of contact it is, if it is one.
    pub fn kind(self) -> Option<ContactKind> {
        match self {
            Named::EmailAddress => Some(ContactKind::Email),
            Named::PhoneNumber => Some(ContactKind::Phone),
            Named::Wallet => Some(ContactKind::Wallet),
            Named::Username | Named::Ticket | Named::Proof => None,
        }
    }
}

impl SignIn {
    /// An attempt that has only begun.
    pub fn new(
        instance: &InstanceId,
        id: SignInId,
        client: &ClientId,
        locale: Option<String>,
        now: Time,
    ) -> SignIn {
        SignIn {
            instance: instance.clone(),
            id,
            client: client.clone(),
            step: SignInStep::NeedsIdentifier,
            claim: None,
            first_factor: None,
            password_set_at: None,
            second_factor: None,
            links: SentLinks::default(),
            new_password: None,
            awaiting: None,
            invitation: None,
            organization: None,
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

    pub fn typed(&self) -> Option<&IdentificationId> {
        self.claim.as_ref().and_then(|claim| claim.identification.as_ref())
    }

    pub fn is_over(&self, now: Time) -> bool {
        self.abandon_at <= now
    }
}
