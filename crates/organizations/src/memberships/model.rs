//! What a membership is.

use std::sync::Arc;

use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, OrganizationId, OrganizationMembershipId, RoleId, UserId};
use latchkey_people::users::model::User;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::access::model::{Access, Role};
use crate::orgs::model::Organization;

/// A user's membership in an organization.
#[derive(Clone, Debug)]
pub struct Membership {
    pub instance: InstanceId,
    pub organization: OrganizationId,
    pub user: UserId,
    pub id: OrganizationMembershipId,
    pub role: RoleId,
    pub metadata: MembershipMetadata,
    pub created_at: Time,
    pub updated_at: Time,
}

/// What an application keeps on a membership; its document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MembershipMetadata {
    pub public_metadata: Box<RawValue>,
    pub private_metadata: Box<RawValue>,
}

impl Default for MembershipMetadata {
    fn default() -> MembershipMetadata {
        let empty = || RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned());
        MembershipMetadata { public_metadata: empty(), private_metadata: empty() }
    }
}

/// A membership with the organization and the user it joins.
#[derive(Clone, Debug)]
pub struct MembershipParts {
    pub membership: Membership,
    pub organization: Organization,
    pub user: User,
}

/// A user's membership in the organization they work for, with all that their tokens say of it.
#[derive(Clone, Debug)]
pub struct ActiveMembership {
    pub membership: Membership,
    pub organization: Organization,
    /// The roles of the instance.
    pub access: Arc<Access>,
}

impl ActiveMembership {
    /// What the member is in the organization.
    pub fn role(&self) -> Option<&Role> {
        self.access.role(&self.membership.role)
    }

    /// The keys of all that the member may do, in order.
    pub fn permissions(&self) -> Vec<&str> {
        self.role().map(|role| self.access.permission_keys(role)).unwrap_or_default()
    }
}
