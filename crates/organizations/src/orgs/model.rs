//! What an organization is made of.

use latchkey_base::Time;
use latchkey_base::kinds::{ImageId, InstanceId, OrganizationId, RoleSetId, UserId};
use latchkey_people::users::model::Entitlements;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// An organization, as stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Organization {
    /// The tenant; not part of the document.
    #[serde(skip, default = "InstanceId::unset")]
    pub instance: InstanceId,
    pub id: OrganizationId,
    pub name: String,
    /// Its name in addresses; unique in the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageId>,
    pub public_metadata: Box<RawValue>,
    pub private_metadata: Box<RawValue>,
    /// How many members and pending invitations it may have; 0 is no limit.
    pub max_allowed_memberships: i64,
    /// Whether members whose role allows it may delete it.
    pub admin_delete_enabled: bool,
    /// Who created it, if a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<UserId>,
    /// The roles its members can have.
    pub role_set: RoleSetId,
    /// What its members may use, as billing says it.
    #[serde(default, skip_serializing_if = "Entitlements::is_empty")]
    pub entitlements: Entitlements,
    pub created_at: Time,
    pub updated_at: Time,
    /// How many members it has; a column, not part of the document.
    #[serde(skip)]
    pub members_count: i64,
}

impl Organization {
    /// Whether there is no room for so many more, besides its members and `pending` invitations.
    pub fn is_full(&self, pending: i64, more: i64) -> bool {
        let most = self.max_allowed_memberships;
        most > 0 && self.members_count + pending + more > most
    }
}
