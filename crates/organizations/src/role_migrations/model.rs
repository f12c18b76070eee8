//! How far members have been given other roles.

use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, OrganizationId, UserId};
use serde::{Deserialize, Serialize};

use crate::access::model::RoleSetMigration;

/// Members who are being given other roles, and how far that is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoleMigrationWork {
    /// The tenant; not part of the document.
    #[serde(skip, default = "InstanceId::unset")]
    pub instance: InstanceId,
    pub migration: RoleSetMigration,
    /// What its events say about pictures.
    pub api_url: String,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// How many members have another role.
    pub migrated_members: i64,
    pub updated_at: Time,
}

/// The organization whose members have their turn, and the last of them who had it. Each gets another role once: two
/// roles may take each other's place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Position {
    pub organization: OrganizationId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<(Time, UserId)>,
}

impl RoleMigrationWork {
    /// Behind whom the members of an organization are left.
    pub fn after(&self, organization: &OrganizationId) -> Option<(Time, UserId)> {
        let position = self.position.as_ref().filter(|position| position.organization == *organization);
        position.and_then(|position| position.last.clone())
    }
}
