//! What does not exist here yet, shown as switched off: pages read these objects whole and fail without
//! some of them.

use latchkey_base::kinds::InstanceId;
use schemars::JsonSchema;
use serde::Serialize;

use super::part_id;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationSettings")]
pub(super) struct OrganizationSettingsView {
    enabled: bool,
    max_allowed_memberships: i64,
    force_organization_selection: bool,
    actions: OrganizationActionsView,
    domains: OrganizationDomainsView,
    slug: OrganizationSlugView,
    organization_creation_defaults: OrganizationCreationDefaultsView,
    creator_role: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationActions")]
struct OrganizationActionsView {
    admin_delete: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationDomains")]
struct OrganizationDomainsView {
    enabled: bool,
    enrollment_modes: Vec<&'static str>,
    default_role: &'static str,
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

pub(super) fn organizations() -> OrganizationSettingsView {
    OrganizationSettingsView {
        enabled: false,
        max_allowed_memberships: 5,
        force_organization_selection: false,
        actions: OrganizationActionsView { admin_delete: true },
        domains: OrganizationDomainsView {
            enabled: false,
            enrollment_modes: Vec::new(),
            default_role: "org:member",
        },
        slug: OrganizationSlugView { disabled: false },
        organization_creation_defaults: OrganizationCreationDefaultsView { enabled: false },
        creator_role: "org:admin",
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum FraudSettingsObject {
    FraudSettings,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FraudSettings")]
pub(super) struct FraudSettingsView {
    object: FraudSettingsObject,
    native: FraudNativeView,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FraudNativeSettings")]
struct FraudNativeView {
    device_attestation_mode: &'static str,
}

pub(super) fn fraud() -> FraudSettingsView {
    FraudSettingsView {
        object: FraudSettingsObject::FraudSettings,
        native: FraudNativeView { device_attestation_mode: "disabled" },
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CommerceSettings")]
pub(super) struct CommerceSettingsView {
    billing: BillingView,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CommerceBilling")]
struct BillingView {
    stripe_publishable_key: Option<&'static str>,
    free_trial_requires_payment_method: bool,
    user: PayerView,
    organization: PayerView,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CommercePayer")]
struct PayerView {
    enabled: bool,
    has_paid_plans: bool,
}

pub(super) fn commerce() -> CommerceSettingsView {
    let nobody = || PayerView { enabled: false, has_paid_plans: false };
    CommerceSettingsView {
        billing: BillingView {
            stripe_publishable_key: None,
            free_trial_requires_payment_method: true,
            user: nobody(),
            organization: nobody(),
        },
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ApiKeysSettings")]
pub(super) struct ApiKeysSettingsView {
    enabled: bool,
    user_api_keys_enabled: bool,
    orgs_api_keys_enabled: bool,
}

pub(super) fn api_keys() -> ApiKeysSettingsView {
    ApiKeysSettingsView { enabled: false, user_api_keys_enabled: false, orgs_api_keys_enabled: false }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ProtectConfigObject {
    ProtectConfig,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ProtectConfig")]
pub(super) struct ProtectConfigView {
    object: ProtectConfigObject,
    id: String,
    /// Scripts pages load; there are none.
    loaders: Vec<()>,
}

pub(super) fn protect(instance: &InstanceId) -> ProtectConfigView {
    ProtectConfigView {
        object: ProtectConfigObject::ProtectConfig,
        id: part_id("protect_config", instance),
        loaders: Vec::new(),
    }
}
