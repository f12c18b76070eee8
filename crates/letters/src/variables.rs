//! Which variables a template may hold.

use crate::model::System;

/// Variables every template has.
const COMMON: &[&str] = &[
    "app.name",
    "app.url",
    "app.domain_name",
    "app.logo_image_url",
    "current_year",
    "user.id",
    "user.first_name",
    "user.last_name",
    "user.username",
    "user.primary_email_address",
    "user.public_metadata",
    "user.unsafe_metadata",
];

/// Those that people write themselves, and others read.
const NAMES: &[&str] = &[
    "greeting_name",
    "inviter.name",
    "inviter_name",
    "org.name",
    "passkey_name",
    "user.first_name",
    "user.last_name",
    "user.unsafe_metadata",
    "user.username",
];

/// Whether people write the value of a variable themselves.
pub fn is_name(path: &str) -> bool {
    NAMES
        .iter()
        .any(|name| path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

/// Every variable of a template.
pub fn available(system: &System) -> Vec<&'static str> {
    COMMON.iter().chain(system.variables).copied().collect()
}

/// Whether a template may hold a variable: one of the list, or something inside an object of it.
pub fn is_available(system: &System, path: &str) -> bool {
    let is_it = |known: &str| match path.strip_prefix(known) {
        Some("") => true,
        Some(rest) => known.ends_with("_metadata") && rest.starts_with('.'),
        None => false,
    };
    available(system).into_iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::super::catalogue;
    use super::super::model::Channel;
    use super::*;

    #[test]
    fn only_metadata_have_an_inside() {
        let system = catalogue::find(Channel::Email, "invitation").unwrap();
        for known in
            ["app.name", "invitation.public_metadata", "invitation.public_metadata.team.name", "action_url"]
        {
            assert!(is_available(system, known), "{known}");
        }
        for unknown in
            ["otp_code", "app", "app.name.x", "user", "user.public_metadatas", "action_url.x", "org.name"]
        {
            assert!(!is_available(system, unknown), "{unknown}");
        }
    }
}
