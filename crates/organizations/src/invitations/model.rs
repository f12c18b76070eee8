//! What an invitation is.

use latchkey_base::Time;
use latchkey_base::kinds::{
    InstanceId, OrganizationDomainId, OrganizationId, OrganizationInvitationId, RoleId, SecretKeyId, UserId,
};
use latchkey_base::text::{email, fold};
use latchkey_people::users::model::User;
use serde::{Deserialize, Serialize};

use crate::memberships::model::MembershipMetadata;
use crate::orgs::model::Organization;

/// An invitation of an address to an organization.
#[derive(Clone, Debug)]
pub struct Invitation {
    pub instance: InstanceId,
    pub id: OrganizationInvitationId,
    pub organization: OrganizationId,
    /// What the person will be, unless another role took its place until then. A column of its own, to find out whether a
    /// role is still promised to somebody.
    pub role: RoleId,
    /// What somebody did with it. Whether its time is over follows from `expire_at`.
    pub status: InvitationStatus,
    /// The domain that caused it, if no person or backend did.
    pub domain: Option<OrganizationDomainId>,
    /// The member who sent it, if one did.
    pub inviter: Option<UserId>,
    /// Whether the inviter sent it in a browser, and not a backend in the inviter's name.
    pub is_from_member: bool,
    /// The secret key of the backend that sent it.
    pub key: Option<SecretKeyId>,
    pub details: InvitationDetails,
    pub created_at: Time,
    pub expire_at: Time,
}

/// The document of an invitation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InvitationDetails {
    pub email_address: String,
    /// Where the link leads, if not to the pages for signing in and up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_url: Option<String>,
    /// The ticket, sealed and in base64. What a domain caused has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// What the membership will have.
    pub metadata: MembershipMetadata,
    /// Who became a member by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_by: Option<UserId>,
    pub updated_at: Time,
}

/// What somebody did with an invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvitationStatus {
    Pending,
    Accepted,
    Revoked,
}

impl InvitationStatus {
    /// Reads a name.
    pub fn parse(text: &str) -> Option<InvitationStatus> {
        [InvitationStatus::Pending, InvitationStatus::Accepted, InvitationStatus::Revoked]
            .into_iter()
            .find(|status| status.name() == text)
    }

    /// The name in the table and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            InvitationStatus::Pending => "pending",
            InvitationStatus::Accepted => "accepted",
            InvitationStatus::Revoked => "revoked",
        }
    }
}

impl Invitation {
    /// What became of it, by the name on the wire.
    pub fn state(&self, now: Time) -> &'static str {
        match self.status {
            InvitationStatus::Pending if self.expire_at <= now => "expired",
            status => status.name(),
        }
    }

    /// Returns the member who sent it in a browser.
    pub fn sender(&self) -> Option<&UserId> {
        self.inviter.as_ref().filter(|_| self.is_from_member)
    }

    /// Whether it can still be accepted.
    pub fn is_open(&self, now: Time) -> bool {
        self.status == InvitationStatus::Pending && self.expire_at > now
    }
}

/// An invitation with its organization and the member who sent it, if there still is one.
#[derive(Clone, Debug)]
pub struct InvitationParts {
    pub invitation: Invitation,
    pub organization: Organization,
    pub inviter: Option<User>,
}

/// An address in the form in which invitations are found by it.
pub fn folded(email_address: &str) -> String {
    fold(&email(email_address).unwrap_or_else(|| email_address.to_owned()))
}
