//! Names that people look for among the settings of an instance, and where what they mean is configured.

use latchkey_kernel::settings::{Settings, edit, explain};

use crate::config::SETTINGS;

/// What people call the settings below `social`.
const PROVIDERS: &[&str] =
    &["oauth", "oauth2", "provider", "providers", "social_connections", "social_login"];

/// First words of paths, and what to tell whoever writes one.
const PLACES: &[(&[&str], &str)] = &[
    (
        &[
            "enterprise",
            "enterprise_accounts",
            "enterprise_connections",
            "directory_sync",
            "oidc",
            "scim",
            "sso",
        ],
        "Latchkey does not have enterprise connections yet.",
    ),
    (&["api_keys", "m2m", "machines"], "Latchkey does not have keys of users or machines yet."),
    (
        PROVIDERS,
        "Accounts at other providers are set below social, such as social.google.enabled (docs/PROVIDERS.md).",
    ),
    (
        &["jwt_template", "jwt_templates"],
        "`POST /v1/jwt_templates` of the Backend API makes one (docs/JWT-TEMPLATES.md).",
    ),
    (
        &["email_templates", "sms_templates", "template", "templates"],
        "`PUT /v1/templates/{template_type}/{slug}` of the Backend API changes texts of messages (docs/MESSAGES.md).",
    ),
    (
        &["endpoint", "endpoints", "webhook", "webhooks"],
        "`latchkey webhooks create URL` makes an endpoint (docs/WEBHOOKS.md).",
    ),
    (
        &["redirect_url", "redirect_urls"],
        "`POST /v1/redirect_urls` of the Backend API adds one (docs/CONFIGURATION.md).",
    ),
    (
        &["permission", "permissions", "role", "role_set", "role_sets", "roles"],
        "`POST /v1/organization_roles`, `/v1/organization_permissions` and `/v1/role_sets` of the Backend API make them \
         (docs/ORGANIZATIONS.md).",
    ),
    (
        &["allow_list", "allowlist", "allowlist_identifiers"],
        "Did you mean restrictions.allowlist? `POST /v1/allowlist_identifiers` of the Backend API fills the list \
         (docs/ENTRY.md).",
    ),
    (
        &["block_list", "blocklist", "blocklist_identifiers"],
        "Did you mean restrictions.blocklist? `POST /v1/blocklist_identifiers` of the Backend API fills the list \
         (docs/ENTRY.md).",
    ),
    (
        &["invitation", "invitations"],
        "`POST /v1/invitations` of the Backend API invites; sign_up.mode=restricted lets in nobody else (docs/ENTRY.md).",
    ),
    (&["waitlist"], "sign_up.mode=waitlist opens one (docs/ENTRY.md)."),
    (
        &["domain", "domains", "multi_domain"],
        "Further domains of an application are in satellites (docs/CONFIGURATION.md). The host of the instance is chosen by \
         `latchkey instances create`.",
    ),
    (&["keys", "secret_key", "secret_keys"], "`latchkey keys create` makes a secret key (docs/KEYS.md)."),
    (&["signing_key", "signing_keys"], "`latchkey signing-keys rotate` changes to a new one."),
];

/// What to tell whoever looks for a setting that is none.
pub(super) fn advice(path: &str) -> Option<String> {
    let path = path.to_lowercase().replace('-', "_");
    if let Some(meant) = of_provider(&path) {
        return Some(format!("Did you mean {meant}?"));
    }
    if let Some(setting) = SETTINGS.iter().find(|setting| setting.name == path) {
        let (name, variable) = (setting.name, setting.variable);
        return Some(format!(
            "It is a setting of the server, not of an instance: set {variable}, or {name} in latchkey.toml."
        ));
    }
    let first = path.split('.').next().unwrap_or_default();
    // As providers are called in the strategies of SDKs.
    let first = if first.starts_with("oauth_") { "oauth" } else { first };
    let (_, text) = PLACES.iter().find(|(names, _)| names.contains(&first))?;
    Some((*text).to_owned())
}

/// The path of a provider's setting that was written without the word before it, or with another one:
/// `google.enabled`, `providers.google.enabled`, `oauth_google.enabled`.
fn of_provider(path: &str) -> Option<String> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let rest = Some(rest).filter(|_| first == "social" || PROVIDERS.contains(&first));
    [Some(path), rest].into_iter().flatten().find_map(|rest| {
        let meant = format!("social.{}", rest.strip_prefix("oauth_").unwrap_or(rest));
        let settings = explain::with_provider(Settings::default(), &meant);
        let is_there = edit::below(&settings, &meant).is_ok_and(|found| !found.is_empty());
        is_there.then_some(meant)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_at_the_wrong_place_is_led_on() {
        for (path, said) in [
            ("enterprise.enabled", "does not have enterprise connections yet"),
            ("enterprise_connections.okta.domain", "does not have enterprise connections yet"),
            ("providers.google", "Did you mean social.google?"),
            ("providers.google.client_id", "Did you mean social.google.client_id?"),
            ("oauth_google.enabled", "Did you mean social.google.enabled?"),
            ("social.oauth_github.enabled", "Did you mean social.github.enabled?"),
            ("google.enabled", "Did you mean social.google.enabled?"),
            ("providers", "such as social.google.enabled"),
            ("oauth_google.x", "such as social.google.enabled"),
            ("providers.nobody.enabled", "such as social.google.enabled"),
            ("jwt-templates.short", "POST /v1/jwt_templates"),
            ("webhooks.url", "latchkey webhooks create"),
            ("allowlist.enabled", "restrictions.allowlist"),
            ("frontend_listen", "set LATCHKEY_FRONTEND_LISTEN, or frontend_listen in latchkey.toml"),
        ] {
            let advice = advice(path).unwrap_or_default();
            assert!(advice.contains(said), "{path}: {advice}");
        }
        for path in ["sesion.lifetime_seconds", "theme.color", "nothing.here", "enabled", ""] {
            assert_eq!(advice(path), None, "{path}");
        }
    }

    #[test]
    fn no_name_has_two_places_or_is_a_group_of_settings() {
        let mut names: Vec<&str> = PLACES.iter().flat_map(|(names, _)| *names).copied().collect();
        for (path, _) in edit::flat(&Settings::default()).unwrap() {
            let first = path.split('.').next().unwrap();
            assert!(!names.contains(&first), "{first}");
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
