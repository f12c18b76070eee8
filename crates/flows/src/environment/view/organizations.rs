//! `organization_settings`: whether there are organizations, and what they may do.

use latchkey_kernel::settings::OrganizationSettings;
use latchkey_organizations::access::model::Access;
use latchkey_organizations::domains::model::DomainMode;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationSettings")]
pub(super) struct OrganizationSettingsView<'a> {
    enabled: bool,
    max_allowed_memberships: i64,
    force_organization_selection: bool,
    actions: OrganizationActionsView,
    domains: OrganizationDomainsView<'a>,
    slug: OrganizationSlugView,
    organization_creation_defaults: OrganizationCreationDefaultsView,
    creator_role: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationActions")]
struct OrganizationActionsView {
    admin_delete: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationDomains")]
struct OrganizationDomainsView<'a> {
    enabled: bool,
    enrollment_modes: Vec<DomainMode>,
    default_role: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationSlug")]
struct OrganizationSlugView {
    disabled: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationCreationDefaults")]
struct OrganizationCreationDefaultsView {
    enabled: bool,
}

/// The roles that new organizations give without anybody having chosen one.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenRoles {
    /// The key of what creators become.
    pub creator: String,
    /// The key of what people become who join by a domain.
    pub default: String,
}

impl Default for GivenRoles {
    fn default() -> GivenRoles {
        GivenRoles { creator: "org:admin".to_owned(), default: "org:member".to_owned() }
    }
}

impl GivenRoles {
    /// Those of the role set that new organizations have.
    pub fn of(access: &Access) -> GivenRoles {
        let key = |id| access.role(id).map(|role| role.key.clone()).unwrap_or_default();
        match access.initial_role_set() {
            Some(set) => GivenRoles { creator: key(&set.creator_role), default: key(&set.default_role) },
            None => GivenRoles::default(),
        }
    }
}

pub(super) fn view<'a>(
    settings: &'a OrganizationSettings,
    roles: &'a GivenRoles,
) -> OrganizationSettingsView<'a> {
    OrganizationSettingsView {
        enabled: settings.enabled,
        max_allowed_memberships: settings.max_allowed_memberships,
        force_organization_selection: settings.is_choice_forced(),
        actions: OrganizationActionsView { admin_delete: settings.admin_delete },
        domains: OrganizationDomainsView {
            enabled: settings.domains,
            enrollment_modes: enrollment_modes(settings),
            default_role: &roles.default,
        },
        slug: OrganizationSlugView { disabled: !settings.slugs },
        organization_creation_defaults: OrganizationCreationDefaultsView {
            enabled: settings.enabled && settings.creation_defaults,
        },
        creator_role: &roles.creator,
    }
}

/// What pages offer for a domain. Inviting by hand needs no setting, and is how everything else is turned off.
pub fn enrollment_modes(settings: &OrganizationSettings) -> Vec<DomainMode> {
    let is_offered = |mode: &DomainMode| match mode.setting() {
        Some(needed) => settings.domain_enrollment_modes.contains(&needed),
        None => *mode == DomainMode::ManualInvitation,
    };
    DomainMode::ALL.into_iter().filter(|mode| settings.domains && is_offered(mode)).collect()
}
