//! What the operations on deliveries take. Ours, and closed.

use latchkey_base::page::Paging;
use schemars::JsonSchema;
use serde::Deserialize;

/// Query of `ListWebhookDeliveries`.
#[derive(Deserialize, JsonSchema)]
pub struct ListWebhookDeliveries {
    /// Only those that stand so: `pending`, `succeeded` or `failed`.
    pub status: Option<String>,
    /// Only of this kind of event, such as `user.created`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Only of events with a smaller number: the `seq` of the last delivery of the page before.
    pub before_seq: Option<i64>,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
}

/// Body of `ReplayWebhookEvents`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayWebhookEvents {
    /// From when on, in milliseconds.
    #[schemars(range(min = 0))]
    pub since: i64,
    /// Only what has not arrived, given up or not, rather than everything again.
    #[serde(default)]
    pub only_failed: bool,
}
