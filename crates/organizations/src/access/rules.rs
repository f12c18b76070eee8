//! Decisions about roles and permissions. Pure: values in, values or problems out. Those about role sets are in
//! `sets.rs`.

use latchkey_base::id::Kind as _;
use latchkey_base::kinds::{PermissionId, PermissionKind, RoleId, RoleSetId};
use latchkey_base::text::name_problem;
use latchkey_base::{Code, Error, Id, Problem, Result};
use latchkey_kernel::cx::Act;
use latchkey_kernel::limits::{
    ACCESS_DESCRIPTION_CHARS, ACCESS_KEY_CHARS, CUSTOM_PERMISSIONS, CUSTOM_ROLES, ROLES_IN_SET,
};

use super::defaults;
use super::input::{CreatePermission, CreateRole, UpdatePermission, UpdateRole};
use super::model::{Access, CREATOR_PERMISSIONS, Permission, Role, SYSTEM_PREFIX};

const ROLE_PREFIX: &str = "org:";

/// What keeps a role from being deleted, besides role sets.
#[derive(Clone, Copy, Default)]
pub struct RoleUse {
    /// Somebody has it.
    pub has_members: bool,
    /// A pending invitation promises it.
    pub is_promised: bool,
}

/// Adds a role.
pub fn create_role(mut access: Access, input: &CreateRole, act: &Act) -> Result<(Access, RoleId)> {
    check_roles_quota(&access)?;
    let mut problems = Vec::new();
    let id = RoleId::new(act.now, &*act.rng);
    let role = Role {
        id: id.clone(),
        key: role_key(&input.key, &access, None, &mut problems),
        name: name(&input.name, &mut problems),
        description: description(input.description.as_deref(), &mut problems),
        permissions: permissions(input.permissions.as_deref().unwrap_or_default(), &access, &mut problems),
        created_at: act.now,
        updated_at: act.now,
    };
    Error::collect(problems)?;
    access.roles.push(role);
    if input.include_in_initial_role_set == Some(true) {
        access = into_initial_set(access, &id, act)?;
    }
    Ok((access, id))
}

fn check_roles_quota(access: &Access) -> Result<()> {
    let initial = defaults::initial(&access.instance).roles;
    let custom = access.roles.iter().filter(|role| initial.iter().all(|it| it.id != role.id)).count();
    match custom >= CUSTOM_ROLES {
        true => Err(Error::new(Code::OrganizationInstanceRolesQuotaExceeded).saying(format!(
            "An instance may have at most {CUSTOM_ROLES} roles of its own. Delete one first."
        ))),
        false => Ok(()),
    }
}

fn into_initial_set(mut access: Access, role: &RoleId, act: &Act) -> Result<Access> {
    let initial = access.initial_role_set().map(|set| set.id.clone());
    let id = initial.ok_or_else(|| Error::internal("the instance has no initial role set"))?;
    check_settled(&access, &id)?;
    for set in access.role_sets.iter_mut().filter(|set| set.id == id) {
        if set.roles.len() >= ROLES_IN_SET {
            return Err(Error::param(Code::FormParamValueInvalid, "include_in_initial_role_set")
                .saying(format!("The initial role set has {ROLES_IN_SET} roles already.")));
        }
        set.roles.push(role.clone());
        set.updated_at = act.now;
    }
    Ok(access)
}

/// Refuses changes of a role set while members are being given other roles because of it.
pub fn check_settled(access: &Access, set: &RoleSetId) -> Result<()> {
    match access.is_migrating(set) {
        true => Err(Error::new(Code::RoleMigrationInProgress)),
        false => Ok(()),
    }
}

/// Changes a role.
pub fn update_role(mut access: Access, id: &RoleId, input: UpdateRole, act: &Act) -> Result<Access> {
    let before = find_role(&access, id)?;
    let mut problems = Vec::new();
    let mut role = before.clone();
    if let Some(text) = input.name.value() {
        role.name = name(&text, &mut problems);
    }
    if let Some(text) = input.key.value() {
        role.key = role_key(&text, &access, Some(id), &mut problems);
    }
    if let Some(text) = input.description.value() {
        role.description = description(Some(&text), &mut problems);
    }
    if let Some(ids) = input.permissions.value() {
        role.permissions = permissions(&ids, &access, &mut problems);
    }
    Error::collect(problems)?;
    if role != *before {
        put_role(&mut access, Role { updated_at: act.now, ..role });
    }
    check_creator_roles(access)
}

