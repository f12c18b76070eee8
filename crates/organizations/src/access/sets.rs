//! Decisions about role sets. Pure: values in, values or problems out.

use latchkey_base::kinds::{RoleId, RoleSetId, RoleSetMigrationId};
use latchkey_base::text::fold;
use latchkey_base::{Code, Error, Problem, Result};
use latchkey_kernel::cx::Act;
use latchkey_kernel::limits::{ROLE_SETS, ROLES_IN_SET};

use super::input::{AddRoles, CreateRoleSet, ReplaceRole, ReplaceRoleSet, RoleSetType, UpdateRoleSet};
use super::model::{Access, Reassignment, Role, RoleSet, RoleSetKind, RoleSetMigration};
use super::rules::{check_creator_roles, check_settled, description, is_key_part, key, name};

const SET_PREFIX: &str = "role_set:";
/// How much of a name a key that is made from it keeps.
const KEY_FROM_NAME_CHARS: usize = 64;

/// Adds a role set.
pub fn create(mut access: Access, input: &CreateRoleSet, act: &Act) -> Result<(Access, RoleSetId)> {
    if access.role_sets.len() >= ROLE_SETS {
        return Err(Error::new(Code::OrganizationInstanceRoleSetsQuotaExceeded)
            .saying(format!("An instance may have at most {ROLE_SETS} role sets. Replace one first.")));
    }
    let mut problems = Vec::new();
    let roles = roles(&input.roles, "roles", &access, &mut problems);
    let name = name(&input.name, &mut problems);
    let id = RoleSetId::new(act.now, &*act.rng);
    let set = RoleSet {
        id: id.clone(),
        key: match &input.key {
            Some(text) => set_key(text, &access, None, &mut problems),
            None => generated_key(&name, &access),
        },
        name,
        description: description(input.description.as_deref(), &mut problems),
        kind: RoleSetKind::Custom,
        default_role: member(&input.default_role_key, "default_role_key", &roles, &access, &mut problems),
        creator_role: member(&input.creator_role_key, "creator_role_key", &roles, &access, &mut problems),
        roles,
        replaced: Vec::new(),
        created_at: act.now,
        updated_at: act.now,
    };
    Error::collect(problems)?;
    access.role_sets.push(set);
    if input.kind == Some(RoleSetType::Initial) {
        make_initial(&mut access, &id, act);
    }
    Ok((check_creator_roles(access)?, id))
}

/// Changes a role set.
pub fn update(
    mut access: Access,
    key_or_id: &str,
    input: UpdateRoleSet,
    act: &Act,
) -> Result<(Access, RoleSetId)> {
    let before = find(&access, key_or_id)?.clone();
    check_settled(&access, &before.id)?;
    let mut problems = Vec::new();
    let mut set = before.clone();
    if let Some(text) = input.name.value() {
        set.name = name(&text, &mut problems);
    }
    if let Some(text) = input.key.value() {
        set.key = set_key(&text, &access, Some(&set.id), &mut problems);
    }
    if let Some(text) = input.description.value() {
        set.description = description(Some(&text), &mut problems);
    }
    if let Some(key) = input.default_role_key.value() {
        set.default_role = member(&key, "default_role_key", &set.roles, &access, &mut problems);
    }
    if let Some(key) = input.creator_role_key.value() {
        set.creator_role = member(&key, "creator_role_key", &set.roles, &access, &mut problems);
    }
    Error::collect(problems)?;
    if set != before {
        put(&mut access, RoleSet { updated_at: act.now, ..set });
    }
    if input.kind.value().is_some() {
        make_initial(&mut access, &before.id, act);
    }
    Ok((check_creator_roles(access)?, before.id))
}

/// Adds roles to a role set. Those it has already stay where they are.
pub fn add_roles(
    mut access: Access,
    key_or_id: &str,
    input: &AddRoles,
    act: &Act,
) -> Result<(Access, RoleSetId)> {
    let before = find(&access, key_or_id)?.clone();
    check_settled(&access, &before.id)?;
    let mut problems = Vec::new();
    let mut set = before.clone();
    for role in roles(&input.role_keys, "role_keys", &access, &mut problems) {
        if !set.roles.contains(&role) {
            set.roles.push(role);
        }
    }
    if set.roles.len() > ROLES_IN_SET {
        problems.push(
            Problem::of(Code::FormParamArraySizeExceeded, "role_keys")
                .saying(format!("A role set has at most {ROLES_IN_SET} roles.")),
        );
    }
    if let Some(key) = &input.default_role_key {
        set.default_role = member(key, "default_role_key", &set.roles, &access, &mut problems);
    }
    if let Some(key) = &input.creator_role_key {
        set.creator_role = member(key, "creator_role_key", &set.roles, &access, &mut problems);
    }
    Error::collect(problems)?;
    if set != before {
        put(&mut access, RoleSet { updated_at: act.now, ..set });
    }
    Ok((check_creator_roles(access)?, before.id))
}

