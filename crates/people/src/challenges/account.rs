//! Accounts at other providers, as a proof shows them.

use serde::{Deserialize, Serialize};

/// What a provider says about an account that somebody has proven to be theirs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProvenAccount {
    /// The provider's strategy, such as `oauth_google`.
    pub provider: String,
    /// Who it is there. Together with the provider it says who somebody is; nothing else does.
    #[serde(default)]
    pub provider_user_id: String,
    /// Separated by spaces, whatever the provider does.
    #[serde(default)]
    pub approved_scopes: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email_address: Option<String>,
    /// Whether the provider vouches for the address; nothing where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email_address_verified: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl ProvenAccount {
    /// The address that the provider vouches for.
    pub fn proven_email(&self) -> Option<&str> {
        self.email_address.as_deref().filter(|_| self.email_address_verified == Some(true))
    }
}
