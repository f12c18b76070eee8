//! Permissions, roles and role sets of an instance.

use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, PermissionId, RoleId, RoleSetId, RoleSetMigrationId};
use serde::{Deserialize, Serialize};

/// May change the name, the logo and other settings of the organization.
pub const MANAGE_PROFILE: &str = "org:sys_profile:manage";
pub const DELETE_PROFILE: &str = "org:sys_profile:delete";
pub const READ_MEMBERSHIPS: &str = "org:sys_memberships:read";
pub const MANAGE_MEMBERSHIPS: &str = "org:sys_memberships:manage";
pub const READ_DOMAINS: &str = "org:sys_domains:read";
pub const MANAGE_DOMAINS: &str = "org:sys_domains:manage";

/// How the keys of permissions begin that every instance has, and nobody changes. Tokens do not show them.
pub const SYSTEM_PREFIX: &str = "org:sys_";

/// What the role of creators must allow. An organization always has a member with such a role.
pub const CREATOR_PERMISSIONS: [&str; 3] = [MANAGE_MEMBERSHIPS, READ_MEMBERSHIPS, DELETE_PROFILE];

/// Everything that says what members may do, in one instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// The tenant; not part of the document.
    #[serde(skip, default = "InstanceId::unset")]
    pub instance: InstanceId,
    pub permissions: Vec<Permission>,
    pub roles: Vec<Role>,
    pub role_sets: Vec<RoleSet>,
    /// Members who are being given other roles, because there are too many of them for one transaction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub migrations: Vec<RoleSetMigration>,
}

/// Something that members may do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Permission {
    pub id: PermissionId,
    /// `org:<feature>:<action>`.
    pub key: String,
    pub name: String,
    pub description: String,
    pub created_at: Time,
    pub updated_at: Time,
}

/// What a member is in an organization.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Role {
    pub id: RoleId,
    /// `org:<name>`.
    pub key: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub permissions: Vec<PermissionId>,
    pub created_at: Time,
    pub updated_at: Time,
}

/// Roles that organizations choose from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoleSet {
    pub id: RoleSetId,
    /// `role_set:<name>`.
    pub key: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub kind: RoleSetKind,
    pub roles: Vec<RoleId>,
    /// What people become who join without anybody having chosen a role for them.
    pub default_role: RoleId,
    /// What whoever creates an organization becomes.
    pub creator_role: RoleId,
    /// Roles that others took the place of, for what still names them: pending invitations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<Reassignment>,
    pub created_at: Time,
    pub updated_at: Time,
}

/// A role, and the one that takes its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reassignment {
    pub from: RoleId,
    pub to: RoleId,
}

/// Members of organizations with a role set get other roles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoleSetMigration {
    pub id: RoleSetMigrationId,
    /// The role set the organizations have.
    pub source: RoleSetId,
    /// The role set they get, if `source` goes away; none if only a role of it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dest: Option<RoleSetId>,
    /// Which role takes the place of which. A role that is not named stays.
    pub reassignments: Vec<Reassignment>,
    pub created_at: Time,
}

/// Which organizations have a role set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleSetKind {
    /// New ones, unless told otherwise. An instance has one such set.
    Initial,
    /// Those that were given it.
    Custom,
}

impl RoleSet {
    /// The role that members of organizations with this set get when they were promised `role`: that one, the one that
    /// took its place, or the default one.
    pub fn settled<'a>(&'a self, role: &'a RoleId) -> &'a RoleId {
        if self.roles.contains(role) {
            return role;
        }
        let replaced = self.replaced.iter().find(|it| it.from == *role && self.roles.contains(&it.to));
        replaced.map_or(&self.default_role, |it| &it.to)
    }
}

impl RoleSetMigration {
    /// The role that takes the place of another.
    pub fn successor(&self, role: &RoleId) -> Option<&RoleId> {
        self.reassignments.iter().find(|it| it.from == *role).map(|it| &it.to)
    }

    fn names(&self, role: &RoleId) -> bool {
        self.reassignments.iter().any(|it| it.from == *role || it.to == *role)
    }
}