/// Takes a role out of a role set and puts another in its place, which may be one that the set has. Members who have
/// the role are left to the migration.
pub fn replace_role(
    mut access: Access,
    key_or_id: &str,
    input: &ReplaceRole,
    act: &Act,
) -> Result<(Access, RoleSetMigration)> {
    let mut set = find(&access, key_or_id)?.clone();
    check_settled(&access, &set.id)?;
    let mut problems = Vec::new();
    let from = member(&input.role_key, "role_key", &set.roles, &access, &mut problems);
    let to = role(&input.to_role_key, "to_role_key", &access, &mut problems);
    Error::collect(problems)?;
    if from == to {
        return Err(Error::param(Code::FormParamValueInvalid, "to_role_key")
            .saying("A role cannot be replaced by itself."));
    }
    match set.roles.contains(&to) {
        true => set.roles.retain(|role| *role != from),
        false => set.roles.iter_mut().filter(|role| **role == from).for_each(|role| *role = to.clone()),
    }
    for role in [&mut set.default_role, &mut set.creator_role] {
        if *role == from {
            *role = to.clone();
        }
    }
    let reassignment = Reassignment { from, to };
    note_replaced(&mut set, &reassignment);
    let migration = RoleSetMigration {
        id: RoleSetMigrationId::new(act.now, &*act.rng),
        source: set.id.clone(),
        dest: None,
        reassignments: vec![reassignment],
        created_at: act.now,
    };
    put(&mut access, RoleSet { updated_at: act.now, ..set });
    Ok((check_creator_roles(access)?, migration))
}

/// How one role set is to take the place of another.
pub struct RoleSetReplacement {
    pub access: Access,
    pub migration: RoleSetMigration,
    /// Roles that must have no members, because nobody said what takes their place.
    pub unassigned: Vec<RoleId>,
}

/// Plans how one role set takes the place of another, which goes away.
pub fn replace(
    mut access: Access,
    key_or_id: &str,
    input: &ReplaceRoleSet,
    act: &Act,
) -> Result<RoleSetReplacement> {
    let source = find(&access, key_or_id)?.clone();
    check_settled(&access, &source.id)?;
    if source.kind == RoleSetKind::Initial {
        return Err(Error::new(Code::CannotDeleteInitialRoleSet)
            .saying("New organizations get this role set. Make another one initial first."));
    }
    let mut dest = destination(&access, &source, &input.dest_role_set_key)?.clone();
    let mut reassignments = Vec::new();
    for (from, to) in &input.reassignment_mappings {
        reassignments.push(reassignment(&access, (&source, from), (&dest, to))?);
    }
    let is_left = |role: &&RoleId| {
        !dest.roles.contains(role) && !reassignments.iter().any(|it: &Reassignment| it.from == **role)
    };
    let unassigned: Vec<RoleId> = source.roles.iter().filter(is_left).cloned().collect();
    // Nobody has these now. Whoever gets one before the set is gone becomes what new members are.
    let default = |from: &RoleId| Reassignment { from: from.clone(), to: dest.default_role.clone() };
    reassignments.extend(unassigned.iter().map(default).collect::<Vec<_>>());
    // Promises of roles that were replaced in the set before are kept too.
    source.replaced.iter().chain(&reassignments).for_each(|it| note_replaced(&mut dest, it));
    let migration = RoleSetMigration {
        id: RoleSetMigrationId::new(act.now, &*act.rng),
        source: source.id,
        dest: Some(dest.id.clone()),
        reassignments: reassignments.into_iter().filter(|it| it.from != it.to).collect(),
        created_at: act.now,
    };
    put(&mut access, dest);
    Ok(RoleSetReplacement { access, migration, unassigned })
}