/// Lets a role allow something more.
pub fn assign(mut access: Access, id: &RoleId, permission: &PermissionId, act: &Act) -> Result<Access> {
    let mut role = find_role(&access, id)?.clone();
    find_permission(&access, permission)?;
    if role.permissions.contains(permission) {
        return Err(Error::new(Code::OrganizationRolePermissionAssociationExists));
    }
    role.permissions.push(permission.clone());
    put_role(&mut access, Role { updated_at: act.now, ..role });
    Ok(access)
}

/// Lets a role no longer allow something.
pub fn remove(mut access: Access, id: &RoleId, permission: &PermissionId, act: &Act) -> Result<Access> {
    let mut role = find_role(&access, id)?.clone();
    find_permission(&access, permission)?;
    if !role.permissions.contains(permission) {
        return Err(Error::new(Code::OrganizationRolePermissionAssociationNotFound));
    }
    role.permissions.retain(|held| held != permission);
    put_role(&mut access, Role { updated_at: act.now, ..role });
    check_creator_roles(access)
}

/// Deletes a role that nobody has or will get. Role sets lose it.
pub fn delete_role(mut access: Access, id: &RoleId, used: RoleUse, act: &Act) -> Result<Access> {
    find_role(&access, id)?;
    let refuse = |code: Code, text: &str| Err(Error::new(code).saying(text));
    if access.is_role_migrating(id) {
        return Err(Error::new(Code::RoleMigrationInProgress));
    }
    if access.role_sets.iter().any(|set| set.creator_role == *id) {
        return refuse(
            Code::OrganizationRoleDefaultCreatorRole,
            "Creators of organizations get this role. Give their role sets another creator role first.",
        );
    }
    if access.role_sets.iter().any(|set| set.default_role == *id) {
        return refuse(
            Code::OrganizationRoleDomainDefaultRole,
            "New members get this role. Give their role sets another default role first.",
        );
    }
    if used.has_members {
        return refuse(
            Code::OrganizationRoleAssignedMembers,
            "Members have this role. Give them another one first, or replace the role in their role sets.",
        );
    }
    if used.is_promised {
        return refuse(
            Code::OrganizationRoleExistsInInvitations,
            "Pending invitations name this role. Revoke them first.",
        );
    }
    access.roles.retain(|role| role.id != *id);
    for set in &mut access.role_sets {
        set.replaced.retain(|it| it.from != *id && it.to != *id);
        if set.roles.contains(id) {
            set.roles.retain(|role| role != id);
            set.updated_at = act.now;
        }
    }
    Ok(access)
}

/// Adds a permission.
pub fn create_permission(
    mut access: Access,
    input: &CreatePermission,
    act: &Act,
) -> Result<(Access, PermissionId)> {
    if access.permissions.iter().filter(|permission| !permission.is_system()).count() >= CUSTOM_PERMISSIONS {
        return Err(Error::new(Code::QuotaExceeded).saying(format!(
            "An instance may have at most {CUSTOM_PERMISSIONS} permissions of its own. Delete one first."
        )));
    }
    let mut problems = Vec::new();
    let id = PermissionId::new(act.now, &*act.rng);
    let permission = Permission {
        id: id.clone(),
        key: permission_key(&input.key, &access, None, &mut problems),
        name: name(&input.name, &mut problems),
        description: description(input.description.as_deref(), &mut problems).unwrap_or_default(),
        created_at: act.now,
        updated_at: act.now,
    };
    Error::collect(problems)?;
    access.permissions.push(permission);
    Ok((access, id))
}

