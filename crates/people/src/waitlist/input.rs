//! What the operations on the waitlist take.

use latchkey_base::page::{Paging, newest_first};
use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `CreateWaitlistEntry`.
#[derive(Deserialize, JsonSchema)]
pub struct CreateWaitlistEntry {
    /// Who waits.
    pub email_address: String,
    /// Whether they are told by e-mail; they are by default. Whoever is on the list already is not told again.
    #[serde(default)]
    pub notify: Option<bool>,
}

/// An item of the body of `CreateBulkWaitlistEntries`: the same, but closed, as published.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateBulkWaitlistEntry {
    /// Who waits.
    pub email_address: String,
    /// Whether they are told by e-mail; they are by default. Whoever is on the list already is not told again.
    #[serde(default)]
    pub notify: Option<bool>,
}

impl From<CreateBulkWaitlistEntry> for CreateWaitlistEntry {
    fn from(item: CreateBulkWaitlistEntry) -> CreateWaitlistEntry {
        CreateWaitlistEntry { email_address: item.email_address, notify: item.notify }
    }
}

/// Body of `InviteWaitlistEntry`.
#[derive(Deserialize, JsonSchema)]
pub struct InviteWaitlistEntry {
    /// Whether to invite somebody who was invited already, or who has an account.
    #[serde(default)]
    pub ignore_existing: Option<bool>,
}

/// What became of an entry, as the list is filtered by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum WaitlistFilter {
    Pending,
    Invited,
    Completed,
    Rejected,
}

impl WaitlistFilter {
    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            WaitlistFilter::Pending => "pending",
            WaitlistFilter::Invited => "invited",
            WaitlistFilter::Completed => "completed",
            WaitlistFilter::Rejected => "rejected",
        }
    }
}

/// Query of `ListWaitlistEntries`.
#[derive(Deserialize, JsonSchema)]
pub struct ListWaitlistEntries {
    /// Part of the address or of the id.
    pub query: Option<String>,
    /// With this status.
    pub status: Option<WaitlistFilter>,
    /// `created_at`, `email_address` or `invited_at`, with `-` for descending. Whoever was never invited comes last.
    #[serde(default = "newest_first")]
    pub order_by: String,
    /// Which page of them.
    #[serde(flatten)]
    pub paging: Paging,
}
