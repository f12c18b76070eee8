//! Decisions about organizations. Pure: values in, values or problems out.

use latchkey_base::kinds::{OrganizationId, RoleSetId, UserId};
use latchkey_base::patch::Patch;
use latchkey_base::text::{fold, name_problem};
use latchkey_base::{Code, Error, Problem, Result, Time};
use latchkey_kernel::cx::Act;
use latchkey_kernel::limits::ORGANIZATIONS_PER_CREATOR;
use latchkey_kernel::settings::Settings;
use latchkey_people::users::metadata::{self, Mode};
use latchkey_people::users::model::{Entitlements, User};
use latchkey_people::users::rules::{self as users, past};
use serde_json::{Map, Value};

use super::input::{CreateOrganization, OrganizationMetadata, UpdateOrganization};
use super::model::Organization;
use crate::access::model::Access;

/// Longest slug, as long as the longest name.
const SLUG_CHARS: usize = 256;
/// How much of a name a slug that is made from it keeps.
const SLUG_FROM_NAME_CHARS: usize = 64;

/// Refuses everything about organizations while they are off.
pub fn check_enabled(settings: &Settings) -> Result<()> {
    match settings.organizations.enabled {
        true => Ok(()),
        false => Err(Error::new(Code::OrganizationNotEnabledInInstance).saying(
            "Organizations are not enabled for this instance. Enable them with `latchkey settings set organizations.enabled=true`.",
        )),
    }
}

/// A new organization.
pub fn create(
    input: &CreateOrganization,
    creator: Option<UserId>,
    access: &Access,
    act: &Act,
) -> Result<Organization> {
    let settings = &act.settings.organizations;
    let mut problems = Vec::new();
    let name = name(&input.name, &mut problems);
    let slug = match input.slug.as_deref().filter(|slug| !slug.is_empty()) {
        Some(slug) => {
            check_slugs(&act.settings)?;
            Some(slug_of(slug, &mut problems))
        }
        None => settings.slugs.then(|| generated_slug(&name, act.now)),
    };
    let created_at = past("created_at", &input.created_at, act.now, &mut problems).unwrap_or(act.now);
    let role_set = match &input.role_set_key {
        Some(key) => role_set(key, access),
        None => access.initial_role_set().map(|set| set.id.clone()).ok_or_else(no_role_set),
    };
    let given = |metadata: &Option<Map<String, Value>>| metadata.clone().unwrap_or_default();
    let organization = Organization {
        instance: act.instance.clone(),
        id: OrganizationId::new(act.now, &*act.rng),
        name,
        slug,
        image: None,
        public_metadata: metadata::stored("public_metadata", given(&input.public_metadata), &mut problems)?,
        private_metadata: metadata::stored(
            "private_metadata",
            given(&input.private_metadata),
            &mut problems,
        )?,
        max_allowed_memberships: input.max_allowed_memberships.unwrap_or(settings.max_allowed_memberships),
        admin_delete_enabled: settings.admin_delete,
        created_by: creator,
        role_set: RoleSetId::unset(),
        entitlements: Entitlements::default(),
        created_at,
        updated_at: act.now,
        members_count: 0,
    };
    Error::collect(problems)?;
    Ok(Organization { role_set: role_set?, ..organization })
}

/// An organization with the given attributes changed. Another role set is given by `role_set`, which needs to know
/// the members' roles.
pub fn update(mut organization: Organization, input: &UpdateOrganization, act: &Act) -> Result<Organization> {
    let mut problems = Vec::new();
    if let Patch::Value(text) = &input.name {
        organization.name = name(text, &mut problems);
    }
    if let Patch::Value(text) = &input.slug {
        check_slugs(&act.settings)?;
        organization.slug = match text.is_empty() {
            true => None,
            false => Some(slug_of(text, &mut problems)),
        };
    }
    if let Patch::Value(most) = input.max_allowed_memberships {
        organization.max_allowed_memberships = most;
    }
    if let Patch::Value(enabled) = input.admin_delete_enabled {
        organization.admin_delete_enabled = enabled;
    }
    if let Some(at) = past("created_at", &input.created_at.clone().value(), act.now, &mut problems) {
        organization.created_at = at;
    }
    Error::collect(problems)?;
    Ok(organization)
}

/// An organization with changed metadata.
pub fn with_metadata(
    mut organization: Organization,
    input: OrganizationMetadata,
    mode: Mode,
) -> Result<Organization> {
    let mut problems = Vec::new();
    for (param, field, given) in [
        ("public_metadata", &mut organization.public_metadata, input.public_metadata),
        ("private_metadata", &mut organization.private_metadata, input.private_metadata),
    ] {
        if let Some(given) = given {
            *field = metadata::changed(param, field, given, mode, &mut problems)?;
        }
    }
    Error::collect(problems)?;
    Ok(organization)
}

