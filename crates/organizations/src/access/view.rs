//! How roles, permissions and role sets look on the wire, in the newest version.

use std::collections::BTreeMap;

use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, PermissionId, RoleId, RoleSetId, RoleSetMigrationId};
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::{Access, Permission, Role, RoleSet, RoleSetKind, RoleSetMigration};

object!(PermissionObject, "permission");
object!(RoleObject, "role");
object!(RoleSetObject, "role_set");
object!(RoleSetItemObject, "role_set_item");
object!(RoleSetMigrationObject, "role_set_migration");

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Permission")]
pub struct PermissionView<'a> {
    object: PermissionObject,
    id: &'a PermissionId,
    name: &'a str,
    key: &'a str,
    description: &'a str,
    r#type: &'static str,
    created_at: Time,
    updated_at: Time,
}

pub fn permission(permission: &Permission) -> PermissionView<'_> {
    PermissionView {
        object: PermissionObject::It,
        id: &permission.id,
        name: &permission.name,
        key: &permission.key,
        description: &permission.description,
        r#type: if permission.is_system() { "system" } else { "user" },
        created_at: permission.created_at,
        updated_at: permission.updated_at,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Role")]
pub struct RoleView<'a> {
    object: RoleObject,
    id: &'a RoleId,
    name: &'a str,
    key: &'a str,
    description: Option<&'a str>,
    is_creator_eligible: bool,
    permissions: Vec<PermissionView<'a>>,
    created_at: Time,
    updated_at: Time,
}

pub fn role<'a>(role: &'a Role, access: &'a Access) -> RoleView<'a> {
    RoleView {
        object: RoleObject::It,
        id: &role.id,
        name: &role.name,
        key: &role.key,
        description: role.description.as_deref(),
        is_creator_eligible: access.is_creator_eligible(role),
        permissions: role.permissions.iter().filter_map(|id| access.permission(id)).map(permission).collect(),
        created_at: role.created_at,
        updated_at: role.updated_at,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RoleSet")]
pub struct RoleSetView<'a> {
    object: RoleSetObject,
    id: &'a RoleSetId,
    name: &'a str,
    key: &'a str,
    description: Option<&'a str>,
    roles: Vec<RoleSetItemView<'a>>,
    default_role: Option<RoleSetItemView<'a>>,
    creator_role: Option<RoleSetItemView<'a>>,
    r#type: RoleSetTypeView,
    /// While members are being given other roles.
    role_set_migration: Option<RoleSetMigrationView<'a>>,
    created_at: Time,
    updated_at: Time,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum RoleSetTypeView {
    Initial,
    Custom,
}

/// A role of a role set.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RoleSetItem")]
pub struct RoleSetItemView<'a> {
    object: RoleSetItemObject,
    id: &'a RoleId,
    name: &'a str,
    key: &'a str,
    description: Option<&'a str>,
    members_count: Option<i64>,
    has_members: Option<bool>,
    created_at: Time,
    updated_at: Time,
}

/// Members that are being given other roles.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RoleSetMigration")]
pub struct RoleSetMigrationView<'a> {
    object: RoleSetMigrationObject,
    id: &'a RoleSetMigrationId,
    organization_id: Option<&'a str>,
    instance_id: &'a InstanceId,
    source_role_set_id: &'a RoleSetId,
    dest_role_set_id: Option<&'a RoleSetId>,
    trigger_type: &'static str,
    status: &'static str,
    migrated_members: i64,
    mappings: Option<BTreeMap<&'a str, &'a str>>,
    started_at: Option<Time>,
    completed_at: Option<Time>,
    created_at: Time,
    updated_at: Time,
}

/// What a role set shows besides what it is.
#[derive(Default)]
pub struct RoleSetState {
    /// How many members of organizations with the set have a role. Roles that nobody has may be left out.
    pub members: Vec<(RoleId, i64)>,
    pub progress: Option<MigrationProgress>,
}

/// How far members have been given other roles.
#[derive(Clone, Copy)]
pub struct MigrationProgress {
    pub migrated_members: i64,
    pub updated_at: Time,
}

pub fn role_set<'a>(set: &'a RoleSet, access: &'a Access, state: &RoleSetState) -> RoleSetView<'a> {
    let item = |id: &'a RoleId| access.role(id).map(|role| item(role, state));
    RoleSetView {
        object: RoleSetObject::It,
        id: &set.id,
        name: &set.name,
        key: &set.key,
        description: set.description.as_deref(),
        roles: set.roles.iter().filter_map(item).collect(),
        default_role: item(&set.default_role),
        creator_role: item(&set.creator_role),
        r#type: match set.kind {
            RoleSetKind::Initial => RoleSetTypeView::Initial,
            RoleSetKind::Custom => RoleSetTypeView::Custom,
        },
        role_set_migration: access.migration_from(&set.id).map(|it| migration(it, access, state.progress)),
        created_at: set.created_at,
        updated_at: set.updated_at,
    }
}

fn item<'a>(role: &'a Role, state: &RoleSetState) -> RoleSetItemView<'a> {
    let members = state.members.iter().find(|(id, _)| *id == role.id).map_or(0, |(_, count)| *count);
    RoleSetItemView {
        object: RoleSetItemObject::It,
        id: &role.id,
        name: &role.name,
        key: &role.key,
        description: role.description.as_deref(),
        members_count: Some(members),
        has_members: Some(members > 0),
        created_at: role.created_at,
        updated_at: role.updated_at,
    }
}

fn migration<'a>(
    migration: &'a RoleSetMigration,
    access: &'a Access,
    progress: Option<MigrationProgress>,
) -> RoleSetMigrationView<'a> {
    let key = |id: &RoleId| access.role(id).map_or("", |role| role.key.as_str());
    let (migrated_members, updated_at) =
        progress.map_or((0, migration.created_at), |it| (it.migrated_members, it.updated_at));
    RoleSetMigrationView {
        object: RoleSetMigrationObject::It,
        id: &migration.id,
        organization_id: None,
        instance_id: &access.instance,
        source_role_set_id: &migration.source,
        dest_role_set_id: migration.dest.as_ref(),
        trigger_type: if migration.dest.is_some() { "role_set_deletion" } else { "role_removal" },
        status: "in_progress",
        migrated_members,
        mappings: Some(migration.reassignments.iter().map(|it| (key(&it.from), key(&it.to))).collect()),
        started_at: Some(migration.created_at),
        completed_at: None,
        created_at: migration.created_at,
        updated_at,
    }
}
