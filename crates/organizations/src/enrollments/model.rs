//! What is left to do for a domain.

use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, OrganizationDomainId, OrganizationId};
use serde::{Deserialize, Serialize};

/// What is left to do for a domain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Enrollment {
    #[serde(skip, default = "InstanceId::unset")]
    pub instance: InstanceId,
    #[serde(skip, default = "OrganizationDomainId::unset")]
    pub domain: OrganizationDomainId,
    #[serde(skip, default = "OrganizationId::unset")]
    pub organization: OrganizationId,
    /// What was made until then and not answered is taken back, before anything is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdraw_until: Option<Time>,
    /// Whether people with an address of the domain are looked for.
    pub is_enrolling: bool,
    /// The last address that was looked at.
    #[serde(default)]
    pub after: String,
    /// Where the one who caused it reached this server, and where backends do: events tell of it.
    pub url: String,
    pub api_url: String,
}
