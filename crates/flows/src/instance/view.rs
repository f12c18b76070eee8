//! How an instance and its settings look to backends.

use latchkey_base::kinds::InstanceId;
use latchkey_kernel::environment::Environment;
use latchkey_kernel::limits::{CUSTOM_PERMISSIONS, CUSTOM_ROLES, DOMAINS_OF_ORGANIZATION, ROLE_SETS};
use latchkey_kernel::object;
use latchkey_kernel::settings::Settings;
use latchkey_organizations::access::model::Access;
use latchkey_organizations::domains::model::DomainMode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::environment::view::{GivenRoles, enrollment_modes};

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Instance")]
pub struct InstanceView<'a> {
    object: InstanceObject,
    id: &'a InstanceId,
    environment_type: &'static str,
    allowed_origins: &'a [String],
    /// Always null: nobody owns an instance but who runs the server.
    workspace_id: Option<String>,
}

object!(InstanceObject, "instance");

pub fn instance<'a>(
    id: &'a InstanceId,
    environment: Environment,
    settings: &'a Settings,
) -> InstanceView<'a> {
    InstanceView {
        object: InstanceObject::It,
        id,
        environment_type: environment.name(),
        allowed_origins: &settings.allowed_origins,
        workspace_id: None,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InstanceRestrictions")]
pub struct InstanceRestrictionsView {
    object: InstanceRestrictionsObject,
    allowlist: bool,
    blocklist: bool,
    allowlist_blocklist_disabled_on_sign_in: bool,
    block_email_subaddresses: bool,
    block_disposable_email_domains: bool,
}

object!(InstanceRestrictionsObject, "instance_restrictions");

pub fn restrictions(settings: &Settings) -> InstanceRestrictionsView {
    let settings = &settings.restrictions;
    InstanceRestrictionsView {
        object: InstanceRestrictionsObject::It,
        allowlist: settings.allowlist,
        blocklist: settings.blocklist,
        allowlist_blocklist_disabled_on_sign_in: settings.allowlist_blocklist_disabled_on_sign_in,
        block_email_subaddresses: settings.block_email_subaddresses,
        block_disposable_email_domains: settings.block_disposable_email_domains,
    }
}

/// What `UpdateInstanceAuthConfig` changes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InstanceSettings")]
pub struct InstanceAuthConfigView<'a> {
    object: InstanceAuthConfigObject,
    id: &'a InstanceId,
    restricted_to_allowlist: bool,
    from_email_address: &'a str,
    progressive_sign_up: bool,
    /// Always false: e-mails leave by the service of whoever runs the server.
    enhanced_email_deliverability: bool,
}

object!(InstanceAuthConfigObject, "instance_settings");

pub fn auth_config<'a>(id: &'a InstanceId, settings: &'a Settings) -> InstanceAuthConfigView<'a> {
    InstanceAuthConfigView {
        object: InstanceAuthConfigObject::It,
        id,
        restricted_to_allowlist: settings.restrictions.allowlist,
        from_email_address: settings.messages.email.sender(),
        progressive_sign_up: settings.sign_up.progressive,
        enhanced_email_deliverability: false,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationSettings")]
pub struct InstanceOrganizationsView {
    object: InstanceOrganizationsObject,
    enabled: bool,
    max_allowed_memberships: i64,
    max_allowed_roles: usize,
    max_allowed_domains: usize,
    max_allowed_permissions: usize,
    max_role_sets_allowed: usize,
    creator_role: String,
    admin_delete_enabled: bool,
    domains_enabled: bool,
    slug_disabled: bool,
    domains_enrollment_modes: Vec<OfferedMode>,
    domains_default_role: String,
    initial_role_set_key: Option<String>,
}

object!(InstanceOrganizationsObject, "organization_settings");

/// How people with an address of a domain can join, as far as the settings decide it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum OfferedMode {
    ManualInvitation,
    AutomaticInvitation,
    AutomaticSuggestion,
}

impl OfferedMode {
    fn of(mode: DomainMode) -> Option<OfferedMode> {
        match mode {
            DomainMode::ManualInvitation => Some(OfferedMode::ManualInvitation),
            DomainMode::AutomaticInvitation => Some(OfferedMode::AutomaticInvitation),
            DomainMode::AutomaticSuggestion => Some(OfferedMode::AutomaticSuggestion),
            DomainMode::EnterpriseSso => None,
        }
    }
}

pub fn organizations(settings: &Settings, access: &Access) -> InstanceOrganizationsView {
    let (settings, roles) = (&settings.organizations, GivenRoles::of(access));
    InstanceOrganizationsView {
        object: InstanceOrganizationsObject::It,
        enabled: settings.enabled,
        max_allowed_memberships: settings.max_allowed_memberships,
        max_allowed_roles: CUSTOM_ROLES,
        max_allowed_domains: DOMAINS_OF_ORGANIZATION,
        max_allowed_permissions: CUSTOM_PERMISSIONS,
        max_role_sets_allowed: ROLE_SETS,
        creator_role: roles.creator,
        admin_delete_enabled: settings.admin_delete,
        domains_enabled: settings.domains,
        slug_disabled: !settings.slugs,
        domains_enrollment_modes: enrollment_modes(settings)
            .into_iter()
            .filter_map(OfferedMode::of)
            .collect(),
        domains_default_role: roles.default,
        initial_role_set_key: access.initial_role_set().map(|set| set.key.clone()),
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InstanceCommunication")]
pub struct InstanceCommunicationView<'a> {
    object: InstanceCommunicationObject,
    blocked_country_codes: &'a [String],
}

object!(InstanceCommunicationObject, "instance_communication");

pub fn communication(settings: &Settings) -> InstanceCommunicationView<'_> {
    InstanceCommunicationView {
        object: InstanceCommunicationObject::It,
        blocked_country_codes: &settings.messages.sms.blocked_countries,
    }
}

/// What there is against abuse beyond limits: nothing yet.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InstanceProtect")]
pub struct InstanceProtectView {
    object: InstanceProtectObject,
    rules_enabled: bool,
    specter_enabled: bool,
    checks_bypassed: bool,
    checks_verified: bool,
}

object!(InstanceProtectObject, "instance_protect");

pub fn protect() -> InstanceProtectView {
    InstanceProtectView {
        object: InstanceProtectObject::It,
        rules_enabled: false,
        specter_enabled: false,
        checks_bypassed: false,
        checks_verified: false,
    }
}

/// What OAuth applications may do: nothing until there are any.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OAuthApplicationSettings")]
pub struct OAuthApplicationSettingsView {
    object: OAuthApplicationSettingsObject,
    dynamic_oauth_client_registration: bool,
    default_scopes: Option<Vec<String>>,
    oauth_jwt_access_tokens: bool,
    client_id_metadata_documents_advertised: bool,
    client_id_metadata_documents_only_allow_pre_registered_clients: bool,
    client_id_metadata_documents_block_implicitly_allowed_clients: bool,
}

object!(OAuthApplicationSettingsObject, "oauth_application_settings");

pub fn oauth_applications() -> OAuthApplicationSettingsView {
    OAuthApplicationSettingsView {
        object: OAuthApplicationSettingsObject::It,
        dynamic_oauth_client_registration: false,
        default_scopes: Some(Vec::new()),
        oauth_jwt_access_tokens: false,
        client_id_metadata_documents_advertised: false,
        client_id_metadata_documents_only_allow_pre_registered_clients: false,
        client_id_metadata_documents_block_implicitly_allowed_clients: false,
    }
}
