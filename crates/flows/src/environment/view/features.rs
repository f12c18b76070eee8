//! What does not exist here yet, shown as switched off: pages read these objects whole and fail without
//! some of them.

use latchkey_base::kinds::InstanceId;
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;

use super::part_id;

object!(component FraudSettingsObject, "fraud_settings");

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
        object: FraudSettingsObject::It,
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

object!(component ProtectConfigObject, "protect_config");

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
        object: ProtectConfigObject::It,
        id: part_id("protect_config", instance),
        loaders: Vec::new(),
    }
}