impl Permission {
    /// Whether every instance has it, and nobody changes it.
    pub fn is_system(&self) -> bool {
        self.key.starts_with(SYSTEM_PREFIX)
    }
}

impl Access {
    pub fn role(&self, id: &RoleId) -> Option<&Role> {
        self.roles.iter().find(|role| role.id == *id)
    }

    /// The role of a key. The two names from before there were keys still work.
    pub fn role_by_key(&self, key: &str) -> Option<&Role> {
        let key = match key {
            "admin" => "org:admin",
            "basic_member" => "org:member",
            key => key,
        };
        self.roles.iter().find(|role| role.key == key)
    }

    pub fn permission(&self, id: &PermissionId) -> Option<&Permission> {
        self.permissions.iter().find(|permission| permission.id == *id)
    }

    pub fn role_set(&self, id: &RoleSetId) -> Option<&RoleSet> {
        self.role_sets.iter().find(|set| set.id == *id)
    }

    /// The role set with this key or id.
    pub fn role_set_by_key_or_id(&self, text: &str) -> Option<&RoleSet> {
        self.role_sets.iter().find(|set| set.key == text || set.id.as_str() == text)
    }

    /// The migration of members of organizations with this set.
    pub fn migration_from(&self, set: &RoleSetId) -> Option<&RoleSetMigration> {
        self.migrations.iter().find(|migration| migration.source == *set)
    }

    /// Whether a role set is going away, because all organizations with it get another one.
    pub fn is_going(&self, set: &RoleSetId) -> bool {
        self.migration_from(set).is_some_and(|migration| migration.dest.is_some())
    }

    /// Whether members are being given other roles because of this set.
    pub fn is_migrating(&self, set: &RoleSetId) -> bool {
        self.migrations.iter().any(|it| it.source == *set || it.dest.as_ref() == Some(set))
    }

    /// Whether members are being given this role, or another in its place.
    pub fn is_role_migrating(&self, role: &RoleId) -> bool {
        self.migrations.iter().any(|migration| migration.names(role))
    }

    /// The set of new organizations.
    pub fn initial_role_set(&self) -> Option<&RoleSet> {
        self.role_sets.iter().find(|set| set.kind == RoleSetKind::Initial)
    }

    /// The keys of what a role allows, in order.
    pub fn permission_keys(&self, role: &Role) -> Vec<&str> {
        let held = role.permissions.iter().filter_map(|id| self.permission(id));
        let mut keys: Vec<&str> = held.map(|permission| permission.key.as_str()).collect();
        keys.sort_unstable();
        keys
    }

    /// Whether a role allows something.
    pub fn allows(&self, role: &Role, key: &str) -> bool {
        role.permissions.iter().filter_map(|id| self.permission(id)).any(|permission| permission.key == key)
    }

    /// Returns whether members with a role may invite.
    pub fn can_invite(&self, role: &RoleId) -> bool {
        self.role(role).is_some_and(|role| self.allows(role, MANAGE_MEMBERSHIPS))
    }

    /// Whether creators of organizations can have a role: it allows to manage the organization. Every organization
    /// keeps a member with such a role.
    pub fn is_creator_eligible(&self, role: &Role) -> bool {
        CREATOR_PERMISSIONS.iter().all(|key| self.allows(role, key))
    }

    /// Returns the roles of members who still manage an organization with this set when the migration of the set is done.
    pub fn lasting_manager_roles(&self, set: &RoleSetId) -> Vec<&RoleId> {
        let eligible = self.creator_eligible_roles();
        let migration = self.migration_from(set);
        let last = |role| migration.and_then(|migration| migration.successor(role)).unwrap_or(role);
        self.roles.iter().map(|role| &role.id).filter(|role| eligible.contains(&last(role))).collect()
    }

    /// The roles of which every organization keeps a member with one.
    pub fn creator_eligible_roles(&self) -> Vec<&RoleId> {
        self.roles.iter().filter(|role| self.is_creator_eligible(role)).map(|role| &role.id).collect()
    }
}