/// Changes a permission that is not one of the system.
pub fn update_permission(
    mut access: Access,
    id: &PermissionId,
    input: &UpdatePermission,
    act: &Act,
) -> Result<Access> {
    let before = own_permission(&access, id)?;
    let mut problems = Vec::new();
    let mut permission = before.clone();
    if let Some(text) = &input.name {
        permission.name = name(text, &mut problems);
    }
    if let Some(text) = &input.key {
        permission.key = permission_key(text, &access, Some(id), &mut problems);
    }
    if let Some(text) = &input.description {
        permission.description = description(Some(text), &mut problems).unwrap_or_default();
    }
    Error::collect(problems)?;
    if permission != *before {
        let permission = Permission { updated_at: act.now, ..permission };
        access.permissions.iter_mut().filter(|it| it.id == *id).for_each(|it| *it = permission.clone());
    }
    Ok(access)
}

/// Deletes a permission that is not one of the system. Roles lose it.
pub fn delete_permission(mut access: Access, id: &PermissionId, act: &Act) -> Result<Access> {
    own_permission(&access, id)?;
    access.permissions.retain(|permission| permission.id != *id);
    for role in access.roles.iter_mut().filter(|role| role.permissions.contains(id)) {
        role.permissions.retain(|held| held != id);
        role.updated_at = act.now;
    }
    Ok(access)
}

pub fn find_role<'a>(access: &'a Access, id: &RoleId) -> Result<&'a Role> {
    access.role(id).ok_or_else(|| Error::not_found("role", id))
}

pub fn find_permission<'a>(access: &'a Access, id: &PermissionId) -> Result<&'a Permission> {
    access.permission(id).ok_or_else(|| Error::not_found("permission", id))
}

fn own_permission<'a>(access: &'a Access, id: &PermissionId) -> Result<&'a Permission> {
    let permission = find_permission(access, id)?;
    match permission.is_system() {
        true => Err(Error::new(Code::OrganizationSystemPermissionNotModifiable)),
        false => Ok(permission),
    }
}

fn put_role(access: &mut Access, role: Role) {
    access.roles.iter_mut().filter(|it| it.id == role.id).for_each(|it| *it = role.clone());
}

/// Refuses roles of creators with which they could not manage what they create.
pub fn check_creator_roles(access: Access) -> Result<Access> {
    let creator_roles = access.role_sets.iter().filter_map(|set| access.role(&set.creator_role));
    match creator_roles.into_iter().all(|role| access.is_creator_eligible(role)) {
        true => Ok(access),
        false => Err(Error::new(Code::OrganizationMissingCreatorRolePermissions).saying(format!(
            "The role of creators needs the permissions {}.",
            CREATOR_PERMISSIONS.map(|key| format!("`{key}`")).join(", ")
        ))),
    }
}

/// A name of a role, a permission or a role set.
pub fn name(text: &str, problems: &mut Vec<Problem>) -> String {
    let text = text.trim();
    match text.is_empty() {
        true => problems.push(Problem::of(Code::FormParamNil, "name").saying("`name` must not be empty.")),
        false => problems.extend(name_problem("name", text)),
    }
    text.to_owned()
}

/// A description; an empty one is none.
pub fn description(text: Option<&str>, problems: &mut Vec<Problem>) -> Option<String> {
    let text = text.map(str::trim).filter(|text| !text.is_empty())?;
    if text.chars().count() > ACCESS_DESCRIPTION_CHARS {
        problems.push(
            Problem::of(Code::FormParamMaxLengthExceeded, "description")
                .saying(format!("A description has at most {ACCESS_DESCRIPTION_CHARS} characters.")),
        );
    }
    Some(text.to_owned())
}

/// A key, of which `is_fit` says whether its form is right, and `is_taken` whether another thing has it.
pub fn key(text: &str, form: &str, is_fit: bool, is_taken: bool, problems: &mut Vec<Problem>) -> String {
    let problem = |code: Code, text: String| Some(Problem::of(code, "key").saying(text));
    problems.extend(if text.len() > ACCESS_KEY_CHARS {
        let text = format!("A key has at most {ACCESS_KEY_CHARS} characters.");
        problem(Code::FormParamMaxLengthExceeded, text)
    } else if !is_fit {
        problem(Code::FormParamFormatInvalid, format!("The key must look like `{form}`."))
    } else if is_taken {
        problem(Code::FormAlreadyExists, format!("The key `{text}` is taken already."))
    } else {
        None
    });
    text.to_owned()
}

/// Whether a text is a part of a key: lower-case letters, digits and `_`.
pub fn is_key_part(text: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    !text.is_empty() && text.bytes().all(is_fit)
}

