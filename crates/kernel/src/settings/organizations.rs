//! Whether there are organizations, and what they may do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::Faults;

/// Whether there are organizations, and what they may do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OrganizationSettings {
    /// Users can be members of organizations. Without it every operation on organizations is refused.
    pub enabled: bool,
    /// How many members and pending invitations a new organization may have; 0 is no limit. Each organization can have
    /// another limit.
    pub max_allowed_memberships: i64,
    /// Members may delete a new organization, if their role allows it. Each organization can say otherwise.
    pub admin_delete: bool,
    /// Actor sessions may accept invitations and suggestions of organizations and delete organizations. Without it only users themselves may.
    pub actor_changes: bool,
    /// Organizations have slugs: names for addresses. Without it none can be given.
    pub slugs: bool,
    /// Everybody works for an organization: whoever is in none has to choose or create one after signing in, and nobody
    /// works for themselves.
    pub force_selection: bool,
    /// Pages suggest a name for the first organization of a user, made from the domain of their address.
    pub creation_defaults: bool,
    /// Organizations can name domains, whose people may join.
    pub domains: bool,
    /// How people with an address of a verified domain can join, besides being invited by hand.
    pub domain_enrollment_modes: Vec<EnrollmentMode>,
}

/// How people with an address of an organization's domain join it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnrollmentMode {
    /// They are invited by themselves.
    AutomaticInvitation,
    /// They may ask to join.
    AutomaticSuggestion,
}

impl Default for OrganizationSettings {
    fn default() -> OrganizationSettings {
        OrganizationSettings {
            enabled: false,
            max_allowed_memberships: 0,
            admin_delete: true,
            actor_changes: false,
            slugs: true,
            force_selection: false,
            creation_defaults: false,
            domains: false,
            domain_enrollment_modes: Vec::new(),
        }
    }
}

impl OrganizationSettings {
    /// Whether everybody has to work for an organization.
    pub fn is_choice_forced(&self) -> bool {
        self.enabled && self.force_selection
    }

    pub(super) fn check(&self, faults: &mut Faults) {
        if !(0..=1_000_000).contains(&self.max_allowed_memberships) {
            faults.add("organizations.max_allowed_memberships", "It must be between 0 and 1000000.");
        }
        if self.force_selection && !self.enabled {
            faults.add("organizations.force_selection", "It needs organizations.enabled.");
        }
        if self.domains && !self.enabled {
            faults.add("organizations.domains", "It needs organizations.enabled.");
        }
        let modes = &self.domain_enrollment_modes;
        if modes.iter().enumerate().any(|(at, mode)| modes[..at].contains(mode)) {
            faults.add("organizations.domain_enrollment_modes", "A mode stands there twice.");
        }
    }
}
