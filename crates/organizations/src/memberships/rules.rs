//! Decisions about memberships. Pure: values in, values or problems out.

use latchkey_base::{Code, Error, Result};
use latchkey_people::users::metadata::{self, Mode};
use serde_json::{Map, Value};

use super::model::MembershipMetadata;
use crate::access::model::{Access, Role};
use crate::orgs::model::Organization;

/// The role of a key that members of an organization can have.
pub fn role<'a>(key: &str, access: &'a Access, organization: &Organization) -> Result<&'a Role> {
    let set = access.role_set(&organization.role_set);
    let role = access.role_by_key(key).filter(|role| set.is_some_and(|set| set.roles.contains(&role.id)));
    role.ok_or_else(|| {
        let roles = set.map(|set| set.roles.as_slice()).unwrap_or_default();
        let keys: Vec<_> =
            roles.iter().filter_map(|id| access.role(id)).map(|role| role.key.as_str()).collect();
        let keys = keys.join(", ");
        Error::param(Code::FormResourceNotFound, "role").saying(format!(
            "Members of this organization cannot have the role `{key}`. Its role set has: {keys}."
        ))
    })
}

/// Metadata of a new membership.
pub fn new_metadata(
    public: Option<Map<String, Value>>,
    private: Option<Map<String, Value>>,
) -> Result<MembershipMetadata> {
    with_metadata(MembershipMetadata::default(), public, private, Mode::Replace)
}

/// Changed metadata; what is not given stays.
pub fn with_metadata(
    mut held: MembershipMetadata,
    public: Option<Map<String, Value>>,
    private: Option<Map<String, Value>>,
    mode: Mode,
) -> Result<MembershipMetadata> {
    let mut problems = Vec::new();
    for (param, field, given) in [
        ("public_metadata", &mut held.public_metadata, public),
        ("private_metadata", &mut held.private_metadata, private),
    ] {
        if let Some(given) = given {
            *field = metadata::changed(param, field, given, mode, &mut problems)?;
        }
    }
    Error::collect(problems)?;
    Ok(held)
}
