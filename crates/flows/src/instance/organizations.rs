//! Which roles new organizations give: the creator role and the default role of the initial role set.

use latchkey_base::kinds::RoleId;
use latchkey_base::patch::Patch;
use latchkey_base::{Code, Error, Id, Result};
use latchkey_kernel::cx::Act;
use latchkey_organizations::access::input::UpdateRoleSet;
use latchkey_organizations::access::model::{Access, Role, RoleSet};
use latchkey_organizations::access::sets;

use super::input::UpdateOrganizationSettings;

/// The roles with the initial role set changed as the body asks for.
pub fn with_roles(access: Access, input: &UpdateOrganizationSettings, act: &Act) -> Result<Access> {
    let Some(set) = access.initial_role_set() else { return Ok(access) };
    let creator = key(&access, set, "creator_role_id", &input.creator_role_id)?;
    let default = key(&access, set, "domains_default_role_id", &input.domains_default_role_id)?;
    if creator == Patch::Absent && default == Patch::Absent {
        return Ok(access);
    }
    let set = set.key.clone();
    let change =
        UpdateRoleSet { creator_role_key: creator, default_role_key: default, ..UpdateRoleSet::default() };
    Ok(sets::update(access, &set, change, act)?.0)
}

/// The key of a role of the set that is given by its id.
fn key(access: &Access, set: &RoleSet, param: &str, id: &Patch<String>) -> Result<Patch<String>> {
    let Patch::Value(id) = id else { return Ok(Patch::Absent) };
    let role = role(access, id).ok_or_else(|| {
        Error::param(Code::ResourceNotFound, param).saying(format!(
            "No role has the id `{id}`. `{param}` takes an id (`role_…`), not a key; `GET /v1/organization_roles` shows both."
        ))
    })?;
    match set.roles.contains(&role.id) {
        true => Ok(Patch::Value(role.key.clone())),
        false => Err(Error::param(Code::FormParamValueInvalid, param).saying(format!(
            "`{param}` must be a role of {}, which new organizations have. Add the role to it first.",
            set.key
        ))),
    }
}

fn role<'a>(access: &'a Access, id: &str) -> Option<&'a Role> {
    let id: RoleId = Id::parse(id)?;
    access.role(&id)
}