fn role_key(text: &str, access: &Access, own: Option<&RoleId>, problems: &mut Vec<Problem>) -> String {
    let is_fit = text.strip_prefix(ROLE_PREFIX).is_some_and(is_key_part);
    let is_taken = access.roles.iter().any(|role| role.key == text && Some(&role.id) != own);
    key(text, "org:some_role", is_fit, is_taken, problems)
}

fn permission_key(
    text: &str,
    access: &Access,
    own: Option<&PermissionId>,
    problems: &mut Vec<Problem>,
) -> String {
    if text.starts_with(SYSTEM_PREFIX) {
        problems.push(
            Problem::of(Code::FormParamValueInvalid, "key")
                .saying(format!("Keys that begin with `{SYSTEM_PREFIX}` are those of the system.")),
        );
        return text.to_owned();
    }
    let parts = text.strip_prefix(ROLE_PREFIX).and_then(|rest| rest.split_once(':'));
    let is_fit = parts.is_some_and(|(feature, action)| is_key_part(feature) && is_key_part(action));
    let is_taken = access.permissions.iter().any(|it| it.key == text && Some(&it.id) != own);
    key(text, "org:feature:action", is_fit, is_taken, problems)
}

/// The permissions of these ids.
fn permissions(ids: &[String], access: &Access, problems: &mut Vec<Problem>) -> Vec<PermissionId> {
    let mut found: Vec<PermissionId> = Vec::new();
    for text in ids {
        let problem = match Id::parse(text).filter(|id| access.permission(id).is_some()) {
            Some(id) if !found.contains(&id) => {
                found.push(id);
                continue;
            }
            Some(_) => Problem::of(Code::FormParamDuplicate, "permissions")
                .saying(format!("The permission `{text}` was given twice.")),
            None => Problem::of(Code::FormResourceNotFound, "permissions").saying(format!(
                "There is no permission with one of these ids, which begin with `{}_`; keys are no ids.",
                PermissionKind::PREFIX
            )),
        };
        problems.push(problem);
        break;
    }
    found
}

#[cfg(test)]
mod tests {
    use latchkey_base::Time;
    use latchkey_base::kinds::InstanceId;
    use latchkey_base::rng::SeededRng;

    use super::*;

    fn access() -> Access {
        defaults::initial(&InstanceId::new(Time::from_ms(0), &SeededRng::new(1)))
    }

    fn codes(check: impl Fn(&mut Vec<Problem>)) -> Vec<Code> {
        let mut problems = Vec::new();
        check(&mut problems);
        problems.into_iter().map(|problem| problem.code).collect()
    }

    #[test]
    fn keys_of_roles_and_permissions_have_their_forms() {
        let access = access();
        let of_role = |key: &str| codes(|problems| drop(role_key(key, &access, None, problems)));
        let of_permission = |key: &str| codes(|problems| drop(permission_key(key, &access, None, problems)));
        assert_eq!(of_role("org:a_1"), []);
        assert_eq!(of_role("org:a:b"), [Code::FormParamFormatInvalid]);
        assert_eq!(of_role("org:admin"), [Code::FormAlreadyExists]);
        assert_eq!(of_permission("org:a:b"), []);
        assert_eq!(of_permission("org:sys_a:b"), [Code::FormParamValueInvalid]);
        for bad in ["org:a", "org:a:b:c", "org::b", "org:a:", "org:A:b", "a:b"] {
            assert_eq!(of_permission(bad), [Code::FormParamFormatInvalid], "{bad}");
        }
        let own = &access.roles[0];
        assert_eq!(codes(|problems| drop(role_key(&own.key, &access, Some(&own.id), problems))), []);
    }

    #[test]
    fn creators_keep_a_role_with_which_they_can_manage_what_they_create() {
        let mut access = access();
        assert!(check_creator_roles(access.clone()).is_ok());
        access.roles[0].permissions.retain(|id| {
            defaults::initial(&access.instance)
                .permission(id)
                .is_some_and(|it| it.key != "org:sys_profile:delete")
        });
        let refused = check_creator_roles(access).err().map(|error| error.code());
        assert_eq!(refused, Some(Code::OrganizationMissingCreatorRolePermissions));
    }
}