fn destination<'a>(access: &'a Access, source: &RoleSet, key: &str) -> Result<&'a RoleSet> {
    let unknown = || {
        Error::param(Code::FormResourceNotFound, "dest_role_set_key")
            .saying(format!("There is no role set `{key}`."))
    };
    let dest = access.role_set_by_key_or_id(key).ok_or_else(unknown)?;
    if dest.id == source.id {
        return Err(Error::param(Code::FormParamValueInvalid, "dest_role_set_key")
            .saying("A role set cannot be replaced by itself."));
    }
    check_settled(access, &dest.id)?;
    Ok(dest)
}

/// Reads one of the mappings.
fn reassignment(
    access: &Access,
    (source, from): (&RoleSet, &str),
    (dest, to): (&RoleSet, &serde_json::Value),
) -> Result<Reassignment> {
    let invalid = |text: String| {
        Error::param(Code::OrganizationRoleSetReassignmentMappingsInvalid, "reassignment_mappings")
            .saying(text)
    };
    let to = to.as_str().ok_or_else(|| {
        Error::param(Code::FormParamTypeInvalid, "reassignment_mappings")
            .saying("Every value of `reassignment_mappings` must be a string.")
    })?;
    let of = |set: &RoleSet, key: &str| {
        let found = access.role_by_key(key).filter(|role| set.roles.contains(&role.id));
        found
            .map(|role| role.id.clone())
            .ok_or_else(|| invalid(format!("The role set `{}` has no role `{key}`.", set.key)))
    };
    Ok(Reassignment { from: of(source, from)?, to: of(dest, to)? })
}

/// The refusal to replace a role set while members have a role that nothing takes the place of.
pub fn mapping_missing(access: &Access, role: &RoleId) -> Error {
    let key = access.role(role).map_or("", |role| role.key.as_str());
    Error::param(Code::OrganizationRoleSetReassignmentMappingsMissing, "reassignment_mappings").saying(
        format!("Members have the role `{key}`. Say in `reassignment_mappings` which role takes its place."),
    )
}

/// What is left when all members have their other roles.
pub fn finish(mut access: Access, migration: &RoleSetMigration) -> Access {
    access.migrations.retain(|it| it.id != migration.id);
    if migration.dest.is_some() {
        access.role_sets.retain(|set| set.id != migration.source);
    }
    access
}

pub fn find<'a>(access: &'a Access, key_or_id: &str) -> Result<&'a RoleSet> {
    let found = access.role_set_by_key_or_id(key_or_id);
    found.ok_or_else(|| Error::not_found("role set", &key_or_id))
}

/// Notes in a set that a role has taken the place of another.
fn note_replaced(set: &mut RoleSet, new: &Reassignment) {
    set.replaced.retain(|it| it.from != new.from && it.from != new.to);
    set.replaced.iter_mut().filter(|it| it.to == new.from).for_each(|it| it.to = new.to.clone());
    if new.from != new.to && !set.roles.contains(&new.from) {
        set.replaced.push(new.clone());
    }
}

fn make_initial(access: &mut Access, id: &RoleSetId, act: &Act) {
    for set in &mut access.role_sets {
        let kind = if set.id == *id { RoleSetKind::Initial } else { RoleSetKind::Custom };
        if set.kind != kind {
            (set.kind, set.updated_at) = (kind, act.now);
        }
    }
}

fn put(access: &mut Access, set: RoleSet) {
    access.role_sets.iter_mut().filter(|it| it.id == set.id).for_each(|it| *it = set.clone());
}

fn set_key(text: &str, access: &Access, own: Option<&RoleSetId>, problems: &mut Vec<Problem>) -> String {
    let is_fit = text.strip_prefix(SET_PREFIX).is_some_and(is_key_part);
    let is_taken = access.role_sets.iter().any(|set| set.key == text && Some(&set.id) != own);
    key(text, "role_set:some_name", is_fit, is_taken, problems)
}

/// A key made of the words of a name, with a number behind it if another set has it.
fn generated_key(name: &str, access: &Access) -> String {
    let folded = fold(name);
    let words = folded.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let joined: String = words.collect::<Vec<_>>().join("_").chars().take(KEY_FROM_NAME_CHARS).collect();
    let base = format!("{SET_PREFIX}{}", if joined.is_empty() { "set" } else { joined.as_str() });
    let is_free = |key: &String| access.role_sets.iter().all(|set| set.key != *key);
    let numbered = (2..).map(|number| format!("{base}_{number}"));
    std::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or(base)
}

