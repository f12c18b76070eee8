//! Roles and permissions as a file describes them: by their keys, because ids exist only in an instance.

use latchkey_base::{Error, Result};
use latchkey_kernel::cx::Act;
use serde::Deserialize;

use super::input::{CreatePermission, CreateRole};
use super::model::{Access, Role};
use super::rules;

/// A permission of the application.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DescribedPermission {
    /// `org:<feature>:<action>`.
    pub key: String,
    /// What people call it; the key if it is left out.
    pub name: Option<String>,
    /// What it allows.
    pub description: Option<String>,
}

/// A role. One that every instance begins with, such as `org:admin`, keeps what it allows and gets more.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DescribedRole {
    /// `org:<name>`.
    pub key: String,
    /// What people call it; the key if it is left out.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The keys of what it allows.
    #[serde(default)]
    pub permissions: Vec<String>,
}

/// What is wrong with a description, and the key of the role or permission that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescriptionFault {
    pub key: String,
    pub text: String,
}

/// Adds the permissions, then the roles. New roles belong to the initial role set, so that organizations have them.
pub fn apply(
    mut access: Access,
    permissions: &[DescribedPermission],
    roles: &[DescribedRole],
    act: &Act,
) -> Result<Access, DescriptionFault> {
    for permission in permissions {
        let input = CreatePermission {
            name: permission.name.clone().unwrap_or_else(|| permission.key.clone()),
            key: permission.key.clone(),
            description: permission.description.clone(),
        };
        let created = rules::create_permission(access, &input, act);
        (access, _) = created.map_err(|error| fault(&permission.key, &error))?;
    }
    let mut described: Vec<&str> = Vec::new();
    for role in roles {
        if described.contains(&role.key.as_str()) {
            let text = "The role is described twice.".to_owned();
            return Err(DescriptionFault { key: role.key.clone(), text });
        }
        described.push(&role.key);
        access = apply_role(access, role, act)?;
    }
    Ok(access)
}

fn apply_role(access: Access, role: &DescribedRole, act: &Act) -> Result<Access, DescriptionFault> {
    let mut ids = Vec::new();
    for key in &role.permissions {
        let found = access.permissions.iter().find(|permission| permission.key == *key);
        let text = || format!("There is no permission {key}: describe it under `permissions`.");
        ids.push(found.ok_or_else(|| DescriptionFault { key: role.key.clone(), text: text() })?.id.clone());
    }
    let known = access.roles.iter().find(|known| known.key == role.key).cloned();
    let changed = match known {
        Some(Role { id, permissions, .. }) => {
            let mut new = ids.iter().filter(|permission| !permissions.contains(permission));
            new.try_fold(access, |access, permission| rules::assign(access, &id, permission, act))
        }
        None => {
            let input = CreateRole {
                name: role.name.clone().unwrap_or_else(|| role.key.clone()),
                key: role.key.clone(),
                description: role.description.clone(),
                permissions: Some(ids.iter().map(ToString::to_string).collect()),
                include_in_initial_role_set: Some(true),
            };
            rules::create_role(access, &input, act).map(|(access, _)| access)
        }
    };
    changed.map_err(|error| fault(&role.key, &error))
}

fn fault(key: &str, error: &Error) -> DescriptionFault {
    let texts = error.problems().iter().map(|problem| match &problem.detail {
        Some(detail) => detail.clone(),
        None => problem.code.spec().2.to_owned(),
    });
    DescriptionFault { key: key.to_owned(), text: texts.collect::<Vec<_>>().join(" ") }
}
