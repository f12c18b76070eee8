//! What tokens say of the organization that a user works for. Programs check permissions by it without asking anybody, so
//! it is written exactly as the SDKs read it.
//!
//! Only permissions that the application made are in tokens; those of the server itself begin with `org:sys_`, and the
//! server asks nobody else about them. Where billing has said what an organization may use, permissions for anything else
//! are left out.

use std::collections::BTreeSet;

use latchkey_kernel::limits::CUSTOM_PERMISSIONS;
use latchkey_organizations::access::model::SYSTEM_PREFIX;
use latchkey_organizations::memberships::model::ActiveMembership;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The organization in tokens of the second form.
#[derive(Serialize)]
pub struct OrganizationClaim<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    slg: Option<&'a str>,
    /// The role, without the `org:` in front.
    #[serde(skip_serializing_if = "Option::is_none")]
    rol: Option<&'a str>,
    /// The names that permissions have behind the feature, with commas between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    per: Option<String>,
    /// A number for each feature of the organization: the bits say which of the names are permitted, the first name by
    /// the lowest bit.
    #[serde(skip_serializing_if = "Option::is_none")]
    fpm: Option<String>,
}

/// The claim of a membership. The numbers in it are those of [`features`], in their order.
pub fn second_form(active: &ActiveMembership) -> OrganizationClaim<'_> {
    let permissions = permissions(active);
    let names: BTreeSet<&str> = permissions.iter().map(|(_, name)| *name).collect();
    let is_permitted = |feature: &str, name: &str| permissions.contains(&(feature, name));
    let numbers = features(active).into_iter().map(|feature| {
        let bits: Vec<bool> = names.iter().map(|name| is_permitted(feature, name)).collect();
        number(&bits).to_string()
    });
    let numbers: Vec<String> = if names.is_empty() { Vec::new() } else { numbers.collect() };
    let joined = |texts: Vec<&str>| (!texts.is_empty()).then(|| texts.join(","));
    OrganizationClaim {
        id: active.organization.id.as_str(),
        slg: active.organization.slug.as_deref(),
        rol: active.role().map(|role| role.key.strip_prefix("org:").unwrap_or(&role.key)),
        per: joined(names.into_iter().collect()),
        fpm: joined(numbers.iter().map(String::as_str).collect()),
    }
}

/// The features of an organization, in order: those billing gives it, and those its member has permissions for.
pub fn features(active: &ActiveMembership) -> Vec<&str> {
    let given = active.organization.entitlements.features.iter().map(String::as_str);
    let permitted = permissions(active).into_iter().map(|(feature, _)| feature);
    given.chain(permitted).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The claims of tokens of the first form.
pub fn first_form(active: &ActiveMembership) -> Map<String, Value> {
    let permissions: Vec<String> =
        permissions(active).iter().map(|(feature, name)| format!("org:{feature}:{name}")).collect();
    let organization = &active.organization;
    let mut claims = Map::new();
    claims.insert("org_id".to_owned(), json!(organization.id));
    claims.insert("org_permissions".to_owned(), json!(permissions));
    if let Some(role) = active.role() {
        claims.insert("org_role".to_owned(), json!(role.key));
    }
    if let Some(slug) = &organization.slug {
        claims.insert("org_slug".to_owned(), json!(slug));
    }
    claims
}

/// What the member may do by the application's own permissions, as feature and name.
fn permissions(active: &ActiveMembership) -> Vec<(&str, &str)> {
    let entitlements = &active.organization.entitlements;
    let is_usable = |feature: &str| {
        entitlements.is_empty() || entitlements.features.iter().any(|given| given.as_str() == feature)
    };
    let own = active.permissions().into_iter().filter(|key| !key.starts_with(SYSTEM_PREFIX));
    own.filter_map(|key| key.strip_prefix("org:")?.split_once(':'))
        .filter(|(feature, _)| is_usable(feature))
        .collect()
}

/// The number with these bits, the lowest first.
fn number(bits: &[bool]) -> u64 {
    bits.iter().rev().fold(0, |number, bit| number << 1 | u64::from(*bit))
}

/// There are no more names than permissions of an instance, so SDKs that read the number as a double read it exactly.
const _: () = assert!(CUSTOM_PERMISSIONS <= 53);

#[cfg(test)]
mod tests;