/// The roles of these keys.
fn roles(keys: &[String], param: &str, access: &Access, problems: &mut Vec<Problem>) -> Vec<RoleId> {
    let mut found = Vec::new();
    for text in keys {
        let id = role(text, param, access, problems);
        if !problems.is_empty() {
            break;
        }
        if found.contains(&id) {
            problems.push(
                Problem::of(Code::FormParamDuplicate, param)
                    .saying(format!("The role `{text}` was given twice.")),
            );
            break;
        }
        found.push(id);
    }
    found
}

/// The role of a key.
fn role(text: &str, param: &str, access: &Access, problems: &mut Vec<Problem>) -> RoleId {
    one_of(text, param, access.role_by_key(text), "There is no role", problems)
}

/// The role of a key that a role set has.
fn member(text: &str, param: &str, roles: &[RoleId], access: &Access, problems: &mut Vec<Problem>) -> RoleId {
    let found = access.role_by_key(text).filter(|role| roles.contains(&role.id));
    one_of(text, param, found, "The role set has no role", problems)
}

fn one_of(
    text: &str,
    param: &str,
    found: Option<&Role>,
    refusal: &str,
    problems: &mut Vec<Problem>,
) -> RoleId {
    if found.is_none() {
        problems
            .push(Problem::of(Code::FormResourceNotFound, param).saying(format!("{refusal} `{text:.200}`.")));
    }
    found.map_or(RoleId::unset(), |role| role.id.clone())
}

#[cfg(test)]
mod tests {
    use latchkey_base::kinds::InstanceId;
    use latchkey_base::rng::SeededRng;
    use latchkey_base::{Id, Time};

    use super::super::defaults;
    use super::*;

    fn access() -> Access {
        defaults::initial(&InstanceId::new(Time::from_ms(0), &SeededRng::new(1)))
    }

    fn id(number: u8) -> RoleId {
        Id::new(Time::from_ms(0), &SeededRng::new(number.into()))
    }

    #[test]
    fn a_key_is_made_of_the_words_of_a_name() {
        let access = access();
        assert_eq!(generated_key("Big  Customers!", &access), "role_set:big_customers");
        assert_eq!(generated_key("日本", &access), "role_set:set");
        assert_eq!(generated_key("Default", &access), "role_set:default_2", "that one is taken");
        assert!(generated_key(&"word ".repeat(50), &access).len() <= SET_PREFIX.len() + KEY_FROM_NAME_CHARS);
    }

    #[test]
    fn what_was_promised_leads_to_the_role_that_is_there_now() {
        let mut set = access().role_sets.remove(0);
        let (one, two, three) = (id(1), id(2), id(3));
        assert_eq!(set.settled(&one), &set.default_role, "a role that it never had");
        set.roles.push(two.clone());
        note_replaced(&mut set, &Reassignment { from: one.clone(), to: two.clone() });
        assert_eq!(set.settled(&one), &two);
        set.roles.retain(|role| *role != two);
        set.roles.push(three.clone());
        note_replaced(&mut set, &Reassignment { from: two.clone(), to: three.clone() });
        assert_eq!((set.settled(&one), set.settled(&two)), (&three, &three));
        set.roles.push(one.clone());
        assert_eq!(set.settled(&one), &one, "it is back");
    }

    #[test]
    fn what_is_left_after_a_replacement_names_the_set_no_more() {
        let mut access = access();
        let other = RoleSet {
            id: RoleSetId::new(Time::from_ms(1), &SeededRng::new(9)),
            ..access.role_sets[0].clone()
        };
        let migration = RoleSetMigration {
            id: RoleSetMigrationId::new(Time::from_ms(1), &SeededRng::new(9)),
            source: other.id.clone(),
            dest: Some(access.role_sets[0].id.clone()),
            reassignments: Vec::new(),
            created_at: Time::from_ms(1),
        };
        let before = access.clone();
        access.role_sets.push(other.clone());
        access.migrations.push(migration.clone());
        assert!(access.is_going(&other.id) && access.is_migrating(&before.role_sets[0].id));
        assert!(!access.is_going(&before.role_sets[0].id));
        assert_eq!(finish(access, &migration), before);
    }
}