/// Refuses a user who may not create organizations themselves. Backends may make them the creator of one.
pub fn check_may_create(user: &User, settings: &Settings) -> Result<()> {
    match users::may_create_organizations(user, settings) {
        true => Ok(()),
        false => Err(Error::new(Code::UserCreateOrganizationNotEnabled)),
    }
}

/// Refuses a user who may create no organization besides those they `created` already.
pub fn check_creator(user: &User, settings: &Settings, created: i64) -> Result<()> {
    let limit = users::organizations_limit(user, settings).unwrap_or(ORGANIZATIONS_PER_CREATOR);
    match limit > 0 && created >= limit {
        true => Err(Error::new(Code::OrgCreationLimitExceeded)
            .saying(format!("A user may create at most {limit} organizations."))),
        false => Ok(()),
    }
}

/// The role set of a key, for an organization.
pub fn role_set(key: &str, access: &Access) -> Result<RoleSetId> {
    let unknown = || {
        Error::param(Code::FormResourceNotFound, "role_set_key")
            .saying(format!("There is no role set `{key}`."))
    };
    let set = access.role_sets.iter().find(|set| set.key == key).ok_or_else(unknown)?;
    check_staying(&set.id, access)?;
    Ok(set.id.clone())
}

/// Refuses to give or take a role set that is going away, or roles of it: members are being given others.
pub fn check_staying(set: &RoleSetId, access: &Access) -> Result<()> {
    match access.is_going(set) {
        true => Err(Error::new(Code::RoleMigrationInProgress)),
        false => Ok(()),
    }
}

fn no_role_set() -> Error {
    Error::internal("the instance has no initial role set")
}

fn name(text: &str, problems: &mut Vec<Problem>) -> String {
    let text = text.trim();
    match text.is_empty() {
        true => {
            problems.push(Problem::of(Code::FormParamNil, "name").saying("An organization needs a name."))
        }
        false => problems.extend(name_problem("name", text)),
    }
    text.to_owned()
}

fn check_slugs(settings: &Settings) -> Result<()> {
    match settings.organizations.slugs {
        true => Ok(()),
        false => Err(Error::new(Code::OrganizationSlugsDisabled)),
    }
}

fn slug_of(text: &str, problems: &mut Vec<Problem>) -> String {
    let is_fit = text.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-');
    if !is_fit {
        problems.push(
            Problem::of(Code::FormParamFormatInvalid, "slug")
                .saying("A slug may have lower-case letters, digits and `-`."),
        );
    }
    if text.len() > SLUG_CHARS {
        problems.push(
            Problem::of(Code::FormParamMaxLengthExceeded, "slug")
                .saying(format!("A slug has at most {SLUG_CHARS} characters.")),
        );
    }
    // What looks like an id would be taken for one.
    if text.starts_with("org_") {
        problems.push(
            Problem::of(Code::FormParamValueInvalid, "slug").saying("A slug must not look like an id."),
        );
    }
    text.to_owned()
}

/// A slug for an organization that was given none: its name, and the time, so that it is hardly ever taken.
pub fn generated_slug(name: &str, now: Time) -> String {
    format!("{}-{}", slugified(name), now.seconds())
}

/// A name as a slug: words of ASCII letters and digits, joined by `-`.
pub fn slugified(name: &str) -> String {
    let folded = fold(name);
    let words = folded.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let joined: String = words.collect::<Vec<_>>().join("-").chars().take(SLUG_FROM_NAME_CHARS).collect();
    match joined.trim_matches('-') {
        "" => "org".to_owned(),
        slug => slug.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_made_from_the_words_of_a_name() {
        let at = Time::from_ms(1_768_713_662_999);
        assert_eq!(generated_slug("Legend Systems", at), "legend-systems-1768713662");
        assert_eq!(slugified("  Ünïcode & Söhne GmbH! "), "n-code-s-hne-gmbh");
        assert_eq!(slugified("日本"), "org");
        assert_eq!(slugified(&"abc ".repeat(100)).len(), 63);
    }

    #[test]
    fn slugs_are_lower_case_letters_digits_and_dashes() {
        let problems = |text: &str| {
            let mut problems = Vec::new();
            slug_of(text, &mut problems);
            problems.len()
        };
        assert_eq!(problems("acme-2"), 0);
        for bad in ["Acme", "a b", "a_b", "ä", "a/b", &"a".repeat(257)] {
            assert_eq!(problems(bad), 1, "{bad}");
        }
    }
}
