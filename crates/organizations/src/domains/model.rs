//! What a domain of an organization is.

use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, OrganizationDomainId, OrganizationId};
use latchkey_kernel::settings::EnrollmentMode;
use latchkey_people::challenges::model::Challenge;
use serde::{Deserialize, Serialize};

use crate::orgs::model::Organization;

/// A domain, as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrganizationDomain {
    /// The tenant; not part of the document.
    #[serde(skip, default = "InstanceId::unset")]
    pub instance: InstanceId,
    pub id: OrganizationDomainId,
    pub organization: OrganizationId,
    /// As DNS knows it.
    pub name: String,
    pub enrollment_mode: DomainMode,
    /// The proof that the domain is the organization's, or what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affiliation: Option<Affiliation>,
    /// What was done for that proof lately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affiliation_tries: Option<AffiliationTries>,
    /// The proof that the organization controls the zone, or what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ownership: Option<Ownership>,
    pub created_at: Time,
    pub updated_at: Time,
}

/// How people with an address of a domain join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DomainMode {
    /// Only when somebody invites them.
    ManualInvitation,
    /// An invitation waits for each of them.
    AutomaticInvitation,
    /// They may ask.
    AutomaticSuggestion,
    /// By the connection of their company, not by their address.
    EnterpriseSso,
}

impl DomainMode {
    pub const ALL: [DomainMode; 4] = [
        DomainMode::ManualInvitation,
        DomainMode::AutomaticInvitation,
        DomainMode::AutomaticSuggestion,
        DomainMode::EnterpriseSso,
    ];

    /// The name on the wire and in the table.
    pub fn name(self) -> &'static str {
        match self {
            DomainMode::ManualInvitation => "manual_invitation",
            DomainMode::AutomaticInvitation => "automatic_invitation",
            DomainMode::AutomaticSuggestion => "automatic_suggestion",
            DomainMode::EnterpriseSso => "enterprise_sso",
        }
    }

    /// The setting that allows it, where it needs one: people join by themselves.
    pub fn setting(self) -> Option<EnrollmentMode> {
        match self {
            DomainMode::AutomaticInvitation => Some(EnrollmentMode::AutomaticInvitation),
            DomainMode::AutomaticSuggestion => Some(EnrollmentMode::AutomaticSuggestion),
            DomainMode::ManualInvitation | DomainMode::EnterpriseSso => None,
        }
    }
}

/// The proof of somebody who receives mail at the domain, or the word of the application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Affiliation {
    /// The address of the proof, if it is one by an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email_address: Option<String>,
    pub challenge: Challenge,
}

/// How many codes were sent, and guessed wrong, in a day, to whatever address of the domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AffiliationTries {
    /// When the day began.
    pub since: Time,
    pub sent: i64,
    pub wrong: i64,
}

/// The proof that an organization controls a zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ownership {
    /// A TXT record is waited for.
    Asked {
        /// What the record has to say, sealed.
        value: String,
        attempts: i64,
        expire_at: Time,
    },
    /// The record was there.
    Proven { attempts: i64, expire_at: Time, verified_at: Time },
    /// The application said so.
    Overridden { verified_at: Time },
}

impl Ownership {
    pub fn is_verified(&self) -> bool {
        !matches!(self, Ownership::Asked { .. })
    }
}

impl OrganizationDomain {
    /// Whether it is the organization's, so that people can join by it.
    pub fn is_verified(&self) -> bool {
        self.affiliation.as_ref().is_some_and(|affiliation| affiliation.challenge.verified_at.is_some())
    }

    /// How people join by themselves, if they do and the settings allow it (`rules::enrols`).
    pub fn enrols(&self) -> Option<EnrollmentMode> {
        self.enrollment_mode.setting().filter(|_| self.is_verified())
    }
}

/// A domain with its organization, and how many people have not answered yet.
#[derive(Clone, Debug)]
pub struct DomainParts {
    pub domain: OrganizationDomain,
    pub organization: Organization,
    pub pending_invitations: i64,
    pub pending_suggestions: i64,
}
