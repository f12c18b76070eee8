//! What the operations on the two lists take.

use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `CreateAllowlistIdentifier`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAllowlistIdentifier {
    /// An e-mail address, `*@example.com` for all addresses of a domain, a phone number or a wallet.
    pub identifier: String,
    /// Whether to invite whoever has the address. Only addresses can be invited.
    #[serde(default)]
    pub notify: bool,
}

/// Body of `CreateBlocklistIdentifier`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateBlocklistIdentifier {
    /// An e-mail address, which stands for its sub-addresses too; `*@example.com` for all addresses of a domain,
    /// `*@*.example.com` for those of all domains below it; a phone number or a wallet.
    pub identifier: String,
}
