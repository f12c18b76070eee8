//! What the operations on endpoints take. Ours, and closed.

use latchkey_base::patch::Patch;
use latchkey_base::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `CreateWebhookEndpoint`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWebhookEndpoint {
    /// Where events are posted: `https`, or `http` on development instances.
    pub url: String,
    /// A note for people.
    #[serde(default)]
    pub description: Option<String>,
    /// The kinds of events wanted; all of them if empty or left out.
    #[serde(default)]
    pub event_types: Option<Vec<String>>,
    /// A secret of your own, `whsec_…`; one is made if left out.
    #[serde(default)]
    pub secret: Option<Secret>,
    /// Whether it gets no events yet.
    #[serde(default)]
    pub disabled: bool,
}

/// Body of `UpdateWebhookEndpoint`.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateWebhookEndpoint {
    /// Where events are posted.
    #[serde(default)]
    #[schemars(with = "String")]
    pub url: Option<String>,
    /// A note for people.
    #[serde(default)]
    pub description: Patch<String>,
    /// The kinds of events wanted; null or empty for all.
    #[serde(default)]
    pub event_types: Patch<Vec<String>>,
    /// `true` stops sending, `false` goes on.
    #[serde(default)]
    #[schemars(with = "bool")]
    pub disabled: Option<bool>,
    /// Leave out what happened so far, rather than go on where it stopped.
    #[serde(default)]
    pub skip_missed: bool,
}

/// Body of `RotateWebhookSecret`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateWebhookSecret {
    /// A secret of your own, `whsec_…`; one is made if left out.
    #[serde(default)]
    pub secret: Option<Secret>,
    /// How long the present secret goes on signing beside the new one; a day unless told otherwise.
    #[serde(default)]
    #[schemars(range(min = 0, max = 604_800))]
    pub expire_old_in_seconds: Option<i64>,
}

/// Body of `TestWebhookEndpoint`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestWebhookEndpoint {
    /// The kind of event to make up, such as `user.created`.
    #[serde(rename = "type")]
    pub kind: String,
}
