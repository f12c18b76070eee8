//! What the operations on domains take.

use latchkey_base::patch::Patch;
use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `AddDomain`. Open, as published.
#[derive(Deserialize, JsonSchema)]
pub struct AddDomain {
    /// The domain of the pages, such as `shop.example.org`; on development instances with a port, if it has one.
    pub name: String,
    /// Must be true: an instance has one primary domain.
    pub is_satellite: bool,
    /// Where its pages reach the Frontend API through a proxy of their own; production instances only.
    #[serde(default)]
    pub proxy_url: Option<String>,
}

/// Body of `UpdateDomain`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateInstanceDomain {
    /// Another name. That of the primary domain of a production instance moves its Frontend API, signs everybody out and
    /// becomes the home page; that of a development instance follows the configuration of the server.
    pub name: Patch<String>,
    /// Where pages reach the Frontend API through a proxy of the application; null is at the host of the domain.
    /// Production instances only.
    pub proxy_url: Patch<String>,
    /// Whether a subdomain in the name of the primary domain counts; without it the name is cut to the registrable
    /// domain. In names of satellites it always counts.
    pub is_secondary: Patch<bool>,
}

/// Body of the operations that change the domain of a production instance.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeDomain {
    /// The new home page, such as `https://www.example.com`. Its domain becomes that of the instance.
    #[schemars(with = "String")]
    pub home_url: Option<String>,
    /// Whether a subdomain in it counts; without it the domain is cut to the registrable one.
    #[schemars(with = "bool")]
    pub is_secondary: Option<bool>,
}

/// Body of `VerifyDomainProxy`. Open, as published.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CheckProxy {
    /// The domain whose proxy is tried.
    #[schemars(with = "String")]
    pub domain_id: Option<String>,
    /// Where the proxy is, such as `https://example.com/__clerk`.
    #[schemars(with = "String")]
    pub proxy_url: Option<String>,
}
