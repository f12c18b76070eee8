//! What the operations on the settings of an instance take. Null changes nothing, as published.

use latchkey_base::patch::Patch;
use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `UpdateInstance`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateInstance {
    /// Whether test addresses, numbers and codes work (`test_mode`).
    pub test_mode: Patch<bool>,
    /// Whether leaked passwords are refused (`password.allow_breached`).
    pub hibp: Patch<bool>,
    /// Whom people ask for help (`display.support_email`); an empty text takes it away.
    pub support_email: Patch<String>,
    /// The version of the script of the hosted pages. Only the one they are written for.
    pub clerk_js_version: Patch<String>,
    /// Where the application of a development instance is (`display.home_url`); an empty text takes it away.
    pub development_origin: Patch<String>,
    /// Origins, such as `chrome-extension://…`, whose pages may use the Frontend API (`allowed_origins`). An empty list
    /// removes all of them.
    pub allowed_origins: Patch<Vec<String>>,
    /// The older name of `url_based_session_syncing`.
    #[schemars(extend("deprecated" = true))]
    pub cookieless_dev: Patch<bool>,
    /// Whether sessions are kept in URLs: always on development instances, and never on others.
    pub url_based_session_syncing: Patch<bool>,
    /// What pages ask for first (`sign_in.preferred_strategy`); an empty text gives it its default again.
    pub preferred_sign_in_strategy_when_password_required: Patch<PreferredSignIn>,
}

/// What pages ask for first when somebody signs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum PreferredSignIn {
    #[serde(rename = "password")]
    Password,
    #[serde(rename = "otp")]
    Otp,
    #[serde(rename = "")]
    Usual,
}

/// Body of `UpdateInstanceRestrictions`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateRestrictions {
    /// Whether only those on the allow-list may enter (`restrictions.allowlist`).
    pub allowlist: Patch<bool>,
    /// Whether those on the block-list are kept out (`restrictions.blocklist`).
    pub blocklist: Patch<bool>,
    /// Whether the lists leave people alone who have an account (`restrictions.allowlist_blocklist_disabled_on_sign_in`).
    pub allowlist_blocklist_disabled_on_sign_in: Patch<bool>,
    /// Whether sub-addresses are refused (`restrictions.block_email_subaddresses`).
    pub block_email_subaddresses: Patch<bool>,
    /// Whether mailboxes that are thrown away are refused (`restrictions.block_disposable_email_domains`).
    pub block_disposable_email_domains: Patch<bool>,
}

/// Body of `UpdateInstanceAuthConfig`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateAuthConfig {
    /// Whether only those on the allow-list may enter (`restrictions.allowlist`).
    pub restricted_to_allowlist: Patch<bool>,
    /// What stands before the `@` of the sender of e-mails (`messages.email.from_name`): letters and digits. An empty text
    /// gives it its default again.
    pub from_email_address: Patch<String>,
    /// Whether people sign up step by step (`sign_up.progressive`). Only `true`.
    pub progressive_sign_up: Patch<bool>,
    /// Whether test addresses, numbers and codes work (`test_mode`).
    pub test_mode: Patch<bool>,
}

/// Body of `UpdateInstanceOrganizationSettings`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateOrganizationSettings {
    /// Whether there are organizations (`organizations.enabled`). Without them they have no domains either.
    pub enabled: Patch<bool>,
    /// How many members a new organization may have; 0 is no limit (`organizations.max_allowed_memberships`).
    pub max_allowed_memberships: Patch<i64>,
    /// Whether members may delete a new organization (`organizations.admin_delete`).
    pub admin_delete_enabled: Patch<bool>,
    /// Whether organizations can name domains (`organizations.domains`).
    pub domains_enabled: Patch<bool>,
    /// Whether organizations have no slugs (`organizations.slugs`).
    pub slug_disabled: Patch<bool>,
    /// How people with an address of a verified domain join (`organizations.domain_enrollment_modes`):
    /// `automatic_invitation` and `automatic_suggestion`. Inviting by hand (`manual_invitation`) always works.
    #[schemars(with = "Vec<String>")]
    pub domains_enrollment_modes: Option<Vec<String>>,
    /// The role that creators of organizations get: the creator role of the initial role set.
    pub creator_role_id: Patch<String>,
    /// The role that people get who join by a domain: the default role of the initial role set.
    pub domains_default_role_id: Patch<String>,
}

/// Body of `UpdateInstanceCommunication`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateCommunication {
    /// All countries to whose numbers no text messages are sent (`messages.sms.blocked_countries`), as ISO 3166-1 alpha-2
    /// codes. Codes of no country with phone numbers are left out.
    #[schemars(length(max = 250), extend("uniqueItems" = true), inner(regex(pattern = "^[A-Z]{2}$")))]
    pub blocked_country_codes: Patch<Vec<String>>,
}

/// Body of `UpdateInstanceProtect`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateProtect {
    /// Not available yet: only `false`.
    pub rules_enabled: Patch<bool>,
    /// Not available yet: only `false`.
    pub specter_enabled: Patch<bool>,
}

/// Body of `UpdateInstanceOAuthApplicationSettings`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateOAuthApplicationSettings {
    /// Not available yet: only `false`.
    pub dynamic_oauth_client_registration: Patch<bool>,
    /// Not available yet: only an empty list.
    pub default_scopes: Patch<Vec<String>>,
    /// Not available yet: only `false`.
    pub oauth_jwt_access_tokens: Patch<bool>,
    /// Not available yet: only `false`.
    pub client_id_metadata_documents_advertised: Patch<bool>,
    /// Not available yet: only `false`.
    pub client_id_metadata_documents_only_allow_pre_registered_clients: Patch<bool>,
    /// Not available yet: only `false`.
    pub client_id_metadata_documents_block_implicitly_allowed_clients: Patch<bool>,
}
